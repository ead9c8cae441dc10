#!/usr/bin/env python3
"""Sorts much larger than their memory: many runs, several merge passes, in a small budget; no row is lost, added or
out of order, and the memory stays within the budget."""

import json
import unittest

from flowrun_process import MIB, SANITIZED, main, process_test

JOB = """flowrun: 1
name: large
params: {rows: {type: int}}
nodes:
  drawn: {op: generate, with: {rows: "${rows}", columns: {COLUMNS}}}
  sorted: {op: sort, in: drawn, with: {by: [KEYS], stable: true}}
  looked: {op: check, in: sorted, with: {sorted: [KEYS]}}
  before: {op: reduce, in: drawn, with: {hash: true, let: {n: "count()"}}}
  after: {op: reduce, in: looked, with: {hash: true, let: {n: "count()"}}}
"""
# The same aggregates made by the sort and behind it.
COMBINE = """flowrun: 1
name: combining
params: {rows: {type: int}, keys: {type: int}}
nodes:
  drawn: {op: generate, with: {rows: "${rows}", columns: {COLUMNS}}}
  combined: {op: sort, in: drawn, with: {by: [KEY], combine: {AGGREGATES}MORE}}
  sorted: {op: sort, in: drawn, with: {by: [KEY], stable: true}}
  grouped: {op: group, in: sorted, with: {by: [KEY], let: {AGGREGATES}}}
  together: {op: reduce, in: combined, with: {hash: true, let: {n: "count()"}}}
  apart: {op: reduce, in: grouped, with: {hash: true, let: {n: "count()"}}}
"""
DRAWN_KEY = "rand(1, i) % ${keys}"
COMBINED = {
    "8 bytes": (f'k: "u32({DRAWN_KEY})", v: "u32(rand(2, i))"', 'n: "count()"'),
    "16 bytes": (f'k: "u32({DRAWN_KEY})", v: "i32(rand(2, i) % 1000) - 500"', 'low: "min(v)", s: "sum(v)"'),
    "first and last": (f'k: "u32({DRAWN_KEY})", v: "rand(2, i)"', 'f: "first(v)", l: "last(u16(v % 1000))"'),
    "sums of bytes": (f'k: "u16({DRAWN_KEY} % 60000)", v: "u8(rand(2, i) % 256)"', 'n: "count()", s: "sum(v)"'),
    "sums of two bytes": (f'k: "u32({DRAWN_KEY})", v: "u16(65535 - i % 3)"', 's: "sum(v)", n: "count()"'),
    "strings": (f'k: "concat(\'key \', {DRAWN_KEY})", v: "f64(rand(2, i))"', 'n: "count()", m: "max(v)"'),
    "not taken apart": (f'k: "u32({DRAWN_KEY})", v: "f64(rand(2, i) % 1000)"', 's: "sum(v)"'),
    "texts": (f'k: "u32({DRAWN_KEY})", v: "concat(\'v\', rand(2, i) % 1000)"', 'low: "min(v)", n: "count()"'),
}

SHAPES = {
    "8 bytes": ('k: "rand(1, i)"', "k", 8),
    "16 bytes": ('k: "rand(1, i) % 1000003", v: i', "-k", 16),
    "40 bytes": ('a: "rand(1, i)", b: "rand(2, i)", c: "rand(3, i)", d: i, k: "rand(4, i) % 5003"', "k, -a", 40),
    "strings": ('s: "concat(\'key \', rand(1, i) % 100003, \'/\', i % 7)", v: "u32(i)"', "s, v", 32),
}
# What a sanitizer sees of a sort is the same code for rows of each kind: all shapes are sorted under it in
# tests/engine/sort.
SOME = ("16 bytes", "strings") if SANITIZED else tuple(SHAPES)


