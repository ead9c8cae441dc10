"""Runs flowrun in a folder of its own for each test, and says how that went."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLOWRUN = str(pathlib.Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ""

SORT = """flowrun: 1
name: sorting
params: {rows: {type: int, default: 1000}}
nodes:
  drawn: {op: generate, with: {kind: random, rows: "${rows}"}}
  sorted: {op: sort, in: drawn, with: {by: [value]}}
  out: {op: file.write_rows, in: sorted, with: {path: out/sorted.u64}}
"""
# More than any machine sorts while a test waits.
ENDLESS = str(2 * 10**9)
MIB = 1 << 20
ALLOWANCE = 64 * MIB  # what a job may take beside its budget
SANITIZED = "FLOWRUN_SANITIZED" in os.environ  # a sanitizer's own memory is not the job's


def job_with_sinks(*sinks, source="{op: generate, with: {kind: counter, rows: 10}}"):
    """One source, and a sink for each of `sinks`: an operator and a path, or the path of a CSV file."""
    lines = ["flowrun: 1", "nodes:", f"  rows: {source}"]
    for number, sink in enumerate(sinks):
        operator, path = sink if isinstance(sink, tuple) else ("file.write_csv", sink)
        lines.append(f'  out{number}: {{op: {operator}, in: rows, with: {{path: "{path}"}}}}')
    return "\n".join(lines) + "\n"


def filtered(sort, where):
    """A job that sorts as SORT does, but only the rows that fit `where`: how many these are isn't known before the run."""
    drawn = "in: drawn, with: {by: [value]}}"
    assert drawn in sort
    kept = f'  kept: {{op: filter, in: drawn, with: {{where: "{where}"}}}}\n'
    return sort.replace(drawn, drawn.replace("drawn", "kept")).replace("  sorted:", kept + "  sorted:")


class process_test(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.dir / "home"),
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def write(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def flowrun(self, *arguments, cwd=None, **more):
        return subprocess.run(
            [FLOWRUN, *map(str, arguments)],
            cwd=cwd or self.dir,
            env=self.environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            **more,
        )

    def start(self, *arguments, **more):
        started = subprocess.Popen(
            [FLOWRUN, *map(str, arguments)],
            cwd=self.dir,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        return started

    def shell(self, line, **more):
        """Runs a line of shell, in which "$0" is flowrun. What it prints comes as bytes."""
        return subprocess.run(
            ["sh", "-c", line, FLOWRUN], cwd=self.dir, env=self.environment, capture_output=True, timeout=120, **more
        )

    def piped_away(self, *words, ignoring=False):
        """The exit code and the messages where the reader of standard output goes away after the first byte."""
        handler = signal.SIG_IGN if ignoring else signal.SIG_DFL
        reader, writer = os.pipe()
        job = subprocess.Popen(
            [FLOWRUN, *words],
            cwd=self.dir,
            env=self.environment,
            stdout=writer,
            stderr=subprocess.PIPE,
            restore_signals=not ignoring,
            preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler),
        )
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        _, messages = job.communicate(timeout=60)
        return job.returncode, messages

    def taken_outputs(self):
        """What lies in out/, by name, which goes: files, and folders of parts as what these are together."""
        files = {}
        for path in sorted((self.dir / "out").iterdir()):
            if path.is_dir():
                files[path.name] = b"".join(part.read_bytes() for part in sorted(path.glob("part-*")))
                shutil.rmtree(path)
            else:
                files[path.name] = path.read_bytes()
                path.unlink()
        return files

    def until_rows_move(self, job, phase=None):
        """Reads the JSON lines of a job's progress until rows have moved, in `phase` if that is given."""
        for line in job.stderr:
            if line.startswith("{"):
                told = json.loads(line)
                if told.get("rows", 0) > 0 and phase in (None, told.get("phase")):
                    return
        self.fail("the job ended by itself")

    def page(self, url):
        """What a scrape of a job's metrics gets."""
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30).read().decode()

    def report(self):
        return json.loads((self.dir / "report.json").read_text())

    def within_budget(self, report):
        if not SANITIZED:
            peak, budget = int(report["peak_memory_bytes"]), int(report["memory_budget_bytes"])
            self.assertLessEqual(peak, budget + ALLOWANCE)

    def fails(self, code, done, *parts):
        """It ended with `code` and a message that has all `parts`, and says what to do; standard output is empty."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr)

    def files(self, folder="."):
        base = self.dir / folder
        return sorted(str(path.relative_to(base)) for path in base.rglob("*") if path.is_file())


def main():
    if not FLOWRUN:
        sys.exit("usage: NAME_test.py FLOWRUN [test…]")
    unittest.main(module="__main__")
