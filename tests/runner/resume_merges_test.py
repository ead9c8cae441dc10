#!/usr/bin/env python3
"""--resume: a job that was killed in its last merge, in one before it, while it wrote an output or in a loop goes on there,
and gives the same bytes; what is left of outputs is known, and goes."""

import concurrent.futures
import json
import os
import random
import re
import struct
import subprocess

from flowrun_process import SANITIZED, main
from resuming_process import LINES, MEMORY, NUM_ROWS, SORT, resuming_test

# Two sorts behind each other, with nothing between them that has a state.
CHAIN = """flowrun: 1
nodes:
  drawn: {op: generate, with: {rows: 4000000, columns: {k: "rand(1, i) % 100000", v: "rand(2, i)"}}}
  by_k: {op: sort, in: drawn, with: {by: [k, v]}}
  mixed: {op: map, in: by_k, with: {w: "k ^ (v % 65536)", v: v}}
  by_w: {op: sort, in: mixed, with: {by: [w, v], stable: true}}
  out: {op: file.write_rows, in: by_w, with: {path: out/sorted}}
"""
TEXTS = """texts: {op: map, in: drawn, with: {k: k, v: v, name: "concat('n', string(k * 7919 % 3000001))"}}
  """
# What comes out of a sort, and what reads it, by a job's name.
STATES = {
    "unique": ("sorted: {op: sort, in: drawn, with: {by: [k], unique: true}}", "sorted"),
    "unique of wide rows": (TEXTS + "sorted: {op: sort, in: texts, with: {by: [name], unique: true}}", "sorted"),
    "limit": ("sorted: {op: sort, in: drawn, with: {by: [k], limit: 3000000}}", "sorted"),
    "combine": ("sorted: {op: sort, in: drawn, with: {by: [k], combine: {n: count(), most: max(v)}}}", "sorted"),
    "group": (
        TEXTS + """sorted: {op: sort, in: texts, with: {by: [k, name]}}
  groups: {op: group, in: sorted, with: {by: [k], let: {n: count(), all: sum(v), least: min(name), last: last(name), v: first(v)}}}""",
        "groups",
    ),
    "limit of groups": (
        TEXTS + """sorted: {op: sort, in: texts, with: {by: [k, name]}}
  limited: {op: limit, in: sorted, with: {by: [k], skip: 1, count: 38}}""",
        "limited",
    ),
    "numbered": (
        """sorted: {op: sort, in: drawn, with: {by: [k, v]}}
  numbered: {op: map, in: sorted, with: {k: k, rank: row_number}}""",
        "numbered",
    ),
    "group of a group, a map between": (
        """sorted: {op: sort, in: drawn, with: {by: [k, v]}}
  first: {op: group, in: sorted, with: {by: [k, v], let: {n: count()}}}
  mapped: {op: map, in: first, with: {k: k, n: "n * 2"}}
  groups: {op: group, in: mapped, with: {by: [k], let: {n: sum(n)}}}""",
        "groups",
    ),
}
STATE = """flowrun: 1
nodes:
  drawn: {op: generate, with: {rows: 4000000, columns: {k: "rand(1, i) % 3000000", v: "i"}}}
  JOB
  out: {op: file.write_csv, in: LAST, with: {path: out/sorted}}
"""
# Streams that change in every iteration, one that never does, one that is collected; scalars; strings.
LOOP = """flowrun: 1
nodes:
  drawn: {op: generate, with: {rows: 40000, columns: {k: "rand(1, i) % 20000", name: "concat('n', string(i))"}}}
  sorted: {op: sort, in: drawn, with: {by: [k, name]}}
  walk:
    op: loop
    in: {base: sorted}
    with:
      carry: {cur: {from: base}, fixed: {from: base}, last: {rows: [], type: {k: u64, name: string}}, t: {value: 1}}
      body:
        moved: {op: map, in: cur, with: {k: "(k * 7 + t) % 20011", name: name}}
        ordered: {op: sort, in: moved, with: {by: [k, name]}}
        some: {op: filter, in: ordered, with: {where: "(k + t) % 97 == 0"}}
        again: {op: join, in: {left: some, right: fixed}, with: {by: [k], kind: semi}}
      next: {cur: ordered, last: again, t: "t + rows(again) + iteration"}
      times: 150
      collect: {seen: some}
  out: {op: file.write_csv, in: walk.seen, with: {path: out/sorted}}
  end: {op: file.write_csv, in: walk.cur, with: {path: out/end}}
  last: {op: file.write_csv, in: walk.last, with: {path: out/last}}
  scalars: {op: file.write_csv, in: walk.scalars, with: {path: out/scalars}}
"""
# From a file to a file, without a sort.
COPY = """flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: [a.rows, b.rows], type: {k: u32, v: u64}}}
  some: {op: filter, in: rows, with: {where: "v % 3 > 0"}}
  out: {op: file.write_csv, in: some, with: {path: out/sorted, header: true}}
"""


