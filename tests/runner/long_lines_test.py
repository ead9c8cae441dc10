#!/usr/bin/env python3
"""Long lines in little memory come out as sort(1) gives them, and those that are too long end the job with the line, the
node and a way out."""

import json
import os
import random
import subprocess

from flowrun_process import ALLOWANCE, MIB, SANITIZED, main, process_test

LINES = """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: in.txt}}
  sorted: {op: sort, in: lines, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: out/out.txt}}
"""


def lines_of(rng, count, shortest, longest, alike=0):
    """Lines that begin with so many equal bytes; some are equal, some are the beginning of others."""
    drawn = [b"x" * alike + bytes([rng.randrange(97, 99)]) * rng.randrange(shortest, longest) + b"%d" % rng.randrange(9)
             for _ in range(count)]
    return drawn + drawn[: count // 10] + [line[: len(line) // 2] for line in drawn[: count // 10]]


class long_lines_test(process_test):
    def sorts_as_sort_does(self, lines, memory, *more, unique=False):
        self.write("job.yaml", LINES.replace("by: [text]", "by: [text], unique: true") if unique else LINES)
        self.write("in.txt", b"\n".join(lines) + b"\n")
        done = self.flowrun("job.yaml", "-q", "-m", memory, "-T", "scratch", "--report", "report.json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = subprocess.run(["sort", "in.txt"] + ["-u"] * unique, cwd=self.dir, env={**os.environ, "LC_ALL": "C"}, capture_output=True,
                                  check=True).stdout
        self.assertTrue((self.dir / "out/out.txt").read_bytes() == expected, "other lines than sort(1) gives")
        report = json.loads((self.dir / "report.json").read_text())
        if not SANITIZED:
            self.assertLess(int(report["peak_memory_bytes"]), int(report["memory_budget_bytes"]) + ALLOWANCE)

    def test_many(self):
        rng = random.Random(1)
        for memory, lines in (
            ("2MiB", lines_of(rng, 400, 1, 100_000)),
            ("8MiB", lines_of(rng, 150, 1, 1_000_000)),
            ("8MiB", lines_of(rng, 2_000, 1, 5_000, alike=20_000)),
            ("24MiB", lines_of(rng, 40, 100_000, 4_000_000, alike=50_000)),
        ):
            for more in ((), ("-j", "1", "--force-spill")):
                with self.subTest(memory=memory, lines=len(lines), more=more):
                    self.sorts_as_sort_does(lines, memory, *more)

    def test_a_quarter_of_the_memory(self):
        rng = random.Random(2)
        long = [bytes([rng.randrange(97, 99)]) * (16 * MIB - 100 - rng.randrange(MIB)) for _ in range(5)]
        short = [b"%d" % rng.randrange(10**9) for _ in range(200_000)]
        self.sorts_as_sort_does(long + long[:1], "64MiB", "-j", "1")
        self.sorts_as_sort_does(short[::2] + long + short[1::2] + long[:1], "64MiB")

    def test_too_long_to_be_read(self):
        """Up to a quarter of the memory, wherever the pieces end that are read."""
        self.write("job.yaml", LINES)
        for length, right in ((16 * MIB, True), (16 * MIB + 1, False)):
            self.write("in.txt", b"b\n" * 1000 + b"a" * length + b"\nb\n")
            done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-T", "scratch")
            if right:
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((self.dir / "out/out.txt").read_bytes(), b"a" * length + b"\n" + b"b\n" * 1001)
                (self.dir / "out/out.txt").unlink()
            else:
                self.fails(75, done, "in.txt:1001: a line is longer than 16.0 MiB, the most that 'lines' reads", "-m")
                self.assertEqual(self.files("out") + self.files("scratch"), [])

    def test_equal_ones_become_one(self):
        rng = random.Random(3)
        long = [bytes([rng.randrange(97, 99)]) * (8 * MIB - rng.randrange(1000)) for _ in range(4)]
        self.sorts_as_sort_does(long + long[:2], "64MiB", unique=True)

    def test_too_long_to_be_merged(self):
        """Lines that can be read, but not merged where blocks are compressed."""
        self.write("job.yaml", LINES.replace("by: [text]", "by: [text], compress: lz4"))
        self.write("in.txt", (b"y" * 12_000_000 + b"\n") * 9 + b"a\n" * 1000)
        done = self.flowrun("job.yaml", "-q", "-m", "48MiB", "-T", "scratch")
        self.fails(75, done, "node 'sorted': a row of 11.4 MiB", "too long for a sort", "-m", "help:")
        self.assertEqual(self.files("out") + self.files("scratch"), [])


if __name__ == "__main__":
    main()
