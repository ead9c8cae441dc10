#!/usr/bin/env python3
"""Runs every job of tests/bench/jobs on a small input: benchmarks are seldom run, and what they run must not rot.

    jobs_test.py --flowrun PROGRAM"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"
NUM_BYTES = 4800  # whole rows of 8, 16, 32 and 100 bytes


def parameters(job, place):
    """Small values for what the job asks for. All rows of the input are equal, so they are sorted, as sort_declared says."""
    small = {"rows": 1000, "nodes": 100, "edges": 200, "input": place / "input", "out": place / "out"}
    declared = re.search(r"^params:\n((?: +.*\n)+)", job.read_text(), re.MULTILINE)
    names = re.findall(r"^  (\w+):", declared.group(1), re.MULTILINE) if declared else []
    return [word for name in names if name in small for word in ("-p", f"{name}={small[name]}")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flowrun", required=True)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        (place / "input").write_bytes(b"a" * NUM_BYTES)
        for job in sorted(JOBS.glob("*.yaml")):
            done = subprocess.run([options.flowrun, "run", job, "-m", "32MiB", "-T", place, "--progress", "none",
                                   *parameters(job, place)], text=True, capture_output=True)
            if done.returncode != 0:
                print(f"{job.name}: exit code {done.returncode}\n{done.stderr}", file=sys.stderr)
                failed += 1
            (place / "out").unlink(missing_ok=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
