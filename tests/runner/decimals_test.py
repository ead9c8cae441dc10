#!/usr/bin/env python3
"""Decimals as a user meets them: bad fields, results that become too large, scalars of loops, tests of jobs, files of rows,
defaults, reports, and what is said of wrong types."""

import json
import struct

from flowrun_process import main, process_test

NODES = """nodes:
  rows: {op: file.read_csv, with: {path: in.csv, type: {id: u32, price: "decimal[2]"}}}
"""
LARGEST = "92233720368547758.07"


class decimals_test(process_test):
    def succeeds(self, job, *arguments):
        self.write("job.yaml", job)
        done = self.flowrun("run", "job.yaml", "--progress", "none", "--report", "report.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refuses(self, code, job, *parts):
        self.write("job.yaml", job)
        done = self.flowrun("run", "job.yaml", "--progress", "none")
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())

    def read(self, name):
        return (self.dir / name).read_text()

    def test_a_bad_field_ends_the_job_with_its_place(self):
        job = "flowrun: 1\n" + NODES + "  out: {op: file.write_csv, in: rows, with: {path: out.csv}}\n"
        for field, reason in (
            ("12.505", 'expected decimal[2], got "12.505": it has 3 digits behind the point'),
            ("1e3", "a decimal has digits, a point and a sign, as in -12.50"),
            ("100000000000000000", "it is not in the range -92233720368547758.08 to 92233720368547758.07"),
            ("", "expected decimal[2] (such as 1.20), got an empty field"),
        ):
            self.write("in.csv", f"0,1\n1,{field}\n")
            self.refuses(65, job, "in.csv:2:3", reason)

    def test_what_becomes_too_large_ends_the_job_with_its_node(self):
        self.write("in.csv", f"0,{LARGEST}\n1,-0.50\n2,0.51\n")
        for node, reason in (
            ("{op: map, in: rows, with: {more: price + 0.01}}", "9223372036854775807 + 1, in units of the last digit"),
            ("{op: map, in: rows, with: {more: price * price}}", "9223372036854775807 * 9223372036854775807"),
            ("{op: filter, in: rows, with: {where: -price * 2 < 0}}", "-9223372036854775807 * 2"),
            ("{op: reduce, in: rows, with: {let: {more: sum(price)}}}", "a sum of decimal[2] is not in the range -92233720368547758.08"),
            ("{op: scan, in: rows, with: {prefix_sum: {more: price}}}", "9223372036854775757 + 51"),
            ("{op: scan, in: rows, with: {state: {all: 'to_decimal(1, 2)'}, set: {all: all + price}}}", "9223372036854775807 + 100"),
        ):
            with self.subTest(node=node):
                job = "flowrun: 1\n" + NODES + f"  calc: {node}\n"
                job += "  out: {op: file.write_csv, in: calc, with: {path: out.csv}}\n"
                self.refuses(65, job, "node 'calc'", reason, "fewer digits behind the point")

    def test_an_exclusive_sum_adds_what_a_row_shows(self):
        self.write("in.csv", f"0,{LARGEST}\n1,{LARGEST}\n")
        job = "flowrun: 1\n" + NODES + """  calc: {op: scan, in: rows, with: {prefix_sum: {all: price}, exclusive: true}}
  out: {op: file.write_csv, in: calc, with: {path: out.csv}}
"""
        self.succeeds(job)
        self.assertEqual(self.read("out.csv"), f"0,{LARGEST},0.00\n1,{LARGEST},{LARGEST}\n")
        (self.dir / "out.csv").unlink()
        self.write("in.csv", f"0,{LARGEST}\n1,{LARGEST}\n2,0.00\n")
        self.refuses(65, job, "node 'calc'", "9223372036854775807 + 9223372036854775807")

    def test_a_sum_fits_if_it_fits_in_the_end(self):
        self.write("in.csv", f"0,{LARGEST}\n1,{LARGEST}\n2,-{LARGEST}\n")
        for node in (
            "{op: group, in: sorted, with: {by: [k], let: {total: sum(price)}}}",
            "{op: sort, in: keyed, with: {by: [k], combine: {total: sum(price)}}}",
        ):
            self.succeeds("flowrun: 1\n" + NODES + f"""  keyed: {{op: map, in: rows, with: {{k: u8(1), price: price}}}}
  sorted: {{op: sort, in: keyed, with: {{by: [k]}}}}
  calc: {node}
  out: {{op: file.write_csv, in: calc, with: {{path: sums.csv}}}}
""" + ("" if "sorted" in node else "  kept: {op: file.write_csv, in: sorted, with: {path: kept.csv}}\n"))
            self.assertEqual(self.read("sums.csv"), f"1,{LARGEST}\n")

    def test_scalars_of_loops_and_rows_in_the_spec(self):
        self.succeeds("""flowrun: 1
nodes:
  start: {op: generate, with: {rows: 3, columns: {price: "to_decimal(i, 2)"}}}
  raised:
    op: loop
    in: {start: start}
    with:
      carry:
        left: {from: start}
        rate: {value: "to_decimal('1.1', 2)"}
        known: {rows: [{price: -1}, {price: 12.5}], type: {price: "decimal[3]"}}
      body:
        more: {op: map, in: left, with: {price: "round(price * rate, 2)"}}
        same: {op: map, in: known, with: {price: price}}
      next: {left: more, rate: rate + 0.1, known: same}
      until: "rate >= 1.3"
  out: {op: file.write_csv, in: raised.left, with: {path: out.csv}}
  scalars: {op: file.write_csv, in: raised.scalars, with: {path: scalars.csv}}
  known: {op: file.write_csv, in: raised.known, with: {path: known.csv}}
""")
        self.assertEqual(self.read("out.csv"), "0.00\n1.32\n2.64\n")
        self.assertEqual(self.read("scalars.csv"), "1.30,2\n")
        self.assertEqual(self.read("known.csv"), "-1.000\n12.500\n")

    def test_scalars_that_do_not_fit_where_a_scan_wants_them(self):
        self.write("in.csv", f"0,{LARGEST}\n")
        self.write("fine.csv", "0.000001\n")
        job = "flowrun: 1\n" + NODES + """  fine: {op: file.read_csv, with: {path: fine.csv, type: {price: "decimal[6]"}}}
  numbers: {op: generate, with: {rows: 5, columns: {i: i}}}
  calc: {op: CALC}
  out: {op: file.write_csv, in: calc, with: {path: out.csv}}
"""
        scan = "scan, in: numbers, scalars: {all: rows, fine: fine}, with: {state: {s: %s}, set: {s: %s}, emit: {s: s}}"
        message = ", in units of the last digit, does not fit"
        self.refuses(65, job.replace("CALC", scan % ("all.price * 100 + fine.price", "s")), "node 'calc'", message)
        self.refuses(65, job.replace("CALC", scan % ("fine.price", "all.price")), "node 'calc'", message)
        self.succeeds(job.replace("CALC", scan % ("fine.price", "all.price * 0 + s * i")))
        self.assertEqual(self.read("out.csv"), "0.000000\n" * 5)

    def test_tests_of_a_job(self):
        job = """flowrun: 1
nodes:
  lines: {op: file.read_csv, with: {path: in.csv, type: {price: "decimal[2]"}}}
  rows: {op: file.read_rows, with: {path: in.bin, type: {price: "decimal[2]"}}}
  kept: {op: filter, in: lines, with: {where: "price > 1"}}
  out: {op: file.write_csv, in: kept, with: {path: out.csv}}
  packed: {op: file.write_rows, in: rows, with: {path: out.bin}}
tests:
  - name: lines and rows
    given:
      lines: ["12.5", "1.00"]
      rows: [{price: 3}, [0.10]]
    expect:
      out: ["12.50"]
      packed: [{price: 3.00}, {price: 0.1}]
"""
        self.write("job.yaml", job)
        done = self.flowrun("test", "job.yaml", "-v")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.write("wrong.yaml", job.replace("{price: 0.1}", "{price: 0.2}"))
        done = self.flowrun("test", "wrong.yaml")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("0.10", done.stdout + done.stderr)
        self.write("wrong.yaml", job.replace("{price: 0.1}", "{price: 0.125}"))
        done = self.flowrun("test", "wrong.yaml")
        self.assertEqual(done.returncode, 78, done.stdout + done.stderr)
        self.assertIn("'0.125' is no value for 'price'", done.stderr)

    def test_rows_of_8_bytes(self):
        self.write("in.bin", struct.pack("<qqq", 1250, -5, -(2**63)))
        self.succeeds("""flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: in.bin, type: {price: "decimal[2]"}}}
  sorted: {op: sort, in: rows, with: {by: [price]}}
  out: {op: file.write_rows, in: sorted, with: {path: out.bin}}
  text: {op: file.write_csv, in: sorted, with: {path: text.csv}}
""")
        self.assertEqual((self.dir / "out.bin").read_bytes(), struct.pack("<qqq", -(2**63), -5, 1250))
        self.assertEqual(self.read("text.csv"), "-92233720368547758.08\n-0.05\n12.50\n")

    def test_defaults_of_missing_values(self):
        self.write("in.csv", "1,\n2,3\n")
        self.succeeds("""flowrun: 1
nodes:
  rows: {op: file.read_csv, with: {path: in.csv, type: {id: u32, price: "decimal[2]"}, null_values: [""], default: {price: -0.5}}}
  out: {op: file.write_csv, in: rows, with: {path: out.csv}}
""")
        self.assertEqual(self.read("out.csv"), "1,-0.50\n2,3.00\n")

    def test_reports_and_checks_show_decimals(self):
        self.write("in.csv", "1,2.5\n2,1\n")
        self.succeeds("flowrun: 1\n" + NODES + """  all: {op: reduce, in: rows, with: {let: {least: min(price), total: sum(price), mean: avg(price)}}}
  out: {op: file.write_csv, in: all, with: {path: sums.csv}}
""")
        report = json.loads(self.read("report.json"))
        self.assertEqual({r["name"]: r["value"] for r in report["results"]}, {"least": "1.00", "total": "3.50", "mean": "1.75"})
        self.assertEqual(report["outputs"][0]["columns"][0], {"name": "least", "type": "decimal[2]"})
        self.refuses(65, "flowrun: 1\n" + NODES + """  good: {op: check, in: rows, with: {sorted: [price]}}
  out: {op: file.write_csv, in: good, with: {path: out.csv}}
""", "price: 1.00")


if __name__ == "__main__":
    main()
