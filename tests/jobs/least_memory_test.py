#!/usr/bin/env python3
"""The least memory that `flowrun check` accepts is enough: the shipped jobs and random jobs, on small inputs, run with
just that and with some amounts above it, as they are and with everything spilled, and never end with 75.

    least_memory_test.py --flowrun PROGRAM [--job NAME] [--seed N] [--random N] [--seconds S]
"""

import argparse
import concurrent.futures
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "random_jobs")]
import draw_jobs  # noqa: E402
import runs  # noqa: E402
from cases import JOBS  # noqa: E402
from jobs_test import SPECS, written  # noqa: E402
from rows import pack  # noqa: E402

too_little, out_of_memory = 78, 75
# KiB above the least. Blocks and batches grow in steps, at which one half of a sort may outgrow the other.
ABOVE = [0, 64, 300, 1024, 5 * 1024]


class command:
    def __init__(self, flowrun, job, params, folder):
        self.flowrun, self.job, self.folder = flowrun, job, folder
        self.params = [word for name, value in params.items() for word in ("-p", f"{name}={value}")]

    def __call__(self, what, kib, *options):
        scratch = ["-T", str(self.folder / "scratch")]
        return subprocess.run(
            [self.flowrun, what, str(self.job), *self.params, "-m", f"{kib}KiB", "-j", "2", *scratch, *options],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=200,
        )


def named(said):
    """What the fault names, in KiB."""
    return int(re.search(r"memory: (\d+)MiB or more", said)[1]) * 1024


def least(run):
    """(the least that check accepts, what it says is the least), in KiB."""
    refused = run("check", 1)
    if refused.returncode != too_little:
        return None, f"check says {refused.returncode} to 1 KiB: {refused.stderr.strip()}"
    low, high = 1, named(refused.stderr)
    accepted = run("check", high)
    if accepted.returncode != 0:
        return None, f"check names {high} KiB and refuses it: {accepted.stderr.strip()}"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if run("check", middle).returncode else (low, middle)
    return high, ""


def try_job(run, rng):
    """What went wrong; empty: nothing."""
    smallest, problem = least(run)
    if problem:
        return problem
    steps = ABOVE + [rng.randrange(8 * 1024) for _ in range(2)]
    for above in steps:
        for options in [[], ["--force-spill"]]:
            done = run("run", smallest + above, "-q", "--no-sync", *options)
            if done.returncode == 0:
                continue
            how = f"{smallest} + {above} KiB {' '.join(options)}"
            return f"{how}: exit code {done.returncode}: {done.stderr.strip()}"
    return ""


def try_shipped(flowrun, name, seed):
    rng = random.Random(f"{name} {seed}")
    case = JOBS[name].make(rng)
    with tempfile.TemporaryDirectory(prefix="flowrun-least-") as temporary:
        folder = pathlib.Path(temporary)
        params = {**written(case, folder), "out": folder / "out"}
        return try_job(command(flowrun, SPECS / f"{name}.yaml", params, folder), rng)


def try_random(flowrun, seed):
    with tempfile.TemporaryDirectory(prefix="flowrun-least-") as temporary:
        folder = pathlib.Path(temporary) / "job"
        job, expected = draw_jobs.draw(seed)
        if isinstance(expected, str):
            return ""  # its data ends it
        runs.put([job], folder)
        params = {"in": folder / "in", "out": folder / "out"}
        return try_job(command(flowrun, folder / "job.yaml", params, folder), random.Random(seed))


def text_of(folder):
    """The text of the report: a recursion whose levels find less and less of the memory."""
    path = folder / "text"
    path.write_bytes(b"ab" * 3000)
    return {"text": path, "out": folder / "out"}


def grid_of(folder):
    """40 x 40 nodes; a loop in a phase beside others."""
    edges = []
    for y in range(40):
        for x in range(40):
            node = 40 * y + x
            edges += [(node, node + 1)] if x < 39 else []
            edges += [(node, node + 40)] if y < 39 else []
    path = folder / "edges"
    path.write_bytes(pack(sorted(edges), [4, 4]))
    return {"edges": path, "nodes": 1600, "source": 0, "out": folder / "out"}


REPORTED = {"suffix-array": text_of, "bfs-mm": grid_of}


def try_reported(flowrun, name):
    with tempfile.TemporaryDirectory(prefix="flowrun-least-") as temporary:
        folder = pathlib.Path(temporary)
        run = command(flowrun, SPECS / f"{name}.yaml", REPORTED[name](folder), folder)
        smallest, problem = least(run)
        if problem:
            return problem
        for kib in range(smallest, smallest + 1024, 64):
            for options in [[], ["--force-spill"]]:  # so small an input stays in memory otherwise
                done = run("run", kib, "-q", "--no-sync", *options)
                if done.returncode != 0:
                    return f"{kib} KiB {' '.join(options)}: exit code {done.returncode}: {done.stderr.strip()}"
        return ""

AT_LEAST = 10  # jobs, however slow the machine is


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--job")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0, help="start nothing but the first ten after that")
    options = parser.parse_args()
    ends = time.monotonic() + options.seconds if options.seconds else float("inf")
    tasks = []
    for name in REPORTED:
        tasks.append((f"{name}, as reported", lambda name=name: try_reported(options.flowrun, name)))
    for i in range(max(len(JOBS), options.random)):
        if i < len(JOBS):
            name = sorted(JOBS)[i]
            tasks.append((name, lambda name=name: try_shipped(options.flowrun, name, options.seed)))
        if i < options.random:
            seed = options.seed + i
            tasks.append((f"random {seed}", lambda seed=seed: try_random(options.flowrun, seed)))
    if options.job:
        tasks = [t for t in tasks if t[0].split(",")[0] == options.job]
    failures = done = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [(what, pool.submit(lambda t=task, i=i: None if i >= AT_LEAST and time.monotonic() > ends else t()))
                   for i, (what, task) in enumerate(tasks)]
        for what, future in running:
            problem = future.result()
            if problem is None:
                continue
            done += 1
            if problem:
                failures += 1
                print(f"{what}: {problem}", flush=True)
    print(f"{done} of {len(tasks)} jobs with the least memory: {failures} failed")
    sys.exit(1 if failures or done < min(AT_LEAST, len(tasks)) else 0)


if __name__ == "__main__":
    main()
