#!/usr/bin/env python3
"""--resume: a job that was killed goes on where it was, gives the same bytes, and leaves nothing; what doesn't fit any
more is not used; flowrun clean."""

import json
import os
import random
import re
import signal
import struct
import time

from flowrun_process import SANITIZED, main, process_test

MEMORY = ("-m", "16MiB", "-j", "2")
NUM_ROWS = 4_000_000 if SANITIZED else 6_000_000  # slower there, so it is killed as early

SORT = f"""flowrun: 1
params: {{rows: {{type: int, default: {NUM_ROWS}}}}}
nodes:
  drawn: {{op: generate, with: {{rows: "${{rows}}", columns: {{k: "rand(1, i) % 1000000", i: "i"}}}}}}
  sorted: {{op: sort, in: drawn, with: {{by: [k], stable: true}}}}
  out: {{op: file.write_rows, in: sorted, with: {{path: out/sorted}}}}
"""
# What comes from a file, in parts and with rows that fall away, and has strings.
LINES = """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: [a.txt, empty.txt, b.txt]}}
  some: {op: filter, in: lines, with: {where: "length(text) > 3"}}
  numbered: {op: map, in: some, with: {text: text, copy: "concat(text, '.')"}}
  sorted: {op: sort, in: numbered, with: {by: [text]}}
  out: {op: file.write_csv, in: sorted, with: {path: out/sorted}}
"""
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


class resume_test(process_test):
    def run_job(self, *more):
        return self.flowrun("job.yaml", *MEMORY, "-T", "scratch", *more)

    def expected(self):
        """The bytes of a run that nobody disturbs."""
        done = self.run_job()
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.dir / "out/sorted"
        content = path.read_bytes()
        path.unlink()
        return content

    def kept(self):
        return sorted((self.dir / "scratch").glob("flowrun-resume-*"))

    def manifest_bytes(self):
        return sum((d / "manifest").stat().st_size for d in self.kept() if (d / "manifest").exists())

    def is_hidden_part(self, name):
        return name.startswith(".sorted.flowrun-resume-")

    def part_of_output(self):
        """What lies beside the output while it is written; empty: nothing is noted of it yet."""
        return [name for name in self.files("out") if self.is_hidden_part(name)]

    def kill_after(self, num_bytes, *more):
        """Kills a run with --resume once its manifest has grown to so much. False: it was done before."""
        return self.kill_when(lambda: self.manifest_bytes() >= num_bytes, *more)

    def kill_while_writing(self, *more):
        """Kills a run with --resume once two marks of its output are noted."""

        def is_far():
            said = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume", *more).stdout
            return "'out' has written" in said

        return self.kill_when(lambda: self.part_of_output() and is_far(), *more)

    def kill_when(self, is_time, *more, patience=60):
        job = self.start("job.yaml", *MEMORY, "-T", "scratch", "--resume", "--progress", "none", *more)
        end = time.monotonic() + patience
        while job.poll() is None and time.monotonic() < end and not is_time():
            time.sleep(0.002)
        killed = job.poll() is None
        job.send_signal(signal.SIGKILL)
        out, err = job.communicate()
        if not killed:
            self.assertEqual(job.returncode, 0, err)
        return killed

    def goes_on(self, expected, *more):
        done = self.run_job("--resume", "--report", "report.json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        # No row was lost between the processes.
        for sort in json.loads((self.dir / "report.json").read_text())["sorts"]:
            compared = sort.get("verified", {}).get("compared")
            self.assertIn(compared, (None, "order, rows, content", "order, at most as many rows"), sort)
        self.assertEqual((self.dir / "out/sorted").read_bytes(), expected)
        self.assertEqual(self.kept(), [])
        return done, {n["id"]: int(n["rows"]) for n in json.loads((self.dir / "report.json").read_text())["nodes"]}

    def killed_again_and_again(self, num_kills=3):
        """Kills after each few records; returns the rows of the last run."""
        expected = self.expected()
        (self.dir / "out/sorted").unlink(missing_ok=True)
        kills = 0
        for _ in range(num_kills):
            self.assertEqual([name for name in self.files("out") if not self.is_hidden_part(name)], [])
            kills += self.kill_after(self.manifest_bytes() + 1500)
        self.assertGreater(kills, 0)
        return self.goes_on(expected)

    def test_rows_from_nowhere(self):
        self.write("job.yaml", SORT)
        done, rows = self.killed_again_and_again()
        taken = re.search(r"goes on: 'sorted' has ([\d,]+) rows", done.stderr)
        self.assertIsNotNone(taken, done.stderr)
        taken = int(taken[1].replace(",", ""))
        # Not more is done again than a batch: the source begins behind what is in runs.
        self.assertLessEqual(rows["drawn"], NUM_ROWS - taken + 16_384)
        self.assertEqual(rows["sorted"], NUM_ROWS)

    def write_inputs(self, name, lines, header=""):
        middle = len(lines) // 3
        self.write(f"a.{name}", header + "".join(lines[:middle]))
        self.write(f"b.{name}", header + "".join(lines[middle:]))

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
        for name, (job, last) in STATES.items():
            with self.subTest(name):
                self.write("job.yaml", STATE.replace("JOB", job).replace("LAST", last))
                expected = self.expected()
                for _ in range(2):
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
        self.assertEqual(self.flowrun("clean", "-n", "scratch").returncode, 0)
        self.assertEqual(len(self.part_of_output()), 1)
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

    def test_rows_in_an_order_of_their_own(self):
        """Shuffle and permute number the rows that they take."""
        for op in ("{op: shuffle, in: drawn, with: {seed: 3}}", "{op: permute, in: drawn, with: {to: \"row_number ^ 1\"}}"):
            with self.subTest(op):
                self.write("job.yaml", SORT.replace("{op: sort, in: drawn, with: {by: [k], stable: true}}", op))
                expected = self.expected()
                self.assertTrue(self.kill_after(1_500))
                self.goes_on(expected)
                (self.dir / "out/sorted").unlink()

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
        for _ in range(3):
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

    def test_a_run_that_nobody_disturbs_leaves_nothing(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        self.goes_on(expected, "-p", f"rows={NUM_ROWS}")

    def test_after_ctrl_c(self):
        self.write("job.yaml", SORT)
        expected = self.expected()
        job = self.start("job.yaml", *MEMORY, "-T", "scratch", "--resume", "--progress", "none")
        while job.poll() is None and self.manifest_bytes() < 2_000:
            time.sleep(0.002)
        job.send_signal(signal.SIGINT)
        out, err = job.communicate()
        self.assertEqual(job.returncode, 130, err)
        self.assertIn("the same command goes on there", err)
        self.assertEqual(len(self.kept()), 1)
        done, rows = self.goes_on(expected)
        self.assertLess(rows["drawn"], NUM_ROWS)

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
                self.goes_on(expected)

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
