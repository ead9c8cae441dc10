#!/usr/bin/env python3
"""All files are looked at before the first phase, and in check: what is missing or can't be written is told at once, not
when its phase begins."""

import os
import unittest

from flowrun_process import job_with_sinks, main, process_test

# Its first phase reads a pipe that no process writes to: it would wait there for ever.
LATE = """flowrun: 1
nodes:
  first:  {op: file.read_lines, with: {path: pipe}}
  sorted: {op: sort, in: first, with: {by: [text]}}
  known:  {op: file.read_csv, with: {path: known.csv, header: true, type: {text: string, n: u32}}}
  both:   {op: lookup, in: {stream: sorted, table: known}, with: {by: [text]}}
  write:  {op: file.write_lines, in: sorted, with: {path: out/lines.txt}}
  more:   {op: file.write_csv, in: both, with: {path: more.csv}}
"""


class files_before_the_run_test(process_test):
    def both(self, code, *parts, arguments=()):
        """check and run say the same, and leave nothing behind."""
        before = sorted(self.dir.rglob("*"))
        for command in ("check", "run"):
            with self.subTest(command=command):
                self.fails(code, self.flowrun(command, "job.yaml", *arguments), *parts)
        self.assertEqual(sorted(self.dir.rglob("*")), before)

    def late(self):
        os.mkfifo(self.dir / "pipe")
        self.write("job.yaml", LATE)

    def test_an_input_of_a_later_phase(self):
        self.late()
        self.both(66, "job.yaml:5:44: error: can't open known.csv: No such file or directory", "help: check the path")

    def test_an_input_that_is_a_directory(self):
        self.late()
        (self.dir / "known.csv").mkdir()
        self.both(66, "job.yaml:5:44: error: can't open known.csv: Is a directory")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_an_input_that_may_not_be_read(self):
        self.late()
        self.write("known.csv", "text,n\n").chmod(0)
        self.both(66, "can't open known.csv: Permission denied")

    def test_all_at_once(self):
        self.write("a-file", "")
        (self.dir / "folder").mkdir()
        (self.dir / "link").symlink_to("/proc/nowhere")
        source = "{op: file.read_lines, with: {path: [missing-1, missing-2]}}"
        self.write("job.yaml", job_with_sinks("a-file/out", "folder", "link", "new/deeper/out", source=source))
        self.both(
            66,
            "job.yaml:3:45: error: can't open missing-1",
            "job.yaml:3:56: error: can't open missing-2",
            "job.yaml:4:53: error: can't create the directory a-file: Not a directory",
            "job.yaml:5:53: error: can't write folder: it is a directory",
            "job.yaml:6:53: error: can't write /proc/nowhere",
            "5 faults in job.yaml",
        )

    def test_an_output_alone_is_73(self):
        self.write("job.yaml", job_with_sinks("/proc/out"))
        self.both(73, "can't write /proc/out")

    def test_no_files(self):
        self.late()
        done = self.flowrun("check", "--no-files", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_index(self):
        self.write("job.yaml", job_with_sinks("folder").replace("write_csv", "write_rows").replace('"}}', '", index: true}}').replace("in: rows", "in: sorted") + "  sorted: {op: sort, in: rows, with: {by: [i]}}\n")
        (self.dir / "folder.index").mkdir()
        self.both(73, "job.yaml:4:56: error: can't write folder.index: it is a directory")

    def test_a_branch_that_may_not_run(self):
        self.write(
            "job.yaml",
            "flowrun: 1\nnodes:\n"
            "  rows: {op: generate, with: {kind: counter, rows: 10}}\n"
            "  chosen:\n    op: if\n    in: {rows: rows}\n    with:\n"
            '      condition: "rows(rows) > 100"\n'
            "      then: {read: {op: file.read_rows, with: {path: missing, type: {value: u64}}}}\n"
            "      else: {read: {op: file.read_rows, with: {path: found, type: {value: u64}}}}\n"
            "      out: {out: read}\n"
            "  write: {op: file.write_rows, in: chosen.out, with: {path: out}}\n",
        )
        self.write("found", bytes(16))
        done = self.flowrun("run", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out").read_bytes(), bytes(16))

    def test_standard_input_that_is_closed(self):
        self.write("job.yaml", job_with_sinks("out", source='{op: file.read_lines, with: {path: "-"}}'))
        self.write("out", "before")
        done = self.shell('exec "$0" run job.yaml <&-')
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn(b"standard input", done.stderr)
        self.assertEqual((self.dir / "out").read_text(), "before")


if __name__ == "__main__":
    main()
