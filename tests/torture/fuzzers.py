"""R11: the fuzzers of tests/fuzz with the sanitizers, each for an hour, or a minute in short; as many at once as there
are cores. Builds them first, in a build of their own. What led somewhere new stays in build/fuzzed, where the next run
goes on: 20 targets take 10 hours of two cores, and `--minutes 15` four times is an hour, too. fuzzed.json beside this
file adds up what was done, on whatever machine, as the table in docs/reliability.md says it: minutes of CPU time, so
what other work takes from the fuzzers doesn't count. A run that is stopped (Ctrl-C) counts with the targets that had
ended."""

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

    def begin(self):
        self.now["runs"] += 1

    def add(self, o):
        """Written at once: what a run has done counts, also when somebody stops it."""
        self.now["minutes"][o.target] = self.minutes(o.target) + o.minutes
        self.now["inputs"] += o.runs
        self.now["findings"] += len(o.findings)
        if self.path is not None:
            self.path.write_text(json.dumps(self.now, indent=1, sort_keys=True) + "\n")

    def minutes(self, target):
        return self.now["minutes"].get(target, 0)

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
    done.begin()

    chosen.sort(key=done.minutes)  # a run that is stopped leaves no target far behind the others
    problems = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
        going = [several.submit(fuzz.fuzz, programs, name, 60 * minutes, seed, keep) for name in chosen]
        try:
            for ended in concurrent.futures.as_completed(going):
                problems += problems_of(ended.result())
                done.add(ended.result())
        finally:
            several.shutdown(cancel_futures=True)
    return result([row("R11", "fuzzers, with the address and undefined-behaviour sanitizers", done.figure())], problems)


def problems_of(o):
    """Says what a fuzzer did, too."""
    print(f"  {o.target}: {o.runs:,} inputs, {len(o.findings)} findings", flush=True)
    for f in o.findings:
        print(f"{f.what}\nthe input: {f.path}", flush=True)
    if o.runs == 0 and not o.findings:
        return [f"{o.target}: nothing was tried"]
    return [f"{o.target}: {f.path}" for f in o.findings]
