#!/usr/bin/env python3
"""Compressed inputs: what a job makes of them is what it makes of the files they stand for, whatever reads them and from
wherever; damage is named with its place, and a window that is too large with what it takes."""

import bz2
import ctypes
import ctypes.util
import gzip
import json
import lzma
import random
import struct

from flowrun_process import ALLOWANCE, MIB, SANITIZED, main
from resuming_process import resuming_test

LIBZSTD = ctypes.CDLL(ctypes.util.find_library("zstd"))
for function in (LIBZSTD.ZSTD_compressBound, LIBZSTD.ZSTD_compressStream2, LIBZSTD.ZSTD_CCtx_setParameter):
    function.restype = ctypes.c_size_t
LIBZSTD.ZSTD_createCCtx.restype = ctypes.c_void_p
WINDOW_LOG, CHECKSUM = 101, 201  # ZSTD_cParameter
GO_ON, END = 0, 2  # ZSTD_EndDirective


class part_of_buffer(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("size", ctypes.c_size_t), ("done", ctypes.c_size_t)]


def zstd(content, window_log=0):
    """A frame with a checksum, as a stream, whose length nobody knows at its beginning: so its window counts."""
    context = ctypes.c_void_p(LIBZSTD.ZSTD_createCCtx())
    for parameter, value in ((WINDOW_LOG, window_log), (CHECKSUM, 1)):
        LIBZSTD.ZSTD_CCtx_setParameter(context, parameter, value)
    out = ctypes.create_string_buffer(LIBZSTD.ZSTD_compressBound(ctypes.c_size_t(len(content))) + 64)
    to = part_of_buffer(ctypes.addressof(out), len(out), 0)
    source = ctypes.create_string_buffer(content, len(content) + 1)
    given = part_of_buffer(ctypes.addressof(source), len(content), 0)
    for directive in (GO_ON, END):
        while LIBZSTD.ZSTD_compressStream2(context, ctypes.byref(to), ctypes.byref(given), directive) and directive == END:
            pass
    LIBZSTD.ZSTD_freeCCtx(context)
    assert given.done == len(content)
    return out.raw[: to.done]


COMPRESS = {
    "gz": lambda content: gzip.compress(content, 6),
    "zst": zstd,
    "bz2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
}

READERS = {
    "file.read_csv": ("type: {k: u32, name: string}, header: true", "file.write_csv"),
    "file.read_json_lines": ("type: {k: u32, name: string}", "file.write_json_lines"),
    "file.read_lines": ("", "file.write_lines"),
    "file.read_rows": ("type: {a: u32, b: u64}", "file.write_rows"),
}


def job(reader, path, more=""):
    parameters, writer = READERS[reader]
    parameters = ", ".join(part for part in (f"path: {path}", parameters, more) if part)
    return f"""flowrun: 1
nodes:
  rows: {{op: {reader}, with: {{{parameters}}}}}
  out: {{op: {writer}, in: rows, with: {{path: out/out}}}}
"""


def content_for(reader, rng, rows=20_000):
    if reader == "file.read_rows":
        return b"".join(struct.pack("<IQ", rng.randrange(100), rng.randrange(10**6)) for _ in range(rows))
    if reader == "file.read_json_lines":
        return b"".join(b'{"name":"n \\u00e9%d","k":%d}\n' % (rng.randrange(10**6), rng.randrange(1000)) for _ in range(rows))
    lines = (f'{rng.randrange(1000)},"n {rng.randrange(10**6)}"\n' for _ in range(rows))
    return ("k,name\n" + "".join(lines)).encode()


