#!/usr/bin/env python3
"""Faults of inputs, outputs and disks each end with the right exit code, a message with the cause and the way out,
and no half-written output."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

from flowrun_process import FLOWRUN, MIB, SORT, filtered, main, process_test

COPY = """flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: in.bin, type: {k: u32, v: u32}}}
  sorted: {op: sort, in: rows, with: {by: [k]}}
  out: {op: file.write_rows, in: sorted, with: {path: out/out.bin}}
"""
LINES = """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: in.txt}}
  sorted: {op: sort, in: lines, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: out/out.txt}}
"""
CSV = """flowrun: 1
nodes:
  rows: {op: file.read_csv, with: {path: in.csv, type: {a: u32, b: string}}}
  out: {op: file.write_csv, in: rows, with: {path: out/out.csv}}
"""


class input_test(process_test):
    def test_missing(self):
        self.write("job.yaml", COPY)
        self.fails(66, self.flowrun("job.yaml"), "in.bin", "No such file or directory", "help:")
        self.assertEqual(self.files("out"), [])

    def test_a_directory(self):
        self.write("job.yaml", COPY)
        (self.dir / "in.bin").mkdir()
        self.fails(66, self.flowrun("job.yaml"), "in.bin", "irectory")

    def test_truncated_row_file(self):
        self.write("job.yaml", COPY)
        self.write("in.bin", bytes(8 * 1000 + 3))
        self.fails(65, self.flowrun("job.yaml"), "in.bin", "8", "help:")
        self.assertEqual(self.files("out"), [])

    def test_a_boolean_that_is_neither(self):
        """It would be a third value to a sort, and true to an expression."""
        job = COPY.replace("k: u32, v: u32", "v: bool, k: bool")
        self.write("job.yaml", job)
        self.write("in.bin", bytes([0, 1] * 300_000 + [1, 2, 7, 0]))
        why = "in.bin: in row 300000 (counted from 0) column 'k' is the byte 2, and a bool is 0 or 1"
        self.fails(65, self.flowrun("job.yaml"), why, "A u8 is any byte")
        self.assertEqual(self.files("out"), [])
        self.write("job.yaml", job.replace("path: in.bin", 'path: in.bin, range: "300001:"'))
        self.fails(65, self.flowrun("job.yaml"), "in row 300001 (counted from 0) column 'v' is the byte 7")
        self.write("first.bin", bytes([1, 0]))
        self.write("job.yaml", job.replace("path: in.bin", "path: [first.bin, in.bin]"))
        self.fails(65, self.flowrun("job.yaml"), why)
        self.write("job.yaml", job.replace("path: in.bin", 'path: in.bin, range: "0:300000"'))
        self.assertEqual(self.flowrun("job.yaml").returncode, 0)

    def test_truncated_rows_that_were_spilled(self):
        # The length of a pipe is not known, so it is found only when runs are on scratch that the last row is cut
        # short.
        self.write("job.yaml", COPY.replace("in.bin", '"-"'))
        rows = os.urandom(8 * 3_000_000)
        for excess in (1, 7):
            with self.subTest(excess=excess):
                command = [FLOWRUN, "job.yaml", "-q", "-m", "12MiB", "-T", "scratch", "--force-spill"]
                done = subprocess.run(
                    command, cwd=self.dir, env=self.environment, input=rows + bytes(excess), capture_output=True
                )
                self.assertEqual(done.returncode, 65, done.stderr)
                for part in (b"3000000 rows of 8 bytes", f"{excess} byte".encode(), b"help:"):
                    self.assertIn(part, done.stderr)
                self.assertEqual(self.files("out") + self.files("scratch"), [])

    def test_lines_longer_than_the_memory(self):
        self.write("job.yaml", LINES)
        short = b"short\n" * 1000
        for name, content in (
            ("in the middle", short + b"x" * 40_000_000 + b"\n" + short),
            ("without an end", short + b"x" * 40_000_000),
            ("without lines", bytes(40_000_000)),
        ):
            for more in ((), ("--force-spill", "--no-direct"), ("-j", "1")):
                with self.subTest(name=name, more=more):
                    self.write("in.txt", content)
                    done = self.flowrun("job.yaml", "-q", "-m", "24MiB", "-T", "scratch", *more)
                    line = 1 if name == "without lines" else 1001
                    self.fails(75, done, f"in.txt:{line}: a line is longer than 6.00 MiB, the most that 'lines' reads",
                               "help: give the job more memory (-m")
                    self.assertEqual(self.files("out") + self.files("scratch"), [])

    def test_lines_longer_than_any_memory(self):
        self.write("job.yaml", LINES)
        self.write("in.txt", b"x" * 40_000_000 + b"\n")
        done = self.flowrun("job.yaml", "-q", "-m", "2GiB", "-T", "scratch")
        self.fails(65, done, "in.txt:1: a line is longer than 32.0 MiB, the most that 'lines' reads\n", "help: split it")
        self.assertNotIn("-m", done.stderr)

    def test_a_quote_that_is_never_closed(self):
        self.write("job.yaml", CSV)
        self.write("in.csv", b'1,a\n2,"b\n' + b"3,c\n" * 1_000_000)
        done = self.flowrun("job.yaml", "-q", "-m", "12MiB", "-T", "scratch")
        self.fails(75, done, "in.csv:2: a line is longer than", "'rows' reads", "help: is a quoted field never closed?", "-m")

    def test_keys_too_long_to_be_kept(self):
        """The first key of each block stays in memory, unless such keys are too long for it."""
        long = "x" * 3000
        self.write(
            "job.yaml",
            "flowrun: 1\nnodes:\n"
            f"  drawn: {{op: generate, with: {{rows: 60000, columns: {{k: \"concat(i * 7919 % 1000003, '{long}')\"}}}}}}\n"
            "  sorted: {op: sort, in: drawn, with: {by: [k]}}\n"
            "  out: {op: file.write_lines, in: sorted, with: {path: out.txt}}\n",
        )
        done = self.flowrun("job.yaml", "-q", "-m", "2MiB", "-j", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = sorted(f"{i * 7919 % 1000003}{long}\n" for i in range(60000))
        self.assertTrue((self.dir / "out.txt").read_text() == "".join(lines), "other lines")

    def test_lines_that_just_fit(self):
        self.write("job.yaml", LINES)
        lines = [bytes([c]) * 4_000_000 + bytes([d]) for c in b"ab\0" for d in b"yx"]
        lines += [b"", b"\0", b"\xff\xfe not UTF-8 \xc3", b"\r"] * 500
        self.write("in.txt", b"\n".join(lines))  # the last one has no newline
        for more in ((), ("--force-spill",)):
            with self.subTest(more=more):
                done = self.flowrun("job.yaml", "-q", "-m", "256MiB", "-T", "scratch", *more)
                self.assertEqual(done.returncode, 0, done.stderr)
                written = (self.dir / "out/out.txt").read_bytes()
                self.assertTrue(written == b"".join(line + b"\n" for line in sorted(lines)), "other lines")

    def test_not_sorted_as_declared(self):
        self.write("job.yaml", COPY.replace("type: {k", "sorted_by: [k], type: {k"))
        self.write("in.bin", b"".join(k.to_bytes(4, "little") + bytes(4) for k in (1, 5, 3, 9)))
        self.fails(65, self.flowrun("job.yaml"), "in.bin")
        self.assertEqual(self.files("out"), [])

    def test_malformed_csv_names_line_and_column(self):
        self.write("job.yaml", CSV)
        for text, place, why in [
            ("1,a\n2,b\nx,c\n", "in.csv:3:1", "x"),
            ("1,a\n2\n", "in.csv:2:", "field"),
            ("1,a\n2,b,c\n", "in.csv:2:", "field"),
            ("1,a\n99999999999,b\n", "in.csv:2:1", "99999999999"),
            ('1,"open\n', "in.csv:1:3", "quote"),
        ]:
            with self.subTest(text=text):
                self.write("in.csv", text)
                self.fails(65, self.flowrun("job.yaml"), place, why)
                self.assertEqual(self.files("out"), [])

    def test_too_many_rejects(self):
        self.write(
            "job.yaml",
            CSV.replace(
                "}}\n  out",
                "}, on_error: {to: bad, max_ratio: 0.1}}\n"
                "  bad: {op: file.write_lines, in: rows.bad, with: {path: out/bad.txt, column: text}}\n  out",
                1,
            ),
        )
        self.write("in.csv", "1,a\nx,b\n")
        self.fails(65, self.flowrun("job.yaml"), "1 of 2 lines was rejected: 0.5, more than max_ratio 0.1", "in.csv:2:1", "help:")
        # A quote that is never closed takes all lines behind it.
        self.write("in.csv", "".join(f"{i},a\n" for i in range(50)) + '50,"a\n' + "".join(f"{i},a\n" for i in range(51, 100)))
        self.fails(65, self.flowrun("job.yaml"), "50 of 100 lines were rejected: 0.5, more", "in.csv:51:4", "help:")
        # As many digits as it takes to see that it is more.
        job = (self.dir / "job.yaml").read_text()
        self.write("job.yaml", job.replace("max_ratio: 0.1}", "max_ratio: 0.1437}"))
        self.write("in.csv", "x,a\n" * 144 + "1,a\n" * 856)
        self.fails(65, self.flowrun("job.yaml"), "144 of 1,000 lines were rejected: 0.144, more than max_ratio 0.1437;")
        self.assertEqual(self.files("out"), [])

    def test_a_failed_check(self):
        self.write(
            "job.yaml",
            SORT.replace(
                "{op: sort, in: drawn, with: {by: [value]}}", "{op: check, in: drawn, with: {sorted: [value]}}"
            ),
        )
        self.fails(65, self.flowrun("job.yaml"), "sorted")
        self.assertEqual(self.files("out"), [])

    def test_a_function_that_fails_for_a_row(self):
        """The message names the node whose expression it is, also where several nodes run as one."""
        self.write("in.csv", "".join(f"{i},{1000 - i}\n" for i in range(900)))
        job = """flowrun: 1
