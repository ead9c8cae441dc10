#!/usr/bin/env python3
"""A sort that combines writes what a group behind a stable sort writes, for every aggregate, type and direction; in
memory and spilled with tiny blocks."""

import random

from flowrun_process import SANITIZED, main, process_test

JOB = """flowrun: 1
name: combining
nodes:
  rows: {op: file.read_csv, with: {path: in.csv, type: {k: "KEY", v: "VALUE"}}}
  combined: {op: sort, in: rows, with: {by: [ORDER], combine: {AGGREGATES}}}
  sorted: {op: sort, in: rows, with: {by: [ORDER], stable: true}}
  grouped: {op: group, in: sorted, with: {by: [k], let: {AGGREGATES}}}
  together: {op: file.write_csv, in: combined, with: {path: together.csv}}
  apart: {op: file.write_csv, in: grouped, with: {path: apart.csv}}
"""
# Rows enough for several runs; most keys are in more than one.
COMPRESSING = """flowrun: 1
name: combining-compressed
nodes:
  rows: {op: generate, with: {rows: 1500000, columns: {k: "u32(rand(1, i) % 400000)", v: "u16(rand(2, i) % 1000)"}}}
  combined: {op: sort, in: rows, with: {by: [k], combine: {n: "count()", s: "sum(v)"}}}
  sorted: {op: sort, in: rows, with: {by: [k]}}
  grouped: {op: group, in: sorted, with: {by: [k], let: {n: "count()", s: "sum(v)"}}}
  together: {op: file.write_rows, in: combined, with: {path: together.rows}}
  apart: {op: file.write_rows, in: grouped, with: {path: apart.rows}}
"""
# Computed keys and different values, by the sort itself and with a map, a sort and a group.
COMPUTED = """flowrun: 1
name: computed
nodes:
  rows: {op: file.read_csv, with: {path: in.csv, type: {k: "KEY", v: "VALUE"}}}
  combined: {op: sort, in: rows, with: {by: [{a: "DIRECTIONA"}, k], combine: {AGGREGATES}}}
  mapped: {op: map, in: rows, with: {a: "A", k: k, v: v}}
  sorted: {op: sort, in: mapped, with: {by: [DIRECTIONa, k, v]}}
  grouped: {op: group, in: sorted, with: {by: [a, k], let: {AGGREGATES}}}
  by_v: {op: sort, in: rows, with: {by: [k, v]}}
  elided: {op: sort, in: by_v, with: {by: [k], combine: {DIFFERENT}}}
  again: {op: group, in: by_v, with: {by: [k], let: {DIFFERENT}}}
  all: {op: sort, in: rows, with: {by: [k], combine: {DIFFERENT}}}
  together: {op: file.write_csv, in: combined, with: {path: together.csv}}
  apart: {op: file.write_csv, in: grouped, with: {path: apart.csv}}
  w1: {op: file.write_csv, in: elided, with: {path: elided.csv}}
  w2: {op: file.write_csv, in: again, with: {path: again.csv}}
  w3: {op: file.write_csv, in: all, with: {path: all.csv}}
"""
DIFFERENT = """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 10000000, columns: {k: "u32(i % 10)", v: "u64(i / 10 % 1000)"}}}
  all: {op: sort, in: rows, with: {by: [k], combine: {d: "count_distinct(v)", n: "count()"}}}
  out: {op: file.write_csv, in: all, with: {path: out.csv}}
"""
COUNT = 'n: "count()"'
NUMBERS = 'n: "count()", s: "sum(v)", low: "min(v)", high: "max(v)"'
PLACES = 'f: "first(v)", l: "last(v)"'
VALUES = 'low: "min(v)", high: "max(v)", n: "count()"'
VARIANTS = ([], ["--force-spill", "--block-size", "4096", "--batch-size", "700", "-m", "24MiB", "-j", "3"])


def job(key, value, aggregates, order="k"):
    text = JOB.replace("KEY", key).replace("VALUE", value).replace("AGGREGATES", aggregates)
    return text.replace("ORDER", order)