class resume_merges_test(resuming_test):
    def test_the_last_merge(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        written = 0
        for _ in range(2):
            self.assertTrue(self.kill_while_writing())
            size = (self.dir / "out" / self.part_of_output()[0]).stat().st_size
            self.assertGreaterEqual(size, written)
            written = size
        plan = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume")
        self.assertRegex(plan.stdout, r"resume: 'out' has written [\d.]+ MiB")
        done, rows = self.goes_on(expected)
        self.assertRegex(done.stderr, r"goes on: 'out' has written [\d.]+ MiB")
        self.assertEqual(rows["drawn"], 0)
        self.assertLess(rows["sorted"], NUM_ROWS)
        self.assertEqual(self.files("out"), ["sorted"])

    def test_the_last_merge_of_strings(self):
        draw = random.Random(7)
        self.write_inputs("txt", [f"{draw.randrange(10 ** draw.randrange(1, 9))} {'x' * draw.randrange(20)}\n" for _ in range(900_000)])
        self.write("empty.txt", "")
        self.write("job.yaml", LINES.replace("flowrun: 1", "flowrun: 1\nverify: true"))
        expected = self.expected()
        self.assertTrue(self.kill_while_writing())
        done, rows = self.goes_on(expected)
        self.assertEqual(rows["lines"], 0)
        (sort,) = json.loads((self.dir / "report.json").read_text())["sorts"]
        self.assertEqual(sort["verified"]["compared"], "order, rows, content")
        self.assertLess(rows["sorted"], expected.count(b"\n"))

    def test_the_last_merge_in_front_of_stages_with_a_state(self):
        for name, (job, last) in list(STATES.items())[:: 2 if SANITIZED else 1]:
            with self.subTest(name):
                self.write("job.yaml", STATE.replace("JOB", job).replace("LAST", last))
                expected = self.expected()
                for _ in range(1 if SANITIZED else 2):
                    self.assertTrue(self.kill_while_writing())
                done, rows = self.goes_on(expected)
                self.assertIn("'out' has written", done.stderr)
                self.assertLess(rows["out"], expected.count(b"\n"))
                self.assertEqual(rows["drawn"], 0)
                (self.dir / "out/sorted").unlink()

    def test_a_part_of_an_output_that_is_gone_or_changed_is_written_again(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        for change in ("remove", "shorten", "exchange"):
            with self.subTest(change):
                self.assertTrue(self.kill_while_writing())
                part = self.dir / "out" / self.part_of_output()[0]
                if change == "remove":
                    part.unlink()
                elif change == "shorten":
                    os.truncate(part, 1000)
                else:
                    content = part.read_bytes()
                    (self.dir / "out/new").write_bytes(content[::-1])
                    (self.dir / "out/new").rename(part)
                done, rows = self.goes_on(expected)
                self.assertNotIn("'out' has written", done.stderr)
                self.assertEqual((rows["drawn"], rows["sorted"]), (0, NUM_ROWS))
                self.assertEqual(self.files("out"), ["sorted"])
                (self.dir / "out/sorted").unlink()

    def test_clean_and_another_job_take_the_part_of_an_output_away(self):
        self.write("job.yaml", SORT)
        self.assertTrue(self.kill_while_writing())
        listed = self.flowrun("clean", "-n", "scratch")
        self.assertEqual(listed.returncode, 0)
        (part,) = self.part_of_output()
        self.assertRegex(listed.stdout, rf", with \S+/out/{re.escape(part)}; would be removed")
        self.assertEqual(self.flowrun("clean", "scratch").returncode, 0)
        self.assertEqual(self.files("out") + self.files("scratch"), [])
        self.assertTrue(self.kill_while_writing())
        self.write("job.yaml", SORT.replace("stable: true", "stable: false").replace("out/sorted", "out/other"))
        done = self.run_job("--resume")
        self.assertIn("starts over: the job has changed", done.stderr)
        self.assertEqual(self.files("out"), ["other"])

    def test_two_outputs_whose_names_begin_alike(self):
        stem = "n" * 210
        job = SORT.replace("out/sorted", f"out/{stem}1")
        job += f"  again: {{op: sort, in: drawn, with: {{by: [i]}}}}\n  out2: {{op: file.write_rows, in: again, with: {{path: out/{stem}2}}}}\n"
        self.write("job.yaml", job)
        self.assertEqual(self.run_job().returncode, 0)
        expected = {name: (self.dir / "out" / name).read_bytes() for name in self.files("out")}
        self.assertEqual(len(expected), 2)
        self.kill_when(lambda: any(name.startswith(".") for name in self.files("out")))
        done = self.run_job("--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({name: (self.dir / "out" / name).read_bytes() for name in self.files("out")}, expected)

    def test_a_part_of_an_output_that_nothing_is_noted_of_goes(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.assertTrue(self.kill_while_writing())
        (part,) = self.part_of_output()
        manifest = self.kept()[0] / "manifest"
        manifest.write_bytes(manifest.read_bytes()[:100])
        self.goes_on(expected)
        self.assertEqual(self.files("out"), ["sorted"])
        # With so much memory nothing is noted of the output at all.
        self.assertTrue(self.kill_while_writing())
        done = self.run_job("--resume", "-m", "400MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.files("out"), ["sorted"])

    def test_another_place_of_an_output_starts_over(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        for name in ("one", "two"):
            (self.dir / name).mkdir()
        os.symlink("../one/target", self.dir / "out/sorted")
        self.assertTrue(self.kill_when(lambda: len(self.files("one")) > 0))
        (self.dir / "out/sorted").unlink()
        os.symlink("../two/target", self.dir / "out/sorted")
        done, rows = self.goes_on(expected)
        self.assertIn("starts over: where 'out' is written was", done.stderr)
        self.assertEqual((self.files("one"), self.files("two")), ([], ["target"]))

    def test_a_link_on_the_way_to_an_output_that_names_another_directory(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        (self.dir / "out").rename(self.dir / "one")
        (self.dir / "one/sorted").unlink(missing_ok=True)
        (self.dir / "two").mkdir()
        (self.dir / "out").symlink_to("one")
        self.assertTrue(self.kill_while_writing())
        self.assertEqual(len(self.files("one")), 1)
        (self.dir / "out").unlink()
        (self.dir / "out").symlink_to("two")
        done, rows = self.goes_on(expected)
        self.assertIn("starts over: where 'out' is written was", done.stderr)
        self.assertEqual((self.files("one"), self.files("two")), ([], ["sorted"]))

    def test_a_pipe_in_the_place_of_an_output_gets_all_of_it(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.assertTrue(self.kill_while_writing())
        os.mkfifo(self.dir / "out/sorted")
        with subprocess.Popen(["cat", self.dir / "out/sorted"], stdout=subprocess.PIPE) as reader:
            with concurrent.futures.ThreadPoolExecutor() as beside:
                got = beside.submit(reader.stdout.read)
                done = self.run_job("--resume")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(got.result(), expected)
        self.assertIn("starts over: where 'out' is written was", done.stderr)
        self.assertEqual(self.part_of_output(), [])

    def test_something_else_in_the_place_of_what_is_left_of_an_output(self):
        self.write("job.yaml", SORT)
        self.assertTrue(self.kill_while_writing())
        (part,) = self.part_of_output()
        (self.dir / "out" / part).unlink()
        (self.dir / "out" / part).mkdir()
        done = self.run_job("--resume")
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertRegex(done.stderr, rf"can't remove \S+/out/{part}, .*\n.*help: take it away")

    def test_a_manifest_that_can_no_longer_be_written(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        small = self.dir / "small"
        small.mkdir()
        if os.geteuid() != 0 or os.system(f"mount -t tmpfs -o size=160k tmpfs {small}") != 0:
            self.skipTest("needs root, to mount a small file system")
        try:
            done = self.flowrun("job.yaml", *MEMORY, "-T", "small", "-T", "scratch", "--resume")
            self.assertIn(done.returncode, (0, 75), done.stderr)
            self.assertNotIn("terminate", done.stderr)
            if done.returncode == 0:
                self.assertEqual((self.dir / "out/sorted").read_bytes(), expected)
        finally:
            os.system(f"umount {small}")

    def test_a_sort_that_reads_another_one(self):
        self.write("job.yaml", CHAIN)
        expected = self.expected()

        def is_in_second():
            said = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume").stdout
            return "'by_w' has" in said

        self.assertTrue(self.kill_when(is_in_second))
        done, rows = self.goes_on(expected)
        self.assertEqual(rows["drawn"], 0)
        self.assertLess(rows["by_k"], 4_000_000)

    def test_from_a_file_to_a_file(self):
        draw = random.Random(8)
        rows = [struct.pack("<IQ", draw.randrange(2_000_000), i) for i in range(2_500_000)]
        self.write("a.rows", b"".join(rows[:900_001]))
        self.write("b.rows", b"".join(rows[900_001:]))
        self.write("job.yaml", COPY)
        expected = self.expected()
        self.assertTrue(self.kill_while_writing())
        done, given = self.goes_on(expected)
        self.assertLess(given["rows"], len(rows))

    def test_a_loop(self):
        self.write("job.yaml", LOOP)
        self.run_job()
        expected = {name: (self.dir / "out" / name).read_bytes() for name in self.files("out")}
        self.assertEqual(len(expected), 4)

        def iterations_noted():
            said = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume").stdout
            done = re.search(r"'walk' has done (\d+) iterations", said)
            return int(done[1]) if done else 0

        noted = 0
        for _ in range(1 if SANITIZED else 3):
            self.assertTrue(self.kill_when(lambda: iterations_noted() > noted))
            self.assertGreater(iterations_noted(), noted)
            noted = iterations_noted()
        done = self.run_job("--resume", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"goes on: 'walk' has done {noted} iterations", done.stderr)
        for name, content in expected.items():
            self.assertEqual((self.dir / "out" / name).read_bytes(), content, name)
        report = json.loads((self.dir / "report.json").read_text())
        rows = {n["id"]: int(n["rows"]) for n in report["nodes"]}
        self.assertEqual(rows["walk.ordered"], 40_000 * (150 - noted))
        self.assertEqual(self.kept(), [])

    def test_intermediate_merges(self):
        self.write("job.yaml", SORT)
        more = ("-m", "7MiB", "--block-size", "256KiB")
        expected = self.expected()
        plan = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", *more)
        self.assertRegex(plan.stdout, r"[2-9] (merge )?passes")

        def has_merged():
            said = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume", *more).stdout
            runs = re.search(r"in (\d+) runs?, .*all of it", said)
            return runs and int(runs[1]) < 50

        self.assertTrue(self.kill_when(has_merged, *more))
        done, rows = self.goes_on(expected, *more)
        self.assertEqual(rows["drawn"], 0)

    def test_a_last_merge_that_can_no_longer_take_all_runs_at_once(self):
        # The last merge of the first process took all runs. Later ones have less memory for it, since batches are larger.
        sizes = ("--block-size", "128KiB")
        smaller = (*sizes, "--batch-size", "2MiB")
        strings, last = STATES["unique of wide rows"]
        for name, job in (("words", SORT), ("strings", STATE.replace("JOB", strings).replace("LAST", last))):
            with self.subTest(name):
                self.write("job.yaml", job)
                expected = self.expected()
                self.assertTrue(self.kill_while_writing(*sizes))
                # What the merges before it make is of no use to a later process, and does not take the place of the runs.
                kept = self.scratch_bytes()
                self.assertTrue(self.kill_when(lambda: self.scratch_bytes() > kept + (4 << 20), *smaller))
                done, rows = self.goes_on(expected, *smaller)
                self.assertRegex(done.stderr, r"goes on: 'out' has written [\d.]+ MiB")
                self.assertEqual(rows["drawn"], 0)
                self.assertLess(rows["out"], NUM_ROWS if name == "words" else expected.count(b"\n"))
                (sort,) = json.loads((self.dir / "report.json").read_text())["sorts"]
                self.assertGreater(int(sort["merge_passes"]), 1)
                (self.dir / "out/sorted").unlink()

    def scratch_bytes(self):
        return sum((d / "blocks").stat().st_size for d in self.kept())


if __name__ == "__main__":
    main()
