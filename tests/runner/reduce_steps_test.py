#!/usr/bin/env python3
"""reduce in two steps: the tasks of a cluster reduce their rows, and one task combines what they give. Results are those
of one machine, also where some tasks or all have no rows, and `flowrun plan` says which reduces have two steps."""

import json
import random
import re

from flowrun_process import main, process_test

COLUMNS = {
    "k": '"i % 5"',
    "small": '"u8(rand(1, i) % 200)"',
    "wide": '"rand(2, i)"',
    "signed": '"i64(rand(3, i)) * 3"',
    "real": '"if(rand(4, i) % 9 == 0, 0.0 / 0.0, f64(i64(rand(5, i) % 1000)) - 500.0)"',
    "text": '"concat(hex(rand(6, i)), rand(7, i) % 100)"',
    "price": '"to_decimal(i64(rand(8, i) % 100000), 2)"',
    "yes": '"rand(9, i) % 2 == 0"',
}
# Exact in parts, whatever the rows are; and those that may be so or not, which nobody may see.
IN_PARTS = ["count()"] + [f"{f}({c})" for f in ("min", "max", "first", "last") for c in COLUMNS]
IN_PARTS += ["sum(small)", "sum(wide)", "sum(signed)", "sum(price)", "avg(price)", "avg(small)", "variance(small)", "sum(small * 2 + 1)", "min(concat(text, text))",
             "max(if(yes, wide, 0))", "approx_count_distinct(text)"]
WHOLE = ["sum(real)", "avg(real)", "stddev(real)", "approx_quantile(real, 0.5)", "approx_quantile(wide, 0.9)"]


def job(rows, where, streams, reduces):
    lines = ["flowrun: 1", "nodes:",
             f"  drawn: {{op: generate, with: {{rows: {rows}, columns: {{{', '.join(f'{c}: {e}' for c, e in COLUMNS.items())}}}}}}}",
             f'  some: {{op: filter, in: drawn, with: {{where: "{where}"}}}}',
             "  sorted: {op: sort, in: some, with: {by: [k, wide]}}",
             "  w: {op: file.write_rows, in: numbers, with: {path: out/sorted}}",
             "  numbers: {op: map, in: sorted, with: {k: k, wide: wide}}"]
    for number, (stream, aggregates, hashed) in enumerate(zip(streams, *zip(*reduces))):
        let = ", ".join(f'r{i}: "{a}"' for i, a in enumerate(aggregates))
        lines.append(f"  t{number}: {{op: reduce, in: {stream}, with: {{let: {{{let}}}{', hash: true' if hashed else ''}}}}}")
        lines.append(f"  w{number}: {{op: file.write_json_lines, in: t{number}, with: {{path: out/{number}}}}}")
    return "\n".join(lines) + "\n"


class reduce_steps_test(process_test):
    def results(self, *arguments):
        done = self.flowrun("job.yaml", "--no-sync", "--report", "report.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.dir / "report.json").read_text())
        told = {(r["node"], r["name"]): r["value"] for r in report["results"]}
        rows = {n["id"]: (n.get("rows"), n.get("rows_in")) for n in report["nodes"] if n["op"] == "reduce"}
        return self.taken_outputs(), told, rows

    def test_the_results_of_one_machine(self):
        r = random.Random("two steps")
        for round in range(14):
            count = r.randint(1, 5)
            reduces = []
            for _ in range(count):
                choices = IN_PARTS if r.random() < 0.8 else IN_PARTS + WHOLE
                reduces.append((r.sample(choices, r.randint(1, 5)), r.random() < 0.4))
            rows = r.choice([0, 1, 3, 1000, 20000])
            where = r.choice(["true", "k == 3", f"i64(wide % {max(rows, 1)}) < 2", "small > 250", "yes"])
            self.write("job.yaml", job(rows, where, [r.choice(["some", "sorted", "drawn"]) for _ in reduces], reduces))
            expected = self.results()
            for arguments in (["local:3", "--tasks", "7"], ["local:2", "--batch-size", "4KiB"]):
                self.assertEqual(self.results("--cluster", *arguments), expected, (self.dir / "job.yaml").read_text())

    def stages(self, nodes):
        self.write("job.yaml", "flowrun: 1\nnodes:\n  a: {op: generate, with: {rows: 1000, columns: {k: i, x: \"f64(i)\"}}}\n"
                   + nodes)
        done = self.flowrun("plan", "job.yaml", "--cluster", "local:3")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout[done.stdout.index("on a cluster"):]

    def test_the_plan_tells(self):
        self.assertEqual(self.stages("  t: {op: reduce, in: a, with: {let: {n: \"count()\", m: \"max(x)\"}, hash: true}}\n"),
                         "on a cluster: 2 stages\n"
                         "  stage 1: 3 tasks, pieces of 'a'\n"
                         "    runs    a\n"
                         "    reduces rows for 't'\n"
                         "  stage 2: one task\n"
                         "    reads   partial results of 't'\n"
                         "    runs    t\n")
        for let in ('s: "sum(x)"', 'n: "count()", s: "sum(x)"'):
            self.assertIn("whole, because of 't' (reduce)",
                          self.stages(f"  t: {{op: reduce, in: a, with: {{let: {{{let}}}}}}}\n"), let)

    def test_results_are_read_elsewhere(self):
        """By the nodes of a stage that the partial results come from, among others."""
        self.write("job.yaml", """flowrun: 1
nodes:
  a: {op: generate, with: {rows: 5000, columns: {k: "rand(1, i) % 1000", v: i}}}
  t: {op: reduce, in: a, with: {let: {n: "count()", most: "max(k)", last: "last(v)"}}}
  f: {op: filter, in: a, scalars: t, with: {where: "k * 2 > t.most"}}
  u: {op: reduce, in: f, scalars: t, with: {let: {n: "count()", d: "max(t.last - v)"}}}
  v: {op: reduce, in: f, with: {let: {n: "count()", first: "first(v)"}}}
  s: {op: sort, in: f, with: {by: [k, v]}}
  all: {op: concat, in: [t, t]}
  w0: {op: file.write_csv, in: all, with: {path: out/0}}
  w1: {op: file.write_csv, in: u, with: {path: out/1}}
  w2: {op: file.write_csv, in: v, with: {path: out/2}}
  w3: {op: file.write_csv, in: s, with: {path: out/3}}
""")
        expected = self.results()
        self.assertEqual(self.results("--cluster", "local:3", "--tasks", "5"), expected)

    def test_goes_on_behind_tasks_that_were_done(self):
        """The partial results stay until they have been combined."""
        self.write("in.txt", "1\n" * 1000)
        self.write("job.yaml", """flowrun: 1
nodes:
  a: {op: file.read_csv, with: {path: in.txt, type: {k: u64}}}
  t: {op: reduce, in: a, with: {let: {n: "sum(k)"}}}
  c: {op: check, in: t, with: {where: "n == 1001"}}
""")
        command = ["job.yaml", "--cluster", "local:2", "--tasks", "4", "--resume", "-T", "scratch"]
        failed = self.flowrun(*command)
        self.assertNotEqual(failed.returncode, 0)
        again = self.flowrun(*command)
        self.assertRegex(again.stderr, r"goes on: stage 1 of \d: 4 of 4 tasks done")


if __name__ == "__main__":
    main()
