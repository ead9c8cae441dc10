"""R11: the fuzzers of tests/fuzz with the sanitizers, each for an hour, or a minute in short; as many at once as there
are cores. Builds them first, in a build of their own. What led somewhere new stays in build/fuzzed, where the next run
goes on: 20 targets take 10 hours of two cores, and `--minutes 15` four times is an hour, too."""

import concurrent.futures
import datetime
import json
import os
import sys

from own_build import ROOT, build
from result import result, row

sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
import fuzz  # noqa: E402

SHORT, LONG = 1, 60  # minutes
KEPT = ROOT / "build" / "fuzzed"


class tally:
    """What was done so far, by target. It stands in a file beside the inputs, but for short runs."""

    def __init__(self, path):
        self.path = path
        self.now = {"since": datetime.date.today().isoformat(), "runs": 0, "targets": {}}
        if path is not None and path.exists():
            self.now = json.loads(path.read_text())

    def add(self, outcomes, minutes):
        self.now["runs"] += 1
        for o in outcomes:
            of = self.now["targets"].setdefault(o.target, {"minutes": 0, "inputs": 0, "findings": 0})
            of["minutes"] += minutes
            of["inputs"] += o.runs
            of["findings"] += len(o.findings)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.now, indent=1) + "\n")

    def figure(self):
        each = self.now["targets"].values()
        least = min(of["minutes"] for of in each)
        pieces = f" in {self.now['runs']} runs since {self.now['since']}" if self.now["runs"] > 1 else ""
        inputs, findings = (sum(of[what] for of in each) for what in ("inputs", "findings"))
        return f"{len(each)} targets, {least} min each{pieces}, {inputs:,} inputs: {findings} findings"


def run(options):
    minutes = options.minutes or (SHORT if options.short else LONG)
    programs = build("fuzz", "fuzzers") / "fuzz"
    keep = fuzz.default_keep() if options.short else KEPT
    done = tally(None if options.short else KEPT / "tally.json")
    seed = options.seed + done.now["runs"]

    def one(target):
        return fuzz.fuzz(programs, target, 60 * minutes, seed, keep)

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
    done.add(outcomes, minutes)
    return result([row("R11", "fuzzers, with the address and undefined-behaviour sanitizers", done.figure())], problems)
