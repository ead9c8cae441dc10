#!/usr/bin/env python3
"""Flowrun beside its peers, alternating, in one run on one machine: medians, CPU, memory, disk traffic.

    bench.py [NAME...] [--runs N] [--gib G] [--memory MIB] [--dir DIR]

  sort_u64     a file of random u64 -> sorted file; peer: STXXL's stream::sort (peers/stxxl_sort.cc)
  scan_sum     (u64, u64) rows -> filter -> map -> sum; peer: a loop over read() (peers/read_filter_sum.cc), cold and cached
  expressions  nanoseconds per row of each expression primitive (expression_bench.cc); no peer

Every output is verified. With root, caches are emptied before each cold run, and flowrun runs once more in a memory
cgroup of its budget + 64 MiB, page cache included. Exit code 1 when a result is wrong, a run fails, or the resident set
exceeds the budget + 64 MiB. Needs `cmake --preset release -DFLOWRUN_BENCH=ON` built (make bench does both).
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
from typing import Callable

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = 1 << 20
ALLOWANCE = 64 * MIB


@dataclasses.dataclass
class contestant:
    name: str
    command: list
    result: Callable  # measurement -> what it computed, comparable; raises ValueError when it is wrong by itself
    runs: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class benchmark:
    name: str
    contestants: list
    expected: str
    cold: bool
    outputs: list  # files to remove before each run


class bench:
    def __init__(self, options):
        self.options = options
        self.programs = options.build / "bench"
        self.flowrun = options.build / "bin" / "flowrun"
        self.dir = options.dir
        self.scratch = self.dir / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.input = self.dir / f"random-{options.gib:g}.u64"
        self.failures = []

    def prepare(self):
        num_values = int(self.options.gib * (1 << 30)) // 16 * 2
        if not self.input.exists() or self.input.stat().st_size != num_values * 8:
            subprocess.run([self.programs / "make_u64", self.input, str(num_values)], check=True)

    def checked(self, *arguments):
        """The line of check_u64: count and multiset hash."""
        done = subprocess.run([self.programs / "check_u64", *map(str, arguments)], text=True, capture_output=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        return done.stdout.strip()

    def job(self, name, out):
        return [self.flowrun, ROOT / f"tests/bench/jobs/{name}.yaml", "-p", f"input={self.input}", "-p", f"out={out}",
                "-m", f"{self.options.memory}MiB", "-T", self.scratch, "--progress", "none"]

    def sort_u64(self):
        out = self.dir / "sorted.u64"
        contestants = [contestant("flowrun", self.job("sort_u64", out), lambda _: self.checked(out))]
        stxxl = self.programs / "stxxl_sort"
        if stxxl.exists():
            command = [stxxl, self.input, out, self.scratch, self.options.memory, self.options.stxxl_block]
            contestants.append(contestant("stxxl", command, lambda _: self.checked(out)))
        return [benchmark("sort_u64", contestants, self.checked("--any-order", self.input), True, [out])]

    def scan_sum(self):
        out = self.dir / "sum.csv"
        loop = [self.programs / "read_filter_sum", self.input]
        expected = subprocess.run(loop, check=True, text=True, capture_output=True).stdout.strip()

        def contestants():
            return [contestant("flowrun", self.job("scan_sum", out), lambda _: out.read_text().strip()),
                    contestant("loop", loop, lambda m: m.output.strip())]
        return [benchmark("scan_sum cold", contestants(), expected, True, [out]),
                benchmark("scan_sum cached", contestants(), expected, False, [out])]

    def run_once(self, b, c, cgroup=None):
        """Measures and verifies one run; a fault is noted and None returned."""
        for path in b.outputs:
            path.unlink(missing_ok=True)
        if b.cold:
            measure.drop_caches()
        m = measure.run(c.command, cgroup)
        where = f"{b.name}, {c.name}{', in the cgroup' if cgroup else ''}"
        if m.exit_code != 0:
            self.failures.append(f"{where}: exit code {m.exit_code}: {m.output.strip()[-500:]}")
            return None
        try:
            result = c.result(m)
            if result != b.expected:
                self.failures.append(f"{where}: got {result}, expected {b.expected}")
                return None
        except (OSError, ValueError) as cause:
            self.failures.append(f"{where}: {cause}")
            return None
        return m

    def run(self, b):
        if not b.cold:  # fill the page cache
            for c in b.contestants:
                self.run_once(b, c)
        for turn in range(self.options.runs):
            # Whoever goes first meets another state of the disk: take turns.
            for c in b.contestants if turn % 2 == 0 else reversed(b.contestants):
                m = self.run_once(b, c)
                if m:
                    c.runs.append(m)
        budget = self.options.memory * MIB + ALLOWANCE
        for m in b.contestants[0].runs:
            if m.peak_rss_bytes > budget:
                self.failures.append(f"{b.name}, flowrun: resident set {m.peak_rss_bytes / MIB:.0f} MiB exceeds the "
                                     f"budget + 64 MiB")
                break
        self.print_table(b)
        if self.options.cgroup:
            self.run_in_cgroup(b, budget)

    def run_in_cgroup(self, b, limit_bytes):
        try:
            with measure.memory_cgroup(limit_bytes) as cgroup:
                m = self.run_once(b, b.contestants[0], cgroup)
                if m:
                    print(f"  in a memory cgroup of {limit_bytes // MIB} MiB: {m.wall_seconds:.2f} s, "
                          f"peak {cgroup.peak_bytes() / MIB:.0f} MiB with page cache")
                else:
                    print(f"  in a memory cgroup of {limit_bytes // MIB} MiB: FAILED")
        except OSError as cause:
            print(f"  no memory cgroup here ({cause}): that check was left out")

    def print_table(self, b):
        print(f"\n{b.name}: {self.input.stat().st_size / (1 << 30):g} GiB, memory {self.options.memory} MiB, "
              f"median of {self.options.runs} (least - most)")
        print(f"  {'':10} {'wall s':>22} {'CPU s':>8} {'RSS MiB':>8} {'read GiB':>9} {'written GiB':>12}")
        for c in b.contestants:
            if not c.runs:
                print(f"  {c.name:10} {'no valid run':>22}")
                continue
            wall = [m.wall_seconds for m in c.runs]
            spread = f"{statistics.median(wall):.2f} ({min(wall):.2f} - {max(wall):.2f})"
            print(f"  {c.name:10} {spread:>22} {self.median(c, 'cpu_seconds'):8.2f} "
                  f"{max(m.peak_rss_bytes for m in c.runs) / MIB:8.0f} {self.median(c, 'read_bytes') / (1 << 30):9.2f} "
                  f"{self.median(c, 'written_bytes') / (1 << 30):12.2f}")
        if len(b.contestants) == 2 and all(c.runs for c in b.contestants):
            ours, theirs = (self.median(c, "wall_seconds") for c in b.contestants)
            print(f"  {b.contestants[1].name} / flowrun = {theirs / ours:.2f}")

    @staticmethod
    def median(c, field):
        return statistics.median(getattr(m, field) for m in c.runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all when none is given")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gib", type=float, default=4, help="size of the input")
    parser.add_argument("--memory", type=int, default=512, metavar="MIB")
    parser.add_argument("--stxxl-block", type=int, default=2, metavar="MIB", help="1, 2, 4 or 8")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build/bench-data", help="input, output and scratch")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--json", type=pathlib.Path, help="all measurements go here")
    parser.add_argument("--no-cgroup", dest="cgroup", action="store_false")
    options = parser.parse_args()
    known = ["sort_u64", "scan_sum", "expressions"]
    for name in options.names:
        if name not in known:
            parser.error(f"no benchmark '{name}' (there are {', '.join(known)})")
    for needed in (options.build / "bin/flowrun", options.build / "bench/check_u64"):
        if not needed.exists():
            parser.error(f"{needed} is missing: run `make bench`, or build with -DFLOWRUN_BENCH=ON")

    names = options.names or known
    if "expressions" in names:
        print("expressions: one core, a batch in the L2 cache", flush=True)
        subprocess.run([options.build / "bench/expression_bench"], check=True)
        names = [name for name in names if name != "expressions"]
    if not names:
        return 0
    runner = bench(options)
    runner.prepare()
    print(f"{os.cpu_count()} cores; {options.dir}; caches {'emptied' if measure.drop_caches() else 'NOT emptied (needs root)'}"
          " before cold runs")
    done = []
    for name in names:
        for b in getattr(runner, name)():
            runner.run(b)
            done.append(b)
    if options.json:
        options.json.write_text(json.dumps({b.name: {c.name: [dataclasses.asdict(m) for m in c.runs]
                                                     for c in b.contestants} for b in done}, indent=1))
    for line in runner.failures:
        print(f"FAILED: {line}")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
