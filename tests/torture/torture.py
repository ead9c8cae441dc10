#!/usr/bin/env python3
"""What Flowrun promises, while things go wrong: docs/reliability.md says which promise each part tests.

    torture.py --flowrun PROGRAM --library LIBRARY [--short] [--write PAGE] [PART…]

Without --short everything is done at length, and --write puts the figures with the date into the page's table. A part is
a module with run(options) -> result. Exits with 1 if anything is wrong.
"""

import argparse
import datetime
import importlib
import pathlib
import sys
import time

PARTS = ("failing_calls", "kills", "resumes", "work_again", "bit_flips", "power_loss", "memory_cgroup", "seeded_schedules",
         "against_reference", "shipped_jobs", "fuzzers", "memory_errors", "data_races")
BEGIN, END = "<!-- figures: written by make torture -->", "<!-- end of the figures -->"


def write_figures(page, found):
    """Rows of parts that didn't run stay."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    rows = {}
    for line in old.strip().splitlines()[2:]:
        rows[line.split("|")[2].strip()] = line
    today = datetime.date.today().isoformat()
    for one in found:
        rows[one.what] = f"| {one.promise} | {one.what} | {one.figure} | {today} |"
    lines = ["| promise | what was done | figure | date |", "|---|---|---|---|", *rows.values()]
    page.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--library", required=True, help="libfailing_calls.so")
    parser.add_argument("--short", action="store_true", help="as in CI")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="what is tried must have this in its name (failing_calls, fuzzers)")
    parser.add_argument("--minutes", type=int, help="for each fuzzer; 60, and 1 with --short (fuzzers)")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; parts are {', '.join(PARTS)}")
    rows, problems = [], []
    for name in options.parts or PARTS:
        begun = time.monotonic()
        found = importlib.import_module(name).run(options)
        for one in found.rows:
            print(f"{one.promise}: {one.what}: {one.figure} ({time.monotonic() - begun:.0f} s)", flush=True)
        rows += found.rows
        problems += found.problems
    if options.write and not problems:
        write_figures(options.write, rows)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
