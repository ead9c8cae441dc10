"""R10: random jobs against the naive reference of tests/random_jobs, 2,000 of them in short and 100,000 at length; at
length also the shipped jobs against brute force (tests/jobs), of which each run of the tests tries 60 cases each."""

import argparse
import pathlib
import subprocess
import sys

from result import result, row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "random_jobs"))
import random_jobs  # noqa: E402

SHORT, LONG = 2000, 100000
CASES = 1000  # of each shipped job


def shipped_jobs(flowrun):
    """A row and the problems."""
    program = pathlib.Path(__file__).resolve().parent.parent / "jobs/jobs_test.py"
    done = subprocess.run([sys.executable, "-B", str(program), "--flowrun", flowrun, "--cases", str(CASES)],
                          capture_output=True, text=True)
    names = subprocess.run([sys.executable, "-B", str(program), "--list"], capture_output=True, text=True).stdout.split()
    problems = [] if done.returncode == 0 else [done.stdout[-2000:] + done.stderr[-500:]]
    figure = f"{CASES:,} of each of {len(names)} jobs: {'0 wrong' if not problems else 'not all are right'}"
    return row("R10", "cases of the shipped jobs against brute force", figure), problems


def run(options):
    jobs = SHORT if options.short else LONG
    # At length other seeds than in each run of the tests.
    seed = options.seed if options.short else 1000000 * options.seed
    found = random_jobs.run(argparse.Namespace(flowrun=options.flowrun, jobs=jobs, seed=seed))
    rows, problems = [], []
    for what, count, failures in found:
        rows.append(row("R10", what, f"{count:,}: {failures} wrong"))
        if failures:
            problems.append(f"{what}: {failures} of {count} are wrong")
    if found[0][1] < jobs:
        problems.append(f"only {found[0][1]} of {jobs} random jobs were run")
    if not options.short:
        more, wrong = shipped_jobs(options.flowrun)
        rows.append(more)
        problems += wrong
    return result(rows, problems)