nodes:
  rows: {op: file.read_csv, with: {path: in.csv, type: {a: u32, b: u32}}}
  some: {op: filter, in: rows, with: {where: a != 880}}
  one: {op: map, in: some, with: {a: a, b: "to_decimal(b, 2)"}}
  two: {op: map, in: one, with: {c: "b * 500000000000000", a: a}}
  three: {op: map, in: two, with: {c: "c + if(a == 5, c, 0.00)"}}
  out: {op: file.write_csv, in: three, with: {path: out/out.csv}}
"""
        self.write("job.yaml", job)
        why = "node 'two': 'b * 500000000000000' fails for the row {b: 1000.00}: a decimal becomes too large: "
        self.fails(65, self.flowrun("job.yaml"), why, "help: compute with fewer digits")
        self.assertEqual(self.files("out"), [])
        self.write("job.yaml", job.replace("500000000000000", "50000000000000"))
        why = "node 'three': 'c + if(a == 5, c, 0.00)' fails for the row {c: 49750000000000000.00, a: 5}: "
        self.fails(65, self.flowrun("job.yaml"), why)

    def test_zip_of_unequal_lengths(self):
        self.write(
            "job.yaml",
            """flowrun: 1
nodes:
  a: {op: generate, with: {rows: 1000, columns: {x: i}}}
  b: {op: generate, with: {rows: 1002, columns: {y: i}}}
  some: {op: filter, in: b, with: {where: y != 7}}
  z: {op: zip, in: {left: a, right: some}}
  out: {op: file.write_csv, in: z, with: {path: out/o.csv}}
