"""R2: --resume. Jobs are killed at the n-th call of a kind, once or several times, and go on: the bytes are those of a run
that nobody disturbs, and nothing is left. (How little is read twice: tests/runner/resume_test.py.)

The calls of the manifest are among those that a job is killed at, before they happen and after.
"""

import random

from disturbed_run import BACKENDS, on_all_cores
from jobs import small_jobs
from result import result, row

KINDS = ("write", "fsync", "scratch_read", "open", "fallocate", "read", "submit", "unlink", "link", "mkdir")
RESUME = ("--resume",)


def points(options):
    """(job, backend, rules of each killed run)"""
    rng = random.Random(options.seed)
    jobs = small_jobs(options.short)
    out = []
    for i in range(options.resumes):
        job = jobs[0] if i % 3 == 0 else rng.choice(jobs)
        times = 1 if rng.random() < 0.6 else rng.randrange(2, 5)
        rules = [f"{rng.choice(KINDS)}:{1 + int(rng.expovariate(1 / 12))}:{rng.choice(('kill', 'killed'))}" for _ in range(times)]
        out.append((job, BACKENDS[i % len(BACKENDS)], rules))
    return out


def resumed(place, one):
    """(name, kills, problems)"""
    job, backend, rules = one
    place.prepare(job, False)
    kills, problems = 0, []
    for rule in rules:
        done = place.run(backend, rule, RESUME)
        if done.code == 0:
            break  # it was over before that call
        kills += done.code == -9
        if done.code != -9:
            problems.append(f"{rule}: it ended with {done.code}: {done.said.strip()[:300]}")
        problems += place.wrong_states(place.states())
    problems += place.wrong_with(place.run(backend, "", RESUME), only_success=True)
    return f"{job.name}, {backend}, {' '.join(rules)}", kills, problems


def run(options):
    options.resumes = 60 if options.short else 200
    problems, kills = [], 0
    for name, killed, found in on_all_cores(options, resumed, points(options)):
        kills += killed
        if found:
            problems.append(f"{name}: " + "; ".join(found))
            print(f"- {problems[-1]}", flush=True)
    figure = f"{options.resumes} jobs, {kills} kills: {len(problems)} wrong"
    return result([row("R2", "kill -9 of jobs with --resume, then the same command again", figure)], problems)
