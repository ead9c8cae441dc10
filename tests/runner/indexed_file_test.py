#!/usr/bin/env python3
"""Files with an index: file.write_rows makes it, a join that skips reads only the blocks that it needs, and an index
that doesn't belong to its file is refused."""

import os
import random
import struct

from flowrun_process import SANITIZED, main, process_test

MAKE = """flowrun: 1
params: {rows: {type: int}, step: {type: int, default: 3}}
nodes:
  numbers: {op: generate, with: {rows: "${rows}", columns: {k: "u32(i / 2 * ${step})", v: "u64(i)"}}}
  sorted: {op: sort, in: numbers, with: {by: [k, v]}}
  write: {op: file.write_rows, in: sorted, with: {path: big, index: true}}
"""
JOIN = """flowrun: 1
nodes:
  few: {op: file.read_rows, with: {path: few, type: {key: u32}, sorted_by: [key]}}
  big: {op: file.read_rows, with: {path: big, type: {k: u32, v: u64}, sorted_by: [k], index: INDEX}}
  found: {op: join, in: {left: few, right: big}, with: {by: {key: k}, kind: KIND, skip: true}}
  write: {op: file.write_rows, in: found, with: {path: OUT}}
"""
IN_A_LOOP = """flowrun: 1
nodes:
  walk:
    op: loop
    with:
      carry: {at: {rows: [{node: 0}], type: {node: u32}}}
      body:
        big: {op: file.read_rows, with: {path: big, type: {k: u32, v: u64}, sorted_by: [k], index: true}}
        found: {op: join, in: {left: at, right: big}, with: {by: {node: k}, skip: true}}
        next: {op: map, in: found, with: {node: "u32((v + 1) * 3)"}}
        sorted: {op: sort, in: next, with: {by: [node], unique: true}}
      next: {at: sorted}
      collect: {visited: found}
      times: 5
  write: {op: file.write_rows, in: walk.visited, with: {path: out}}
"""
ROWS = 400_000