class large_sort_test(process_test):
    def sort(self, shape, rows, memory, *more):
        columns, keys, _ = SHAPES[shape]
        self.write("job.yaml", JOB.replace("COLUMNS", columns).replace("KEYS", keys))
        done = self.flowrun(
            "job.yaml", "-q", "-p", f"rows={rows}", "-m", memory, "-T", "scratch", "--report", "report.json", *more
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        results = {(r["node"], r["name"]): r["value"] for r in report["results"]}
        self.assertEqual(results["before", "n"], str(rows))
        for name in ("n", "hash_low", "hash_high"):
            if ("before", name) in results:
                self.assertEqual(results["before", name], results["after", name])
        self.assertIn(("after", "hash"), {(node, name.split("_")[0]) for node, name in results})
        self.within_budget(report)
        self.assertEqual(self.files("scratch"), [])
        return report

    @unittest.skipIf(SANITIZED, "a sanitizer's own memory is not the job's")
    def test_many_threads(self):
        for shape, rows, memory in (("8 bytes", 2_000_000, "8MiB"), ("8 bytes", 4_000_000, "32MiB"), ("strings", 500_000, "32MiB")):
            with self.subTest(shape=shape, memory=memory):
                self.sort(shape, rows, memory, "-j", "128" if memory == "32MiB" else "32")

    def test_many_runs(self):
        for shape in SOME:
            with self.subTest(shape=shape):
                report = self.sort(shape, 32 * MIB // SHAPES[shape][2], "20MiB")
                sort = report["sorts"][0]
                self.assertGreaterEqual(int(sort["runs"]), 4)
                self.assertEqual(int(sort["merge_passes"]), 1)

    def test_the_prediction_is_what_happens(self):
        shapes = (("8 bytes", True), ("8 bytes", False), ("16 bytes", False), ("40 bytes", False))
        for shape, stable in shapes[:1] if SANITIZED else shapes:
            for memory in ("12MiB",) if SANITIZED else ("12MiB", "20MiB"):
                with self.subTest(shape=shape, stable=stable, memory=memory):
                    columns, keys, row_bytes = SHAPES[shape]
                    job = JOB if stable else JOB.replace(", stable: true", "")
                    self.write("job.yaml", job.replace("COLUMNS", columns).replace("KEYS", keys))
                    rows = str(40 * MIB // row_bytes)
                    done = self.flowrun("job.yaml", "-q", "-p", f"rows={rows}", "-m", memory, "-T", "s", "--report", "-")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    report = json.loads(done.stdout)
                    sort = report["sorts"][0]
                    self.assertGreater(int(sort["runs"]), 1)
                    self.assertEqual(sort["predicted_runs"], sort["runs"])
                    self.assertEqual(sort["predicted_merge_passes"], sort["merge_passes"])
                    predicted = int(report["predicted"]["scratch_written_bytes"])
                    actual = int(report["actual"]["scratch_written_bytes"])
                    self.assertLessEqual(actual, predicted)  # a bound, as the plan says, with headers and whole blocks
                    self.assertGreater(actual, predicted * 9 // 10)
                    peak = sum(int(disk["peak_used_bytes"]) for disk in report["disks"])
                    self.assertLessEqual(peak, int(report["predicted"]["peak_scratch_bytes"]))

    def test_passes_without_a_sort_are_predicted(self):
        rows = ("".join("1" if k in (r, r - 1) else "0" for k in range(23)) for r in range(23))
        gray = f'{{op: permute, in: drawn, with: {{matrix: "{" ".join(rows)}"}}}}'  # each bit and the one above
        cases = (
            (gray, "24MiB"),
            ('{op: partition, in: drawn, with: {by: "x & 255", buckets: 256}}', "24MiB"),
            (gray, "400MiB"),
            ('{op: partition, in: drawn, with: {by: "x % 3", buckets: 3}}', "400MiB"),
        )
        for node, memory in cases[:2] if SANITIZED else cases:
            with self.subTest(node=node, memory=memory):
                drawn = f'drawn: {{op: generate, with: {{rows: {1 << 23}, columns: {{x: "rand(1, i)"}}}}}}'
                after = "after: {op: reduce, in: moved, with: {hash: true}}"
                self.write("job.yaml", f"flowrun: 1\nnodes:\n  {drawn}\n  moved: {node}\n  {after}\n")
                done = self.flowrun("job.yaml", "-q", "-m", memory, "-T", "s", "--report", "-")
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout)
                predicted, actual = (
                    {way: int(report[which][f"scratch_{way}_bytes"]) for way in ("written", "read")}
                    for which in ("predicted", "actual")
                )
                for way in ("written", "read"):
                    self.assertLessEqual(actual[way], predicted[way])
                    self.assertLessEqual(predicted[way] - actual[way], predicted[way] // 10)
                self.assertEqual(memory == "400MiB", actual["written"] == 0)
                for sort in report["sorts"]:
                    self.assertEqual(sort["predicted_runs"], sort["runs"])

    def test_long_runs_are_predicted(self):
        # On random input, to within one run. Runs of twice the memory instead of half of it.
        size, memories = (40 * MIB, ("12MiB",)) if SANITIZED else (100 * MIB, ("12MiB", "20MiB", "40MiB"))
        for shape in ("8 bytes",) if SANITIZED else ("8 bytes", "16 bytes"):
            for memory in memories:
                for more in ((), ("--force-spill",)):
                    with self.subTest(shape=shape, memory=memory, more=more):
                        columns, keys, row_bytes = SHAPES[shape]
                        job = JOB.replace("stable: true", "runs: long")
                        self.write("job.yaml", job.replace("COLUMNS", columns).replace("KEYS", keys))
                        rows = str(size // row_bytes)
                        arguments = ("-q", "-p", f"rows={rows}", "-m", memory, "-T", "s", "--report", "-", *more)
                        done = self.flowrun("job.yaml", *arguments)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        report = json.loads(done.stdout)
                        sort = report["sorts"][0]
                        self.assertGreater(int(sort["runs"]), 1)
                        self.assertLessEqual(abs(int(sort["predicted_runs"]) - int(sort["runs"])), 1, sort)
                        self.assertEqual(sort["predicted_merge_passes"], sort["merge_passes"])
                        if not more:
                            predicted = int(report["predicted"]["scratch_written_bytes"])
                            actual = int(report["actual"]["scratch_written_bytes"])
                            self.assertLess(abs(actual - predicted), predicted // 20)
                        self.within_budget(report)
                        results = {(r["node"], r["name"]): r["value"] for r in report["results"]}
                        for name in ("n", "hash_low", "hash_high"):
                            if ("before", name) in results:
                                self.assertEqual(results["before", name], results["after", name])

    @unittest.skipIf(SANITIZED, "only the passes are counted")
    def test_long_runs_save_a_merge_pass(self):
        columns, keys, _ = SHAPES["8 bytes"]
        passes = {}
        for runs in ("halves", "long"):
            job = JOB.replace("stable: true", f"runs: {runs}")
            self.write("job.yaml", job.replace("COLUMNS", columns).replace("KEYS", keys))
            arguments = ("-p", f"rows={16 * MIB}", "-m", "12MiB", "--block-size", "448KiB", "-T", "s", "--report", "-")
            done = self.flowrun("job.yaml", "-q", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            passes[runs] = int(json.loads(done.stdout)["sorts"][0]["merge_passes"])
        self.assertGreater(passes["halves"], passes["long"])

    def test_compressed_runs(self):
        # Runs, passes and memory as predicted, and less on scratch than predicted.
        cases = (
            ("16 bytes", "delta", 0.75),
            ("40 bytes", "zstd", 0.95),
            ("strings", "lz4", 0.8),
            ("8 bytes", "delta", 0.8),
            ("8 bytes", "lz4", 1.05),  # random: nothing to find
            ("16 bytes", "zstd", 0.75),
        )
        ways = (("-m", "12MiB", "--block-size", "448KiB"), ("-m", "20MiB"))
        for shape, codec, ratio in cases[:3] if SANITIZED else cases:
            for more in ways[:1] if SANITIZED else ways:
                with self.subTest(shape=shape, codec=codec, more=more):
                    columns, keys, row_bytes = SHAPES[shape]
                    job = JOB.replace("stable: true", f"compress: {codec}")
                    self.write("job.yaml", job.replace("COLUMNS", columns).replace("KEYS", keys))
                    rows = str(61 * MIB // row_bytes)
                    done = self.flowrun("job.yaml", "-p", f"rows={rows}", "-T", "s", "--report", "report.json", *more)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    report = self.report()
                    sort = report["sorts"][0]
                    self.assertTrue(sort["compressed"])
                    if shape != "strings":  # whose length is predicted as a bound
                        self.assertEqual(sort["predicted_runs"], sort["runs"])
                        self.assertEqual(sort["predicted_merge_passes"], sort["merge_passes"])
                    self.assertGreaterEqual(int(sort["merge_passes"]), 2 if "448KiB" in more else 1)
                    stored, filled = int(sort["stored_run_bytes"]), int(sort["run_bytes"])
                    self.assertLess(stored, ratio * filled)
                    self.assertIn(f"compressed to {100 * stored / filled:.0f} %", done.stdout + done.stderr)
                    actual = report["actual"]
                    self.assertEqual(actual["scratch_written_bytes"], actual["scratch_read_bytes"])
                    if shape != "strings":
                        # Intermediate merges compress too. Each run ends with a block that is not full.
                        predicted = int(report["predicted"]["scratch_written_bytes"])
                        self.assertLess(int(actual["scratch_written_bytes"]), (ratio + 0.1) * predicted)
                    self.within_budget(report)
                    results = {(r["node"], r["name"]): r["value"] for r in report["results"]}
                    for name in ("n", "hash", "hash_low", "hash_high"):
                        if ("before", name) in results:
                            self.assertEqual(results["before", name], results["after", name])
                    self.assertIn(("after", "n"), results)

    def test_several_merge_passes(self):
        for shape in SOME:
            with self.subTest(shape=shape):
                # Blocks so large that few of them fit: a small fan-in.
                report = self.sort(shape, 64 * MIB // SHAPES[shape][2], "12MiB", "--block-size", "448KiB")
                sort = report["sorts"][0]
                self.assertGreaterEqual(int(sort["merge_passes"]), 2, sort)

    def combine(self, shape, rows, keys, memory, *more, job=COMBINE, options=""):
        columns, aggregates = COMBINED[shape]
        job = job.replace("COLUMNS", columns).replace("KEY", "k").replace("AGGREGATES", aggregates)
        self.write("job.yaml", job.replace("MORE", options))
        arguments = ("-p", f"rows={rows}", "-p", f"keys={keys}", "-m", memory, "-T", "s", "--report", "-")
        done = self.flowrun("job.yaml", "-q", *arguments, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.within_budget(report)
        return report, {(r["node"], r["name"]): r["value"] for r in report["results"]}

    def test_combining_gives_what_grouping_gives(self):
        # With many keys and few, one merge pass and several.
        rows = 150_000 if SANITIZED else 700_000
        for shape in COMBINED:
            for keys in (50, rows // 3):
                for more in (("-m", "24MiB"), ("-m", "24MiB", "--block-size", "448KiB", "--force-spill")):
                    with self.subTest(shape=shape, keys=keys, more=more):
                        _, results = self.combine(shape, rows, keys, *more[1:])
                        self.assertEqual(results["together", "n"], results["apart", "n"])
                        self.assertEqual(results["together", "hash"], results["apart", "hash"])

    def test_combining_leaves_little_to_write(self):
        alone = "".join(
            line
            for line in COMBINE.splitlines(True)
            if not any(name in line for name in ("sorted:", "grouped:", "apart:"))
        )
        shapes = ("first and last", "8 bytes", "16 bytes", "sums of two bytes", "strings")
        for shape in shapes[:1] if SANITIZED else shapes:
            with self.subTest(shape=shape):
                few, _ = self.combine(shape, 2_000_000, 50, "12MiB", job=alone)
                many, _ = self.combine(shape, 2_000_000, 10**9, "12MiB", job=alone)
                little, much = (int(report["actual"]["scratch_written_bytes"]) for report in (few, many))
                self.assertGreaterEqual(int(few["sorts"][0]["runs"]), 2)
                self.assertLess(little, much // 5)
                if shape != "strings":  # whose lengths a plan doesn't know
                    sort = many["sorts"][0]
                    self.assertEqual(sort["runs"], sort["predicted_runs"])
                    self.assertEqual(sort["merge_passes"], sort["predicted_merge_passes"])
                    predicted = int(many["predicted"]["scratch_written_bytes"])
                    self.assertLess(abs(much - predicted), predicted // 10)

    def test_combining_with_a_limit_or_long_runs(self):
        limited = COMBINE.replace(
            "  together:", "  first: {op: sort, in: grouped, with: {by: [KEY], limit: 77}}\n  together:"
        )
        limited = limited.replace("in: grouped, with: {hash", "in: first, with: {hash")
        for shape in ("8 bytes", "first and last", "strings"):
            with self.subTest(shape=shape):
                _, results = self.combine(shape, 900_000, 300, "24MiB", job=limited, options=", limit: 77")
                self.assertEqual(results["together", "n"], "77")
                self.assertEqual(results["together", "hash"], results["apart", "hash"])
        _, results = self.combine("8 bytes", 900_000, 100_000, "24MiB", options=", runs: long")
        self.assertEqual(results["together", "hash"], results["apart", "hash"])

    def test_many_rows_made_of_each_stay_within_the_budget(self):
        drawn = 4_000 if SANITIZED else 20_000
        rows = ", ".join(["{v: value, n: %d}" % n for n in range(600)])
        self.write(
            "job.yaml",
            f"""flowrun: 1
name: growing
nodes:
  drawn: {{op: generate, with: {{kind: random, rows: {drawn}}}}}
  many: {{op: flat_map, in: drawn, with: {{rows: [{rows}]}}}}
  sorted: {{op: sort, in: many, with: {{by: [n, v], limit: {50 * drawn}}}}}
  numbered: {{op: flat_map, in: drawn, with: {{rows: [{rows.replace("value, n:", "value, n: row_number + ")}]}}}}
  count: {{op: reduce, in: sorted, with: {{let: {{n: "count()", most: "max(n)"}}}}}}
  sum: {{op: reduce, in: numbered, with: {{let: {{n: "count()", s: "sum(n)"}}}}}}
""",
        )
        done = self.flowrun("job.yaml", "-q", "-m", "32MiB", "-T", "scratch", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        results = {(r["node"], r["name"]): int(r["value"]) for r in report["results"]}
        self.assertEqual(results["count", "n"], 50 * drawn)
        self.assertEqual(results["count", "most"], 49)
        self.assertEqual(results["sum", "n"], 600 * drawn)
        self.assertEqual(results["sum", "s"], 600 * sum(range(drawn)) + drawn * sum(range(600)))
        self.within_budget(report)

    def test_two_disks_share_the_work(self):
        columns, keys, _ = SHAPES["16 bytes"]
        self.write("job.yaml", JOB.replace("COLUMNS", columns).replace("KEYS", keys))
        done = self.flowrun(
            "job.yaml", "-q", "-p", "rows=3000000", "-m", "20MiB", "-T", "one", "-T", "two", "--report", "-"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        written = [int(disk["written_bytes"]) for disk in json.loads(done.stdout)["disks"]]
        self.assertEqual(len(written), 2)
        self.assertGreater(min(written), sum(written) // 4)

    def test_a_full_disk_passes_its_blocks_on(self):
        columns, keys, _ = SHAPES["16 bytes"]
        self.write("job.yaml", JOB.replace("COLUMNS", columns).replace("KEYS", keys))
        done = self.flowrun(
            "job.yaml", "-q", "-p", "rows=3000000", "-m", "20MiB", "-T", "one:4MiB", "-T", "two", "--report", "-"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        disks = json.loads(done.stdout)["disks"]
        self.assertLessEqual(int(disks[0]["peak_used_bytes"]), 4 * MIB)
        self.assertGreater(int(disks[1]["peak_used_bytes"]), 8 * MIB)


if __name__ == "__main__":
    main()
