#!/usr/bin/env python3
"""How well a running job tells the time that it will still take: `seconds_left` of --progress json beside the truth.

    time_left.py --flowrun PROGRAM [--runs N] [JOB...]

Disks are loop devices throttled by a cgroup (throttled_disks.py; root), so that times are those of the disks and not of
a busy machine; jobs whose name begins with fast_ have the machine's own disk. For each job: what was said at a quarter,
half and three quarters of its time, and the worst error after the first quarter, as a share of the time that was really
left, and of all the time that the job took; the last three seconds are not counted. With several runs of each job a
table of medians comes last.
"""

import argparse
import array
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from throttled_disks import throttled_disks  # noqa: E402

JOBS = ("sort", "map", "csv", "pipe", "loop", "fast_numbers", "fast_records", "fast_csv", "fast_gzip", "fast_short",
        "fast_long")  # fmt: skip
ROOT = pathlib.Path(__file__).resolve().parents[2]
MB = 1_000_000

SORT = """flowrun: 1
nodes:
  rows: {{op: file.read_rows, with: {{path: in.u64, type: {{x: u64}}}}}}
  sorted: {{op: sort, in: rows, with: {{by: [x]}}}}
  out: {{op: {sink}}}
"""
MAP = """flowrun: 1
nodes:
  rows: {{op: file.read_rows, with: {{path: in.u64, type: {{x: u64}}}}}}
  mapped: {{op: map, in: rows, with: {{x: "hash64(1, hash64(2, hash64(3, x)))"}}}}
  out: {{op: file.write_rows, in: mapped, with: {{path: {output}/out.u64}}}}
"""
CSV = """flowrun: 1
nodes:
  rows: {{op: file.read_csv, with: {{path: in.csv, type: {{a: u32, b: u32, c: string, d: u32}}}}}}
  sorted: {{op: sort, in: rows, with: {{by: [c, a]}}}}
  out: {{op: file.write_csv, in: sorted, with: {{path: {output}/out.csv}}}}
"""
LINES = """flowrun: 1
nodes:
  rows: {{op: file.read_lines, with: {{path: {input}}}}}
  sorted: {{op: sort, in: rows, with: {{by: [text]}}}}
  out: {{op: file.write_lines, in: sorted, with: {{path: {output}/out.txt}}}}
"""
RECORDS = """flowrun: 1
nodes:
  rows: {{op: file.read_rows, with: {{path: in.records, type: {{key: "bytes[10]", rest: "bytes[90]"}}}}}}
  sorted: {{op: sort, in: rows, with: {{by: [key]}}}}
  out: {{op: file.write_rows, in: sorted, with: {{path: {output}/out.records}}}}
"""
PIPE = """flowrun: 1
nodes:
  rows: {{op: file.read_lines, with: {{path: "-"}}}}
  sorted: {{op: sort, in: rows, with: {{by: [text]}}}}
  out: {{op: file.write_lines, in: sorted, with: {{path: out.txt}}}}
"""


def numbers(flowrun, path, count):
    subprocess.run([flowrun, "gen", "u64", "--rows", str(count), "-o", path], check=True)


def sheet(path, num_bytes):
    rng = random.Random(2)
    block = "".join(f"{rng.randrange(1000)},{rng.randrange(10)},w{rng.randrange(10**rng.randrange(1, 6))},{i % 100}\n"
                    for i in range(200_000))  # fmt: skip
    with open(path, "w") as out:
        for _ in range(int(num_bytes / len(block)) + 1):
            out.write(block)


def lines(path, mean_bytes, num_bytes):
    """Random hexadecimal digits; half of the lines are shorter than 0.7 of the mean."""
    rng = random.Random(5)
    ends = [f"{rng.getrandbits(4 * n + 4):0{n + 1}x}"[:n] for n in
            (max(1, int(rng.expovariate(1 / mean_bytes))) for _ in range(100_000))]  # fmt: skip
    with open(path, "w") as out:
        while out.tell() < num_bytes:
            out.write("".join(f"{rng.getrandbits(24):06x}{end}\n" for end in ends))


