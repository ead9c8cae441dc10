#!/usr/bin/env python3
"""A graph that calls itself forty levels deep in a small budget: every level waits with what it was given, and the
memory stays within the budget."""

import json
import re
import resource

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
    def run_levels(self, levels, rows, memory):
        """The report of the job, which was right. With the memory that was left for the deepest level, as text."""
        self.write("job.yaml", JOB.replace("% 40", f"% {levels}"))
        done = self.flowrun("job.yaml", "-q", "-p", f"rows={rows}", "-m", memory, "-T", "s", "--report", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        results = {(r["node"], r["name"]): r["value"] for r in report["results"]}
        self.assertEqual(results["all", "n"], str(rows))
        self.assertEqual(results["none", "n"], "0")
        depth, left = results["peeled.deeper", "depth"].split(", ", 1)
        self.assertEqual(depth, str(levels - 1))
        self.within_budget(report)
        self.assertEqual(self.files("s"), [])
        return left

    def test_the_least_goes_all_the_way_down(self):
        """Nothing of the budget is left soon, and each level has what it needs beyond it: only the deepest one works."""
        self.write("job.yaml", JOB)
        refused = self.flowrun("check", "job.yaml", "-p", "rows=20000", "-m", "1MiB").stderr
        least = re.search(r"memory: (\d+MiB) or more", refused).group(1)
        left = [self.run_levels(levels, 20_000, least) for levels in (12, 36, 60)]
        self.assertEqual(left[1:], left[:-1])

    def test_ends_before_the_stack_does(self):
        """Each level is a part of the stack."""
        self.write("job.yaml", """flowrun: 1
graphs:
  g:
    in: {rows: {k: u32}}
    out: {out: {from: both, type: {k: u32}}}
    nodes:
      deeper: {op: call, in: {rows: rows}, with: {graph: g, when: "call_depth < 1000000", max_depth: 1000000}}
      both: {op: concat, in: [rows, deeper]}
nodes:
  one: {op: generate, with: {rows: 1, columns: {k: u32(i)}}}
  all: {op: call, in: {rows: one}, with: {graph: g, max_depth: 1000000}}
  out: {op: file.write_csv, in: all, with: {path: out.csv}}
""")
        small = lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))  # noqa: E731
        done = self.flowrun("job.yaml", "-q", "-m", "512MiB", "-T", "s", preexec_fn=small)
        self.assertEqual(done.returncode, 75, done.stderr[:2000])
        self.assertRegex(done.stderr, r"'g' calls itself \d+ deep .* the stack has no room for more")
        self.assertIn("ulimit -s", done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())

    def test_stays_within_a_small_budget(self):
        for memory in ("16MiB", "48MiB"):
            with self.subTest(memory=memory):
                self.run_levels(40, 200_000, memory)


if __name__ == "__main__":
    main()
