#!/usr/bin/env python3
"""Sorts much larger than their memory: many runs, several merge passes, in a small budget; no row is lost, added or
out of order, and the memory stays within the budget."""

import json
import os

from flowrun_process import main, process_test

MIB = 1 << 20
ALLOWANCE = 64 * MIB
SANITIZED = "FLOWRUN_SANITIZED" in os.environ  # a sanitizer's own memory is not the job's

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
SHAPES = {
    "8 bytes": ('k: "rand(1, i)"', "k", 8),
    "16 bytes": ('k: "rand(1, i) % 1000003", v: i', "-k", 16),
    "40 bytes": ('a: "rand(1, i)", b: "rand(2, i)", c: "rand(3, i)", d: i, k: "rand(4, i) % 5003"', "k, -a", 40),
    "strings": ('s: "concat(\'key \', rand(1, i) % 100003, \'/\', i % 7)", v: "u32(i)"', "s, v", 32),
}


class large_sort_test(process_test):
    def sort(self, shape, rows, memory, *more):
        columns, keys, _ = SHAPES[shape]
        self.write("job.yaml", JOB.replace("COLUMNS", columns).replace("KEYS", keys))
        done = self.flowrun(
            "job.yaml", "-q", "-p", f"rows={rows}", "-m", memory, "-T", "scratch", "--report", "report.json", *more
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.dir / "report.json").read_text())
        results = {(r["node"], r["name"]): r["value"] for r in report["results"]}
        self.assertEqual(results["before", "n"], str(rows))
        for name in ("n", "hash_low", "hash_high"):
            if ("before", name) in results:
                self.assertEqual(results["before", name], results["after", name])
        self.assertIn(("after", "hash"), {(node, name.split("_")[0]) for node, name in results})
        if not SANITIZED:
            self.assertLessEqual(int(report["peak_memory_bytes"]), int(report["memory_budget_bytes"]) + ALLOWANCE)
        self.assertEqual(self.files("scratch"), [])
        return report

    def test_many_runs(self):
        for shape, (_, _, row_bytes) in SHAPES.items():
            with self.subTest(shape=shape):
                report = self.sort(shape, 32 * MIB // row_bytes, "20MiB")
                sort = report["sorts"][0]
                self.assertGreaterEqual(int(sort["runs"]), 4)
                self.assertEqual(int(sort["merge_passes"]), 1)

    def test_the_prediction_is_what_happens(self):
        for shape, stable in (("8 bytes", False), ("8 bytes", True), ("16 bytes", False), ("40 bytes", False)):
            for memory in ("12MiB", "20MiB"):
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
                    self.assertLess(abs(actual - predicted), predicted // 10)

    def test_long_runs_are_predicted(self):
        # On random input, to within one run. Runs of twice the memory instead of half of it.
        for shape in ("8 bytes", "16 bytes"):
            for memory in ("12MiB", "20MiB", "40MiB"):
                for more in ((), ("--force-spill",)):
                    with self.subTest(shape=shape, memory=memory, more=more):
                        columns, keys, row_bytes = SHAPES[shape]
                        job = JOB.replace("stable: true", "runs: long")
                        self.write("job.yaml", job.replace("COLUMNS", columns).replace("KEYS", keys))
                        rows = str(100 * MIB // row_bytes)
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
                        if not SANITIZED:
                            peak, budget = int(report["peak_memory_bytes"]), int(report["memory_budget_bytes"])
                            self.assertLessEqual(peak, budget + ALLOWANCE)
                        results = {(r["node"], r["name"]): r["value"] for r in report["results"]}
                        for name in ("n", "hash_low", "hash_high"):
                            if ("before", name) in results:
                                self.assertEqual(results["before", name], results["after", name])

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

    def test_several_merge_passes(self):
        for shape, (_, _, row_bytes) in SHAPES.items():
            with self.subTest(shape=shape):
                # Blocks so large that few of them fit: a small fan-in.
                report = self.sort(shape, 64 * MIB // row_bytes, "12MiB", "--block-size", "448KiB")
                sort = report["sorts"][0]
                self.assertGreaterEqual(int(sort["merge_passes"]), 2, sort)

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
