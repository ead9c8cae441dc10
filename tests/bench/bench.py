#!/usr/bin/env python3
"""Flowrun beside its peers: on the same inputs, in the same memory, alternating, in one run on one machine.

    bench.py [NAME...] [--runs N] [--gib G] [--memory MIB] [--modes budget,page-cache] [--dir DIR] [--out DIR]

A NAME may be a pattern: 'sort_*'. Peers: STXXL, GNU sort, DuckDB, Polars; who isn't installed, or can't do a job within
the budget, is shown as such. Every output is verified (peers/check_rows.cc). The budget holds for a memory cgroup of
64 MiB more, page cache included (root); once more all of them run without the cgroup. Input is cold: caches are emptied
before each run (root). Times include forcing the output to the disk.

Results are gathered in OUT/results.json, from which OUT/README.md and its plots are made anew: docs/benchmarks for
benchmarks of full size, build/bench-data/tables with --gib. Exit code 1 when a result is wrong, flowrun fails, or its
resident set exceeds the budget + 64 MiB. Needs `cmake --preset release -DFLOWRUN_BENCH=ON` built (make bench does both).
"""
import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import csv_scan  # noqa: E402
import disk_bound  # noqa: E402
import inputs  # noqa: E402
import json_scan  # noqa: E402
import machine  # noqa: E402
import measure  # noqa: E402
import parquet_scan  # noqa: E402
import plugin_calls  # noqa: E402
import plugin_operators  # noqa: E402
import tables  # noqa: E402
from benchmarks import all_benchmarks  # noqa: E402
from contestants import contestants  # noqa: E402
from trial import trial  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPECIAL = ("expressions", "plugins", "parquet", "json", "csv", "disk")  # no contestants: they print their own tables


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all when none is given, --list lists them")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gib", type=float, help="size of every input; without it, those of docs/benchmarks")
    parser.add_argument("--memory", type=int, default=512, metavar="MIB")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=[], help="budget, page-cache; both by default")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="what peers are told")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="a peer that takes longer is ended")
    parser.add_argument("--text-command", choices=["both", "sort", "job"], default="both",
                        help="sort text with `flowrun sort`, where there is one, or with a job, or both")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "data/text/lines.txt", help="another text to sort")
    parser.add_argument("--without", type=lambda text: text.split(","), default=[], metavar="PEERS",
                        help="peers to leave out: DuckDB,Polars")
    parser.add_argument("--python", default=sys.executable, help="a Python with duckdb, polars, pyarrow and numpy")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build/bench-data", help="inputs, outputs and scratch")
    parser.add_argument("--keep", action="store_true", help="keep the inputs")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path, help="where the tables go")
    options = parser.parse_args()
    options.dir = options.dir.resolve()
    options.flowrun = options.build.resolve() / "bin/flowrun"
    options.programs = options.build.resolve() / "bench"
    if options.out is None:
        options.out = options.dir / "tables" if options.gib else ROOT / "docs/benchmarks"
    for how in options.modes:
        if how not in ("budget", "page-cache"):
            parser.error(f"no mode '{how}' (there are budget, page-cache)")
    for needed in (options.flowrun, options.programs / "check_rows"):
        if not needed.exists():
            parser.error(f"{needed} is missing: run `make bench`, or build with -DFLOWRUN_BENCH=ON")
    known = all_benchmarks(options.gib, options.memory)
    names = [*known, *SPECIAL]
    if options.list:
        print("\n".join([*(f"{b.name:14} {b.title}" for b in known.values()),
                         "expressions    nanoseconds per row of each expression primitive (no peer)",
                         "plugins        functions and operators of a plugin beside the built-in ones",
                         "parquet        a Parquet file scanned by a plugin, beside DuckDB and Polars",
                         "json           JSON lines scanned, filtered and summed, beside DuckDB",
                         "csv            CSV by header, plain and compressed, with dates and regular expressions, beside DuckDB",
                         "disk           what flowrun bench-disk measures, beside fio"]))
        sys.exit(0)
    for wanted in options.names:
        if not fnmatch.filter(names, wanted):
            parser.error(f"no benchmark '{wanted}' (there are {', '.join(names)})")
    picked = [name for name in names if any(fnmatch.fnmatch(name, wanted) for wanted in options.names or ["*"])]
    return options, picked, known


def run_disk(options):
    """bench-disk and fio in turn; a table."""
    has_fio = shutil.which("fio") is not None
    ours, theirs = [], []
    for _ in range(options.runs):
        ours.append(disk_bound.bench_disk(options.flowrun, options.dir))
        if has_fio:
            theirs.append(disk_bound.fio(options.dir))
    print("| pattern | bench-disk MB/s | fio MB/s | ratio |\n|---|---|---|---|")
    for pattern in disk_bound.PATTERNS:
        mine = statistics.median(found[pattern] for found in ours)
        line = f"| {pattern} | {mine / 1e6:.0f} "
        if has_fio:
            other = statistics.median(found[pattern] for found in theirs)
            print(line + f"| {other / 1e6:.0f} | {mine / other:.3f} |")
        else:
            print(line + "| not installed | |")


def run_benchmarks(options, picked, known):
    """Failures. results.json and the tables are brought up to date after each benchmark."""
    files = inputs.inputs(options.dir, options.programs, options.flowrun, options.python, options.text)
    files.clean()
    makers = contestants(options, files)
    failures = []
    for number, name in enumerate(picked):
        b = known[name]
        try:
            file = files.get(b.shape, b.keys, b.num_bytes) if b.shape else None
        except inputs.unavailable as cause:
            print(f"bench: {name} is left out: {cause}", file=sys.stderr)
            continue
        if file:
            b.num_bytes = file.num_bytes
        (options.dir / "scratch").mkdir(exist_ok=True)
        expected = b.expected(options, files, b, file)
        record = trial(options, b, b.take_part(makers, file, b), expected, failures).run()
        record["commit"] = machine.commit()
        record["machine"] = machine.describe(options)
        record["num_rows"] = file.num_rows if file else None
        if file and file.shape == "lines":
            source = options.text.parent / "SOURCE"
            record["text"] = source.read_text().strip() if source.exists() else options.text.name
        tables.add(options, name, record)
        print(tables.benchmark_section(name, record), flush=True)
        later = {(known[other].shape, known[other].keys) for other in picked[number + 1:]}
        if file and not options.keep and (b.shape, b.keys) not in later:
            remove_input(files, b, options)
    shutil.rmtree(options.dir / "scratch", ignore_errors=True)
    return failures


def remove_input(files, b, options):
    original = all_benchmarks(options.gib, options.memory)[b.name]
    files.remove(b.shape, b.keys, original.num_bytes)


def main():
    options, picked, known = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is running is ended too
    options.dir.mkdir(parents=True, exist_ok=True)
    if "expressions" in picked:
        print("expressions: one core, a batch in the L2 cache", flush=True)
        subprocess.run([options.programs / "expression_bench"], check=True)
    if "plugins" in picked:
        plugin_calls.run(options)
        plugin_operators.run(options)
    if "parquet" in picked:
        parquet_scan.run(options)
    if "json" in picked:
        json_scan.run(options)
    if "csv" in picked:
        csv_scan.run(options)
    if "disk" in picked:
        run_disk(options)
    picked = [name for name in picked if name not in SPECIAL]
    if not picked:
        return 0
    if not measure.drop_caches():
        print("bench: caches are NOT emptied before runs, which needs root", file=sys.stderr)
    failures = run_benchmarks(options, picked, known)
    tables.publish(options, draw=True)
    print(f"bench: {options.out}/README.md")
    for line in failures:
        print(f"FAILED: {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
