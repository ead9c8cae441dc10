#!/usr/bin/env python3
"""flowrun tap: rows of a running job are those that flow, wherever they flow, and the job does what it would have done."""

import hashlib
import json
import os
import signal
import socket
import threading

from flowrun_process import ENDLESS, SORT, main
from report_structure_test import LOOP
from watching_process import HELD, terminal, watching_test

# Each row says which it is, so that a copy can be compared.
NUMBERS = """flowrun: 1
name: numbers
params: {rows: {type: int, default: 2000000000}}
nodes:
  numbers: {op: generate, with: {rows: "${rows}", columns: {x: i, half: "i / 2"}}}
  even: {op: filter, in: numbers, with: {where: "x % 2 == 0"}}
  wide: {op: map, in: even, with: {x: x, text: "concat('number ', x)", square: "x * x"}}
  sorted: {op: sort, in: wide, with: {by: [-x]}}
  write: {op: file.write_csv, in: sorted, with: {path: out.csv}}
"""

ENDLESS_LOOP = LOOP.replace("rows: 20", "rows: 200000").replace("times: 3", "times: 100000").replace("x < 15", "x < 2000000000")


class tap_test(watching_test):
    def at_work(self, job=NUMBERS, *arguments):
        self.write("job.yaml", job)
        return self.watched("-m", "64MiB", "-T", "scratch", *arguments)

    def tapped(self, *words):
        done = self.flowrun("tap", self.port, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_rows_of_a_source_and_of_a_fused_program(self):
        self.at_work()
        lines = self.tapped("numbers")
        self.assertEqual(lines[0], "x,half")
        self.assertEqual(len(lines), 11)
        for line in lines[1:]:
            x, half = map(int, line.split(","))
            self.assertEqual(half, x // 2)
        for line in self.tapped("wide", "--rows", "150")[1:]:  # more than one answer has
            x, text, square = line.split(",")
            self.assertEqual((int(x) % 2, text, int(square)), (0, f"number {x}", int(x) ** 2 % 2**64))
        rows = [json.loads(line) for line in self.tapped("wide", "-n", "3", "--format", "json")]
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assertEqual((list(row), row["text"]), (["x", "text", "square"], f"number {row['x']}"))
        fused = self.flowrun("tap", self.port, "even")
        self.fails(64, fused, "'even' are nowhere", "program of 'wide'", f"flowrun tap {self.port} wide")

    def test_unknown_nodes(self):
        self.at_work()
        self.fails(64, self.flowrun("tap", self.port, "nubmers"), "no node 'nubmers'", "did you mean 'numbers'?", "numbers, even, wide, sorted, write")
        self.fails(64, self.flowrun("tap", self.port, "numbers.left"), "no output 'left'")
        self.fails(64, self.flowrun("tap", self.port), "tap needs a NODE")
        self.fails(64, self.flowrun("tap", self.port, "numbers", "--rows", "0"), "--rows is 0")
        self.fails(64, self.flowrun("tap", self.port, "numbers", "--format", "xml"), "csv")

    def test_a_node_inside_of_a_loop(self):
        self.at_work(ENDLESS_LOOP)
        lines = self.tapped("round.sorted")
        self.assertEqual((lines[0], len(lines)), ("x", 11))
        numbers = [int(line) for line in lines[1:]]
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        self.fails(64, self.flowrun("tap", self.port, "round.sroted"), "did you mean 'round.sorted'?")

    def test_a_phase_that_has_not_begun(self):
        job = self.held()
        waiting = self.start("tap", str(self.port), "write", "--rows", "2")
        self.assertEqual(waiting.stderr.readline(), "flowrun: the phase of write has not begun: waiting\n")
        self.pipe.write("".join(f"{x}\n" for x in range(10)))
        self.pipe.close()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)
        out, _ = waiting.communicate(timeout=60)
        # The job may have been through before it was asked: either is said.
        self.assertIn(waiting.returncode, (0, 66, 74))
        if waiting.returncode == 0:
            self.assertIn(out.splitlines()[:2], (["x"], ["x", "8"]))

    def test_a_phase_that_is_over(self):
        os.mkfifo(self.dir / "out")
        reader = os.open(self.dir / "out", os.O_RDONLY | os.O_NONBLOCK)  # and it doesn't read: the second phase lasts
        self.addCleanup(os.close, reader)
        self.at_work(NUMBERS.replace("path: out.csv", "path: out"), "-p", "rows=300000")
        self.until_state(lambda s: s["phases"][0]["state"] == "finished")
        for node in ("numbers", "wide"):
            self.fails(66, self.flowrun("tap", self.port, node), f"the phase of {node} is over: no more rows come", "flowrun top")

    def test_a_sink_shows_what_goes_in(self):
        self.at_work(NUMBERS.replace("  sorted: {op: sort, in: wide, with: {by: [-x]}}\n", "").replace("in: sorted", "in: wide"), "-p", "rows=300000000")
        for line in self.tapped("write")[1:]:
            x, text, square = line.split(",")
            self.assertEqual((text, int(square)), (f"number {x}", int(x) ** 2 % 2**64))

    def test_the_job_ends_while_somebody_waits(self):
        job = self.held()
        waiting = self.start("tap", str(self.port), "read")
        while waiting.stderr.readline() != "flowrun: no rows of read yet: waiting\n":
            self.assertIsNone(waiting.poll())
        job.terminate()
        job.communicate(timeout=60)
        _, said = waiting.communicate(timeout=60)
        self.assertIn(waiting.returncode, (66, 74))
        self.assertRegex(said, "the job has cancelled: no more rows come|can't be reached any more")

    def test_texts_are_cut_and_move_no_cursor(self):
        job = HELD.replace("type: {x: u64}", "type: {x: string}").replace('where: "x % 2 == 0"', 'where: "x != \'\'"').replace("-x", "x")
        self.held(job=job)
        feeding = threading.Thread(target=self.feed, args=("a\033[2Jb\u00e9" * 1000 + "\n",))
        feeding.start()
        rows = [json.loads(line) for line in self.tapped("read", "--rows", "2", "--format", "json")]
        for row in rows:
            self.assertLessEqual(len(row["x"].encode()), 2048 + 3)
            self.assertTrue(row["x"].startswith("a\033[2Jb\u00e9") and row["x"].endswith("\u2026"))
        seen = terminal(self, "tap", self.port, "read", "--rows", "2", columns=200)
        self.assertEqual(seen.ended(), 0)
        self.assertIn("a?[2Jb\u00e9", seen.text)
        self.assertNotIn("\033[2J", seen.text)
        self.feeding_ends = True
        feeding.join()

    feeding_ends = False

    def feed(self, line):
        try:
            while not self.feeding_ends:
                self.pipe.write(line * 50)
        except (BrokenPipeError, ValueError):
            pass

    def test_who_taps_changes_nothing(self):
        self.write("job.yaml", SORT)
        self.assertEqual(self.flowrun("job.yaml", "-q", "-p", "rows=20000000", "-m", "64MiB", "-T", "scratch").returncode, 0)
        wanted = hashlib.sha256((self.dir / "out/sorted.u64").read_bytes()).hexdigest()
        os.remove(self.dir / "out/sorted.u64")
        job = self.watched("-p", "rows=20000000", "-m", "64MiB", "-T", "scratch", "--report", "report.json")
        taps = [self.start("tap", str(self.port), node, "--rows", "100000") for node in ("drawn", "drawn", "sorted", "out")]
        job.communicate(timeout=100)
        self.assertEqual(job.returncode, 0)
        for tap in taps:
            tap.communicate(timeout=60)
            self.assertIn(tap.returncode, (0, 66, 74, 75))
        self.assertEqual(hashlib.sha256((self.dir / "out/sorted.u64").read_bytes()).hexdigest(), wanted)
        self.within_budget(self.report())

    def test_a_job_that_dies_or_is_none(self):
        job = self.at_work(NUMBERS.replace("${rows}", ENDLESS))
        tap = self.start("tap", str(self.port), "numbers", "--rows", "100000000")
        tap.stdout.readline()
        job.send_signal(signal.SIGKILL)
        out, said = tap.communicate(timeout=60)
        self.assertEqual(tap.returncode, 74, said)
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            port = other.getsockname()[1]
        self.fails(66, self.flowrun("tap", port, "numbers"), "no job serves its page")
        self.fails(65, self.flowrun("tap", self.serve("{}"), "numbers"), "is no page of a job")

    def test_questions_that_are_none(self):
        self.at_work()
        self.until_state(lambda s: s["phases"][0]["state"] == "running")
        at = f"http://127.0.0.1:{self.port}/rows"
        for query, status in (("", 404), ("?node=nobody", 404), ("?node=numbers&port=left", 404), ("?node=" + "n" * 5000, 404)):
            with self.assertRaises(OSError) as caught:
                self.page(at + query)
            self.assertEqual(caught.exception.code, status)
        self.assertEqual(len(self.page(at + "?node=numbers&rows=1000000").splitlines()), 65)
        self.assertEqual(len(self.page(at + "?node=numbers&rows=x&header=yes").splitlines()), 3)


if __name__ == "__main__":
    main()
