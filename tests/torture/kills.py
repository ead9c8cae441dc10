"""kill -9 at named points (before and after the n-th call of a kind) and at random times (R1, R3).

After each: under the final names is the right output or what was there before, never a part; scratch and temporary files
are gone. One file may stay: an output that replaces another gets its hidden name one call before the final one, because
the kernel can't put an unnamed file in the place of another; killed in between, it is whole (or whole is what it
replaced), and the next run of the job removes it. Where the file system has no unnamed files, an output has its hidden
name all the time. So have the files of an output with several, in a hidden directory, and an empty scratch file has one from
its opening to its unlinking, the next call: in the scratch directory, or beside where that will be made.
"""

import dataclasses
import errno
import random
import re
import subprocess
import time

from disturbed_run import BACKENDS, HIDDEN, HIDDEN_PART, OLD, ended, on_all_cores, workplace
from jobs import small_jobs
from result import result, row

COMMIT = ("fsync", "link", "rename", "ftruncate", "mkdir")
BEFORE = ("read", "scratch_read", "write", "open", "open_unnamed", "fallocate", "map", "thread", "submit", "unlink")
SCRATCH = re.compile(r"(scratch/)?\.flowrun-[^/]*\.scratch")
NO_UNNAMED = f"open_unnamed:1:{errno.EOPNOTSUPP}:ever"


@dataclasses.dataclass(frozen=True)
class point:
    job: object
    backend: str
    with_old: bool
    rules: str = ""
    seconds: float = 0  # without rules: when

    def __str__(self):
        return f"{self.job.name}, {self.backend}, {self.rules or f'after {self.seconds:.4f} s'}"


def named_points(job, backend, counts, unnamed):
    """Those of the commit, and the others."""
    end = "" if unnamed else "," + NO_UNNAMED
    points = {
        kinds: [
            point(job, backend, with_old, f"{kind}:{number}:{how}{end}")
            for kind in kinds
            for number in range(1, counts.get(kind, 0) + 1)
            for how in ("kill", "killed")
            for with_old in (False, True)
        ]
        for kinds in (COMMIT, BEFORE)
    }
    return points[COMMIT], points[BEFORE]


def all_points(options):
    rng = random.Random(options.seed)
    commit, before, timed = [], [], []
    with workplace(options.flowrun, options.library) as place:
        for at, job in enumerate(small_jobs(options.short)):
            place.prepare(job, False)
            for unnamed in (True, False):
                backend = BACKENDS[(at + unnamed) % 3]
                begun = time.monotonic()
                counts = place.counts(backend, FAILING_CALLS="" if unnamed else NO_UNNAMED)
                took = time.monotonic() - begun
                a, b = named_points(job, backend, counts, unnamed)
                commit += a
                before += b
                timed += [point(job, backend, i % 2 == 0, "", rng.random() * took) for i in range(options.kills)]
    # Some are over before they are killed.
    shares = (options.kills // 2, options.kills // 2, options.kills // 3)
    return [one for points, share in zip((commit, before, timed), shares) for one in rng.choices(points, k=share)]


def kill_at(place, one):
    if one.rules:
        return place.run(one.backend, one.rules)
    job = place.start(one.backend)
    try:
        job.wait(one.seconds)
    except subprocess.TimeoutExpired:
        job.kill()
    said, _ = job.communicate()
    return ended(job.returncode, said)


def wrong_leftovers(place, one):
    """What may not stay; and whether anything did."""
    wrong = []
    left = place.left_over()
    for name in left:
        hidden = HIDDEN.fullmatch(name)
        if NO_UNNAMED in one.rules and SCRATCH.fullmatch(name) and (place.root / name).stat().st_size == 0:
            (place.root / name).unlink()
            continue
        # An output of several files has a trial of its pattern's name, which is no file's.
        wanted = hidden and place.job.outputs.get((hidden["directory"] or "") + hidden["name"])
        whole = hidden and (place.root / name).read_bytes() in (wanted, OLD)
        if whole or hidden and NO_UNNAMED in one.rules or HIDDEN_PART.fullmatch(name):
            continue
        wrong.append(f"left behind: {name}")
    return wrong, bool(left)


def problems_of(place, one):
    place.prepare(one.job, one.with_old)
    done = kill_at(place, one)
    problems = [] if done.code in (0, -9) else [f"it ended with {done.code}: {done.said}"]
    problems += place.wrong_states(place.states())
    wrong, any_left = wrong_leftovers(place, one)
    problems += wrong
    # The next run cleans up and does the work.
    problems += place.wrong_with(place.run(one.backend), only_success=True)
    return str(one), done.code == -9, any_left, problems


def run(options):
    options.kills = 100 if options.short else 1000
    problems, killed, hidden = [], 0, 0
    for name, was_killed, any_left, found in on_all_cores(options, problems_of, all_points(options)):
        killed += was_killed
        hidden += any_left
        if found:
            problems.append(f"{name}: " + "; ".join(found))
            print(f"- {problems[-1]}", flush=True)
    figure = f"{killed} kills: {len(problems)} wrong; {hidden} left a hidden file, which the next run removed"
    return result([row("R1, R3", "kill -9 at named points and at random times", figure)], problems)
