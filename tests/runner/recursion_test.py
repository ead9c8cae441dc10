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

    def test_calls_of_one_graph_with_other_sizes(self):
        """What an if gives on is as large as this call's rows, and not as those of the call that was checked first."""
        self.write("job.yaml", """flowrun: 1
graphs:
  g:
    in: {rows: any, s: any}
    out: {o: j}
    nodes:
      i: {op: if, in: {r: rows}, with: {condition: rows(r) > 0, then: {x: {op: filter, in: r, with: {where: "true"}}}, out: {p: r, q: x}}}
      j: {op: lookup, in: {stream: s, table: i.p}, with: {by: [k]}}
      c: {op: check, in: i.q, with: {empty: false}}
nodes:
  a: {op: generate, with: {rows: 10, columns: {k: i64(i * 3), v: "bytes(string(i), 100)"}}}
  b: {op: generate, with: {rows: 100000, columns: {k: i64(i * 3), v: "bytes(string(i), 100)"}}}
  s: {op: generate, with: {rows: 3, columns: {k: i64(i * 3)}}}
  first: {op: call, in: {rows: a, s: s}, with: {graph: g}}
  second: {op: call, in: {rows: b, s: s}, with: {graph: g}}
  both: {op: concat, in: [first, second]}
  keys: {op: map, in: both, with: {k: k}}
  out: {op: file.write_csv, in: keys, with: {path: "-"}}
""")
        done = self.flowrun("-q", "job.yaml", "-m", "256MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), ["0", "3", "6"] * 2)

    def test_a_join_skips_in_each_call(self):
        """Only when the whole graph was checked it is known that its calls of itself are sought in."""
        call = "d: {op: call, in: {q: q, x: more}, with: {graph: g, when: rows(x) > 1}}"
        around = "d: {op: if, in: {q: q, more: more}, with: {condition: rows(more) > 1, then: {e: {op: call, in: {q: q, x: more}, with: {graph: g}}}, out: {o: e}}}"
        # Each level has every other row of the one before: keys 0, 1, 2; 0, 2; 0; …
        expected = [f"{k},{k + level}" for level in range(4) for k in range(3) if k % 2**level == 0]
        for node, result in ((call, "d"), (around, "d.o")):
            self.write("job.yaml", f"""flowrun: 1
graphs:
  g:
    in: {{q: {{k: u32}}, x: {{k: u32, v: u64}}}}
    out: {{o: {{from: c, type: {{k: u32, v: u64}}}}}}
    nodes:
      j: {{op: join, in: {{left: q, right: x}}, with: {{by: [k], skip: true}}}}
      half: {{op: filter, in: x, with: {{where: row_number % 2 == 0}}}}
      more: {{op: map, in: half, with: {{k: k, v: v + 1}}}}
      {node}
      c: {{op: concat, in: [j, {result}]}}
nodes:
  x0: {{op: generate, with: {{rows: 16, columns: {{k: u32(i), v: i}}}}}}
  x: {{op: sort, in: x0, with: {{by: [k]}}}}
  q0: {{op: generate, with: {{rows: 3, columns: {{k: u32(i)}}}}}}
  q: {{op: sort, in: q0, with: {{by: [k]}}}}
  m: {{op: call, in: {{q: q, x: x}}, with: {{graph: g}}}}
  out: {{op: file.write_csv, in: m, with: {{path: "-"}}}}
""")
            done = self.flowrun("-q", "job.yaml", "-m", "64MiB")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.split(), expected)

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
