#!/usr/bin/env python3
"""How sorting speeds up with the number of disks: 2 GiB (u64, and 100-byte records) sorted in 256 MiB over throttled
disks. Rows are made on the fly and reduced behind the sort, so that only the scratch disks are at work.

    parallel_disks.py [--runs N] [--gib G] [--memory MIB] [--rows u64,records] [--only NAME,...] [--verify-figures]

  1, 2, 4     as many disks at 100 MB/s; the speed-up is against 1
  unequal     disks at 100, 100, 50 and 50 MB/s, the slower ones half as large; shares are measured in the job
  fast-1, fast-2, fast-4   disks at 300 MB/s: what the processor allows

`of the disks` is (bytes written + bytes read) / time / the sum of the disks' bandwidths. Prints a table (medians) and,
with --json FILE, all runs. Every run's result must be the same. --verify-figures: exit code 1 when one of these
fails: 1 disk is used to at least 95 %, 2 disks speed up by at least 1.9, 4 by at least 3.7, and unequal ones are used
to at least 90 %. Needs root (see throttled_disks.py)."""
import argparse
import json
import os
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import flowrun_job  # noqa: E402
from throttled_disks import throttled_disks  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MB = 1_000_000
SETUPS = {
    "1": ([100], [4]),
    "2": ([100] * 2, [4] * 2),
    "4": ([100] * 4, [4] * 4),
    "unequal": ([100, 100, 50, 50], [4, 4, 2, 2]),
    "fast-1": ([300], [4]),
    "fast-2": ([300] * 2, [4] * 2),
    "fast-4": ([300] * 4, [4] * 4),
}
ROW_BYTES = {"u64": 8, "records": 100}


def sort(options, kind, disks):
    rows = int(options.gib * (1 << 30)) // ROW_BYTES[kind]
    return flowrun_job.run(options.build / "bin/flowrun", f"spill_{kind}", {"rows": rows}, options.memory, disks.paths,
                           preexec_fn=disks.group.join)


def figures(report, setup):
    moved = sum(flowrun_job.scratch_bytes(report))
    write_wait, read_wait = flowrun_job.waited_seconds(report)
    seconds = report["wall_seconds"]
    return {
        "seconds": seconds,
        "cpu_seconds": report["cpu_seconds"],
        "peak_memory_bytes": int(report["peak_memory_bytes"]),
        "moved_bytes": moved,
        "of_the_disks": moved / seconds / (sum(setup[0]) * MB),
        "write_wait_seconds": write_wait,
        "read_wait_seconds": read_wait,
        "written_per_disk": [int(disk["written_bytes"]) for disk in report["disks"]],
        "result": flowrun_job.results(report),
    }


def median(runs, name):
    return statistics.median(run[name] for run in runs)


def table(kind, results):
    lines = [f"\n{kind}\n", "| disks | s | speed-up | of the disks | MB/s | s of CPU | waited: writing, reading | peak memory |",
             "|---|---|---|---|---|---|---|---|"]
    for name, runs in results.items():
        seconds = median(runs, "seconds")
        base = {"2": "1", "4": "1", "fast-2": "fast-1", "fast-4": "fast-1"}.get(name)
        speedup = f"{median(results[base], 'seconds') / seconds:.2f}" if base in results else ""
        lines.append(
            f"| {name} | {seconds:.1f} | {speedup} | {100 * median(runs, 'of_the_disks'):.1f} % | "
            f"{median(runs, 'moved_bytes') / seconds / MB:.0f} | {median(runs, 'cpu_seconds'):.1f} | "
            f"{median(runs, 'write_wait_seconds'):.1f}, {median(runs, 'read_wait_seconds'):.1f} | "
            f"{median(runs, 'peak_memory_bytes') / (1 << 20):.0f} MiB |")
    return "\n".join(lines)


def shortfalls(kind, results):
    found = []

    def expect(what, value, least):
        if value < least:
            found.append(f"{kind}: {what} is {value:.3f}, less than {least}")

    if "1" in results:
        expect("the use of 1 disk", median(results["1"], "of_the_disks"), 0.95)
        for name, least in (("2", 1.9), ("4", 3.7)):
            if name in results:
                expect(f"the speed-up of {name} disks",
                       median(results["1"], "seconds") / median(results[name], "seconds"), least)
    if "unequal" in results:
        expect("the use of unequal disks", median(results["unequal"], "of_the_disks"), 0.90)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--memory", type=int, default=256, help="MiB")
    parser.add_argument("--rows", default="u64,records")
    parser.add_argument("--only", default=",".join(SETUPS))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--verify-figures", action="store_true")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("parallel_disks: throttled disks need root")
    kinds = options.rows.split(",")
    results = {kind: {} for kind in kinds}
    for number in range(options.runs):  # all setups in each round, so that a busy minute doesn't hit one alone
        for name in options.only.split(","):
            with throttled_disks([rate * MB for rate in SETUPS[name][0]], SETUPS[name][1]) as disks:
                for kind in kinds:
                    now = figures(sort(options, kind, disks), SETUPS[name])
                    results[kind].setdefault(name, []).append(now)
                    print(f"run {number + 1}: {kind}, {name}: {now['seconds']:.1f} s, "
                          f"{100 * now['of_the_disks']:.1f} % of the disks", file=sys.stderr)
    problems = []
    for kind in kinds:
        print(table(kind, results[kind]))
        if len({json.dumps(run["result"]) for runs in results[kind].values() for run in runs}) > 1:
            problems.append(f"{kind}: results differ")
        if options.verify_figures:
            problems += shortfalls(kind, results[kind])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    for problem in problems:
        print("parallel_disks: " + problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