class compressed_input_test(resuming_test):
    def run_it(self, text, *more, **others):
        self.write("job.yaml", text)
        (self.dir / "out/out").unlink(missing_ok=True)
        return self.flowrun("job.yaml", "-q", *more, **others)

    def output_of(self, text, *more, **others):
        done = self.run_it(text, *more, **others)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.dir / "out/out").read_bytes()

    def test_each_format_and_reader(self):
        rng = random.Random(1)
        for reader in READERS:
            content = content_for(reader, rng)
            self.write("plain", content)
            expected = self.output_of(job(reader, "plain"))
            half = len(content) // 2
            for name, compress in COMPRESS.items():
                with self.subTest(reader=reader, format=name):
                    self.write("in", compress(content))  # its name doesn't matter
                    for more in ((), ("--plain-executor",), ("-j", "1", "-m", "8MiB")):
                        self.assertEqual(self.output_of(job(reader, "in"), *more), expected)
                    self.write("in", compress(content[:half]) + compress(b"") + compress(content[half:]))
                    self.assertEqual(self.output_of(job(reader, "in")), expected)
                    # Standard input: a file, and a pipe.
                    with open(self.dir / "in", "rb") as stream:
                        self.assertEqual(self.output_of(job(reader, '"-"'), stdin=stream), expected)
                    (self.dir / "out/out").unlink()
                    self.write("job.yaml", job(reader, '"-"'))
                    done = self.shell('cat in | "$0" -q job.yaml')
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual((self.dir / "out/out").read_bytes(), expected)

    def test_empty(self):
        for name, compress in COMPRESS.items():
            with self.subTest(name):
                self.write("in", compress(b""))
                self.assertEqual(self.output_of(job("file.read_lines", "in")), b"")

    def test_plain_files_that_only_begin_alike(self):
        for content in (b"\x1f\n", b"\x1f\x8b", b"BZh9 and more\n", b"\x28\xb5\x2f\n", b"\xfd7zXZ\n"):
            with self.subTest(content):
                self.write("in", content)
                self.assertEqual(self.output_of(job("file.read_lines", "in")), content.rstrip(b"\n") + b"\n")
                self.write("job.yaml", job("file.read_lines", '"-"'))
                self.assertEqual(self.shell('cat in | "$0" -q job.yaml').returncode, 0)
                self.assertEqual((self.dir / "out/out").read_bytes(), content.rstrip(b"\n") + b"\n")

    def test_rows_that_look_compressed_by_chance(self):
        rows = struct.pack("<IQ", 0x00088B1F, 7) * 3
        self.write("in", rows)
        self.assertEqual(self.output_of(job("file.read_rows", "in", "compression: none")), rows)
        refused = self.run_it(job("file.read_rows", "in"))
        self.assertEqual(refused.returncode, 65)
        self.assertIn("gzip", refused.stderr)
        self.assertIn("say compression: none", refused.stderr)

    def test_a_range_and_cut_rows(self):
        rng = random.Random(2)
        content = content_for("file.read_rows", rng, rows=100_000)
        for name, compress in COMPRESS.items():
            with self.subTest(name):
                self.write("in", compress(content))
                got = self.output_of(job("file.read_rows", "in", 'range: "90000:99999"'))
                self.assertEqual(got, content[12 * 90_000 : 12 * 99_999])
                self.write("in", compress(content[:-1]))
                refused = self.run_it(job("file.read_rows", "in"))
                self.assertEqual(refused.returncode, 65)
                self.assertIn("99999 rows of 12 bytes and 11 bytes more", refused.stderr)

    def test_wildcards_mix(self):
        rng = random.Random(3)
        parts = [content_for("file.read_lines", rng, rows=3000) for _ in range(6)]
        self.write("in/0.txt", parts[0])
        for number, (name, compress) in enumerate(COMPRESS.items(), 1):
            self.write(f"in/{number}.{name}", compress(parts[number]))
        self.write("in/5.txt", parts[5])
        self.assertEqual(self.output_of(job("file.read_lines", '"in/*"')), b"".join(parts))
        named = self.output_of(job("file.read_lines", '"in/*"', "file_column: file").replace("write_lines", "write_csv"))
        self.assertEqual(named.count(b"in/3.bz2"), 3001)
        # Lines are numbered, and wrong ones named, as those of the text.
        self.write("in/3.bz2", bz2.compress(b"k,name\n1,a\nnone,b\n"))
        refused = self.run_it(job("file.read_csv", "in/3.bz2"))
        self.assertEqual(refused.returncode, 65)
        self.assertIn("in/3.bz2:3", refused.stderr)

    def test_a_wrong_header_is_seen_before_the_run(self):
        for name, compress in COMPRESS.items():
            self.write("in", compress(b"k,names\n1,a\n"))
            refused = self.flowrun("check", self.write("job.yaml", job("file.read_csv", "in")))
            self.assertEqual(refused.returncode, 65, refused.stderr)
            self.assertIn("in:1: the header says k, names", refused.stderr)

    def test_sort_and_its_merge(self):
        rng = random.Random(4)
        lines = [b"%d" % rng.randrange(10**9) for _ in range(50_000)]
        ordered = sorted(lines)
        self.write("a.gz", gzip.compress(b"\n".join(lines[:30_000]) + b"\n"))
        self.write("b.xz", lzma.compress(b"\n".join(lines[30_000:]) + b"\n"))
        done = self.flowrun("sort", "a.gz", "b.xz", "-o", "sorted")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "sorted").read_bytes().splitlines(), ordered)
        done = self.shell('cat a.gz | "$0" sort -o piped -')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "piped").read_bytes().splitlines(), sorted(lines[:30_000]))
        self.write("c.zst", zstd(b"\n".join(ordered[::2]) + b"\n"))
        self.write("d.bz2", bz2.compress(b"\n".join(ordered[1::2]) + b"\n"))
        done = self.flowrun("sort", "-m", "c.zst", "d.bz2", "-o", "merged")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "merged").read_bytes().splitlines(), ordered)

    def test_damage_is_named_with_its_place(self):
        content = content_for("file.read_lines", random.Random(5), rows=50_000)
        for name, compress in COMPRESS.items():
            whole = compress(content)
            for what, bytes_ in (
                ("is cut off at byte %d" % (len(whole) - 3), whole[:-3]),
                ("is cut off at byte 100 ", whole[:100]),
                ("is damaged at byte", whole[: len(whole) // 2] + b"\xa5" * 50 + whole[len(whole) // 2 + 50 :]),
                ("is damaged at byte %d" % len(whole), whole + b"trailing"),
            ):
                with self.subTest(format=name, what=what):
                    self.write("in", bytes_)
                    for path in ("in", '"-"'):
                        with open(self.dir / "in", "rb") as stream:
                            refused = self.run_it(job("file.read_lines", path), stdin=stream)
                        self.assertEqual(refused.returncode, 65, refused.stderr)
                        self.assertIn(what, refused.stderr)
                        self.assertIn("in: its " if path == "in" else "/dev/stdin: its ", refused.stderr)
                        self.assertFalse((self.dir / "out/out").exists())

    def test_zeros_behind_gzip(self):
        self.write("in", gzip.compress(b"a\nb\n") + bytes(5000))
        self.assertEqual(self.output_of(job("file.read_lines", "in")), b"a\nb\n")

    def test_little_memory(self):
        """What a decoder takes is the node's, which the plan knows; the whole stays within the budget."""
        content = content_for("file.read_lines", random.Random(6), rows=300_000)
        sorting = """flowrun: 1
nodes:
  rows: {op: file.read_lines, with: {path: in}}
  sorted: {op: sort, in: rows, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: out/out}}
"""
        expected = b"\n".join(sorted(content.splitlines())) + b"\n"
        for name, compress in (*COMPRESS.items(), ("zst 24", lambda c: zstd(c, 24)), ("xz 7", lambda c: lzma.compress(c, preset=7))):
            with self.subTest(name):
                self.write("in", compress(content))
                memory = "16MiB" if " " in name else "12MiB"
                done = self.run_it(sorting, "-m", memory, "-T", "scratch", "--report", "report.json")
                if " " in name:
                    self.assertEqual(done.returncode, 78, done.stderr)  # known before the run, with what would do
                    self.assertIn("memory", done.stderr)
                    done = self.run_it(sorting, "-m", "40MiB", "-T", "scratch", "--report", "report.json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue((self.dir / "out/out").read_bytes() == expected)
                report = json.loads((self.dir / "report.json").read_text())
                if not SANITIZED:
                    self.assertLess(int(report["peak_memory_bytes"]), int(report["memory_budget_bytes"]) + ALLOWANCE)

    def test_a_window_too_large_in_a_pipe(self):
        self.write("in", zstd(content_for("file.read_lines", random.Random(7), rows=1000), 27))
        self.write("job.yaml", job("file.read_lines", '"-"'))
        refused = self.shell('cat in | "$0" -q job.yaml -m 32MiB')
        self.assertEqual(refused.returncode, 75, refused.stderr)
        self.assertIn(b"decoding it takes 128", refused.stderr)
        self.assertIn(b"more memory", refused.stderr)
        self.assertEqual(self.shell('cat in | "$0" -q job.yaml -m 400MiB').returncode, 0)

    def test_plan_says_about_how_many_rows(self):
        content = content_for("file.read_csv", random.Random(8), rows=300_000)
        for name, compress in COMPRESS.items():
            with self.subTest(name):
                self.write("in", compress(content))
                said = self.flowrun("plan", self.write("job.yaml", job("file.read_csv", "in")))
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertRegex(said.stdout, r"about (2[0-9]{2}|3[0-9]{2}|4[0-4][0-9]),[0-9]{3} rows")
        self.write("in", gzip.compress(content_for("file.read_rows", random.Random(8), rows=300_000)))
        said = self.flowrun("plan", self.write("job.yaml", job("file.read_rows", "in")))
        self.assertRegex(said.stdout, r"about (2[0-9]{2}|3[0-9]{2}),[0-9]{3} rows")

    def test_an_index_is_of_a_plain_file(self):
        """A file of rows with an index is read by place; compressed, it isn't the file that was indexed."""
        rows = b"".join(struct.pack("<I", k) for k in range(100_000))
        self.write("plain", rows)
        made = self.flowrun("-q", self.write("make.yaml", """flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: plain, type: {k: u32}, sorted_by: [k]}}
  out: {op: file.write_rows, in: rows, with: {path: indexed, index: true}}
"""))
        self.assertEqual(made.returncode, 0, made.stderr)
        self.write("indexed", gzip.compress(rows))
        refused = self.flowrun("-q", self.write("job.yaml", """flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: indexed, type: {k: u32}, sorted_by: [k], index: true}}
  out: {op: file.write_rows, in: rows, with: {path: out/out}}
"""))
        self.assertEqual(refused.returncode, 65, refused.stderr)
        self.assertIn("index", refused.stderr)

    def test_resume(self):
        rng = random.Random(9)
        lines = [f"{rng.randrange(10 ** rng.randrange(1, 9))} {'x' * rng.randrange(20)}\n" for _ in range(600_000)]
        text = "".join(lines).encode()
        self.write("a.gz", gzip.compress(text[: len(text) // 2], 1) + gzip.compress(text[len(text) // 2 :], 1))
        self.write("b.zst", zstd(text))
        self.write("job.yaml", """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: [a.gz, b.zst]}}
  sorted: {op: sort, in: lines, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: out/sorted}}
""")
        done, rows = self.killed_again_and_again()
        self.assertLess(rows["lines"], 2 * len(lines))

    def test_a_job_that_ends_while_decoding(self):
        self.write("in", zstd(b"k,name\nnone,x\n" + b"1,text\n" * 20_000_000))
        refused = self.run_it(job("file.read_csv", "in"))
        self.assertEqual(refused.returncode, 65)
        self.assertIn("in:2", refused.stderr)


if __name__ == "__main__":
    main()