class indexed_file_test(process_test):
    def job(self, text, *more, code=0):
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-T", "s", "--report", "report.json", *more)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.report() if code == 0 else done.stderr

    def make(self, rows=ROWS):
        self.job(MAKE, "-p", f"rows={rows}")

    def give(self, keys):
        self.write("few", b"".join(struct.pack("<I", key) for key in sorted(keys)))

    def join(self, kind="inner", index="true", out="out", *more, code=0):
        return self.job(JOIN.replace("KIND", kind).replace("INDEX", index).replace("OUT", out), *more, code=code)

    def test_finds_what_reading_all_finds(self):
        chance = random.Random(1)
        for rows in (0, 2, ROWS) if SANITIZED else (0, 1, 2, 5000, ROWS):
            self.make(rows)
            for keys in (0, 30, 3000) if SANITIZED else (0, 1, 30, 3000):
                largest = max(rows * 3 // 2 + 10, 3)
                first = chance.randrange(largest)
                chosen = [chance.randrange(first, largest) for _ in range(keys)] + [0, largest] * (keys > 1)
                self.give(chosen)
                for kind in ("inner", "left", "semi", "anti"):
                    with self.subTest(rows=rows, keys=keys, kind=kind):
                        self.join(kind)
                        self.join(kind, "false", "expected")
                        self.assertEqual((self.dir / "out").read_bytes(), (self.dir / "expected").read_bytes())

    def test_is_right_with_tiny_batches_and_forced_spilling(self):
        self.make()
        self.give(range(0, ROWS * 3 // 2, 997))
        self.join(out="expected")
        for more in (("--batch-size", "512"), ("--force-spill",), ("--plain-executor",), ("-j", "3")):
            with self.subTest(more=more):
                self.join("inner", "true", "out", *more)
                self.assertEqual((self.dir / "out").read_bytes(), (self.dir / "expected").read_bytes())

    def test_reads_the_blocks_that_it_needs(self):
        self.make()
        whole, index = (os.stat(self.dir / name).st_size for name in ("big", "big.index"))
        self.assertLess(index, whole / 1000)
        self.give([30_000, 30_003, 300_000])
        report = self.join()
        self.assertLess(int(report["actual"]["input_bytes"]), index + 6 * 65536)
        self.assertEqual(int(report["actual"]["scratch_written_bytes"]), 0)
        self.assertEqual(len((self.dir / "out").read_bytes()), 6 * 12)
        self.assertGreater(int(self.join(index="false")["actual"]["input_bytes"]), whole)
        self.give(range(0, ROWS * 3 // 2))  # all of them
        report = self.join()
        self.assertLess(int(report["actual"]["input_bytes"]), 2 * whole)
        self.assertEqual(len((self.dir / "out").read_bytes()), whole)

    def test_the_plan_says_so(self):
        self.make(100)
        self.give([1])
        self.write("job.yaml", JOIN.replace("KIND", "semi").replace("INDEX", "true").replace("OUT", "out"))
        said = self.flowrun("plan", "job.yaml").stdout
        self.assertIn("'found' seeks in the file of 'big'", said)
        self.assertNotIn("(store)", said)
        self.assertRegex(said, r"input +at most ")
        self.assertIn('label="big\\nfile.read_rows', self.flowrun("plan", "job.yaml", "--format", "dot").stdout)

    def test_in_a_loop(self):
        self.make()
        self.job(IN_A_LOOP)
        expected, at = [], {0}
        for _ in range(5):
            found = [(key, v) for key in sorted(at) if key % 3 == 0 for v in (key // 3 * 2, key // 3 * 2 + 1)]
            found = [pair for pair in found if pair[1] < ROWS]
            expected += found
            at = {(v + 1) * 3 for _, v in found}
        self.assertEqual((self.dir / "out").read_bytes(), b"".join(struct.pack("<IQ", *pair) for pair in expected))

    def test_a_loop_reads_the_index_once(self):
        self.make()
        index = (self.dir / "big.index").read_bytes()
        block = 12 * struct.unpack("<QQIIQ", index[-32:])[2]
        for times in (1, 5):
            read = int(self.job(IN_A_LOOP.replace("times: 5", f"times: {times}"))["actual"]["input_bytes"])
            self.assertGreater(read, len(index))
            self.assertEqual((read - len(index)) % block, 0)

    def test_an_index_has_its_part_of_the_memory_of_a_body(self):
        self.make()
        self.write("job.yaml", IN_A_LOOP)
        self.assertEqual(self.flowrun("plan", "job.yaml", "-m", "64MiB").returncode, 0)
        os.truncate(self.dir / "big.index", 100 << 20)  # a plan only asks how long it is
        done = self.flowrun("plan", "job.yaml", "-m", "64MiB")
        self.assertEqual(done.returncode, 78, done.stdout)
        self.assertRegex(done.stderr, "memory: 1[01][0-9]MiB or more")

    def test_others_may_read_the_file_too(self):
        self.make()
        self.give([3])
        self.job(JOIN.replace("KIND", "inner").replace("INDEX", "true").replace("OUT", "out")
                 + '  all: {op: reduce, in: big, with: {let: {n: "count()"}}}\n')
        report = self.report()
        self.assertEqual([r["value"] for r in report["results"]], [str(ROWS)])
        self.assertEqual((self.dir / "out").read_bytes(), struct.pack("<IQIQ", 3, 2, 3, 3))

    def test_refuses_an_index_that_is_not_the_files(self):
        self.make()
        self.give([3, 30_000])
        big, index = self.dir / "big", self.dir / "big.index"
        rows, good = big.read_bytes(), index.read_bytes()
        index.write_bytes(good[:100] + b"?" + good[101:])
        self.assertIn("the index is damaged", self.join(code=65))
        index.write_bytes(good)
        big.write_bytes(rows[:-12])
        self.assertIn("but big has", self.join(code=65))
        big.write_bytes(rows)
        os.utime(index, ns=(0, os.stat(big).st_mtime_ns - 10**9))
        self.assertIn("older than the rows", self.join(code=65))
        big.write_bytes(rows[:100] + b"?" + rows[101:])
        index.write_bytes(good)
        said = self.join(code=65)
        self.assertIn("are not those that big.index was made of", said)
        self.assertFalse((self.dir / "out").exists())
        index.unlink()
        self.assertIn("can't open big.index", self.join(code=66))

    def test_a_file_that_is_cut_off_while_the_job_runs(self):
        """The index says more than the file holds by then. The left rows come through a pipe, so the join waits."""
        self.make()
        whole = (self.dir / "big").read_bytes()
        os.mkfifo(self.dir / "few")
        for kept in (0, 65536 * 12 + 1, len(whole) - 12):
            with self.subTest(kept=kept):
                self.write("big", whole)
                os.utime(self.dir / "big.index")
                self.write("job.yaml", JOIN.replace("KIND", "semi").replace("INDEX", "true").replace("OUT", "out"))
                job = self.start("job.yaml", "--progress", "json", "-m", "64MiB", "-T", "s")
                with open(self.dir / "few", "wb") as left:
                    for _ in range(2):  # the files of the phase have long been opened
                        self.assertTrue(job.stderr.readline().startswith("{"))
                    os.truncate(self.dir / "big", kept)
                    left.write(struct.pack("<I", ROWS // 2 * 3 - 3))  # a key of the last block
                _, said = job.communicate(timeout=60)
                self.assertEqual(job.returncode, 65, said)
                self.assertRegex(said, r"big: the rows from number \d+ on are not those that big.index was made of")
                self.assertFalse((self.dir / "out").exists())

    def test_given_rows_of_a_test_need_no_index(self):
        text = JOIN.replace("KIND", "semi").replace("INDEX", "true").replace("OUT", "out")
        self.write(
            "job.yaml",
            text + "tests: [{name: one, given: {few: [1, 3], big: [[2, 0], [3, 7]]}, expect: {write: [3]}}]\n",
        )
        done = self.flowrun("test", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_no_index_is_left_by_a_job_that_fails(self):
        self.write("few", struct.pack("<II", 2, 1))
        self.job(
            "flowrun: 1\nnodes:\n"
            "  few: {op: file.read_rows, with: {path: few, type: {key: u32}, sorted_by: [key]}}\n"
            "  write: {op: file.write_rows, in: few, with: {path: copy, index: true}}\n",
            code=65,
        )
        self.assertEqual([name for name in self.files() if name.startswith("copy")], [])


if __name__ == "__main__":
    main()
