#!/usr/bin/env python3
"""A graph that calls itself forty levels deep in a small budget: every level waits with what it was given, and the
memory stays within the budget."""

import json

from flowrun_process import main, process_test

# Each level leaves one residue modulo 40 behind. A row comes back with the number of levels that it was in.
JOB = """flowrun: 1
name: peeling
params: {rows: {type: int}}
nodes:
  drawn: {op: generate, with: {rows: "${rows}", columns: {x: "rand(1, i)"}}}
  peeled: {op: call, in: drawn, with: {graph: peel, least: 0}}
  wrong: {op: filter, in: peeled, with: {where: "n != x % 40 + 1"}}
  all: {op: reduce, in: peeled, with: {let: {n: "count()"}}}
  none: {op: reduce, in: wrong, with: {let: {n: "count()"}}}
graphs:
  peel:
    in: {rows: {x: u64}}
    out: {out: {from: seen, type: {x: u64, n: u64}}}
    scalars: {least: {type: int}}
    nodes:
      ordered: {op: sort, in: rows, with: {by: [x]}}
      less: {op: filter, in: ordered, with: {where: "x % 40 > least"}}
      mixed: {op: shuffle, in: less}
      deeper: {op: call, in: {rows: mixed}, with: {graph: peel, least: "least + 1", when: "rows(rows) > 0"}}
      by_x: {op: sort, in: deeper, with: {by: [x]}}
      joined: {op: join, in: {left: ordered, right: by_x}, with: {by: [x], kind: left}}
      seen: {op: map, in: joined, with: {x: x, n: "n + 1"}}
"""


class recursion_test(process_test):
    def test_stays_within_a_small_budget(self):
        self.write("job.yaml", JOB)
        rows = 200_000
        for memory in ("16MiB", "48MiB"):
            with self.subTest(memory=memory):
                done = self.flowrun("job.yaml", "-q", "-p", f"rows={rows}", "-m", memory, "-T", "s", "--report", "-")
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout)
                results = {(r["node"], r["name"]): r["value"] for r in report["results"]}
                self.assertEqual(results["all", "n"], str(rows))
                self.assertEqual(results["none", "n"], "0")
                self.assertRegex(results["peeled.deeper", "depth"], "^39, ")
                self.within_budget(report)
                self.assertEqual(self.files("s"), [])


if __name__ == "__main__":
    main()
