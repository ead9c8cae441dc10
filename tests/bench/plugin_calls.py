"""A function of a plugin beside the built-in one of the same work: the CPU time of the node that calls it, in turn, and
what loading and calling cost by themselves."""
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import flowrun_job

JOB = """flowrun: 1
plugins: [{plugins}]
nodes:
  rows:   {{op: generate, with: {{rows: {rows}, columns: {{x: "rand(1, i)", f: "f64(i)"{text}}}}}}}
  called: {{op: map, in: rows, with: {{y: "{expression}"}}}}
  result: {{op: reduce, in: called, with: {{hash: true}}}}
"""
TEXT = """, t: "concat('some text ', i)\""""
# (what, built in, as a plugin, rows)
CALLS = [
    ("sqrt(f)", "sqrt(f)", "calls.sqrt(f)", 40_000_000),
    ("popcount(x)", "popcount(x)", "calls.popcount(x)", 40_000_000),
    ("min(x, 1000)", "min(x, 1000)", "calls.min(x, 1000)", 40_000_000),
    ("starts_with(t, 'some')", "starts_with(t, 'some')", "calls.starts_with(t, 'some')", 10_000_000),
    ("upper(t)", "upper(t)", "calls.upper(t)", 10_000_000),
]


class runner:
    def __init__(self, options):
        self.flowrun = options.flowrun
        self.directory = options.programs  # where calls.so is

    def run(self, expression, rows, text):
        """(seconds of the whole process on the CPU, hash of the result)"""
        with tempfile.TemporaryDirectory() as place:
            job, report = pathlib.Path(place) / "job.yaml", pathlib.Path(place) / "report.json"
            job.write_text(JOB.format(plugins="calls" if "calls." in expression else "", rows=rows, expression=expression,
                                      text=TEXT if text else ""))
            words = [self.flowrun, "run", job, "--plugin", self.directory, "-q", "-j", "1", "--report", report]
            done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"bench: {expression} failed:\n{done.stderr}")
            told = json.loads(report.read_text())
        found = flowrun_job.results(told)
        node = next(n for n in told["nodes"] if n["id"] == "called")
        return float(node["busy_seconds"]), (found["result.hash"])

    def loading(self):
        """Seconds of `flowrun version` with the plugin, less those without."""
        def once(words):
            start = time.perf_counter()
            subprocess.run([str(self.flowrun), "version", *words], capture_output=True, check=True)
            return time.perf_counter() - start
        pairs = [(once(["--plugin", str(self.directory / "calls.so")]), once([])) for _ in range(21)]
        return statistics.median(a - b for a, b in pairs)


def run(options):
    told = runner(options)
    print("| expression | built in, ns a row | plugin, ns a row | ratio | wanted |\n|---|---|---|---|---|")
    for what, built_in, plugin, rows in CALLS:
        ours, theirs = [], []
        for _ in range(max(options.runs, 5)):
            for expression, times in ((built_in, ours), (plugin, theirs)):
                seconds, hash_ = told.run(expression, rows, "(t" in expression)
                times.append((seconds, hash_))
        if len({h for _, h in ours + theirs}) != 1:
            raise SystemExit(f"bench: {what}: the plugin gives another result")
        a, b = (statistics.median(s for s, _ in times) / rows * 1e9 for times in (ours, theirs))
        print(f"| {what} | {a:.2f} | {b:.2f} | {b / a:.2f} | ≤ 1.05 |", flush=True)
    rows = 40_000_000
    alone = statistics.median(told.run("calls.same(x)", rows, False)[0] for _ in range(5))
    passed = statistics.median(told.run("x ^ 0", rows, False)[0] for _ in range(5))
    print(f"\nA call for a chunk of 1,024 rows that does nothing: {max(alone - passed, 0) / (rows / 1024) * 1e9:.0f} ns beyond "
          f"x ^ 0. Loading a plugin: {told.loading() * 1e3:.1f} ms.")
