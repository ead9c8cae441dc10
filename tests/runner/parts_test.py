#!/usr/bin/env python3
"""Folders of parts, which jobs with --cluster write: read as one input, and held against their manifest."""

import json
import os
import pathlib
import shutil
import sys

from flowrun_process import ROOT, SANITIZED, main, process_test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import parts  # noqa: E402

ROWS = "{op: generate, with: {rows: 5000, columns: {k: \"u32(rand(1, i) % 100)\", n: i, t: \"concat('row ', i)\"}}}"
FEW = "{op: generate, with: {rows: 2, columns: {k: \"u32(7)\", n: i, t: \"'same'\"}}}"
NUMBERS, TEXT = "{k: k, n: n}", "{k: k, n: n, t: t}"
NUMBERS_TYPE, TEXT_TYPE = "type: {k: u32, n: u64}", "type: {k: u32, n: u64, t: string}"
MESSAGE = "descriptors: shop.desc, message: shop.Visit"
# A format: its columns, how it is written and read, and what is summed up of it.
FORMATS = {
    "csv": (TEXT, "write_csv", "header: true", "read_csv", f"header: true, {TEXT_TYPE}", "sum(n)"),
    "json": (TEXT, "write_json_lines", "", "read_json_lines", TEXT_TYPE, "sum(n)"),
    "lines": (TEXT, "write_lines", "column: t", "read_lines", "", "sum(length(text))"),
    "gzip": (TEXT, "write_csv", "compression: gzip", "read_csv", TEXT_TYPE, "sum(n)"),
    "zstd": (TEXT, "write_csv", "header: true, compression: zstd", "read_csv", f"header: true, {TEXT_TYPE}", "sum(n)"),
    "bzip2": (NUMBERS, "write_rows", "compression: bzip2", "read_rows", NUMBERS_TYPE, "sum(n)"),
    "xz": (NUMBERS, "write_rows", "compression: xz", "read_rows", NUMBERS_TYPE, "sum(n)"),
    "rows": (NUMBERS, "write_rows", "", "read_rows", NUMBERS_TYPE, "sum(n)"),
    "npy": (NUMBERS, "write_npy", "", "read_npy", NUMBERS_TYPE, "sum(n)"),
    "protobuf": ("{user: n, delta: i32(k)}", "write_protobuf", MESSAGE, "read_protobuf",
                 f"{MESSAGE}, type: {{user: u64, delta: i32}}", "sum(user)"),
}
WRITING = """flowrun: 1
nodes:
  made:   {made}
  sorted: {{op: sort, in: made, with: {{by: [k, n]}}}}
  fitted: {{op: map, in: sorted, with: {columns}}}
  out:    {{op: file.{write}, in: fitted, with: {{path: kept, {with_}}}}}
"""
READING = """flowrun: 1
nodes:
  kept: {{op: file.{read}, with: {{path: {path}, {with_}}}}}
  sum:  {{op: reduce, in: kept, with: {{let: {{rows: "count()", n: "{sum}"}}, hash: true}}}}
"""
COPYING = """flowrun: 1
nodes:
  kept: {{op: file.{read}, with: {{path: kept, {reading}}}}}
  out:  {{op: file.{write}, in: kept, with: {{path: copy, {writing}}}}}
"""


