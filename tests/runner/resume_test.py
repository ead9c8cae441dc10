#!/usr/bin/env python3
"""--resume: a job that was killed while it made runs goes on where it was, gives the same bytes, and leaves nothing; what
doesn't fit any more is not used; flowrun clean. (The last merge, outputs and loops: resume_merges_test.py.)"""

import os
import random
import re
import signal
import struct
import time

from flowrun_process import SANITIZED, main
from resuming_process import LINES, MEMORY, NUM_ROWS, SORT, resuming_test

CSV = """flowrun: 1
nodes:
  rows: {op: file.read_csv, with: {path: [a.csv, b.csv], header: true, type: {k: u32, name: string}}}
  sorted: {op: sort, in: rows, with: {by: [name, -k]}}
  out: {op: file.write_csv, in: sorted, with: {path: out/sorted}}
"""
ROWS = """flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: [a.rows, b.rows], type: {k: u32, v: u64}}}
  sorted: {op: sort, in: rows, with: {by: [k], unique: true}}
  out: {op: file.write_rows, in: sorted, with: {path: out/sorted}}
"""
# Two sorts behind each other, the second of what a stage with a state has made.
TWO = """flowrun: 1
params: {rows: {type: int, default: 3000000}}
nodes:
  drawn: {op: generate, with: {rows: "${rows}", columns: {k: "rand(1, i) % 100000", v: "rand(2, i)"}}}
  by_k: {op: sort, in: drawn, with: {by: [k]}}
  sums: {op: scan, in: by_k, with: {state: {n: "u64(0)"}, set: {n: "n + 1"}, emit: {w: "v ^ n"}}}
  by_w: {op: sort, in: sums, with: {by: [w]}}
  out: {op: file.write_rows, in: by_w, with: {path: out/sorted}}
"""

# A row whose values the sorted rows depend on: it is made again, and the sort goes on.
VALUES = """flowrun: 1
params: {rows: {type: int, default: 3000000}}
nodes:
  others: {op: generate, with: {rows: 200000, columns: {v: "rand(3, i)"}}}
  by_v: {op: sort, in: others, with: {by: [v]}}
  middle: {op: limit, in: by_v, with: {skip: 100000, count: 1}}
  drawn: {op: generate, with: {rows: "${rows}", columns: {k: "rand(1, i) % 100000", v: "rand(2, i)"}}}
  kept: {op: filter, in: drawn, scalars: middle, with: {where: "v < middle.v or k % 8 > 0"}}
  sorted: {op: sort, in: kept, scalars: middle, with: {by: ["v ^ middle.v"]}}
  out: {op: file.write_rows, in: sorted, with: {path: out/sorted}}
"""


