"""R11: the fuzzers of tests/fuzz with the sanitizers, each for an hour, or a minute in short; as many at once as there
are cores. Builds them first, in a build of their own."""

import concurrent.futures
import os
import sys

from own_build import ROOT, build
from result import result, row

sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
import fuzz  # noqa: E402

SHORT, LONG = 1, 60  # minutes


def run(options):
    minutes = options.minutes or (SHORT if options.short else LONG)
    programs = build("fuzz", "fuzzers") / "fuzz"

    def one(target):
        return fuzz.fuzz(programs, target, 60 * minutes, options.seed, fuzz.default_keep())

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
        outcomes = list(several.map(one, fuzz.targets()))
    problems = []
    for o in outcomes:
        print(f"  {o.target}: {o.runs:,} inputs, {len(o.findings)} findings", flush=True)
        for f in o.findings:
            print(f"{f.what}\nthe input: {f.path}", flush=True)
            problems.append(f"{o.target}: {f.path}")
        if o.runs == 0 and not o.findings:
            problems.append(f"{o.target}: nothing was tried")
    inputs = sum(o.runs for o in outcomes)
    figure = f"{len(outcomes)} targets, {minutes} min each, {inputs:,} inputs: {len(problems)} findings"
    return result([row("R11", "fuzzers, with the address and undefined-behaviour sanitizers", figure)], problems)
