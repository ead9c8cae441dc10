"""R2: how much a job does again that is killed once, at a random moment, and goes on: what its processes read and write, beside
one run that nobody disturbs. Twelve runs and their merge.
"""

import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from result import result, row

JOB = """flowrun: 1
nodes:
  drawn: {op: generate, with: {rows: 12000000, columns: {k: "rand(1, i)", i: "i"}}}
  sorted: {op: sort, in: drawn, with: {by: [k], stable: true}}
  out: {op: file.write_rows, in: sorted, with: {path: out/sorted}}
"""
COMMAND = ("job.yaml", "-m", "32MiB", "-T", "scratch", "-q", "--resume")
MOST = 0.10  # of the whole


def one_run(flowrun, place, kill_after=None):
    """(whether it was killed, blocks that it read and wrote, seconds)"""
    begin = time.monotonic()
    process = subprocess.Popen([flowrun, *COMMAND], cwd=place, stderr=subprocess.PIPE)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process.pid, signal.SIGKILL)  # not kill(), which may wait for it, and then nobody knows what it used
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, -9):
        raise RuntimeError(f"exit code {process.returncode}: {process.stderr.read().decode()[:500]}")
    return process.returncode != 0, usage.ru_inblock + usage.ru_oublock, time.monotonic() - begin


def run_parts(options, place):
    flowrun = str(pathlib.Path(options.flowrun).resolve())
    (place / "job.yaml").write_text(JOB)
    _, whole, seconds = one_run(flowrun, place)
    if whole == 0:
        return [], []  # a file system that counts nothing
    expected = (place / "out/sorted").read_bytes()
    rng = random.Random(options.seed)
    shares, problems = [], []
    for _ in range(5 if options.short else 60):
        shutil.rmtree(place / "out")
        after = rng.random() * seconds
        killed, first, _ = one_run(flowrun, place, after)
        if not killed or (place / "out/sorted").exists():
            continue  # the job had ended: its output has its name, and what was kept for --resume may be gone
        _, second, _ = one_run(flowrun, place)
        shares.append((first + second) / whole - 1)
        if (place / "out/sorted").read_bytes() != expected:
            problems.append(f"killed after {after:.3f} s: another result")
        if shares[-1] > MOST:
            problems.append(f"killed after {after:.3f} s of {seconds:.3f}: {shares[-1]:.0%} were done again")
    return shares, problems


def run_all(options):
    place = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-again-", dir="/var/tmp"))
    try:
        return run_parts(options, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(options):
    shares, problems = run_all(options)
    if not shares:
        return result([], problems)
    figure = f"{len(shares)} kills: median {statistics.median(shares):.1%}, at most {max(shares):.1%}"
    return result([row("R2", "reading and writing done again after a kill at a random moment (12 runs)", figure)], problems)
