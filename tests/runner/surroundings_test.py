#!/usr/bin/env python3
"""Surroundings that have less than others: no home, no locale, a narrow terminal, outputs that are closed or full. Every
command answers as documented, and a job's data is safe."""

import os
import subprocess

from flowrun_process import FLOWRUN, SORT, main, process_test
from watching_process import terminal

COMMANDS = [
    ["job.yaml"],
    ["check", "job.yaml"],
    ["plan", "job.yaml"],
    ["graph", "job.yaml"],
    ["test", "tested.yaml"],
    ["ops"],
    ["explain", "75"],
    ["explain", "file.read_csv"],
    ["--help"],
    ["run", "--help"],
    ["version"],
    ["plugins"],
    ["completion", "bash"],
    ["man"],
    ["new", "file.read_csv/sort/file.write_csv"],
]
TESTED = """flowrun: 1
name: größer
nodes:
  rows: {op: generate, with: {rows: 3, columns: {x: i}}}
  largest: {op: sort, in: rows, with: {by: [-x]}}
  write: {op: file.write_rows, in: largest, with: {path: out.u64}}
tests:
  - name: größte zuerst
    given: {rows: [{x: 1}, {x: 2}]}
    expect: {write: [{x: 2}, {x: 1}]}
"""


class surroundings_test(process_test):
    def setUp(self):
        super().setUp()
        self.write("job.yaml", SORT)
        self.write("tested.yaml", TESTED)

    def run_in(self, command, environment=None, **how):
        env = {**self.environment, **(environment or {})}
        env = {name: value for name, value in env.items() if value is not None}
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.run([FLOWRUN, *command], cwd=self.dir, env=env, timeout=100, **how)

    def test_environments(self):
        for environment in (
            {"HOME": "/nonexistent"},
            {"HOME": None, "XDG_CONFIG_HOME": None},
            {"HOME": "/proc"},
            {"XDG_CONFIG_HOME": "/proc/1/fd/none"},
            {"LC_ALL": "C", "LANG": None},
            {"LC_ALL": "no_SUCH.locale"},
            {"TERM": "dumb", "NO_COLOR": "1"},
            {"TERM": None},
        ):
            for command in COMMANDS:
                with self.subTest(environment=environment, command=command):
                    done = self.run_in(command, environment)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn(b"\033", done.stdout + done.stderr)

    def test_standard_output_closed_or_full(self):
        for command in COMMANDS:
            speaks = command not in (["job.yaml"], ["check", "job.yaml"])  # what these say is for standard error
            with self.subTest(command=command):
                full = self.run_in(command, stdout=os.open("/dev/full", os.O_WRONLY))
                self.assertEqual(full.returncode, 73 if speaks else 0, full.stderr)
                closed = self.run_in(command, stdout=None, preexec_fn=lambda: os.close(1))
                self.assertEqual(closed.returncode, 74 if speaks else 0, closed.stderr)
                if speaks:
                    self.assertIn(b"can't write to standard output: No space left on device", full.stderr)
                    self.assertIn(b"can't write to standard output: Bad file descriptor", closed.stderr)

    def test_standard_error_closed_or_full_and_no_input(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                full = self.run_in(command, stderr=os.open("/dev/full", os.O_WRONLY))
                self.assertEqual(full.returncode, 0)
                closed = self.run_in(command, stdin=None, stderr=None, preexec_fn=lambda: (os.close(0), os.close(2)))
                self.assertEqual(closed.returncode, 0)
        # A descriptor that was free is never one of the job's files.
        self.assertEqual((self.dir / "out/sorted.u64").stat().st_size % 8, 0)

    def test_a_terminal_of_twenty_columns(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                shown = terminal(self, *command, columns=20, lines=5)
                self.assertEqual(shown.ended(100), 0)
                # What is drawn anew fits into one line.
                for drawn in shown.text.split("\r")[1:]:
                    if not drawn.startswith("\n") and "%" in drawn.split("\n")[0]:
                        self.assertLessEqual(len(drawn.split("\n")[0].replace("\033[K", "")), 20)


if __name__ == "__main__":
    main()