class parts_test(process_test):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "tests/golden/jobs/protobuf/shop.desc", self.dir)

    def write_parts(self, kind="csv", width=3, made=ROWS):
        columns, write, with_, *_ = FORMATS[kind]
        self.write("write.yaml", WRITING.format(made=made, columns=columns, write=write, with_=with_))
        done = self.flowrun("write.yaml", "-q", "-T", "scratch", "--cluster", f"local:{width}")
        self.assertEqual(done.returncode, 0, done.stderr)

    def read(self, *options, kind="csv", path="kept"):
        *_, read, with_, sums = FORMATS[kind]
        self.write("read.yaml", READING.format(read=read, path=path, with_=with_, sum=sums))
        return self.flowrun("read.yaml", "-T", "scratch", *options)

    def copy(self, kind, *options):
        _, write, writing, read, reading, _ = FORMATS[kind]
        writing = writing.replace("column: t", "")  # read_lines has a column of its own
        self.write("copy.yaml", COPYING.format(read=read, reading=reading, write=write, writing=writing))
        done = self.flowrun("copy.yaml", "-q", "-T", "scratch", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.dir / "copy"

    def verify_fails(self, said, *options):
        done = self.flowrun("verify", "kept", *options)
        self.assertEqual(done.returncode, 65, done.stdout)
        self.assertRegex(done.stderr, said)

    def change_manifest(self, change):
        told = json.loads((self.dir / "kept/manifest.json").read_text())
        change(told)
        self.write("kept/manifest.json", json.dumps(told))

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
                if kind != "lines":
                    self.assertIn("sum.n = 12497500", alone)
                self.assertEqual(self.results(self.read("--cluster", "local:2", kind=kind)), alone)
                done = self.flowrun("verify", "kept")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"^3 parts, 5,000 rows, .*: all as the manifest says\n(Sorted by .*, says the manifest\n)?$")

    def test_parts_are_read_in_the_order_of_the_manifest(self):
        for kind in ("csv", "lines", "rows", "npy", "protobuf"):
            with self.subTest(kind):
                self.write_parts(kind)
                header = '"' if kind == "csv" else None
                whole = parts.joined(self.dir / "kept", header)
                self.assertEqual(self.copy(kind).read_bytes(), whole)
                (self.dir / "copy").unlink()
                self.assertEqual(parts.joined(self.copy(kind, "--cluster", "local:2"), header), whole)
                shutil.rmtree(self.dir / "copy")
        self.write_parts("rows")
        whole = b"".join(path.read_bytes() for path in reversed(parts.parts_of(self.dir / "kept")))
        self.change_manifest(lambda told: told["parts"].reverse())
        self.assertEqual(self.copy("rows").read_bytes(), whole)

    def test_the_manifest_has_the_ends_of_each_part(self):
        self.write_parts()
        told = json.loads((self.dir / "kept/manifest.json").read_text())
        self.assertEqual(told["sorted_by"], ["k", "n"])
        for part in told["parts"]:
            rows = (self.dir / "kept" / part["name"]).read_text().splitlines()[1:]
            for which, row in (("first", rows[0]), ("last", rows[-1])):
                self.assertEqual(part[which], [int(value) for value in row.split(",")[:2]])
        said = self.flowrun("verify", "kept").stdout.splitlines()[1]
        first, last = (json.dumps(at, separators=(",", ":")) for at in (told["parts"][0]["first"], told["parts"][-1]["last"]))
        self.assertEqual(said, f"Sorted by k, n, from {first} to {last}, says the manifest")
        self.change_manifest(lambda told: told["parts"][0].update(first="none"))
        self.verify_fails("kept/manifest.json: it is no manifest of parts")
        self.change_manifest(lambda told: told["parts"][0].update(first=[1]))
        self.verify_fails('part 0 .counted from 0. has a key "first" that is not what it is sorted by')

    def test_ends_of_every_type(self):
        long = "x" * 300
        values = {"i": ("i16(i) - 1", -1), "f": ("f32(i) + 0.5", 0.5), "nan": ("0.0 / f64(i)", "nan"), "b": ("i == 0", True),
                  "m": ("to_decimal('12.30', 2)", "12.30"), "d": ("to_date('2026-11-27')", "2026-11-27"),
                  "s": ("concat('a\u00e9', i)", "a\u00e90"), "x": (f"concat('{long}', i)", {"hex": "78" * 200, "bytes": 301}),
                  "h": ("unhex('00ff41')", {"hex": "00ff41", "bytes": 3}), "y": ("bytes(concat('qrst', i), 5)", "rs")}
        self.write("job.yaml", f"""flowrun: 1
nodes:
  made: {{op: generate, with: {{rows: 1, columns: {json.dumps({name: text for name, (text, _) in values.items()})}}}}}
  sorted: {{op: sort, in: made, with: {{by: [{", ".join(name if name != "y" else "'y[1:3]'" for name in values)}]}}}}
  out:  {{op: file.write_csv, in: sorted, with: {{path: kept}}}}
""")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads((self.dir / "kept/manifest.json").read_text())
        self.assertEqual(told["sorted_by"], [*list(values)[:-1], "y[1:3]"])
        with_rows = [part for part in told["parts"] if part["rows"]]
        self.assertEqual([part["first"] for part in with_rows], [[value for _, value in values.values()]])
        self.assertEqual([set(part) for part in told["parts"] if not part["rows"]],
                         [{"name", "rows", "bytes", "hash"}] * (len(told["parts"]) - 1))

    def test_rows_in_no_known_order_have_no_ends(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  made: {op: generate, with: {rows: 100, columns: {k: "rand(1, i)"}}}
  out:  {op: file.write_csv, in: made, with: {path: kept}}
""")
        self.assertEqual(self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2").returncode, 0)
        told = json.loads((self.dir / "kept/manifest.json").read_text())
        self.assertNotIn("sorted_by", told)
        self.assertEqual({key for part in told["parts"] for key in part}, {"name", "rows", "bytes", "hash"})

    def test_the_order_across_parts_is_verified(self):
        self.write_parts("rows")
        done = self.flowrun("verify", "kept", "--type", "k: u32, n: u64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Records: 5000", done.stdout)
        self.assertIn("Duplicate keys: 0", done.stdout)
        done = self.flowrun("verify", "kept", "--type", "k: u32, n: u64", "--by=k")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Duplicate keys: 4900", done.stdout)
        self.change_manifest(lambda told: told["parts"].reverse())
        self.assertEqual(self.flowrun("verify", "kept").returncode, 0)
        self.verify_fails("kept is not sorted: 2 of its rows are smaller", "--type", "k: u32, n: u64")
        done = self.flowrun("verify", "kept", "--type", "k: u32, n: u64", "--any-order")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.verify_fails(r"kept/part-00002 has [\d,]+ rows of this type, and the manifest says [\d,]+\n",
                          "--type", "n: u32", "--any-order")
        # Without a type the rows are those of the sort benchmark, as in a file.
        self.verify_fails("kept/part-00002 ends within a row|kept/part-00002 has", "--by", "key")

    def test_a_source_is_inferred(self):
        for kind in ("csv", "json", "npy"):
            with self.subTest(kind):
                # Of more parts than rows some have none.
                for made, width, rows in ((ROWS, 3, 5000), (FEW, 5, 2)):
                    self.write_parts(kind, made=made, width=width)
                    done = self.flowrun("infer", "kept")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("path: kept", done.stdout)
                    self.write("read.yaml", f"flowrun: 1\n{done.stdout}  sum: {{op: reduce, in: kept, with: {{let: {{rows: 'count()'}}}}}}\n")
                    self.assertIn(f"sum.rows = {rows}", self.results(self.flowrun("read.yaml", "-T", "scratch")))

    def test_parts_without_rows(self):
        for kind in FORMATS:
            with self.subTest(kind):
                self.write_parts(kind, made=FEW, width=5)
                self.assertEqual(len(parts.parts_of(self.dir / "kept")), 5)
                self.assertIn("sum.rows = 2", self.results(self.read(kind=kind)))
                self.assertIn("sum.rows = 2", self.results(self.read("--cluster", "local:2", kind=kind)))
                self.assertEqual(self.flowrun("verify", "kept").returncode, 0)

    def test_a_folder_among_files(self):
        self.write_parts("rows")
        whole = b"".join(path.read_bytes() for path in parts.parts_of(self.dir / "kept"))
        self.write("more", whole)
        alone = self.results(self.read(kind="rows", path="[more, kept]"))
        self.assertIn("sum.rows = 10000", alone)
        self.assertEqual(self.results(self.read("--cluster", "local:2", kind="rows", path="[more, kept/]")), alone)

    def test_damage_is_told(self):
        def damaged(change, said, run=True):
            shutil.rmtree(self.dir / "kept", ignore_errors=True)
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
                if not SANITIZED:  # the file is found to be damaged in front of all tasks
                    self.assertEqual(self.read("--cluster", "local:2").returncode, 78)

        part = "part-00001"
        damaged(lambda kept: (kept / part).unlink(), f"kept/{part}: the manifest names it, and it can't be read")
        damaged(lambda kept: (kept / part).write_bytes(b"x"), f"kept/{part}: it has 1 bytes, and the manifest says")
        damaged(lambda kept: (kept / "manifest.json").write_text("{"), "kept/manifest.json: it is no JSON: parse error at line 1")
        damaged(lambda kept: (kept / "manifest.json").write_text('{"format": 9}'), "was written by a later version")
        damaged(lambda kept: self.change_manifest(lambda told: told["parts"].pop()),
                "kept/manifest.json: its sums of rows and bytes are not those of its parts")
        damaged(lambda kept: (kept / "manifest.json").write_text(
            (kept / "manifest.json").read_text().replace(part, "../read.yaml")), "a part of it lies elsewhere: ../read.yaml")

        def manifest(change):
            return lambda kept: self.change_manifest(change)

        damaged(lambda kept: ((kept / part).unlink(), os.mkfifo(kept / part)), f"kept/{part}: the manifest names it, and it is no file")
        damaged(lambda kept: ((kept / part).rename(self.dir / "moved"), (kept / part).symlink_to("../moved")),
                f"kept/{part}: the manifest names it, and it is no file")
        damaged(lambda kept: ((kept / "manifest.json").unlink(), os.mkfifo(kept / "manifest.json")), "it is no manifest of parts: it is no file")
        damaged(lambda kept: os.truncate(kept / "manifest.json", 10**12), "it has 931 GiB, and the longest have 64.0 MiB")
        whole = "it is no manifest of parts: it has"
        second = "it is no manifest of parts: part 1 (counted from 0) has"
        deep = "[" * 10**5 + "]" * 10**5  # of which copies would end the stack
        damaged(lambda kept: (kept / "manifest.json").write_text("[" * 10**6), f"{whole} lists in lists in lists")
        damaged(lambda kept: (kept / "manifest.json").write_text(f'{{"format": 1, "parts": {deep}}}'), f"{whole} lists in lists in lists")
        damaged(lambda kept: (kept / "manifest.json").write_text("[]"), "it is no manifest of parts: it is no object")
        damaged(manifest(lambda told: told.update(format=-1)), f'{whole} a "format" that is no whole number from 0 on')
        damaged(manifest(lambda told: told.update(format=0)), f"{whole} the format 0")
        damaged(manifest(lambda told: told.update(rows=5e3)), f'{whole} a "rows" that is no whole number')
        damaged(manifest(lambda told: told.update(job=None)), f'{whole} a "job" that is no text')
        damaged(manifest(lambda told: told.update(sorted_by=[1])), f'{whole} a "sorted_by" that is no list of texts')
        damaged(manifest(lambda told: told.update(parts=None)), f'{whole} a "parts" that is no list')
        damaged(manifest(lambda told: told.update(parts={"a": {}})), f'{whole} a "parts" that is no list')
        damaged(manifest(lambda told: told.pop("run")), f'{whole} no "run"')
        damaged(manifest(lambda told: told["parts"].insert(1, 7)), "part 1 (counted from 0) is no object")
        damaged(manifest(lambda told: told["parts"][1].update(bytes=-1)), f'{second} a "bytes" that is no whole number')
        damaged(manifest(lambda told: told["parts"][1].update(hash=7)), f'{second} a "hash" that is no text')
        damaged(manifest(lambda told: told["parts"][1].update(first=[None, 1])), f'{second} a key "first" with what no column can have')
        damaged(manifest(lambda told: told["parts"][1].update(first=[{"hex": 1, "bytes": 1}, 1])), f'{second} a key "first" with what')
        damaged(manifest(lambda told: told["parts"][1].pop("last")), f"{second} the key of one end, or keys and no rows")
        damaged(manifest(lambda told: [told["parts"][1].pop(end) for end in ("first", "last")]), f"{whole} keys of some parts with rows")
        damaged(manifest(lambda told: told["parts"][1].update(rows=2**64 - 1)), "its sums of rows and bytes are not those of its parts")
        damaged(manifest(lambda told: told["parts"][1].update(name="")), "a part of it lies elsewhere: ")
        damaged(manifest(lambda told: told["parts"][1].update(name="a\0b")), "a part of it lies elsewhere: ")
        damaged(manifest(lambda told: told["parts"][1].update(name="manifest.json")), "it names manifest.json twice, or as a part of itself")
        damaged(manifest(lambda told: told["parts"][1].update(name=told["parts"][0]["name"])), "it names part-00000 twice")

        def flip(kept):
            content = bytearray((kept / part).read_bytes())
            content[100] ^= 1
            (kept / part).write_bytes(content)
        damaged(flip, f"kept/{part}: its content is not what the manifest says", run=False)
        damaged(lambda kept: (kept / "mine").write_text(""), "kept/mine is no part of the output", run=False)

    def test_keys_are_those_of_the_rows(self):
        self.write_parts("rows")
        done = self.flowrun("verify", "kept", "--type", "k: u32, n: u64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("The first and the last key of each part: as the manifest says\n"), done.stdout)
        # Columns that the type doesn't name can't be compared.
        done = self.flowrun("verify", "kept", "--type", "key: u32, n: u64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("SUCCESS - all records are in order\n"), done.stdout)
        kept = json.loads((self.dir / "kept/manifest.json").read_text())
        for which in ("first", "last"):
            with self.subTest(which):
                self.change_manifest(lambda told: told["parts"][1].update({which: [7, 2**63]}))
                self.verify_fails(rf"kept/part-00001 has the {which} key \[\d+,\d+\], and the manifest says \[7,9223372036854775808\]",
                                  "--type", "k: u32, n: u64")
                self.write("kept/manifest.json", json.dumps(kept))

    def test_keys_of_slices(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  made:   {op: generate, with: {rows: 2000, columns: {b: "bytes(concat('x', rand(1, i) % 90 + 10), 8)", n: i}}}
  sorted: {op: sort, in: made, with: {by: ["b[1:3]", -n]}}
  out:    {op: file.write_rows, in: sorted, with: {path: kept}}
""")
        self.assertEqual(self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2").returncode, 0)
        typed = ("--type", "b: bytes[8], n: u64", "--by", "b[1:3],-n")
        done = self.flowrun("verify", "kept", *typed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("SUCCESS - all records are in order\n"
                                             "The first and the last key of each part: as the manifest says\n"), done.stdout)
        self.change_manifest(lambda told: told["parts"][0].update(first=["zz", 5]))
        self.verify_fails(r'kept/part-00000 has the first key \["10",\d+\], and the manifest says \["zz",5\]', *typed)
        for wrong in ("b[1:9]", "b[3:3]", "b[1:", "n[0:1]", "b[x:2]", "b["):
            self.fails(64, self.flowrun("verify", "kept", "--type", "b: bytes[8], n: u64", "--by", wrong),
                       f"'{wrong}' is no part of a column", "column[from:to]")

    def test_compressed_rows_are_not_looked_at(self):
        self.write_parts("bzip2")
        self.assertEqual(self.flowrun("verify", "kept").returncode, 0)
        self.verify_fails("help: it is compressed, and rows are looked at as they lie in a file", "--type", "k: u32, n: u64")

    def test_a_pattern_finds_no_manifest(self):
        self.write_parts("lines")
        alone = self.results(self.read(kind="lines"))
        self.assertEqual(self.results(self.read(kind="lines", path="'kept/*'")), alone)
        done = self.flowrun("infer", "kept/*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("format", done.stdout)
        # It does where nothing else is meant, and another file of that name is data.
        num_lines = len((self.dir / "kept/manifest.json").read_text().splitlines())
        self.assertIn(f"sum.rows = {num_lines}", self.results(self.read(kind="lines", path="'kept/*.json'")))
        self.write("kept/manifest.json", "one line\n")
        self.assertIn("sum.rows = 5001", self.results(self.read(kind="lines", path="'kept/*'")))

    def test_no_parts(self):
        (self.dir / "kept").mkdir()
        self.write("kept/manifest.json", '{"format": 1, "run": "a", "job": "j", "parts": [], "rows": 0, "bytes": 0}')
        self.assertEqual(self.flowrun("verify", "kept").returncode, 0)
        self.fails(78, self.read(), "kept has no parts", "")
        self.fails(66, self.flowrun("infer", "kept"), "kept has no parts", "")

    def test_what_may_be_missing_is_no_key(self):
        made = "{op: generate, with: {rows: 300, columns: {k: i % 3, none: i % 2 == 0, n: i, t: \"'x'\"}}}"
        writing = WRITING.replace("by: [k, n]", "by: [k, none, n]")
        self.write("write.yaml", writing.format(made=made, columns="{k: k, none: none, n: n}", write="write_csv",
                                                with_="missing: {n: none}, null_text: 'NULL'"))
        done = self.flowrun("write.yaml", "-q", "-T", "scratch", "--cluster", "local:2")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads((self.dir / "kept/manifest.json").read_text())
        self.assertEqual(told["sorted_by"], ["k"])
        self.assertEqual([told["parts"][0]["first"], told["parts"][-1]["last"]], [[0], [2]])

    def test_a_directory_of_somebody_is_no_input(self):
        (self.dir / "kept").mkdir()
        done = self.read()
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("read.yaml:3:42: error: can't open kept: Is a directory", done.stderr)
        self.assertIn("name the files in it: kept/* (a folder is read as one input only where it has the manifest.json "
                      "of a job on a cluster)", done.stderr)
        self.fails(66, self.flowrun("verify", "kept"), "can't read kept: Is a directory", "manifest.json")


if __name__ == "__main__":
    main()