""",
        )
        self.fails(65, self.flowrun("job.yaml"), "node 'z'", "1,000")
        self.assertEqual(self.files("out"), [])


class output_test(process_test):
    def test_a_place_that_can_not_be(self):
        self.write("a-file", "x")
        for path in ("a-file/out.u64", "/proc/flowrun/out.u64", "/dev/null/out.u64"):
            with self.subTest(path=path):
                self.write("job.yaml", SORT.replace("out/sorted.u64", path))
                self.fails(73, self.flowrun("job.yaml"), path.rsplit("/", 1)[0])
        self.assertEqual((self.dir / "a-file").read_text(), "x")

    def test_a_directory(self):
        (self.dir / "out/sorted.u64").mkdir(parents=True)
        self.write("job.yaml", SORT)
        self.fails(73, self.flowrun("job.yaml"), "out/sorted.u64", "directory")

    def test_an_old_output_stays_when_the_job_fails(self):
        self.write("job.yaml", CSV)
        self.write("out/out.csv", "yesterday's\n")
        self.write("in.csv", "1,a\n" * 10000 + "x\n")
        self.fails(65, self.flowrun("job.yaml"), "in.csv:10001:")
        self.assertEqual(self.files("out"), ["out.csv"])
        self.assertEqual((self.dir / "out/out.csv").read_text(), "yesterday's\n")

    def test_no_output_appears_when_another_one_fails(self):
        self.write("a-file", "x")
        self.write("job.yaml", SORT + "  second: {op: file.write_rows, in: drawn, with: {path: a-file/x}}\n")
        self.fails(73, self.flowrun("job.yaml"), "a-file")
        self.assertEqual(self.files("out"), [])

    def test_an_unwritable_report_is_found_out_at_once(self):
        self.write("job.yaml", SORT)
        self.fails(
            73,
            self.flowrun("job.yaml", "--report", "nowhere/report.json"),
            "can't write nowhere/report.json: No such file",
        )
        self.assertEqual(self.files("out"), [])

    def test_a_file_that_gets_too_large(self):
        self.write("job.yaml", SORT)

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        done = self.flowrun("job.yaml", "-p", "rows=1000000", preexec_fn=limit)
        self.fails(73, done, "File too large", "help:")
        self.assertEqual(self.files("out"), [])


class disk_test(process_test):
    def test_unusable_scratch(self):
        self.write("a-file", "x")
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "-T", "a-file/scratch", "--force-spill")
        self.fails(73, done, "a-file/scratch", "a-file is not a directory (-T)", "help:")
        self.assertEqual(self.files("out"), [])

    def test_a_scratch_limit(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "-p", "rows=4000000", "-m", "24MiB", "-T", "scratch:8MiB")
        self.fails(75, done, "scratch", "help:")
        self.assertEqual(self.files("out") + self.files("scratch"), [])

    def test_a_budget_that_is_too_small(self):
        self.write("job.yaml", SORT)
        self.fails(78, self.flowrun("job.yaml", "-m", "100kB"), "job.yaml", "sorted", "help:")

    def test_a_full_disk(self):
        with tempfile.TemporaryDirectory(prefix="flowrun-full-") as small:
            mounted = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], capture_output=True, text=True
            )
            if mounted.returncode != 0:
                self.skipTest("no small file system can be mounted here (needs root): " + mounted.stderr.strip())
            try:
                known = SORT.replace("out/sorted.u64", f"{small}/sorted.u64")
                self.write("job.yaml", known)
                # Where the size is known that is told before the run, and by check and plan, too.
                told = (f"{small}/sorted.u64 will have 15.3 MiB, and its disk has 4.00 MiB free", "help: free space")
                self.fails(73, self.flowrun("job.yaml", "-p", "rows=2000000", "--report", "report.json"), *told)
                self.assertEqual(self.report()["phases"], [])  # the run has not begun
                (self.dir / "report.json").unlink()
                self.fails(73, self.flowrun("check", "job.yaml", "-p", "rows=2000000"), *told)
                done = self.flowrun("plan", "job.yaml", "-p", "rows=2000000")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("warning: " + told[0], done.stderr)
                (self.dir / "link.u64").symlink_to(f"{small}/sorted.u64")  # which isn't there yet
                self.write("linked.yaml", SORT.replace("out/sorted.u64", "link.u64"))
                done = self.flowrun("check", "linked.yaml", "-p", "rows=2000000")
                self.fails(73, done, "link.u64" + told[0].removeprefix(f"{small}/sorted.u64"))
                # A filter leaves rows of which the number isn't known.
                self.write("job.yaml", filtered(known, "value % 7 < 7"))
                self.fails(
                    73,
                    self.flowrun("job.yaml", "-p", "rows=2000000", "--progress", "none"),
                    "No space left on device",
                    small,
                    "help:",
                )
                self.assertEqual(os.listdir(small), [])
                # The same while runs are merged: scratch is on another disk, and is left empty, too.
                merging = ("-p", "rows=2000000", "-q", "-m", "8MiB", "-T", "scratch", "--force-spill")
                done = self.flowrun("job.yaml", *merging)
                self.fails(73, done, "No space left on device", small, "help:")
                self.assertEqual(os.listdir(small) + self.files("scratch"), [])
                self.write("job.yaml", SORT)
                done = self.flowrun("job.yaml", "-p", "rows=4000000", "-m", "24MiB", "-T", f"{small}/scratch")
                self.fails(75, done, f"{small}/scratch", "help:")
                self.assertIn("RAM disk", done.stderr)
                self.assertEqual([path for path in pathlib.Path(small).rglob("*") if path.is_file()], [])
                self.assertEqual(self.files("out"), [])
            finally:
                subprocess.run(["umount", small], check=True)

    @unittest.skipIf(os.geteuid() != 0 or not shutil.which("mkfs.ext4"), "needs root, and mkfs.ext4 for a file system that keeps a part for root")
    def test_what_a_disk_keeps_for_root(self):
        disk, there = self.write("disk.img", b""), self.dir / "there"
        there.mkdir()
        os.truncate(disk, 64 * MIB)
        for command in (["mkfs.ext4", "-q", "-m", "40", disk], ["mount", "-o", "loop", disk, there]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                self.skipTest("no file system in a file can be mounted here: " + done.stderr.strip())
        try:
            space = os.statvfs(there)
            free, kept = space.f_bavail * space.f_frsize, (space.f_bfree - space.f_bavail) * space.f_frsize
            self.write("job.yaml", SORT.replace("out/sorted.u64", f"{there}/sorted.u64"))
            done = self.flowrun("job.yaml", "-q", "-p", f"rows={(free + kept // 2) // 8}")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.flowrun("check", "job.yaml", "-p", f"rows={(free + 2 * kept) // 8}")
            self.fails(73, done, "its disk has", "help: free space")
        finally:
            subprocess.run(["umount", there], check=True)

    def test_a_file_system_that_says_no_size_is_written_to(self):
        there = self.dir / "there"
        there.mkdir()
        mounted = subprocess.run(["mount", "-t", "ramfs", "ramfs", there], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest("no ramfs can be mounted here (needs root): " + mounted.stderr.strip())
        try:
            self.write("job.yaml", SORT.replace("out/sorted.u64", f"{there}/sorted.u64"))
            done = self.flowrun("job.yaml", "-q", "-p", "rows=10")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((there / "sorted.u64").stat().st_size, 80)
        finally:
            subprocess.run(["umount", there], check=True)


if __name__ == "__main__":
    main()
