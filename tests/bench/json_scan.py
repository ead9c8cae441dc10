#!/usr/bin/env python3
"""JSON lines of six columns scanned, filtered and summed, beside DuckDB's read_json with the same columns: the same file
in the page cache, in turn. One question needs two of the columns, which is all that DuckDB converts then; the other one
needs all. Of the peer the time counts from when Python has started; of flowrun that of the whole process.

    json_scan.py --flowrun PROGRAM [--python PYTHON] [--dir DIR] [--mib N] [--threads N] [--runs N]

bench.py runs it, too, as `json`."""
import argparse
import os
import pathlib
import random
import sys
import tempfile

import side_by_side
from side_by_side import MIB

PEERS = pathlib.Path(__file__).resolve().parent / "peers"
USUAL_MIB = 768
JOB = """flowrun: 1
nodes:
  events:
    op: file.read_json_lines
    with: {{path: "{path}", type: {{id: u64, user: string, action: string, amount: f64, quantity: u32, at: timestamp}}}}
  few:   {{op: filter, in: events, with: {{where: "quantity < 25"}}}}
  total: {{op: reduce, in: few, with: {{let: {{{let}}}}}}}
"""
# {what it needs: (aggregates of flowrun, of DuckDB)}; the first of each is the same number.
QUESTIONS = {
    "two of six columns": ("amount: sum(amount)", "sum(amount)"),
    "all columns": ("amount: sum(amount), ids: sum(id), users: sum(length(user)), actions: sum(length(action)), last: max(at)",
                    "sum(amount), sum(id), sum(strlen(\"user\")), sum(strlen(action)), max(\"at\")"),
}


def make(path, num_bytes):
    """Whole lines of about 110 bytes; 200,000 different ones, again and again."""
    rng = random.Random(1)
    actions = ["view", "click", "buy", "search", "login", "logout"]
    block = "".join(
        '{"id":%d,"user":"user%d","action":"%s","amount":%.2f,"quantity":%d,"at":"2026-%02d-%02dT%02d:%02d:%02dZ"}\n'
        % (rng.randrange(10**9), rng.randrange(10**6), rng.choice(actions), rng.random() * 1000, rng.randrange(50),
           rng.randint(1, 12), rng.randint(1, 28), rng.randrange(24), rng.randrange(60), rng.randrange(60))
        for _ in range(200_000)).encode()
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        while file.tell() < num_bytes:
            file.write(block)
        os.fsync(file.fileno())  # or the first runs would share the disk with that
    part.rename(path)


def compare(program, python, dir, num_bytes, threads, memory, runs):
    file = dir / f"events-{num_bytes // MIB}.jsonl"
    if not file.exists():
        make(file, num_bytes)
    file.read_bytes()  # into the page cache
    print(f"{file.stat().st_size / 1e6:.0f} MB of JSON lines with six columns, a filter and sums, on {threads} threads\n")
    side_by_side.print_head()
    for question, (let, aggregates) in QUESTIONS.items():
        contestants = {
            "Flowrun": lambda: side_by_side.flowrun(program, JOB.format(path=file, let=let), "total.amount", dir, threads, memory),
            "DuckDB": lambda: side_by_side.peer([python, PEERS / "json_sum.py", file, threads, aggregates])}
        side_by_side.answer(question, contestants, file.stat().st_size, runs, "≤ 1.00")
    return file


def run(options):
    """Of bench.py."""
    dir = options.dir / "json"
    dir.mkdir(parents=True, exist_ok=True)
    num_bytes = int(options.gib * 1024 * MIB) if options.gib else USUAL_MIB * MIB
    file = compare(options.flowrun, options.python, dir, num_bytes, options.threads, options.memory, max(options.runs, 7))
    if not options.keep:
        file.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--python", default=sys.executable, help="a Python with duckdb")
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--mib", type=int, default=USUAL_MIB)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", type=int, default=512, metavar="MIB")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as place:
        compare(options.flowrun, options.python, pathlib.Path(place), options.mib * MIB, options.threads, options.memory,
                options.runs)


if __name__ == "__main__":
    main()
