"""R10: the shipped jobs against brute force (tests/jobs), 60 drawn cases of each in short, as in each run of the tests, and
1,000 at length."""

import pathlib
import subprocess
import sys

from result import result, row

SHORT, LONG = 60, 1000  # cases of each job


def run(options):
    program = [sys.executable, "-B", str(pathlib.Path(__file__).resolve().parent.parent / "jobs/jobs_test.py")]
    cases = SHORT if options.short else LONG
    done = subprocess.run([*program, "--flowrun", options.flowrun, "--cases", str(cases)])
    names = subprocess.run([*program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    wrong = done.returncode != 0
    figure = f"{cases:,} of each of {len(names)} jobs: {'not all are right' if wrong else '0 wrong'}"
    return result([row("R10", "cases of the shipped jobs against brute force", figure)], [figure] if wrong else [])
