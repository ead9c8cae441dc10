#!/usr/bin/env python3
"""Folders of parts, which jobs with --cluster write: read as one input, and held against their manifest."""

import json
import pathlib
import sys

from flowrun_process import main, process_test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import parts  # noqa: E402

ROWS = "{op: generate, with: {rows: 5000, columns: {k: \"u32(rand(1, i) % 100)\", n: i, t: \"concat('row ', i)\"}}}"
# A format: how it is written and read.
FORMATS = {
    "csv": ("file.write_csv", "path: kept, header: true", "file.read_csv", "header: true, type: {k: u32, n: u64, t: string}"),
    "json": ("file.write_json_lines", "path: kept", "file.read_json_lines", "type: {k: u32, n: u64, t: string}"),
    "gzip": ("file.write_csv", "path: kept, compression: gzip", "file.read_csv", "type: {k: u32, n: u64, t: string}"),
    "rows": ("file.write_rows", "path: kept", "file.read_rows", "type: {k: u32, n: u64}"),
    "npy": ("file.write_npy", "path: kept", "file.read_npy", "type: {k: u32, n: u64}"),
}
WRITING = """flowrun: 1
nodes:
  made:   {made}
  fitted: {{op: map, in: made, with: {{k: k, n: n{text}}}}}
  sorted: {{op: sort, in: fitted, with: {{by: [k, n]}}}}
  out:    {{op: {write}, in: sorted, with: {{{with_}}}}}
"""
READING = """flowrun: 1
nodes:
  kept: {{op: {read}, with: {{path: {path}, {with_}}}}}
  sum:  {{op: reduce, in: kept, with: {{let: {{rows: "count()", n: "sum(n)"}}, hash: true}}}}
"""


class parts_test(process_test):
    def write_parts(self, kind="csv", width=3, made=ROWS):
        write, with_, _, _ = FORMATS[kind]
        text = ", t: t" if kind in ("csv", "json", "gzip") else ""
        self.write("write.yaml", WRITING.format(made=made, text=text, write=write, with_=with_))
        done = self.flowrun("write.yaml", "-q", "-T", "scratch", "--cluster", f"local:{width}")
        self.assertEqual(done.returncode, 0, done.stderr)

    def read(self, *options, kind="csv", path="kept"):
        _, _, read, with_ = FORMATS[kind]
        self.write("read.yaml", READING.format(read=read, path=path, with_=with_))
        return self.flowrun("read.yaml", "-T", "scratch", *options)

    def results(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.splitlines() if line.startswith("sum.")]

    def test_every_format_is_read_back(self):
        for kind in FORMATS:
            with self.subTest(kind):
                self.write_parts(kind)
                self.assertEqual(len(parts.parts_of(self.dir / "kept")), 3)
                alone = self.results(self.read(kind=kind))
                self.assertIn("sum.rows = 5000", alone)
                self.assertIn("sum.n = 12497500", alone)
                self.assertEqual(self.results(self.read("--cluster", "local:2", kind=kind)), alone)
                done = self.flowrun("verify", "kept")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"^3 parts, 5,000 rows, .*: all as the manifest says\n$")

    def test_the_order_across_parts_is_verified(self):
        self.write_parts("rows")
        done = self.flowrun("verify", "kept", "--type", "k: u32, n: u64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Records: 5000", done.stdout)
        told = json.loads((self.dir / "kept/manifest.json").read_text())
        told["parts"].reverse()
        self.write("kept/manifest.json", json.dumps(told))
        done = self.flowrun("verify", "kept", "--type", "k: u32, n: u64")
        self.assertEqual(done.returncode, 65, done.stdout)
        self.assertIn("is not sorted", done.stderr)

    def test_parts_without_rows(self):
        self.write_parts(made="{op: generate, with: {rows: 2, columns: {k: \"u32(7)\", n: i, t: \"'same'\"}}}", width=5)
        self.assertEqual(len(parts.parts_of(self.dir / "kept")), 5)
        self.assertIn("sum.rows = 2", self.results(self.read()))
        self.assertEqual(self.flowrun("verify", "kept").returncode, 0)

    def test_a_folder_among_files(self):
        self.write_parts("rows")
        whole = b"".join(path.read_bytes() for path in parts.parts_of(self.dir / "kept"))
        self.write("more", whole)
        self.assertIn("sum.rows = 10000", self.results(self.read(kind="rows", path="[more, kept]")))

    def test_damage_is_told(self):
        def damaged(change, said, run=True):
            self.write_parts()
            change(self.dir / "kept")
            done = self.flowrun("verify", "kept")
            self.assertEqual(done.returncode, 65, done.stdout)
            self.assertIn(said, done.stderr)
            if run:
                done = self.read()
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertIn("read.yaml:3:42: error: ", done.stderr)
                self.assertIn(said, done.stderr)

        part = "part-00001"
        damaged(lambda kept: (kept / part).unlink(), f"kept/{part}: the manifest names it, and it can't be read")
        damaged(lambda kept: (kept / part).write_bytes(b"x"), f"kept/{part}: it has 1 bytes, and the manifest says")
        damaged(lambda kept: (kept / "manifest.json").write_text("{"), "kept/manifest.json: it is no manifest of parts")
        damaged(lambda kept: (kept / "manifest.json").write_text('{"format": 9}'), "was written by a later version")
        damaged(lambda kept: (kept / "manifest.json").write_text(
            (kept / "manifest.json").read_text().replace(part, "../read.yaml")), "a part of it lies elsewhere")

        def flip(kept):
            content = bytearray((kept / part).read_bytes())
            content[100] ^= 1
            (kept / part).write_bytes(content)
        damaged(flip, f"kept/{part}: its content is not what the manifest says", run=False)
        damaged(lambda kept: (kept / "mine").write_text(""), "kept/mine is no part of the output", run=False)

    def test_a_directory_of_somebody_is_no_input(self):
        (self.dir / "kept").mkdir()
        done = self.read()
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("can't open kept: Is a directory", done.stderr)


if __name__ == "__main__":
    main()
