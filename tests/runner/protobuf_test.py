#!/usr/bin/env python3
"""Files of Protocol Buffers messages: whatever brings them, what is wrong is said before the run where it can be, and a job
that was killed goes on."""

import gzip
import shutil

from descriptor_bytes import field, file
from flowrun_process import ROOT, main
from resuming_process import resuming_test

JOB = """flowrun: 1
nodes:
  visits: {op: file.read_protobuf, with: {path: PATH, descriptors: shop.desc, message: shop.Visit, type: TYPE}}
  out: {op: file.write_csv, in: visits, with: {path: out/sorted}}
"""


def messages(first, last):
    """{user: 200 to 16383, delta: 1}, each behind its length."""
    return b"".join(b"\x05\x08%c%c\x20\x02" % (128 | n % 128, 2 + n // 128 % 100) for n in range(first, last))


def lines(first, last):
    return b"".join(b"%d,1\n" % ((2 + n // 128 % 100) * 128 + n % 128) for n in range(first, last))


class protobuf_test(resuming_test):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "tests/golden/jobs/protobuf/shop.desc", self.dir)

    def job(self, path, type="{user: u64, delta: i32}"):
        self.write("job.yaml", JOB.replace("PATH", path).replace("TYPE", type))

    def output(self, path, *more, **others):
        self.job(path)
        (self.dir / "out/sorted").unlink(missing_ok=True)
        done = self.flowrun("job.yaml", "-q", *more, **others)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.dir / "out/sorted").read_bytes()

    def test_whatever_brings_the_messages(self):
        self.write("a.pb", messages(0, 70_001))
        self.write("b.pb", gzip.compress(messages(70_001, 90_000)))
        self.write("c.pb", b"")
        expected = lines(0, 90_000)
        for more in ((), ("--plain-executor",), ("-j", "1", "-m", "8MiB"), ("-j", "3")):
            self.assertEqual(self.output('"[a-c].pb"', *more), expected)
        self.job('[a.pb, "-"]')
        done = self.shell('cat b.pb | "$0" -q job.yaml')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out/sorted").read_bytes(), expected)

    def test_paths_and_imports_that_are_very_deep(self):
        job = """flowrun: 1
nodes:
  rows: {op: file.read_protobuf, with: {path: m.pb, descriptors: m.desc, message: M0, type: {v: i32}FIELDS}}
  out: {op: file.write_csv, in: rows, with: {path: "-"}}
"""
        self.write("m.pb", b"\x02\x10\x05")
        self.write("m.desc", file("m.proto", {"M0": [field("a", 1, ".M0"), field("v", 2)]}))
        self.write("job.yaml", job.replace("FIELDS", ", fields: {v: " + "a." * 99 + "v}"))
        self.assertEqual(self.flowrun("-q", "job.yaml").stdout, "0\n")
        self.write("job.yaml", job.replace("FIELDS", ", fields: {v: " + "a." * 100 + "v}"))
        self.fails(78, self.flowrun("-q", "job.yaml"), "has 101 fields", "messages lie in each other up to 100 deep")

        self.write("job.yaml", job.replace("FIELDS", ""))
        last = 20_000
        for last_imports in ((), ("f0",)):  # each of the others imports the next one
            self.write("m.desc", b"".join(
                file(f"f{i}", {f"M{i}": [field("v", 2)]}, (f"f{i + 1}",) if i < last else last_imports) for i in range(last + 1)))
            done = self.flowrun("-q", "job.yaml")
            if last_imports:
                self.fails(78, done, "m.desc: 'f0' imports itself, by way of others")
            else:
                self.assertEqual((done.returncode, done.stdout), (0, "5\n"), done.stderr)

    def test_what_the_descriptors_do_not_have_is_a_fault(self):
        self.write("a.pb", messages(0, 3))
        self.job("a.pb", "{user: u64, tags: string}")
        self.fails(78, self.flowrun("check", "job.yaml"), "job.yaml:3:", "the field 'tags' of shop.Visit is repeated", "leave it out")
        self.job("a.pb", "{usr: u64}")
        self.fails(78, self.flowrun("job.yaml"), "the message shop.Visit has no field 'usr'", "did you mean 'user'?")
        self.job("a.pb")
        self.write("shop.desc", "syntax = proto3")
        done = self.flowrun("check", "job.yaml")
        self.fails(78, done, "shop.desc: it has no descriptors of messages", "--descriptor_set_out")
        line, mark = done.stderr.split("\n")[1:3]
        self.assertTrue(line[mark.index("^") :].startswith(("shop.desc", '"shop.desc')), done.stderr)
        (self.dir / "shop.desc").unlink()
        self.fails(66, self.flowrun("check", "job.yaml"), "shop.desc")

    def test_what_is_cut_off_leaves_no_output(self):
        self.write("a.pb", messages(0, 50_000)[:-1])
        self.job("a.pb")
        for more in ((), ("-j", "1"), ("-j", "3")):
            self.fails(65, self.flowrun("job.yaml", "-q", *more), "a.pb: message 49999 (counted from 0), byte 299994: the file ends at byte 299999")
        self.assertFalse((self.dir / "out/sorted").exists())

    def test_a_job_that_was_killed_goes_on(self):
        self.write("a.pb", messages(0, 1_000_001))
        self.write("b.pb", messages(1_000_001, 6_000_000))
        self.job("[a.pb, b.pb]")
        expected = self.expected()
        self.assertEqual(expected, lines(0, 6_000_000))
        self.assertTrue(self.kill_while_writing())
        _, rows = self.goes_on(expected)
        self.assertLess(rows["visits"], 6_000_000)

    def sink(self, path, more="", rows=90_000, user="i + 200"):
        # Row i has the message of messages().
        self.write("job.yaml", f"""flowrun: 1
nodes:
  rows: {{op: generate, with: {{rows: {rows}, columns: {{user: "{user}", delta: "i32(1)", kind: "i32(i % 2)"}}}}}}
  out:
    op: file.write_protobuf
    in: rows
    with: {{path: "{path}", descriptors: shop.desc, message: shop.Visit{more}}}
""")

    def one(self, user, kind):
        varint = b""
        while user >= 128:
            varint, user = varint + bytes([user % 128 + 128]), user // 128
        message = (b"\x08" + varint + bytes([user]) if varint or user else b"") + b"\x20\x02" + (b"\x80\x01\x01" if kind else b"")
        return bytes([len(message)]) + message

    def test_a_sink_writes_wherever_the_job_says(self):
        expected = b"".join(self.one(i + 200, i % 2) for i in range(90_000))
        for more in ((), ("--plain-executor",), ("-j", "1", "-m", "8MiB"), ("-j", "3")):
            self.sink("out/new.pb")
            self.assertEqual(self.flowrun("job.yaml", "-q", *more).returncode, 0)
            self.assertEqual((self.dir / "out/new.pb").read_bytes(), expected)
        self.sink("out/new.pb.gz")
        self.assertEqual(self.flowrun("job.yaml", "-q").returncode, 0)
        self.assertEqual(gzip.decompress((self.dir / "out/new.pb.gz").read_bytes()), expected)
        self.sink("-")
        self.assertEqual(self.shell('"$0" -q job.yaml').stdout, expected)
        self.sink("out/{kind}.pb", ", path_columns: leave_out", 10)
        self.assertEqual(self.flowrun("job.yaml", "-q").returncode, 0)
        for kind in (0, 1):
            self.assertEqual((self.dir / f"out/{kind}.pb").read_bytes(), b"".join(self.one(i + 200, 0) for i in range(kind, 10, 2)))

    def test_a_sink_that_fails_leaves_nothing(self):
        self.sink("out/new.pb", ", fields: {user: kind, kind: user}", 21_476, "i * 100000")
        for more in ((), ("-j", "1"), ("-j", "3")):
            self.fails(65, self.flowrun("job.yaml", "-q", *more), "node 'out': column 'user', field 'kind' of shop.Visit: 2147500000 is none of the numbers",
                       "the row is {user: 2147500000, delta: 1, kind: 1}")
            self.assertFalse((self.dir / "out/new.pb").exists())
        self.sink("out/new.pb", ", fields: {user: usr}")
        self.fails(78, self.flowrun("check", "job.yaml"), "job.yaml:7:", "the message shop.Visit has no field 'usr'", "did you mean 'user'?")
        self.sink("shop.desc")
        self.fails(78, self.flowrun("check", "job.yaml"), "'out' writes 'shop.desc', which 'out' reads")
        (self.dir / "shop.desc").unlink()
        self.sink("out/new.pb")
        self.fails(66, self.flowrun("check", "job.yaml"), "shop.desc")
        self.fails(66, self.flowrun("job.yaml"), "shop.desc")


if __name__ == "__main__":
    main()
