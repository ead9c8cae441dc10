"""R10: random jobs against the naive reference of tests/random_jobs, 2,000 of them in short and 100,000 at length."""

import argparse
import pathlib
import sys

from result import result, row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "random_jobs"))
import random_jobs  # noqa: E402

SHORT, LONG = 2000, 100000


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
    return result(rows, problems)
