#!/usr/bin/env python3
"""Random jobs: a seed gives input files and a graph of nodes; flowrun's outputs must be those of the naive reference
in this folder, byte for byte, with tiny and with default blocks, in memory and spilling, on one thread and on three.

    random_jobs.py --flowrun PROGRAM [--jobs N] [--seed S] [--seconds T] [--keep DIR] [--all-words]

A failure is shrunk to a small job, which is printed with its input files and the command that draws it again, and left
in DIR. At the end stands which words of the language were never drawn; with --all-words there must be none.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import draw_jobs  # noqa: E402
import runs  # noqa: E402
import shrink  # noqa: E402
import words  # noqa: E402
from job_yaml import yaml  # noqa: E402

TOGETHER = 10  # jobs that are run as one
BETWEEN_LINES = 5000  # jobs after which a long run says how far it is


class failure:
    def __init__(self, seed, options, kind, what):
        self.seed, self.options, self.kind, self.what = seed, options, kind, what


def variants(seed, known):
    """The options under which these jobs are run: none, and two drawn sets."""
    r = random.Random(f"options {seed}")
    return [[], runs.draw_options(r, known), runs.draw_options(r, known)]


def try_seeds(flowrun, seeds, known, deadline):
    """(jobs, runs, failures, drawn words) of some seeds whose jobs are run as one."""
    drawn, failures, seen, tried, count = [], [], collections.Counter(), 0, 0
    for seed in seeds:
        if deadline and time.monotonic() > deadline:
            break
        tried += 1
        try:
            job, expected = draw_jobs.draw(seed)
        except Exception:
            failures.append(failure(seed, [], "generator", traceback.format_exc()))
            continue
        words.count(job, seen)
        drawn.append((seed, job, expected))
    right = [d for d in drawn if not isinstance(d[2], str)]
    earlier = {}
    with runs.workplace() as place:

        def alone(seed, job, expected, options):
            problem = runs.try_jobs(flowrun, [job], expected, options, place.folder / "one")
            if problem:
                failures.append(failure(seed, options, *problem))
            return problem

        for options in variants(seeds[0], known):
            words.count_options(options, seen)
            together = {file: data for _, _, files in right for file, data in files.items()}
            count += 1
            jobs = [j for _, j, _ in right]
            if jobs and runs.try_jobs(flowrun, jobs, together, options, place.folder / "all", earlier):
                broken = [d for d in right if alone(*d, options)]
                if not broken:
                    failures.append(failure(right[0][0], options, "together", f"seeds {seeds} fail only as one job"))
                right = [d for d in right if d not in broken]
            for d in drawn:
                if isinstance(d[2], str):
                    count += 1
                    if alone(*d, options):
                        drawn = [x for x in drawn if x is not d]
    return tried, count, failures, seen


def try_all(options):
    """(jobs, runs, failures, drawn words)."""
    seeds = list(range(options.seed, options.seed + options.jobs))
    known = runs.here(options.flowrun)
    deadline = time.monotonic() + options.seconds if options.seconds else None
    jobs, count, failures, seen = 0, 0, [], collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.processes) as pool:
        tasks = [
            pool.submit(try_seeds, options.flowrun, seeds[i : i + TOGETHER], known, deadline)
            for i in range(0, len(seeds), TOGETHER)
        ]
        for task in concurrent.futures.as_completed(tasks):
            a, b, found, words_seen = task.result()
            if (jobs + a) // BETWEEN_LINES > jobs // BETWEEN_LINES:
                print(f"{jobs + a:,} random jobs of {len(seeds):,}, {len(failures + found)} failed", flush=True)
            jobs, count, seen = jobs + a, count + b, seen + words_seen
            failures += found
            for f in found:
                print(f"seed {f.seed} {' '.join(f.options)} fails: {f.kind}", flush=True)
            if len(failures) > options.most_failures or (deadline and time.monotonic() > deadline):
                for other in tasks:
                    other.cancel()
                break
    return jobs, count, failures, seen


def show(options, f, folder):
    """Prints one failure, small."""
    print(f"\nseed {f.seed} {' '.join(f.options)}: {f.kind}: {f.what}")
    print(f"  again: {sys.argv[0]} --flowrun {options.flowrun} --jobs 1 --seed {f.seed}")
    if f.kind in ("generator", "together"):
        return
    job, expected = draw_jobs.draw(f.seed)
    job, expected, chosen, what = shrink.shrink(
        options.flowrun, job, expected, f.options, f.kind, folder, options.shrink
    )
    runs.put([job], folder)
    print(f"  smallest, in {folder}: flowrun run job.yaml -p in=in -p out=out {' '.join(chosen)}\n  {what}")
    print("    " + yaml([job]).replace("\n", "\n    "))
    for file, data in job.files.items():
        print(f"    {file}: {data[:400]!r}")
    if isinstance(expected, str):
        print(f"    it has to fail: {expected}")
        return
    for file, data in expected.items():
        (folder / "expected" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "expected" / file).write_bytes(data)
        print(f"    expected {file}: {data[:400]!r}", flush=True)


def run(options):
    """For the long test of everything: [(what, how many, failures)]. What `options` lacks is as on the command line.
    With all_words, the words that were never drawn count as failures."""
    for word, value in vars(parser().parse_args(["--flowrun", options.flowrun])).items():
        setattr(options, word, getattr(options, word, value))
    jobs, count, failures, seen = try_all(options)
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="flowrun-random-failures-"))
    shown = set()
    for f in sorted(failures, key=lambda f: f.seed):
        if (f.kind if f.kind != "bytes" else f.seed) in shown or len(shown) >= options.most_shown:
            continue
        shown.add(f.kind if f.kind != "bytes" else f.seed)
        show(options, f, folder / str(f.seed))
    if not failures and not options.keep:
        folder.rmdir()
    never = words.never(options.flowrun, seen, runs.here(options.flowrun))
    if never:
        print(f"never drawn in {jobs} jobs: {', '.join(never)}; draw them, or say in words.py why not")
    missed = len(never) if options.all_words else 0
    return [("random jobs against the naive reference", jobs, len(failures) + missed), ("runs of them", count, 0)]


def parser():
    out = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("--flowrun", required=True)
    out.add_argument("--seed", type=int, default=1)
    out.add_argument("--jobs", type=int, default=2000)
    out.add_argument("--seconds", type=float, default=0, help="start no further job after that")
    out.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    out.add_argument("--shrink", type=float, default=40, help="seconds for making one failure small")
    out.add_argument("--most-failures", type=int, default=50, help="stop after so many")
    out.add_argument("--most-shown", type=int, default=5)
    out.add_argument("--keep", help="where to leave the jobs that fail")
    out.add_argument("--all-words", action="store_true", help="fail where a word of the language was never drawn")
    return out


def main():
    options = parser().parse_args()
    options.flowrun = str(pathlib.Path(options.flowrun).resolve())
    started = time.monotonic()
    (_, jobs, failures), (_, count, _) = run(options)
    print(f"{jobs} random jobs in {count} runs, {time.monotonic() - started:.0f} s: {failures} failed")
    sys.exit(1 if failures or jobs < min(10, options.jobs) else 0)


if __name__ == "__main__":
    main()
