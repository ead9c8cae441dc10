"""Runs flowrun in a folder of its own for each test, and says how that went."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

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

    def flowrun(self, *arguments, **more):
        return subprocess.run(
            [FLOWRUN, *map(str, arguments)],
            cwd=self.dir,
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