class watched:
    """A run, and what it said: [(seconds since its start, line of JSON)]."""

    def __init__(self, command, where, group, feed=None):
        self.lines = []
        started = time.monotonic()
        job = subprocess.Popen([str(word) for word in command], cwd=where, stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                               preexec_fn=group.join if group else None)  # fmt: skip
        if feed:
            threading.Thread(target=feed, args=(job.stdin.buffer,), daemon=True).start()
        others = []
        for line in job.stderr:
            if line.startswith("{"):
                self.lines.append((time.monotonic() - started, json.loads(line)))
            else:
                others.append(line)
        self.code = job.wait()
        self.seconds = time.monotonic() - started
        if self.code not in (0, 130):
            raise SystemExit(f"time_left: the job ended with {self.code}:\n{''.join(others)}")
        self.lines = self.lines[:-1]

    def at(self, seconds):
        return min(self.lines, key=lambda line: abs(line[0] - seconds))


def fed(num_bytes, per_second):
    def feed(pipe):
        line = b"%063d\n"
        rng = random.Random(3)
        start, sent = time.monotonic(), 0
        with pipe:
            while sent < num_bytes:
                part = b"".join(line % rng.randrange(10**9) for _ in range(per_second // 640))
                pipe.write(part)
                sent += len(part)
                time.sleep(max(0.0, start + sent / per_second - time.monotonic()))

    return feed


def told(line):
    if line["seconds_left"] is not None:
        return f"{line['seconds_left']:.1f} s left"
    return f"nothing; {line['bytes_read'] / MB:.1f} MB read, {line['activity']}, {line['rows_per_second']} rows/s"


def show(run):
    """Prints what a run said; what it comes to, for the table."""
    print(f"  {run.seconds:.1f} s")
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        seconds, line = run.at(share * run.seconds)
        print(f"    at {seconds:5.1f} s: {told(line)}; truth {run.seconds - seconds:.1f} s")
    errors = [
        (abs(line["seconds_left"] - (run.seconds - seconds)), run.seconds - seconds, seconds)
        for seconds, line in run.lines
        if line["seconds_left"] is not None and seconds >= run.seconds / 4 and run.seconds - seconds >= 3
    ]
    out = {"seconds": run.seconds}
    for name, share in (("quarter", 0.25), ("half", 0.5)):
        seconds, line = run.at(share * run.seconds)
        out[name] = (line["seconds_left"], run.seconds - seconds)
    if errors:
        worst, seconds = max((error / left, seconds) for error, left, seconds in errors)
        out["worst"] = worst
        out["worst of all"] = max(errors)[0] / run.seconds
        print(f"    worst after the first quarter: {100 * worst:.0f} % of what was left, at {seconds:.1f} s; "
              f"{100 * out['worst of all']:.0f} % of the whole time")  # fmt: skip
    ratios = [line["ratio"] for _, line in run.lines if line["ratio"] is not None]
    print(f"    the ratio {'never goes' if ratios == sorted(ratios) else 'GOES'} back", flush=True)
    return out


def row_of(name, runs):
    """A line of the table: medians."""
    if any("worst" not in run for run in runs):
        return f"| {name} | nothing was said |"

    def median(value):
        return statistics.median(value(run) for run in runs)

    cells = [f"{median(lambda run: run['seconds']):.1f} s"]
    for at in ("quarter", "half"):
        said = [run for run in runs if run[at][0] is not None]
        for i in (0, 1):
            cells.append(f"{statistics.median(run[at][i] for run in said):.1f} s" if said else "nothing")
    cells += [f"{100 * median(lambda run: run[what]):.0f} %" for what in ("worst", "worst of all")]
    return f"| {name} | {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=1, help="how often each job is run; 1 without")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"{', '.join(JOBS)}; all without")
    options = parser.parse_args()
    flowrun = options.flowrun.resolve()
    wanted = options.jobs or JOBS
    if unknown := sorted(set(wanted) - set(JOBS)):
        parser.error(f"no job {', '.join(unknown)}; there are {', '.join(JOBS)}")
    table = []
    with tempfile.TemporaryDirectory(prefix="flowrun-time-left-") as folder:
        place = pathlib.Path(folder)

        def repeat(name, command, group=None, feed=None):
            print(f"\n{name}", flush=True)
            runs = [show(watched(command, place, group, feed)) for _ in range(options.runs)]
            table.append(row_of(name, runs))

        def run(name, text, disks, *more, feed=None, output=".", **values):
            (place / "job.yaml").write_text(text.format(output=output, **values))
            repeat(name, [flowrun, "job.yaml", "-q", "--progress", "json", *more], disks.group if disks else None, feed)

        def fast(name, text, memory, **values):
            run(name + ", a fast disk", text, None, "-m", memory, "-T", place / "scratch", **values)

        to_rows = "file.write_rows, in: sorted, with: {{path: out.u64}}"
        if "sort" in wanted:
            numbers(flowrun, place / "in.u64", 120_000_000)
            with throttled_disks([60 * MB], [2]) as disks:
                run("sort of 960 MB in 128 MiB, scratch disk of 60 MB/s", SORT.replace("{sink}", to_rows), disks,
                    "-m", "128MiB", "-T", disks.paths[0])  # fmt: skip
        if "map" in wanted:
            numbers(flowrun, place / "in.u64", 200_000_000)
            with throttled_disks([60 * MB], [4]) as disks:
                run("map of 1.6 GB in memory, output disk of 60 MB/s", MAP, disks, output=disks.paths[0])
        if "csv" in wanted:
            sheet(place / "in.csv", 400 * MB)
            with throttled_disks([30 * MB], [3]) as disks:
                run("sort of a CSV file of short fields, 400 MB in 128 MiB, scratch and output on one disk of 30 MB/s",
                    CSV, disks, "-m", "128MiB", "-T", disks.paths[0], output=disks.paths[0])  # fmt: skip
        if "fast_csv" in wanted or "fast_gzip" in wanted:
            sheet(place / "in.csv", 400 * MB)
            if "fast_csv" in wanted:
                fast("sort of a CSV file of short fields, 400 MB in 128 MiB", CSV, "128MiB")
            if "fast_gzip" in wanted:
                fast("the same, written as .csv.gz", CSV.replace("out.csv", "out.csv.gz"), "128MiB")
        for job, mean_bytes, num_bytes in (("fast_short", 14, 600 * MB), ("fast_long", 250, 1500 * MB)):
            if job in wanted:
                lines(place / "in.txt", mean_bytes, num_bytes)
                fast(f"sort of {num_bytes // MB} MB of lines of about {mean_bytes + 7} bytes in 128 MiB", LINES,
                     "128MiB", input="in.txt")  # fmt: skip
        if "fast_records" in wanted:
            subprocess.run([flowrun, "gen", "records", "--rows", "30000000", "-o", place / "in.records"], check=True)
            fast("sort of 3 GB of records of 100 bytes in 256 MiB", RECORDS, "256MiB")
        if "pipe" in wanted:
            run("sort of a pipe of 4 MB/s", PIPE, None, feed=fed(60 * MB, 4 * MB))
        if "loop" in wanted:
            side = 1000
            edges = array.array("I")
            for at in range(side * side):
                if at % side + 1 < side:
                    edges.extend((at, at + 1))
                if at + side < side * side:
                    edges.extend((at, at + side))
            (place / "edges").write_bytes(edges.tobytes())
            command = [flowrun, ROOT / "specs/jobs/bfs.yaml", "-q", "--progress", "json", "-p", "edges=edges",
                       "-p", f"nodes={side * side}", "-p", "source=0", "-p", "out=levels", "-m", "128MiB"]  # fmt: skip
            repeat(f"bfs.yaml on a grid of {side} x {side}", command)
        if "fast_numbers" in wanted:
            numbers(flowrun, place / "in.u64", 250_000_000)
            fast("sort of 2 GB of numbers in 256 MiB", SORT.replace("{sink}", to_rows), "256MiB")
    print("\n| job | time | said at a quarter | truth | said at a half | truth | worst error of what is left | "
          "of the whole time |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    print("\n".join(table))


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    main()