class resume_test(resuming_test):
    def test_a_file_of_a_branch_that_does_not_run(self):
        """Where it isn't there, that is what must be the same."""
        self.write("a.csv", "1\n2\n")
        self.write("job.yaml", """flowrun: 1
nodes:
  a: {op: file.read_csv, with: {path: a.csv, type: {x: u32}}}
  b:
    op: if
    in: {a: a}
    with:
      condition: rows(a) > 1000
      then: {some: {op: file.read_csv, with: {path: missing.csv, type: {x: u32}}}}
      else: {some: {op: filter, in: a, with: {where: x > 1}}}
      out: {out: some}
  out: {op: file.write_csv, in: b, with: {path: out.csv}}
""")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.csv").read_text(), "2\n")
        self.assertEqual(self.kept(), [])

    def test_rows_from_nowhere(self):
        self.write("job.yaml", SORT)
        done, rows = self.killed_again_and_again()
        taken = re.search(r"goes on: 'sorted' has ([\d,]+) rows", done.stderr)
        self.assertIsNotNone(taken, done.stderr)
        taken = int(taken[1].replace(",", ""))
        # Not more is done again than a batch: the source begins behind what is in runs.
        self.assertLessEqual(rows["drawn"], NUM_ROWS - taken + 16_384)
        self.assertEqual(rows["sorted"], NUM_ROWS)

    def test_lines(self):
        draw = random.Random(1)
        lines = [f"{draw.randrange(10 ** draw.randrange(1, 9))} {'x' * draw.randrange(20)}\n" for _ in range(600_000)]
        self.write_inputs("txt", lines)
        self.write("empty.txt", "")
        self.write("job.yaml", LINES)
        done, rows = self.killed_again_and_again()
        self.assertLess(rows["lines"], len(lines))

    def test_csv(self):
        draw = random.Random(2)
        lines = [f'{draw.randrange(1000)},"n, {draw.randrange(10**6)}\n{"y" * draw.randrange(9)}"\n' for _ in range(600_000)]
        self.write_inputs("csv", lines, "k,name\n")
        self.write("job.yaml", CSV)
        done, rows = self.killed_again_and_again()
        self.assertLess(rows["rows"], len(lines))

    def test_a_range_of_bytes(self):
        draw = random.Random(6)
        lines = [f"{draw.randrange(1000)},{draw.randrange(10**9)}\n" for _ in range(1_200_000)]
        text = "k,name\n" + "".join(lines)
        self.write("a.csv", text)
        begin, end = 7 + len("".join(lines[:1000])), len(text) - len("".join(lines[-1000:]))
        self.write("job.yaml", CSV.replace("[a.csv, b.csv]", f'a.csv, range: "{begin}:{end}"'))
        done, rows = self.killed_again_and_again()
        self.assertLess(rows["rows"], len(lines) - 2000)

    def test_binary_rows_without_repeats(self):
        draw = random.Random(3)
        rows = [struct.pack("<IQ", draw.randrange(2_000_000), i) for i in range(2_500_000)]
        self.write("a.rows", b"".join(rows[:900_001]))
        self.write("b.rows", b"".join(rows[900_001:]))
        self.write("job.yaml", ROWS)
        done, given = self.killed_again_and_again()
        self.assertLess(given["rows"], len(rows))

    def test_two_sorts(self):
        self.write("job.yaml", TWO)
        expected = self.expected()
        # Far into the second sort, of which the first is no longer needed.
        kills = [self.kill_after(n) for n in (3_000, 9_000, 13_000)]
        self.assertTrue(kills[0])
        self.goes_on(expected)

    def test_values_of_a_row(self):
        self.write("job.yaml", VALUES)
        done, rows = self.killed_again_and_again()
        self.assertRegex(done.stderr, r"goes on: .*'sorted' has [\d,]+ rows")
        self.assertLess(rows["drawn"], 3_000_000)

    def test_rows_in_an_order_of_their_own(self):
        """Shuffle and permute number the rows that they take."""
        for op in ("{op: shuffle, in: drawn, with: {seed: 3}}", "{op: permute, in: drawn, with: {to: \"row_number ^ 1\"}}"):
            with self.subTest(op):
                self.write("job.yaml", SORT.replace("{op: sort, in: drawn, with: {by: [k], stable: true}}", op))
                expected = self.expected()
                self.assertTrue(self.kill_after(1_500))
                self.goes_on(expected)
                (self.dir / "out/sorted").unlink()

    def test_a_run_that_nobody_disturbs_leaves_nothing(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.goes_on(expected, "-p", f"rows={NUM_ROWS}")

    def test_after_ctrl_c(self):
        num_rows = (2 if SANITIZED else 4) * NUM_ROWS  # so that it is at work for long enough to be stopped
        self.write("job.yaml", SORT.replace(str(NUM_ROWS), str(num_rows)))
        expected = self.expected()
        job = self.start("job.yaml", *MEMORY, "-T", "scratch", "--resume", "--progress", "none")
        while job.poll() is None and self.manifest_bytes() < 2_000:
            time.sleep(0.002)
        job.send_signal(signal.SIGINT)
        out, err = job.communicate()
        self.assertEqual(job.returncode, 130, err)
        self.assertIn("the same command goes on there (flowrun clean scratch removes it)", err)
        self.assertEqual(len(self.kept()), 1)
        done, rows = self.goes_on(expected)
        self.assertLess(rows["drawn"], num_rows)

    def test_what_has_changed_is_not_used(self):
        self.write_inputs("rows", ["x" * 12] * 2_000_000)
        self.write("job.yaml", ROWS.replace(", unique: true", ""))

        def change_content():
            with open(self.dir / "a.rows", "r+b") as file:
                file.write(b"y")

        def touch():
            os.utime(self.dir / "b.rows")

        def lengthen():
            with open(self.dir / "b.rows", "ab") as file:
                file.write(b"z" * 12)

        def other_job():
            self.write("job.yaml", ROWS)

        for change, words in (
            (change_content, "a.rows has changed"),
            (touch, "b.rows was written meanwhile"),
            (lengthen, "bytes and has"),
            (other_job, "the job has changed"),
        ):
            with self.subTest(words):
                self.assertTrue(self.kill_after(1_500))
                change()
                plan = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume")
                self.assertIn("would start over", plan.stdout)
                expected = self.expected()
                done, rows = self.goes_on(expected)
                self.assertIn("starts over", done.stderr)
                self.assertIn(words, done.stderr)
                self.assertNotIn("goes on:", done.stderr)
        with self.subTest("memory"):
            self.write("job.yaml", SORT)
            self.assertTrue(self.kill_after(1_500))
            done = self.run_job("--resume", "-m", "20MiB")
            self.assertIn("the memory budget was 16.0 MiB and is 20.0 MiB", done.stderr)
            self.assertEqual(done.returncode, 0)

    def test_a_manifest_that_was_cut_off(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        for cut in (17, 10**6) if SANITIZED else (1, 17, 700, 10**6):
            with self.subTest(cut=cut):
                self.assertTrue(self.kill_after(3_000))
                manifest = self.kept()[0] / "manifest"
                content = manifest.read_bytes()
                manifest.write_bytes(content[: max(len(content) - cut, 0)])
                done, _ = self.goes_on(expected)
                if cut < 100:
                    self.assertRegex(done.stderr, r"the manifest's last [\d,]+ bytes are damaged, or were not written to their end")

    def test_a_manifest_with_another_byte_in_it(self):
        """A torn end is what a kill leaves, this isn't: what the records before it tell of may be gone by now."""
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.assertTrue(self.kill_after(3_000))
        manifest = self.kept()[0] / "manifest"
        content = bytearray(manifest.read_bytes())
        at = len(content) * 2 // 3
        content[at] ^= 1
        manifest.write_bytes(content)
        plan = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume")
        self.assertIn("resume: a run would start over: its manifest is damaged", plan.stdout)
        done, _ = self.goes_on(expected)
        self.assertIn("starts over: its manifest is damaged", done.stderr)

    def test_what_is_no_file_in_the_directory(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.assertTrue(self.kill_after(3_000))
        (self.kept()[0] / "owner").unlink()
        os.mkfifo(self.kept()[0] / "owner")
        plan = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume")
        self.assertIn("resume: a run would start over: ", plan.stdout)
        done, _ = self.goes_on(expected)
        self.assertIn("starts over: ", done.stderr)
        for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("elsewhere", path)):
            self.assertTrue(self.kill_after(3_000))
            manifest = self.kept()[0] / "manifest"
            manifest.unlink()
            make(manifest)
            done = self.run_job("--resume")
            self.fails(75, done, "/manifest is no file of a job with --resume", "help: remove it")
            os.rmdir(manifest) if manifest.is_dir() else manifest.unlink()
        self.goes_on(expected)

    def test_a_manifest_without_a_word(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.assertTrue(self.kill_after(3_000))
        (self.kept()[0] / "manifest").write_bytes(b"")
        done, _ = self.goes_on(expected)
        self.assertIn("starts over: the list of scratch directories was another one, or the manifest is lost or damaged", done.stderr)

    def test_damage_is_found_and_not_gone_on_with(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.assertTrue(self.kill_after(3_000))
        with open(self.kept()[0] / "blocks", "r+b") as blocks:
            blocks.seek(100_000)
            blocks.write(b"damage")
        done = self.run_job("--resume")
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertIn("scratch block damaged", done.stderr)
        self.assertEqual(self.files("out"), [])
        done, rows = self.goes_on(expected)
        self.assertIn("starts over: scratch block damaged", done.stderr)

    def test_blocks_that_are_gone_or_of_another_run_are_not_used(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        for change in ("remove", "shorten", "exchange"):
            with self.subTest(change):
                self.assertTrue(self.kill_after(3_000))
                kept = self.kept()[0]
                if change == "remove":
                    (kept / "blocks").unlink()
                elif change == "shorten":
                    os.truncate(kept / "blocks", 4096)
                else:
                    (kept / "owner").write_text("12345\n")
                done, rows = self.goes_on(expected)
                self.assertIn("starts over", done.stderr)
                self.assertEqual(rows["drawn"], NUM_ROWS)

    def test_two_jobs_that_share_a_disk(self):
        """Blocks on a disk belong to one manifest, even if another run of the same command has other disks beside it."""
        draw = random.Random(4)
        for name in "ab":
            self.write(f"{name}.rows", b"".join(struct.pack("<IQ", draw.randrange(2_000_000), i) for i in range(1_500_000)))
        self.write("job.yaml", ROWS.replace("[a.rows, b.rows]", "[in.rows]"))

        def start(name, *scratch):
            (self.dir / "in.rows").unlink(missing_ok=True)
            os.symlink(f"{name}.rows", self.dir / "in.rows")
            return self.start("job.yaml", *MEMORY, *scratch, "--resume", "--progress", "none")

        first, second = ("-T", "one", "-T", "both"), ("-T", "two", "-T", "both")
        expected = {}
        for name in "ab":
            start(name, "-T", "scratch").communicate()
            expected[name] = (self.dir / "out/sorted").read_bytes()
        for name, scratch in (("a", first), ("b", second), ("a", first)):
            job = start(name, *scratch)
            end = time.monotonic() + 0.35
            while job.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            job.kill()
            job.communicate()
        last = start("a", *first)
        out, err = last.communicate()
        self.assertEqual(last.returncode, 0, err)
        self.assertEqual((self.dir / "out/sorted").read_bytes(), expected["a"])

    def test_two_at_once(self):
        self.write("job.yaml", SORT)
        first = self.start("job.yaml", *MEMORY, "-T", "scratch", "--resume", "--progress", "none", "-p", "rows=2000000000")
        while self.manifest_bytes() < 1_000:
            time.sleep(0.002)
        second = self.run_job("--resume", "-p", "rows=2000000000")
        self.assertEqual(second.returncode, 75, second.stderr)
        self.assertIn("another run of this job works there now", second.stderr)
        plan = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume", "-p", "rows=2000000000")
        self.assertIn("resume: another run of this job works there now", plan.stdout)
        listed = self.flowrun("clean", "scratch")
        self.assertIn("a job works there: left", listed.stdout)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        listed = self.flowrun("clean", "-n", "scratch")
        self.assertIn("would be removed", listed.stdout)
        self.assertIn("job.yaml", listed.stdout)
        self.assertEqual(len(self.kept()), 1)
        cleaned = self.flowrun("clean", "scratch")
        self.assertEqual(cleaned.returncode, 0)
        self.assertIn("removed", cleaned.stdout)
        self.assertEqual(self.files("scratch"), [])
        self.assertIn("nothing to clean", self.flowrun("clean", "scratch").stderr)
        self.assertEqual(self.flowrun("clean", "nowhere").returncode, 66)
        if os.geteuid() == 0:  # another user can't say that there is nothing
            os.chmod(self.dir, 0o755)
            os.chmod(self.dir / "scratch", 0o700)
            for place in ("scratch", "scratch/in"):
                self.fails(66, self.flowrun("clean", place, user=4711, group=4711, extra_groups=[]), "can't look into " + place)

    def test_a_job_that_cannot_begin_leaves_nothing(self):
        self.write("job.yaml", SORT)
        done = self.run_job("--resume", "--scratch-limit", "1MiB")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertEqual(self.kept(), [])

    def test_plan_says_what_is_there(self):
        self.write("job.yaml", SORT)
        words = ("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume")
        self.assertIn("resume: nothing is there", self.flowrun(*words).stdout)
        self.assertTrue(self.kill_after(3_000))
        before = (self.kept()[0] / "manifest").read_bytes()
        self.assertRegex(self.flowrun(*words).stdout, r"resume: 'sorted' has [\d,. kM]+ rows in \d+ runs, ")
        self.assertEqual((self.kept()[0] / "manifest").read_bytes(), before)

    def test_a_run_with_other_scratch_directories_says_what_it_ends(self):
        """What an earlier run keeps in one of them is lost to it; and plan says what a run would do."""
        self.write("job.yaml", SORT)
        one, both = ("-T", "scratch"), ("-T", "other", "-T", "scratch")

        def planned(*more):
            return self.flowrun("plan", "job.yaml", *MEMORY, "--resume", *more).stdout

        self.assertTrue(self.kill_after(3_000))
        self.assertIn("resume: 'sorted' has", planned(*one))
        self.assertIn("start over: the option --verify or --no-verify was none and is --verify", planned(*one, "--verify"))
        other_list = r"the list of scratch directories was \S+/scratch and is \S+/other, \S+/scratch"
        self.assertRegex(planned(*both), "start over: " + other_list)
        job = self.start("job.yaml", *MEMORY, *both, "--resume", "--progress", "none")
        begun = self.dir / "other" / self.kept()[0].name / "manifest"
        while job.poll() is None and not (begun.exists() and begun.stat().st_size >= 3_000):
            time.sleep(0.002)
        job.kill()
        self.assertRegex(job.communicate()[1], "warning: starts over: " + other_list)
        self.assertIn("resume: 'sorted' has", planned(*both))
        self.assertIn("start over: the list of scratch directories was another one", planned(*one))
        done = self.run_job("--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("starts over: the list of scratch directories was another one", done.stderr)
        self.assertRegex(planned(*both), r"start over: scratch/\S+/blocks is not there, or too short")
        self.assertIn("name it: flowrun clean DIR", self.flowrun("clean").stderr)
        self.assertIn("removed", self.flowrun("clean", "other", "scratch").stdout)

    def test_a_scratch_directory_that_is_no_longer_named_keeps_nothing(self):
        """The manifest that tells of it is written anew: nobody would know of what lies there."""
        self.write("job.yaml", SORT)
        job = self.start("job.yaml", *MEMORY, "-T", "scratch", "-T", "other", "--resume", "--progress", "none")
        while job.poll() is None and sum(path.stat().st_size for path in (self.dir / "scratch").glob("*/manifest")) < 3_000:
            time.sleep(0.002)
        job.kill()
        job.communicate()
        self.assertNotEqual(self.files("other"), [])
        done = self.run_job("--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"starts over: the list of scratch directories was \S+/scratch, \S+/other and is \S+/scratch")
        self.assertEqual(self.files("other"), [])

    def test_what_cannot_be_resumed_is_said(self):
        self.write("job.yaml", SORT.replace("{op: generate", "{op: generate"))
        self.assertEqual(self.run_job("--resume", "--backend", "memory").returncode, 64)
        self.write("job.yaml", LINES.replace("[a.txt, empty.txt, b.txt]", '"-"'))
        done = self.run_job("--resume")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("'lines' reads standard input, which can't be read again", done.stderr)
        os.mkfifo(self.dir / "pipe")
        self.write("job.yaml", LINES.replace("[a.txt, empty.txt, b.txt]", "pipe"))
        done = self.run_job("--resume")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("is no regular file", done.stderr)
        self.write("job.yaml", SORT)
        done = self.run_job("--resume", "-T", "./scratch")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("two scratch directories are one", done.stderr)

    def test_directories_are_private(self):
        self.write("job.yaml", SORT)
        self.assertTrue(self.kill_after(1_500))
        kept = self.kept()[0]
        self.assertEqual(kept.stat().st_mode & 0o777, 0o700)
        for name in ("blocks", "manifest"):
            self.assertEqual((kept / name).stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    main()
