#!/usr/bin/env python3
"""Files of Protocol Buffers messages: whatever brings them, what is wrong is said before the run where it can be, and a job
that was killed goes on."""

import gzip
import shutil

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

    def test_what_the_descriptors_do_not_have_is_a_fault(self):
        self.write("a.pb", messages(0, 3))
        self.job("a.pb", "{user: u64, tags: string}")
        self.fails(78, self.flowrun("check", "job.yaml"), "job.yaml:3:", "the field 'tags' of shop.Visit is repeated", "leave it out")
        self.job("a.pb", "{usr: u64}")
        self.fails(78, self.flowrun("job.yaml"), "the message shop.Visit has no field 'usr'", "did you mean 'user'?")
        self.job("a.pb")
        self.write("shop.desc", "syntax = proto3")
        self.fails(78, self.flowrun("check", "job.yaml"), "shop.desc: it has no descriptors of messages", "--descriptor_set_out")
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


if __name__ == "__main__":
    main()
