"""An operator of a plugin beside the built-in ones of the same work: the time that threads spent in the nodes, in pairs
of short runs."""
import json
import pathlib
import subprocess
import tempfile

import flowrun_job
import side_by_side
from plugin_calls import PAIRS

HEAD = """flowrun: 1
plugins: [{plugins}]
nodes:
"""
NUMBERS = "  rows: {op: generate, with: {rows: 4000000, columns: {a: \"rand(1, i)\", b: i}}}\n"
TEXTS = ("  rows: {op: generate, with: {rows: 250000, "
         "columns: {t: \"concat('some words ', i, ' and more of them, ', i)\"}}}\n")
RESULT = "  result: {op: reduce, in: made, with: {hash: true}}\n"
# (what, rows, built in, as a plugin, wanted)
WORK = [
    ("filter and map of u64 pairs", NUMBERS,
     "  even: {op: filter, in: rows, with: {where: a % 2 == 0}}\n"
     "  made: {op: map, in: even, with: {sum: a + b, b: b}}\n",
     "  made: {op: seam.pairs, in: rows}\n", 1.10),
    ("tokens", TEXTS, "  made: {op: tokens, in: rows, with: {text: t}}\n",
     "  made: {op: seam.tokens, in: rows, with: {text: t}}\n", 1.10),
]


def busy(options, nodes, plugin):
    """(seconds that threads spent in the nodes between rows and result, hash of the result)"""
    with tempfile.TemporaryDirectory() as place:
        job, report = pathlib.Path(place) / "job.yaml", pathlib.Path(place) / "report.json"
        job.write_text(HEAD.format(plugins="seam" if plugin else "") + nodes + RESULT)
        words = [options.flowrun, "run", job, "--plugin", options.programs, "-q", "-j", "1", "--report", report]
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"bench: {nodes} failed:\n{done.stderr}")
        told = json.loads(report.read_text())
    seconds = sum(float(n["busy_seconds"]) for n in told["nodes"] if n["id"] not in ("rows", "result"))
    return seconds, flowrun_job.results(told)["result.hash"]


def run(options):
    print("| operator | built in, ms | plugin, ms | ratio | 95 % | wanted |\n|---|---|---|---|---|---|")
    for what, rows, built_in, plugin, wanted in WORK:
        both = side_by_side.compare(what, lambda: busy(options, rows + built_in, False),
                                    lambda: busy(options, rows + plugin, True), max(options.runs, PAIRS))
        print(f"| {what} | {both.first * 1e3:.1f} | {both.second * 1e3:.1f} | {both.cells()} | ≤ {wanted:.2f} |",
              flush=True)
