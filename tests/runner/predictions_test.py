#!/usr/bin/env python3
"""What check and plan say about sizes: bounds bound, estimates are called so, and what can't fit is refused."""

import json
import os
import random
import re

from flowrun_process import main, process_test

CSV = """flowrun: 1
name: pairs
nodes:
  read: {op: file.read_csv, with: {path: in.csv, type: {src: u32, dst: u32}}}
  sorted: {op: sort, in: read, with: {by: [src]}}
  out: {op: file.write_rows, in: sorted, with: {path: out.bin}}
"""
LINES = """flowrun: 1
name: lines
nodes:
  read: {op: file.read_lines, with: {path: in.txt}}
  sorted: {op: sort, in: read, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: out.txt}}
"""
ROWS = """flowrun: 1
name: rows
nodes:
  made: {op: generate, with: {rows: ROWS, columns: {k: "i * 7919 % 1000003"}}}
  kept: {op: filter, in: made, with: {where: "k > 10"}}
  sorted: {op: sort, in: INPUT, with: {by: [k]}}
  out: {op: file.write_rows, in: sorted, with: {path: out.bin}}
"""


def count(text):
    return int(text.replace(",", ""))


class predictions(process_test):
    def plan(self, *options):
        done = self.flowrun("plan", "job.yaml", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    # Short fields: 15 million rows were planned as at most 3.75 million.
    def test_rows_of_a_csv_are_estimated_from_its_beginning(self):
        self.write("in.csv", "12,3\n" * 300_000)
        self.write("job.yaml", CSV)
        said = self.plan()
        estimated = count(re.search(r"\bread\b.*about ([\d,]+) rows", said)[1])
        self.assertTrue(295_000 <= estimated <= 305_000, said)
        self.assertNotIn("at most", said[: said.index("predicted")])
        self.assertIn("output           about", said)
        self.assertIn("peak memory      at most", said)

    def test_the_size_of_outputs(self):
        made = "flowrun: 1\nnodes:\n  made: {op: generate, with: {rows: 6000, columns: {k: u8(i % 3), x: i}}}\n"
        out = "  out: {op: file.write_WHAT, in: made, with: {path: PATH}}\n"
        as_rows = ", as rows in memory: text, or what is compressed, takes more or less"
        for what, path, said in (
            ("rows", "o.bin", "52.7 KiB"),
            ("rows", "'o/{k}.bin', path_columns: leave_out", "46.9 KiB"),
            ("rows", "o.bin.gz", "52.7 KiB" + as_rows),
            ("csv", "o.csv", "52.7 KiB" + as_rows),
        ):
            with self.subTest(what=what, path=path):
                self.write("job.yaml", made + out.replace("WHAT", what).replace("PATH", path))
                self.assertIn(f"  output           at most {said}\n", self.plan())
        self.assertEqual(self.flowrun("job.yaml").returncode, 0)

    # Rows in no order: equal or ascending ones make one run, and any plan is right.
    def test_one_merge_pass_where_the_estimate_says_so(self):
        lines = [f"{src},{dst}\n" for src in range(10) for dst in range(10)]
        self.write("in.csv", "".join(random.Random(1).choices(lines, k=4_000_000)))
        self.write("job.yaml", CSV)
        self.assertEqual(self.flowrun("run", "job.yaml", "-q", "-m", "6MiB", "--report", "r.json", "-j", "1").returncode, 0)
        report = (self.dir / "r.json").read_text()
        predicted, actual = (
            int(re.search(rf'"{name}":\s*"?(\d+)', report)[1]) for name in ("predicted_merge_passes", "merge_passes")
        )
        self.assertEqual(predicted, actual, report)

    def test_lines_of_one_byte(self):
        self.write("in.txt", "\n" * 1_000_000)
        self.write("job.yaml", LINES)
        estimated = count(re.search(r"\bread\b.*?([\d,]+) rows", self.plan())[1])
        self.assertGreaterEqual(estimated, 1_000_000)

    # The beginning misleads: long lines first. The plan is wrong, and the result is right.
    def test_more_rows_than_estimated(self):
        self.write("in.csv", "".join(f"{i:09},{i:09}\n" for i in range(20_000)) + "1,2\n" * 1_500_000)
        self.write("job.yaml", CSV)
        estimated = count(re.search(r"\bread\b.*about ([\d,]+) rows", self.plan())[1])
        self.assertLess(estimated, 600_000)
        for options in [["-m", "6MiB"], ["-m", "64MiB"]]:
            done = self.flowrun("run", "job.yaml", "-q", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.path.getsize(self.dir / "out.bin"), 8 * 1_520_000)

    # A table of which more was estimated too little for: it may take the memory that is there.
    def test_a_table_is_not_bound_to_an_estimate(self):
        self.write("in.csv", "".join(f"{i:010},{i:010}\n" for i in range(15_000)) + "".join(f"{i},7\n" for i in range(15_000, 900_000)))
        self.write(
            "job.yaml",
            """flowrun: 1
name: table
nodes:
  table: {op: file.read_csv, with: {path: in.csv, type: {k: u64, v: u64}}}
  keys: {op: generate, with: {rows: 1000, columns: {k: "u64(i * 800)"}}}
  found: {op: lookup, in: {stream: keys, table: table}, with: {by: [k], kind: hash}}
  out: {op: file.write_rows, in: found, with: {path: out.bin}}
""",
        )
        done = self.flowrun("run", "job.yaml", "-q", "-m", "200MiB")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_bounds_and_exact_sizes_are_called_so(self):
        self.write("job.yaml", ROWS.replace("ROWS", "1000000").replace("INPUT", "kept"))
        said = self.plan("-m", "8MiB")
        self.assertRegex(said, r"made .* 1,000,000 rows")
        self.assertNotRegex(said, r"made .* (at most|about) 1,000,000 rows")
        self.assertRegex(said, r"kept .* at most 1,000,000 rows")
        self.assertIn("scratch written  at most", said)
        self.assertNotIn("about", said)

    def test_scratch_that_can_not_suffice_is_refused(self):
        self.write("job.yaml", "".join(
            line for line in ROWS.replace("ROWS", "20000000").replace("INPUT", "made").splitlines(True) if "kept" not in line
        ))
        limit = ["-m", "8MiB", "--scratch-limit", "10MiB"]
        for what in ("check", "run"):
            done = self.flowrun(what, "job.yaml", *limit)
            self.assertEqual(done.returncode, 75, f"{what}: {done.stdout} {done.stderr}")
            self.assertRegex(done.stderr, r"needs at least [\d.]+ MiB of scratch, and the scratch limit allows 10.0 MiB")
            self.assertRegex(done.stderr, r"help: the job may need (up to|about) [\d.]+ MiB; name directories.*--scratch-limit")
        self.assertFalse((self.dir / "out.bin").exists())
        # Sizes that would read the same are told to the byte.
        least = re.search(r"at least ([\d.]+) MiB", done.stderr)[1]
        rounding = 0.49 * 10 ** -len(least.partition(".")[2])
        done = self.flowrun("check", "job.yaml", "-m", "8MiB", "--scratch-limit", str(round((float(least) - rounding) * 2**20)))
        self.assertRegex(done.stderr, r"needs at least [\d,]+ bytes of scratch, and the scratch limit allows [\d,]+ bytes")
        planned = self.flowrun("plan", "job.yaml", *limit)
        self.assertEqual(planned.returncode, 0, planned.stderr)
        self.assertIn("warning: the job needs at least", planned.stderr)
        # Limits of directories add up.
        done = self.flowrun("check", "job.yaml", "-m", "8MiB", "-T", "a:5MiB", "-T", "b:6MiB")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("free or may take 11.0 MiB", done.stderr)
        self.assertEqual(self.flowrun("check", "job.yaml", "-m", "8MiB", "-T", "a:100MiB", "-T", "b:100MiB").returncode, 0)

    def test_stored_rows_are_there_until_their_phase_is_over(self):
        """The predicted scratch suffices, although what is sorted behind them is written by then."""
        for op in ("reverse, in: made", 'partition, in: made, with: {by: "a % 16", buckets: 16}'):
            self.write("job.yaml", "flowrun: 1\nnodes:\n"
                       '  made: {op: generate, with: {rows: 1500000, columns: {a: "rand(0, i)", b: "rand(2, i)"}}}\n'
                       f"  stored: {{op: {op}}}\n"
                       "  sorted: {op: sort, in: stored, with: {by: [a]}}\n"
                       "  out: {op: file.write_rows, in: sorted, with: {path: out.bin}}\n")
            plan = json.loads(self.flowrun("plan", "job.yaml", "-m", "12MiB", "-f", "json").stdout)
            limit = int(plan["predicted"]["peak_scratch_bytes"]) + (1 << 20)
            done = self.flowrun("job.yaml", "-q", "-m", "12MiB", "-T", "scratch", "--scratch-limit", limit)
            self.assertEqual(done.returncode, 0, f"{op}: {done.stderr}")

    def test_suffixes_of_a_known_length_in_the_least_memory(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  letters: {op: generate, with: {rows: 3000000, columns: {x: "u8(rand(1, i) % 4)"}}}
  sorted: {op: suffix_sort, in: letters}
  out: {op: file.write_rows, in: sorted, with: {path: out.rows}}
""")
        done = self.flowrun("check", "job.yaml", "-m", "20MiB")
        self.fails(78, done, "phase 2 wants at least", "sorted (suffix_sort)")
        least = re.search(r"run with -m (\w+)", done.stderr).group(1)
        self.assertEqual(self.flowrun("job.yaml", "-q", "-m", least).returncode, 0)
        self.assertEqual((self.dir / "out.rows").stat().st_size, 4 * 3000000)
        # A branch may be for fewer, and never run.
        body = """{op: if, in: {letters: letters}, with: {condition: rows(letters) < 1000, out: {out: pos},
    then: {pos: {op: suffix_sort, in: letters}}, else: {pos: {op: map, in: letters, with: {pos: u32(x)}}}}}"""
        self.write("job.yaml", (self.dir / "job.yaml").read_text().replace("{op: suffix_sort, in: letters}", body))
        self.assertEqual(self.flowrun("job.yaml", "-q", "-m", "20MiB").returncode, 0)

    def test_a_branch_that_never_runs_may_be_for_other_numbers_of_rows(self):
        for made, node in (
            ("g: {op: generate, with: {rows: '${rows}', columns: {x: i}}}", "{op: permute, in: g, with: {bits: reverse, n: 10}}"),
            ("g: {op: generate, with: {rows: '${rows}', columns: {x: i}}}, h: {op: generate, with: {rows: 1024, columns: {y: i}}}",
             "{op: zip, in: {left: g, right: h}}"),
        ):
            self.write("job.yaml", f"""flowrun: 1
params: {{rows: {{type: int, default: 1000}}}}
nodes:
  one: {{op: generate, with: {{rows: 1, columns: {{x: i}}}}}}
  pick:
    op: if
    in: {{one: one}}
    with:
      condition: "${{rows}} == 1024"
      then: {{{made}, p: {node}, z: {{op: map, in: p, with: {{x: x}}}}}}
      else: {{z: {{op: generate, with: {{rows: 3, columns: {{x: i}}}}}}}}
      out: {{out: z}}
  out: {{op: file.write_csv, in: pick.out, with: {{path: out.csv}}}}
""")
            for rows, lines in ((1000, 3), (1024, 1024)):
                done = self.flowrun("job.yaml", "-q", "-p", f"rows={rows}")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len((self.dir / "out.csv").read_text().splitlines()), lines)

    def test_a_reduce_gives_one_row_whatever_its_file_holds(self):
        self.write("in.csv", "1\n2\n")
        self.write("job.yaml", """flowrun: 1
nodes:
  read: {op: file.read_csv, with: {path: in.csv, type: {x: u64}}}
  total: {op: reduce, in: read, with: {let: {t: sum(x)}}}
  two: {op: generate, with: {rows: 2, columns: {n: i}}}
  both: {op: zip, in: {left: total, right: two}}
  out: {op: file.write_csv, in: both, with: {path: out.csv}}
""")
        self.fails(78, self.flowrun("check", "job.yaml"), "'total' and 'two' have 1 and 2 rows")
        self.write("job.yaml", (self.dir / "job.yaml").read_text().replace("rows: 2", "rows: 1"))
        self.assertEqual(self.flowrun("job.yaml", "-q").returncode, 0)

    def test_more_rows_than_can_be_counted(self):
        self.write("job.yaml", """flowrun: 1
params: {rows: {type: int, default: 1}}
nodes:
  made: {op: generate, with: {rows: "${rows}", columns: {x: "rand(1, i)"}}}
  more: {op: generate, with: {rows: "${rows}", columns: {x: "rand(2, i)"}}}
  all: {op: concat, in: [made, more]}
  sorted: {op: sort, in: all, with: {by: [x]}}
  out: {op: file.write_csv, in: sorted, with: {path: out.csv}}
""")
        for rows in (2**53, 2**60, 2**61, 2**62, 2**63 - 1):
            done = self.flowrun("check", "job.yaml", "-p", f"rows={rows}", "-T", "scratch:1TiB")
            self.assertEqual(done.returncode, 75, done.stderr)
            self.assertRegex(done.stderr, r"the job needs at least [\d.,]+ PiB of scratch")

    def test_scratch_that_may_not_suffice_is_a_warning(self):
        self.write("job.yaml", ROWS.replace("ROWS", "10000000").replace("INPUT", "kept").replace("k > 10", "k < 10"))
        limit = ["-m", "8MiB", "--scratch-limit", "10MiB"]
        for what in ("check", "plan"):
            done = self.flowrun(what, "job.yaml", *limit)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"warning: the job may need up to [\d.]+ MiB of scratch")
        self.assertEqual(self.flowrun("run", "job.yaml", "-q", *limit).returncode, 0)
        self.assertNotIn("warning", self.flowrun("check", "job.yaml", "-m", "8MiB").stderr)

    def test_memory_that_can_not_suffice_is_refused(self):
        columns = ", ".join(f"c{n}: 'bytes[60000]'" for n in range(40))
        self.write("wide.yaml", "flowrun: 1\nnodes:\n"
                   f"  r: {{op: file.read_rows, with: {{path: in.bin, type: {{{columns}}}}}}}\n"
                   "  w: {op: file.write_rows, in: r, with: {path: out.bin}}\n")
        (self.dir / "in.bin").write_bytes(bytes(2_400_000))
        self.write("table.yaml", "flowrun: 1\nnodes:\n"
                   "  t: {op: generate, with: {rows: 1000000, columns: {k: i, v: i}}}\n"
                   "  s: {op: generate, with: {rows: 1000, columns: {k: i * 3}}}\n"
                   "  l: {op: lookup, in: {stream: s, table: t}, with: {by: [k], kind: hash}}\n"
                   "  w: {op: file.write_rows, in: l, with: {path: out.bin}}\n")
        for job, said in (("wide.yaml", "a row of 'r' takes 2.29 MiB"), ("table.yaml", "l.table (stored)")):
            with self.subTest(job=job):
                done = self.flowrun("check", job, "-m", "8MiB")
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertIn(said, done.stderr)
                enough = re.search(r"-m (\d+MiB)", done.stderr).group(1)
                done = self.flowrun("run", job, "-q", "-m", enough)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_memory_beyond_the_machine_is_a_warning(self):
        self.write("job.yaml", ROWS.replace("ROWS", "10").replace("INPUT", "kept"))
        for what in ("check", "plan", "run"):
            done = self.flowrun(what, "job.yaml", "-m", "900TiB")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"warning: the memory budget of 900 TiB \(command line\) is more than the [\d.]+ [GMT]iB")
            self.assertNotIn("more than the", self.flowrun(what, "job.yaml", "-m", "64MiB").stderr)

    def test_a_block_size_that_is_none(self):
        self.write("job.yaml", ROWS.replace("ROWS", "10").replace("INPUT", "kept") + "resources: {block_size: 5000}\n")
        done = self.flowrun("check", "job.yaml")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("job.yaml:8:25", done.stderr)
        self.assertIn("4096 or 8192", done.stderr)
        self.write("job.yaml", ROWS.replace("ROWS", "10").replace("INPUT", "kept"))
        for size, nearest in (("5000", "4096 or 8192"), ("1000", "4096"), ("8GiB", "1073741824")):
            done = self.flowrun("run", "job.yaml", "--force-spill", "--block-size", size)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(nearest, done.stderr)
        for size in ("4KiB", "12KiB", "3MiB"):
            done = self.flowrun("run", "job.yaml", "-q", "-m", "400MiB", "--force-spill", "--block-size", size)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main()
