#!/usr/bin/env python3
"""A sort that combines, in two steps: the tasks of a cluster sort partial results, and those that merge them make one row
of each key. Results are those of one machine, also where some tasks or all have no rows."""

import json
import random

from flowrun_process import SANITIZED, main, process_test

COLUMNS = {
    "k": '"rand(1, i) % 40"',
    "small": '"u8(rand(2, i) % 200)"',
    "wide": '"rand(3, i)"',
    "signed": '"i64(rand(4, i)) * 3"',
    "real": '"f64(i64(rand(5, i) % 1000)) - 500.0"',
    "tag": '"bytes(hex(rand(6, i) % 7), 16)"',
    "price": '"to_decimal(i64(rand(8, i) % 100000), 2)"',
    "text": '"concat(\'t\', rand(7, i) % 9)"',
}
KEYS = ["[k]", "[-k]", "[k, tag]", "[tag, -small]", '{h: "k / 7"}', '{h: "wide % 5", k: k}', '{s: "-(signed % 4)"}', "[real]"]
IN_PARTS = [f"{f}({c})" for f in ("min", "max", "first", "last") for c in ("small", "wide", "signed", "real", "price")]
IN_PARTS += ["count()", "sum(small)", "sum(price)", "avg(small)", "sum(small * 2)"]
# Made of the rows themselves, behind the merge.
WHOLE = ["sum(real)", "min(text)", "last(text)", "count_distinct(small)"]


def job(rows, where, sorts):
    lines = ["flowrun: 1", "nodes:",
             f"  drawn: {{op: generate, with: {{rows: {rows}, columns: {{{', '.join(f'{c}: {e}' for c, e in COLUMNS.items())}}}}}}}",
             f'  some: {{op: filter, in: drawn, with: {{where: "{where}"}}}}']
    for number, (keys, aggregates, limit) in enumerate(sorts):
        made = ", ".join(f'a{i}: "{a}"' for i, a in enumerate(aggregates))
        limited = f", limit: {limit}" if limit else ""
        lines.append(f"  s{number}: {{op: sort, in: some, with: {{by: {keys}, combine: {{{made}}}{limited}}}}}")
        lines.append(f"  w{number}: {{op: file.write_json_lines, in: s{number}, with: {{path: out/{number}}}}}")
    return "\n".join(lines) + "\n"


def drawn_sorts(r, count):
    out = []
    for _ in range(count):
        aggregates = r.sample(IN_PARTS, r.randrange(1, 4)) + r.sample(WHOLE, r.random() < 0.2)
        if "count_distinct(small)" in aggregates:  # which goes by the order of its values
            aggregates = [a for a in aggregates if not a.startswith(("first", "last"))]
        out.append((r.choice(KEYS), aggregates, r.choice([0, 0, 1, 5])))
    return out


class combine_steps_test(process_test):
    def results(self, *arguments):
        done = self.flowrun("job.yaml", "--no-sync", "-T", "scratch", "--report", "report.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = json.loads((self.dir / "report.json").read_text())["nodes"]
        return self.taken_outputs(), {n["id"]: (n.get("rows"), n.get("rows_in")) for n in nodes if n["op"] == "sort"}

    def expect_the_same(self, *arguments):
        expected = self.results()
        for more in (("--cluster", "local:3"), ("--cluster", "local:2", "--tasks", "5", "-m", "128MiB", "--force-spill")):
            self.assertEqual(self.results(*more, *arguments), expected, (more, (self.dir / "job.yaml").read_text()))

    def test_the_same_rows(self):
        r = random.Random(1)
        for rows in (0, 700) if SANITIZED else (0, 1, 700, 20000):
            for where in ("true", "false", "wide % 100 == 0"):
                self.write("job.yaml", job(rows, where, drawn_sorts(r, 4)))
                self.expect_the_same()

    def test_all_aggregates(self):
        self.write("job.yaml", job(5000, "true", [(keys, IN_PARTS[i::8], 0) for i, keys in enumerate(KEYS)]))
        self.expect_the_same()

    def test_a_task_gives_each_key_once(self):
        """Else the tasks that merge would have as many rows to read as there are."""
        self.write("job.yaml", job(300000, "true", [("[k]", ["count()", "max(wide)"], 0)]))
        self.expect_the_same()
        done = self.flowrun("job.yaml", "-T", "scratch", "--no-sync", "--cluster", "local:2", "--progress", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line)["rows"] for line in done.stderr.splitlines() if line.startswith("{")]
        self.assertLess(int(rows[-1]) - 300000, 1000)  # of a source, and what was merged

    def test_computed_keys_are_divided_where_they_are_combined(self):
        self.write("job.yaml", job(10, "true", [('{h: "k / 7"}', ["count()"], 0), ('{h: "k / 7"}', ["sum(real)"], 0)]))
        plan = self.flowrun("plan", "job.yaml", "--cluster", "local:2").stdout
        self.assertIn("sorts   runs of 's0'", plan)
        self.assertIn("a range of h of 's0'", plan)
        self.assertIn("whole, because of 's1' (sort)", plan)


if __name__ == "__main__":
    main()
