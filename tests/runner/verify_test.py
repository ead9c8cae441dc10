#!/usr/bin/env python3
"""Sorts that check themselves: who asks for it, what the report says. (That faults are found is shown by the unit tests
of engine/sort/conservation.h: a right program gives no wrong rows to find.)"""

import json

from flowrun_process import main, process_test

JOB = """flowrun: 1
{verify}
params: {{rows: {{type: int, default: 200000}}}}
nodes:
  drawn: {{op: generate, with: {{kind: random, rows: "${{rows}}"}}}}
  wide: {{op: map, in: drawn, with: {{value: value % 1000, text: 'format("{{}}", value)', keep: "*"}}}}
  by_value: {{op: sort, in: drawn, with: {{by: [value]}}}}
  out: {{op: file.write_rows, in: by_value, with: {{path: out}}}}
"""

KINDS = """flowrun: 1
nodes:
  drawn: {op: generate, with: {kind: random, rows: 100000}}
  wide: {op: map, in: drawn, with: {key: value % 1000, a: value, b: value + 1}}
  narrow: {op: sort, in: drawn, with: {by: [value]}}
  again: {op: sort, in: narrow, with: {by: [value]}}
  stable: {op: sort, in: wide, with: {by: [key], stable: true}}
  hidden: {op: sort, in: wide, with: {by: ["a % 77"]}}
  long: {op: sort, in: drawn, with: {by: [-value], runs: long}}
  top: {op: sort, in: wide, with: {by: [-a], limit: 10}}
  once: {op: sort, in: wide, with: {by: [key], unique: true}}
  sums: {op: sort, in: wide, with: {by: [key], combine: {n: "count()"}}}
  mixed: {op: shuffle, in: drawn, with: {seed: 1}}
"""
SINKS = ["again", "stable", "hidden", "long", "top", "once", "sums", "mixed"]
EVERYTHING = "order, rows, content"
BOUNDS = "order, at most as many rows"


class verify_test(process_test):
    def sorts(self, text, *arguments):
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", "--report", "report.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.dir / "report.json").read_text())
        return {sort["id"]: sort.get("verified") for sort in report["sorts"]}

    def asked(self, verify, *arguments):
        job = "\n".join(line for line in JOB.format(verify=verify).splitlines() if "wide" not in line)
        return self.sorts(job, *arguments)["by_value"] is not None

    def test_the_command_line_wins_over_the_job(self):
        self.assertTrue(self.asked("verify: true"))
        self.assertFalse(self.asked("verify: false"))
        self.assertTrue(self.asked("verify: false", "--verify"))
        self.assertFalse(self.asked("verify: true", "--no-verify"))

    def test_what_is_neither_true_nor_false_is_a_fault(self):
        self.write("job.yaml", JOB.format(verify="verify: perhaps"))
        self.fails(78, self.flowrun("check", "job.yaml"), "job.yaml:2:9", "true or false")

    def test_every_kind_of_sort(self):
        text = KINDS
        for node in SINKS:
            text += f"  out_{node}: {{op: file.write_rows, in: {node}, with: {{path: out_{node}}}}}\n"
        for arguments in (
            ("-m", "256MiB"),
            ("-m", "64MiB", "--force-spill", "--block-size", "4KiB"),
            ("-m", "256MiB", "--plain-executor"),
        ):
            with self.subTest(arguments=arguments):
                found = self.sorts(text, "--verify", *arguments)
                for node in ("narrow", "stable", "hidden", "long", "mixed"):
                    self.assertEqual(found[node], {"rows_in": "100000", "rows_out": "100000", "compared": EVERYTHING})
                for node in ("top", "once", "sums"):
                    self.assertEqual(found[node]["compared"], BOUNDS)
                    self.assertEqual(found[node]["rows_in"], "100000")
                    self.assertLess(int(found[node]["rows_out"]), 100000)

    def test_sorts_in_loops_add_up(self):
        found = self.sorts(
            """flowrun: 1
nodes:
  start: {op: generate, with: {kind: random, rows: 1000}}
  round:
    op: loop
    in: {start: start}
    with:
      carry: {rows: {from: start}}
      body:
        mixed: {op: map, in: rows, with: {value: value * 3}}
        sorted: {op: sort, in: mixed, with: {by: [value]}}
      next: {rows: sorted}
      times: 5
  out: {op: file.write_rows, in: round.rows, with: {path: out}}
""",
            "--verify",
        )
        self.assertEqual(found["round.sorted"], {"rows_in": "5000", "rows_out": "5000", "compared": EVERYTHING})


if __name__ == "__main__":
    main()
