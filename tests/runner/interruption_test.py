#!/usr/bin/env python3
"""Ctrl-C and kill: a job stops within a second and leaves nothing behind, however it is killed."""

import os
import pathlib
import re
import signal
import time

from flowrun_process import ENDLESS, SORT, main, process_test


# What comes out of the merge takes long to be looked at: many rows are made of each.
MANY = 1000
MERGE = SORT + """
  many: {op: flat_map, in: sorted, with: {rows: [MANY]}}
  sum: {op: reduce, in: many, with: {let: {s: "sum(v % 1000003)"}}}
""".replace("MANY", ", ".join(["{v: value}"] * MANY)).lstrip("\n")


class interruption_test(process_test):
    def started(self, job, rows, phase, *arguments):
        """A job in the middle of a phase: it says so in JSON lines, and has spilled."""
        self.write("job.yaml", job)
        started = self.start(
            "job.yaml", "-p", f"rows={rows}", "-m", "32MiB", "-T", "scratch", "--progress", "json", *arguments
        )
        self.until_rows_move(started, phase)
        return started

    def started_sorting(self, *arguments):
        return self.started(SORT, ENDLESS, 1, *arguments)

    def stops(self, number, code):
        return self.is_stopped(self.started_sorting("--report", "report.json"), number, code)

    def is_stopped(self, job, number, code):
        sent = time.monotonic()
        job.send_signal(number)
        out, err = job.communicate(timeout=60)
        seconds = time.monotonic() - sent
        self.assertEqual(job.returncode, code, err)
        self.assertIn("stopped by", err)
        self.assertIn("no output was written", err)
        self.assertIn('"status": "cancelled"', (self.dir / "report.json").read_text())
        self.assertEqual(self.files("out") + self.files("scratch"), [])
        return seconds

    def test_ctrl_c(self):
        self.assertLess(self.stops(signal.SIGINT, 130), self.patience())

    def test_sigterm(self):
        self.assertLess(self.stops(signal.SIGTERM, 143), self.patience())

    def test_an_alarm_that_somebody_else_has_set(self):
        self.assertLess(self.stops(signal.SIGALRM, 142), self.patience())

    def test_a_signal_that_comes_twice_at_once_is_one(self):
        """timeout(1) signals the process, and then its group."""
        job = self.started_sorting("--report", "report.json")
        job.send_signal(signal.SIGTERM)
        job.send_signal(signal.SIGTERM)
        self.assertLess(self.is_stopped(job, signal.SIGTERM, 143), self.patience())

    def test_while_merging(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=number):
                job = self.started(MERGE, 10_000_000, 2, "--report", "report.json")
                self.assertLess(self.is_stopped(job, number, code), self.patience())
                report = self.report()
                rows = {node["id"]: int(node["rows"]) for node in report["nodes"]}
                self.assertGreater(int(report["sorts"][0]["runs"]), 1)  # all of them on scratch
                self.assertEqual(rows["drawn"], 10_000_000)
                self.assertLess(rows["sorted"], 10_000_000)

    def patience(self):
        """A second, as promised; more where a sanitizer makes everything slower or other tests take the cores."""
        return 5

    def test_kill_9_leaves_nothing(self):
        for backend in ("auto", "threads", "mmap"):  # auto: io_uring where it may be used
            with self.subTest(backend=backend):
                job = self.started_sorting("--backend", backend)
                for line in job.stderr:
                    rows = re.search(r'"rows": ?(\d+)', line)
                    if rows and int(rows[1]) > 16 << 20:  # four times the memory: most of it is on scratch
                        break
                descriptors = pathlib.Path(f"/proc/{job.pid}/fd")
                targets = [os.readlink(descriptor) for descriptor in descriptors.iterdir()]
                scratch = [target for target in targets if target.startswith(str(self.dir / "scratch"))]
                self.assertEqual(len(scratch), 1, targets)
                self.assertTrue(scratch[0].endswith("(deleted)"), scratch)  # without a name all the time
                job.kill()
                job.communicate(timeout=60)
                self.assertEqual(job.returncode, -signal.SIGKILL)
                self.assertEqual(self.files("out") + self.files("scratch"), [])

    def test_kill_9_while_writing_the_output_leaves_nothing(self):
        self.write(
            "job.yaml",
            SORT.replace("in: sorted", "in: drawn").replace(
                "  sorted: {op: sort, in: drawn, with: {by: [value]}}\n", ""
            ),
        )
        job = self.start("job.yaml", "-p", f"rows={ENDLESS}", "-m", "64MiB", "--progress", "json")
        self.until_rows_move(job)
        job.kill()
        job.communicate(timeout=60)
        self.assertEqual(self.files("out"), [])

    def test_ignored_signals_stay_ignored(self):
        self.write("job.yaml", SORT)

        def ignore():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        job = self.start("job.yaml", "-p", "rows=3000000", "--progress", "json", preexec_fn=ignore)
        job.stderr.readline()
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=100)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual((self.dir / "out/sorted.u64").stat().st_size, 24_000_000)


if __name__ == "__main__":
    main()
