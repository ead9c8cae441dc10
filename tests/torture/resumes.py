"""R2: --resume. Jobs are killed at the n-th call of a kind, once or several times, and go on: the bytes are those of a run
that nobody disturbs, and nothing is left. (How little is read twice: tests/runner/resume_test.py.)

The calls of the manifest are among those that a job is killed at, before they happen and after. A third of the jobs each
is one that is killed in its last merge, and one with a loop.
"""

import random
import subprocess

from disturbed_run import BACKENDS, on_all_cores
from jobs import jobs_to_resume
from result import result, row

KINDS = ("write", "fsync", "scratch_read", "open", "fallocate", "read", "submit", "unlink", "link", "mkdir")
RESUME = ("--resume",)
# What `flowrun plan --resume` says of a job that goes on there.
PLACES = {"runs": "rows in", "last merge": "has written", "loop": "iterations"}


def points(options):
    """(job, backend, kills): of each killed run the kind of call, and where it is between the first of them and the last."""
    rng = random.Random(options.seed)
    jobs = jobs_to_resume(options.short)
    out = []
    for i in range(options.resumes):
        job = jobs[i % 3] if i % 3 < 2 else rng.choice(jobs[2:])
        times = 1 if rng.random() < 0.6 else rng.randrange(2, 5)
        kills = [(rng.choice(KINDS), rng.random(), rng.choice(("kill", "killed"))) for _ in range(times)]
        out.append((job, BACKENDS[i % len(BACKENDS)], kills))
    return out


ONLY_OF_RUN = ("run", "-q", "--force-spill")


def places_of(place):
    """Where the next run would go on."""
    words = [word for word in place.job.words() if word not in ONLY_OF_RUN]
    said = subprocess.run([place.flowrun, "plan", *words, *RESUME], cwd=place.root, capture_output=True, text=True, check=True)
    lines = [line for line in said.stdout.splitlines() if line.startswith("resume: ")]
    return {name for name, words in PLACES.items() if any(words in line for line in lines)}


def resumed(place, one):
    """(name, kills, where it went on, problems)"""
    job, backend, wanted = one
    place.prepare(job, False)
    calls = place.counts(backend, RESUME)
    place.prepare(job, False)
    kills, places, problems = 0, set(), []
    for kind, share, how in wanted:
        rule = f"{kind}:{1 + int(share * calls.get(kind, 0))}:{how}"
        done = place.run(backend, rule, RESUME)
        if done.code == 0:
            break  # it was over before that call
        kills += done.code == -9
        if done.code != -9:
            problems.append(f"{rule}: it ended with {done.code}: {done.said.strip()[:300]}")
        problems += place.wrong_states(place.states())
        places |= places_of(place)
    problems += place.wrong_with(place.run(backend, "", RESUME), only_success=True)
    return f"{job.name}, {backend}, {wanted}", kills, places, problems


def run(options):
    options.resumes = 50 if options.short else 600
    problems, kills, went_on = [], 0, dict.fromkeys(PLACES, 0)
    for name, killed, places, found in on_all_cores(options, resumed, points(options)):
        kills += killed
        for place in places:
            went_on[place] += 1
        if found:
            problems.append(f"{name}: " + "; ".join(found))
            print(f"- {problems[-1]}", flush=True)
    problems += [f"no job went on from its {place}" for place, times in went_on.items() if times == 0]
    where = ", ".join(f"{times} from their {place}" for place, times in went_on.items())
    figure = f"{options.resumes} jobs, {kills} kills, of which went on {where}: {len(problems)} wrong"
    return result([row("R2", "kill -9 of jobs with --resume, then the same command again", figure)], problems)
