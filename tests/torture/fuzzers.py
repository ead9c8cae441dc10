"""R11: the fuzzers of tests/fuzz with the sanitizers, each for an hour, or a minute in short; as many at once as there
are cores. Builds them first, in a build of their own. What led somewhere new stays in build/fuzzed, where the next run
goes on: 20 targets take 10 hours of two cores, and `--minutes 15` four times is an hour, too. fuzzed.json beside this
file adds up what was done, on whatever machine, as the table in docs/reliability.md says it."""

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
TALLY = ROOT / "tests" / "torture" / "fuzzed.json"


class tally:
    """What was done so far. It stands in the file `path`, if that isn't None."""

    def __init__(self, path):
        self.path = path
        self.now = {"since": datetime.date.today().isoformat(), "runs": 0, "inputs": 0, "findings": 0, "minutes": {}}
        if path is not None and path.exists():
            self.now = json.loads(path.read_text())

    def add(self, outcomes, minutes):
        self.now["runs"] += 1
        for o in outcomes:
            ended_early = bool(o.findings)
            self.now["minutes"][o.target] = self.now["minutes"].get(o.target, 0) + (0 if ended_early else minutes)
            self.now["inputs"] += o.runs
            self.now["findings"] += len(o.findings)
        if self.path is not None:
            self.path.write_text(json.dumps(self.now, indent=1) + "\n")

    def figure(self):
        each = self.now["minutes"].values()
        pieces = f" in {self.now['runs']} runs since {self.now['since']}" if self.now["runs"] > 1 else ""
        ends = "" if self.now["findings"] == 1 else "s"
        return f"{len(each)} targets, {min(each)} min each{pieces}, " \
            f"{self.now['inputs']:,} inputs: {self.now['findings']} finding{ends}"


def run(options):
    chosen = [name for name in fuzz.targets() if (options.only or "") in name]
    if not chosen:
        print(f"no fuzzer has '{options.only}' in its name: {', '.join(fuzz.targets())}", flush=True)
        return result([], [f"no fuzzer of the name {options.only}"])
    minutes = options.minutes or (SHORT if options.short else LONG)
    programs = build("fuzz", "fuzzers") / "fuzz"
    keep = fuzz.default_keep() if options.short else KEPT
    done = tally(TALLY if options.write else None)
    seed = options.seed + done.now["runs"]

    def one(target):
        return fuzz.fuzz(programs, target, 60 * minutes, seed, keep)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
        outcomes = list(several.map(one, chosen))
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
