"""An operator of a plugin beside the built-in ones of the same work: the CPU time of the nodes, in turn."""
import json
import pathlib
import statistics
import subprocess
import tempfile

import flowrun_job

HEAD = """flowrun: 1
plugins: [{plugins}]
nodes:
"""
PAIRS = "  rows: {op: generate, with: {rows: 40000000, columns: {a: \"rand(1, i)\", b: i}}}\n"
TEXTS = "  rows: {op: generate, with: {rows: 4000000, columns: {t: \"concat('some words ', i, ' and more of them, ', i)\"}}}\n"
RESULT = "  result: {op: reduce, in: made, with: {hash: true}}\n"
# (what, rows, built in, as a plugin, wanted)
WORK = [
    ("filter and map of u64 pairs", PAIRS,
     "  even: {op: filter, in: rows, with: {where: a % 2 == 0}}\n  made: {op: map, in: even, with: {sum: a + b, b: b}}\n",
     "  made: {op: seam.pairs, in: rows}\n", 1.10),
    ("tokens", TEXTS, "  made: {op: tokens, in: rows, with: {text: t}}\n", "  made: {op: seam.tokens, in: rows, with: {text: t}}\n", 1.10),
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
    print("| operator | built in, s | plugin, s | ratio | wanted |\n|---|---|---|---|---|")
    for what, rows, built_in, plugin, wanted in WORK:
        ours, theirs = [], []
        for _ in range(max(options.runs, 5)):
            ours.append(busy(options, rows + built_in, False))
            theirs.append(busy(options, rows + plugin, True))
        if len({h for _, h in ours + theirs}) != 1:
            raise SystemExit(f"bench: {what}: the plugin gives another result")
        a, b = (statistics.median(s for s, _ in times) for times in (ours, theirs))
        print(f"| {what} | {a:.2f} | {b:.2f} | {b / a:.2f} | ≤ {wanted:.2f} |", flush=True)
