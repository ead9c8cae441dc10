#!/usr/bin/env python3
"""Compressed outputs: they stand for the bytes that a plain output has, are the same on any number of threads, and appear
whole or not at all."""

import bz2
import gzip
import json
import lzma
import os
import random

from flowrun_process import MIB, SANITIZED, main
from resuming_process import resuming_test

ENDINGS = {"gzip": ".gz", "zstd": ".zst", "bzip2": ".bz2", "xz": ".xz"}
DECODE = {"gzip": gzip.decompress, "bzip2": bz2.decompress, "xz": lzma.decompress}
ROWS = 70_000  # three pieces of CSV, two of lines, one of rows

JOB = """flowrun: 1
nodes:
  rows: {{op: generate, with: {{rows: {rows}, columns: {{x: "rand(1, i)", t: "concat('row ', i % 1000, ' of many')"}}}}}}
  {nodes}
"""
WRITERS = {
    "csv": "out: {{op: file.write_csv, in: rows, with: {{header: true, {to}}}}}",
    "lines": "out: {{op: file.write_lines, in: rows, with: {{column: t, {to}}}}}",
    "rows": "only: {{op: map, in: rows, with: {{x: x}}}}\n  out: {{op: file.write_rows, in: only, with: {{{to}}}}}",
}


def job(writer, to, rows=ROWS):
    return JOB.format(rows=rows, nodes=WRITERS[writer].format(to=to))


class compressed_output_test(resuming_test):
    def bytes_of(self, text, path, *more):
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.dir / path).read_bytes()

    def text_of(self, how, path):
        """What the file stands for, as Python's libraries have it, or, of zstd, flowrun itself."""
        if how in DECODE:
            return DECODE[how]((self.dir / path).read_bytes())
        rows = "flowrun: 1\nnodes:\n  r: {op: file.read_rows, with: {path: %s, type: {b: u8}}}\n" % path
        return self.bytes_of(rows + "  w: {op: file.write_rows, in: r, with: {path: decoded}}\n", "decoded")

    def test_each_format_and_writer(self):
        for writer in WRITERS:
            plain = self.bytes_of(job(writer, "path: plain"), "plain")
            for how, ending in ENDINGS.items():
                with self.subTest(writer=writer, format=how):
                    made = self.bytes_of(job(writer, f"path: made{ending}"), "made" + ending)
                    self.assertEqual(self.text_of(how, "made" + ending), plain)
                    if writer != "rows":
                        self.assertLess(len(made), len(plain) * 0.6)
                    # A word says the same as a name, and no setting changes a byte.
                    for more in ((), ("-j", "1"), ("-j", "3", "-m", "64MiB"), ("--plain-executor",), ("-m", "20MiB")):
                        self.assertEqual(self.bytes_of(job(writer, f"path: said, compression: {how}"), "said", *more), made)
            self.assertEqual(self.bytes_of(job(writer, "path: named.gz, compression: none"), "named.gz"), plain)

    def test_no_rows(self):
        for how, ending in ENDINGS.items():
            self.assertNotEqual(self.bytes_of(job("lines", f"path: none{ending}", rows=0), "none" + ending), b"")
            self.assertEqual(self.text_of(how, "none" + ending), b"")

    def test_standard_output(self):
        plain = self.bytes_of(job("csv", "path: plain"), "plain")
        self.write("job.yaml", job("csv", 'path: "-", compression: gzip'))
        self.assertEqual(self.shell('"$0" -q job.yaml > piped').returncode, 0)
        self.assertEqual(gzip.decompress((self.dir / "piped").read_bytes()), plain)
        self.assertEqual(self.shell('"$0" -q job.yaml | cat > piped').returncode, 0)
        self.assertEqual(gzip.decompress((self.dir / "piped").read_bytes()), plain)

    def test_sorted_lines(self):
        self.write("in", "b\na\nc\n")
        self.assertEqual(self.flowrun("sort", "in", "-o", "sorted.gz").returncode, 0)
        self.assertEqual(gzip.decompress((self.dir / "sorted.gz").read_bytes()), b"a\nb\nc\n")

    def test_memory_is_planned(self):
        # 28 MB of text are more than the budget, and xz takes a minute for them on a busy machine.
        # With a sanitizer, whose own memory is not the job's, less text will do.
        for how, ending in ENDINGS.items():
            self.write("job.yaml", job("csv", f"path: made{ending}", rows=60_000 if SANITIZED else 760_000))
            least = self.flowrun("job.yaml", "-m", "1KiB")
            self.assertEqual(least.returncode, 78, least.stderr)
            self.assertIn("out", least.stderr)
            self.assertEqual(self.flowrun("job.yaml", "-q", "-m", "24MiB", "--report", "report").returncode, 0)
            if not SANITIZED:
                self.assertLess(int(json.loads((self.dir / "report").read_text())["peak_memory_bytes"]), (24 + 64) * MIB)
            os.unlink(self.dir / ("made" + ending))

    def test_counts(self):
        made = self.bytes_of(job("csv", "path: made.gz"), "made.gz", "--report", "report")
        report = json.loads((self.dir / "report").read_text())
        node = next(n for n in report["nodes"] if n["id"] == "out")
        self.assertEqual(int(node["file_written_bytes"]), len(made))
        self.assertEqual(int(report["actual"]["output_bytes"]), len(made))

    def test_no_index_of_what_is_compressed(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 10, columns: {x: i}}}
  sorted: {op: sort, in: rows, with: {by: [x]}}
  out: {op: file.write_rows, in: sorted, with: {path: rows.gz, index: true}}
""")
        done = self.flowrun("job.yaml")
        self.assertEqual(done.returncode, 78)
        self.assertIn("in a compressed file no row can be sought", done.stderr)
        self.assertIn("compression: none", done.stderr)

    def test_a_job_that_fails_leaves_nothing(self):
        self.write("job.yaml", job("csv", "path: out/made.xz", rows=300_000) +
                   '  checked: {op: check, in: rows, with: {where: "row_number < 299999"}}\n')
        done = self.flowrun("job.yaml")
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertEqual(self.files("out"), [])

    def test_resume(self):
        rng = random.Random(9)
        lines = [f"{rng.randrange(10 ** rng.randrange(1, 9))} {'x' * rng.randrange(20)}\n" for _ in range(600_000)]
        self.write("a.txt", "".join(lines))
        self.write("job.yaml", """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: a.txt}}
  sorted: {op: sort, in: lines, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: out/sorted, compression: gzip}}
""")
        done, _ = self.killed_again_and_again()
        self.assertEqual(gzip.decompress((self.dir / "out/sorted").read_bytes()).decode().splitlines(True), sorted(lines))


if __name__ == "__main__":
    main()
