#!/usr/bin/env python3
"""Rows with equal keys, as the help of sort says it: with `stable` they keep the order of the input; without it their
order is a function of the input and the job, for any memory, threads and blocks, and each comes just once.

All ways that a sort may go: narrow and wide rows, keys that are columns, slices and expressions, elided behind a stable
sort, behind another sort, behind a declared order, with unique and limit.
"""

import struct

from flowrun_process import main, process_test

ROWS = 30_000
NARROW = {"k": "u16(i * 7919 % 50)", "v": "u32((i * 2654435761) % 4294967296)"}
WIDE = {**NARROW, "w": "u64(i)", "x": "u64(i * 3)"}
# What a job says: the row type, the sorts one behind the other.
SORTS = {
    "narrow": (NARROW, [{"by": ["k"]}]),
    "narrow, descending": (NARROW, [{"by": ["-k"]}]),
    "narrow, stable": (NARROW, [{"by": ["k"], "stable": True}]),
    "narrow, by an expression": (NARROW, [{"by": ["k % 7"]}]),
    "narrow, by a wide expression": (NARROW, [{"by": ["u64(k) % 7", "i64(k) % 3", "f64(k % 2)"]}]),
    "narrow, by an expression, stable": (NARROW, [{"by": ["k % 7"], "stable": True}]),
    "narrow, elided behind a stable one": (NARROW, [{"by": ["k"], "stable": True}, {"by": ["k"]}]),
    "narrow, elided behind one by more": (NARROW, [{"by": ["k", "-v"]}, {"by": ["k"]}]),
    "narrow, stable behind one by another column": (NARROW, [{"by": ["-v"]}, {"by": ["k"], "stable": True}]),
    "narrow, by an expression behind a stable one": (NARROW, [{"by": ["k"], "stable": True}, {"by": ["k % 7"]}]),
    "narrow, with a limit": (NARROW, [{"by": ["k"], "limit": 1000}]),
    "narrow, unique": (NARROW, [{"by": ["k"], "unique": True}]),
    "narrow, unique, elided behind a stable one": (NARROW, [{"by": ["k"], "stable": True}, {"by": ["k"], "unique": True}]),
    "wide": (WIDE, [{"by": ["k"]}]),
    "wide, stable": (WIDE, [{"by": ["k"], "stable": True}]),
    "wide, elided behind another": (WIDE, [{"by": ["k", "-w"]}, {"by": ["k"]}]),
    "wide, by an expression": (WIDE, [{"by": ["k % 7"]}]),
}
PLACES = [
    ["-m", "64MiB", "-j", "1"],
    ["-m", "64MiB", "-j", "3"],
    ["-m", "8MiB", "-j", "1", "--force-spill"],
    ["-m", "9MiB", "-j", "3", "--force-spill", "--block-size", "4096", "--batch-size", "700"],
    ["-m", "70MiB", "-j", "3", "--force-spill"],
    ["-m", "64MiB", "--plain-executor", "--batch-size", "512"],
]
FORMATS = {"u16": "H", "u32": "I", "u64": "Q"}


def job(columns, sorts):
    made = ", ".join(f'{column}: "{value}"' for column, value in columns.items())
    nodes = [f"  rows: {{op: generate, with: {{rows: {ROWS}, columns: {{{made}}}}}}}"]
    before = "rows"
    for i, s in enumerate(sorts):
        by = ", ".join(f'"{key}"' for key in s["by"])
        more = "".join(f", {name}: {str(value).lower()}" for name, value in s.items() if name != "by")
        nodes.append(f"  sort{i}: {{op: sort, in: {before}, with: {{by: [{by}]{more}}}}}")
        before = f"sort{i}"
    nodes.append(f"  out: {{op: file.write_rows, in: {before}, with: {{path: out}}}}")
    return "flowrun: 1\nname: ties\nnodes:\n" + "\n".join(nodes) + "\n"


def generated(columns):
    rows = []
    for i in range(ROWS):
        row = (i * 7919 % 50, i * 2654435761 % 2**32)
        rows.append(row if len(columns) == 2 else (*row, i, i * 3))
    return rows


def key_of(s):
    def key(row):
        out = []
        for text in s["by"]:
            sign = -1 if text.startswith("-") else 1
            name = text.lstrip("-")
            column = {"k": 0, "v": 1, "w": 2}.get(name)
            value = row[column] if column is not None else row[0] % int(name.split("%")[1].strip(" )"))
            out.append(sign * value)
        return out

    return key


class ties(process_test):
    def test_one_rule(self):
        for name, (columns, sorts) in SORTS.items():
            self.write("job.yaml", job(columns, sorts))
            layout = struct.Struct("<" + "".join(FORMATS[e[: e.index("(")]] for e in columns.values()))
            results = []
            for place in PLACES:
                done = self.flowrun("run", "job.yaml", "-q", "--no-sync", *place)
                self.assertEqual(done.returncode, 0, f"{name}, {place}: {done.stderr}")
                results.append((self.dir / "out").read_bytes())
                self.assertEqual(results[0], results[-1], f"{name}: {place} gives another order than {PLACES[0]}")
            rows = list(layout.iter_unpack(results[0]))
            last = sorts[-1]
            keys = [key_of(last)(row) for row in rows]
            self.assertEqual(keys, sorted(keys), name)
            if last.get("unique"):
                self.assertEqual(len(rows), 50, name)
            elif "limit" not in last:
                self.assertEqual(sorted(rows), sorted(generated(columns)), f"{name}: other rows")
            if all(s.get("stable") for s in sorts) or name.startswith("narrow, stable behind"):
                expected = generated(columns)
                for s in sorts:
                    expected = sorted(expected, key=key_of(s))
                self.assertEqual(rows, expected, f"{name}: not the order of the input")

    def test_the_help_says_it(self):
        told = " ".join(self.flowrun("ops", "sort").stdout.split())
        self.assertIn("with `stable` they keep the order of the input", told)
        self.assertIn("a function of the input and the job alone", told)
        self.assertNotIn("wider rows and rows with strings keep", told)


if __name__ == "__main__":
    main()
