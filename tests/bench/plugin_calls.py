"""A function of a plugin beside the built-in one of the same work: the time that the thread spent in the node that
calls it, in pairs of short runs, and what loading and calling cost by themselves."""
import json
import pathlib
import subprocess
import tempfile
import time

import flowrun_job
import side_by_side

# With so many pairs the interval of the cheapest function is 0.02 wide on two cores that are used a little otherwise,
# and 0.08 where four processes want them. The tables of functions and operators take five minutes together, and twice
# as long on cores as busy as that.
PAIRS = 151

JOB = """flowrun: 1
plugins: [{plugins}]
nodes:
  rows:   {{op: generate, with: {{rows: {rows}, columns: {{x: "rand(1, i)", f: "f64(i)"{text}}}}}}}
  called: {{op: map, in: rows, with: {{y: "{expression}"}}}}
  result: {{op: reduce, in: called, with: {{hash: true}}}}
"""
TEXT = """, t: "concat('some text ', i)\""""
# (what, built in, as a plugin, rows). The node takes some milliseconds: long beside its first batches, whose memory is
# new (0.1 ms), and beside the first call of a plugin, which is told by itself; and so short that other processes seldom
# interrupt it.
CALLS = [
    ("sqrt(f)", "sqrt(f)", "calls.sqrt(f)", 4_000_000),
    ("popcount(x)", "popcount(x)", "calls.popcount(x)", 4_000_000),
    ("min(x, 1000)", "min(x, 1000)", "calls.min(x, 1000)", 12_000_000),
    ("starts_with(t, 'some')", "starts_with(t, 'some')", "calls.starts_with(t, 'some')", 500_000),
    ("upper(t)", "upper(t)", "calls.upper(t)", 300_000),
]
COPIED_ROWS = 12_000_000
ONE_CHUNK = 1024


class runner:
    def __init__(self, options):
        self.flowrun = options.flowrun
        self.directory = options.programs  # where calls.so is

    def run(self, expression, rows, text):
        """(seconds that the thread spent in the node, hash of the result)"""
        with tempfile.TemporaryDirectory() as place:
            job, report = pathlib.Path(place) / "job.yaml", pathlib.Path(place) / "report.json"
            job.write_text(JOB.format(plugins="calls" if "calls." in expression else "", rows=rows,
                                      expression=expression, text=TEXT if text else ""))
            words = [self.flowrun, "run", job, "--plugin", self.directory, "-q", "-j", "1", "--report", report]
            done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"bench: {expression} failed:\n{done.stderr}")
            told = json.loads(report.read_text())
        found = flowrun_job.results(told)
        node = next(n for n in told["nodes"] if n["id"] == "called")
        return float(node["busy_seconds"]), found["result.hash"]

    def compare(self, what, first, second, rows, pairs):
        once = [lambda e=e: self.run(e, rows, "(t" in e) for e in (first, second)]
        return side_by_side.compare(what, *once, pairs)

    def loading(self, pairs):
        """Seconds of `flowrun version` with the plugin, less those without."""
        def once(words):
            start = time.perf_counter()
            subprocess.run([str(self.flowrun), "version", *words], capture_output=True, check=True)
            return time.perf_counter() - start, None
        plugin = ["--plugin", str(self.directory / "calls.so")]
        return side_by_side.compare("loading", lambda: once([]), lambda: once(plugin), pairs).difference


def run(options):
    told, pairs = runner(options), max(options.runs, PAIRS)
    print("| expression | built in, ns a row | plugin, ns a row | ratio | 95 % | wanted |\n|---|---|---|---|---|---|")
    for what, built_in, plugin, rows in CALLS:
        both = told.compare(what, built_in, plugin, rows, pairs)
        a, b = (seconds / rows * 1e9 for seconds in (both.first, both.second))
        print(f"| {what} | {a:.2f} | {b:.2f} | {both.cells()} | ≤ 1.05 |", flush=True)
    copied = told.compare("a copy", "x ^ 0", "calls.same(x)", COPIED_ROWS, pairs).difference
    median, low, high = (seconds / (COPIED_ROWS / 1024) * 1e9 for seconds in (copied.median, copied.low, copied.high))
    first = told.compare("the first call", "min(x, 1000)", "calls.min(x, 1000)", ONE_CHUNK, pairs).difference
    loading = told.loading(pairs)
    print(f"\nRatios are medians of {pairs} pairs of runs, with the interval that holds the true median with 95 %.\n"
          f"A call for a chunk of 1,024 rows that copies it: {median:.0f} ns beyond x ^ 0 ({low:.0f} to {high:.0f}). "
          f"The first call of a thread: {first.median * 1e6:.0f} µs ({first.low * 1e6:.0f} to {first.high * 1e6:.0f}). "
          f"Loading a plugin: {loading.median * 1e3:.1f} ms ({loading.low * 1e3:.1f} to {loading.high * 1e3:.1f}).\n",
          flush=True)