def cell(drawn, type):
    if type == "bool":
        return drawn.choice(("false", "true"))
    if type == "string":
        return f"text {drawn.randrange(30)}"
    if type == "bytes[3]":
        return f"{drawn.randrange(40):03}"
    if type[0] == "f":
        return str(drawn.randrange(-32, 32) / 4)
    return str(drawn.randrange(100) - (50 if type[0] == "i" else 0))


class sort_combine_test(process_test):
    def compare(self, key, value, aggregates):
        drawn = random.Random(7)
        rows = "".join(f"{cell(drawn, key)},{cell(drawn, value)}\n" for _ in range(3000))
        self.write("in.csv", rows)
        for direction in ("", "-"):
            self.write("job.yaml", job(key, value, aggregates, f"{direction}k"))
            for variant in VARIANTS:
                with self.subTest(key=key, value=value, aggregates=aggregates, direction=direction, variant=variant):
                    done = self.flowrun("job.yaml", "-q", "-T", "scratch", *variant)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    together, apart = ((self.dir / name).read_bytes() for name in ("together.csv", "apart.csv"))
                    self.assertGreater(len(apart.splitlines()), 1)
                    self.assertEqual(together, apart)
                    self.assertEqual(self.files("scratch"), [])

    def test_numbers(self):
        for type in ("u8", "u24", "u64", "i8", "i16", "i64", "f32", "f64"):
            self.compare("u16", type, NUMBERS)
            self.compare(type, "u16", COUNT)

    def test_texts_and_booleans(self):
        for type in ("bool", "bytes[3]", "string"):
            self.compare("i32", type, VALUES)
            self.compare(type, "i64", NUMBERS)

    def test_first_and_last(self):
        for type in ("u8", "f64", "bool", "bytes[3]", "string"):
            self.compare("u16", type, PLACES)
            self.compare(type, "i32", PLACES)

    def test_computed_keys_and_different_values(self):
        drawn = random.Random(8)
        others = 'n: "count()", low: "min(v)", d: "count_distinct(v)"'
        for key, value, a in (
            ("u16", "u8", "k % 7"),
            ("i32", "string", "concat(string(k % 3), v[0:6])"),
            ("string", "f64", "v < 0.0"),
            ("bytes[3]", "i64", "k[0:2]"),
            ("f32", "bytes[3]", "-k"),
            ("bool", "bool", "v != k"),
        ):
            rows = [f"{cell(drawn, key)},{cell(drawn, value)}" for _ in range(3000)]
            self.write("in.csv", "".join(row + "\n" for row in rows))
            different = {}
            for row in rows:
                k, v = row.split(",")
                k = k.removesuffix(".0")
                different.setdefault(k, set()).add(v)
            for direction in ("", "-"):
                text = COMPUTED.replace("DIRECTIONA", f"{direction}({a})").replace("DIRECTION", direction)
                text = text.replace('"A"', f'"{a}"').replace("AGGREGATES", others).replace("KEY", key)
                text = text.replace("VALUE", value).replace("DIFFERENT", 'd: "count_distinct(v)"')
                self.write("job.yaml", text)
                for variant in VARIANTS:
                    with self.subTest(key=key, value=value, a=a, direction=direction, variant=variant):
                        done = self.flowrun("job.yaml", "-q", "-T", "scratch", *variant)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        files = ("together", "apart", "elided", "again", "all")
                        together, apart, *counts = ((self.dir / f"{name}.csv").read_text() for name in files)
                        self.assertGreater(len(apart.splitlines()), 1)
                        self.assertEqual(together, apart)
                        for found in counts:
                            self.assertEqual(
                                sorted(found.splitlines()), sorted(f"{k},{len(v)}" for k, v in different.items())
                            )
                        self.assertEqual(self.files("scratch"), [])

    def test_scratch_has_each_value_of_a_key_once(self):
        self.write("job.yaml", DIFFERENT)
        done = self.flowrun("job.yaml", "-m", "24MiB", "--force-spill", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.csv").read_text(), "".join(f"{k},1000,1000000\n" for k in range(10)))
        sort = self.report()["sorts"][0]
        # Ten million rows of 16 bytes; of each run, at most 10,000 rows are written.
        self.assertLess(int(sort["run_bytes"]), 20_000_000, sort)

    def test_a_sorted_column_is_a_key_twice(self):
        self.write("in.u64", b"".join(x.to_bytes(8, "little") for x in (1, 1, 2, 5)))
        self.write("job.yaml", """flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: in.u64, type: {k: u64}, sorted_by: [k, k]}}
  combined: {op: sort, in: rows, with: {by: [k, {again: k}], combine: {n: "count()", t: "max(string(k))"}}}
  out: {op: file.write_csv, in: combined, with: {path: out.csv}}
""")
        done = self.flowrun("job.yaml", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.csv").read_text(), "1,1,2,1\n2,2,1,2\n5,5,1,5\n")

    def test_a_limit_counts_keys_and_not_values(self):
        self.write("in.csv", "".join(f"{i % 50},{i * 7 % 300}\n" for i in range(3000)))
        text = job("u8", "u16", 'd: "count_distinct(v)", n: "count()"', "-k").replace("with: {by: [-k], c", "with: {limit: 3, by: [-k], c")
        text = text.replace("by: [-k], stable: true", "by: [-k, v]")
        self.write("job.yaml", text)
        for variant in VARIANTS:
            self.assertEqual(self.flowrun("job.yaml", "-q", *variant).returncode, 0)
            together, apart = ((self.dir / name).read_text() for name in ("together.csv", "apart.csv"))
            self.assertEqual(together, "".join(apart.splitlines(keepends=True)[:3]))

    def test_compressed_runs_of_combined_rows(self):
        self.write("job.yaml", COMPRESSING)
        apart = None
        for compress in ("none", "delta", "lz4", "zstd"):
            variants = ([], ["--force-spill", "--block-size", "16384", "-j", "3"])
            for variant in variants[1:] if SANITIZED else variants:
                with self.subTest(compress=compress, variant=variant):
                    with_compress = f"--set=nodes.combined.with.compress={compress}"
                    done = self.flowrun("job.yaml", "-m", "24MiB", "--report", "report.json", with_compress, *variant)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    apart = apart or (self.dir / "apart.rows").read_bytes()
                    self.assertEqual((self.dir / "together.rows").read_bytes(), apart)
                    combined = self.report()["sorts"][0]
                    self.assertGreater(int(combined["runs"]), 1)
                    stored_shorter = int(combined["stored_run_bytes"]) < int(combined["run_bytes"])
                    self.assertEqual(stored_shorter, compress != "none", combined)

    def test_expressions(self):
        self.compare("u8", "u16", 's: "sum(v * 3 - 5)", half: "max(f64(v) / 2)", t: "min(concat(\'<\', k, \'>\'))"')
        self.compare("u8", "i32", 's: "sum(v * 3 - 5)", least: "min(v * v)"')

    def test_sums_wrap_around(self):
        self.write("in.csv", f"1,{2**63 - 1}\n" + "1,5\n")
        self.write("job.yaml", job("u8", "i64", NUMBERS))
        done = self.flowrun("job.yaml", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "together.csv").read_text(), f"1,2,{-(2**63) + 4},5,{2**63 - 1}\n")

    def test_no_rows(self):
        self.write("in.csv", "")
        self.write("job.yaml", job("u8", "i64", NUMBERS))
        for variant in VARIANTS:
            self.assertEqual(self.flowrun("job.yaml", "-q", *variant).returncode, 0)
            self.assertEqual((self.dir / "together.csv").read_text(), "")

    def test_a_key_twice_is_a_fault(self):
        self.write("job.yaml", job("u8", "u8", COUNT, "k, -k"))
        self.fails(78, self.flowrun("check", "job.yaml"), "'k' is a key twice")


if __name__ == "__main__":
    main()
