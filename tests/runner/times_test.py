#!/usr/bin/env python3
"""Dates and timestamps as a user meets them: parameters, scalars of graphs and loops, tests of jobs, files of rows,
reports, and what is said of wrong ones."""

import json
import struct

from flowrun_process import main, process_test

NODES = """nodes:
  rows: {op: file.read_csv, with: {path: in.csv, type: {id: u32, day: date, at: timestamp}}}
"""


class times_test(process_test):
    def succeeds(self, job, *arguments):
        self.write("job.yaml", job)
        done = self.flowrun("run", "job.yaml", "--progress", "none", "--report", "report.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refuses(self, code, job, *parts, more=()):
        self.write("job.yaml", job)
        done = self.flowrun("run", "job.yaml", "--progress", "none", *more)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def read(self, name):
        return (self.dir / name).read_text()

    def test_a_bad_field_ends_the_job_with_its_place(self):
        job = "flowrun: 1\n" + NODES + "  out: {op: file.write_csv, in: rows, with: {path: out.csv}}\n"
        for line, place, reason in (
            ("1,2026-02-29,2026-01-01", "in.csv:2:3", 'expected date, got "2026-02-29": February 2026 has 28 days'),
            ("1,2026-01-01,2026-01-01T24:00", "in.csv:2:14", "hours are 00 to 23"),
            ("1,2026-01-01,", "in.csv:2:14", "expected timestamp (such as 2026-11-23T22:15:03Z), got an empty field"),
            ("1,20260101,2026-01-01", "in.csv:2:3", "a date is written as 2026-11-23"),
        ):
            self.write("in.csv", f"0,2026-01-01,2026-01-01\n{line}\n")
            self.refuses(65, job, place, reason)

    def test_parameters(self):
        job = """flowrun: 1
params:
  from: {type: date, default: 2026-01-02}
  until: {type: timestamp, required: false}
nodes:
  days: {op: generate, with: {rows: 3, columns: {day: "to_date('2026-01-01') + i"}}}
  kept: {op: filter, in: days, with: {where: "day >= '${from}'"}}
  out: {op: file.write_csv, in: kept, with: {path: out.csv}}
"""
        self.succeeds(job)
        self.assertEqual(self.read("out.csv"), "2026-01-02\n2026-01-03\n")
        self.succeeds(job, "-p", "from=2026-01-03", "-p", "until=2026-01-03 10:00")
        self.assertEqual(self.read("out.csv"), "2026-01-03\n")
        self.refuses(78, job, "'2026-01-32' is no date", "January 2026 has 31 days", more=("-p", "from=2026-01-32"))
        self.refuses(78, job, "'3.1.2026' is no date", "such as 2026-11-23", more=("-p", "from=3.1.2026"))
        self.refuses(78, job, "is no timestamp", "hours are 00 to 23", more=("-p", "until=2026-01-01T25:00"))

    def test_scalars_of_graphs_and_loops(self):
        self.succeeds("""flowrun: 1
graphs:
  from:
    in: {rows: any}
    out: kept
    scalars: {first: {type: date, default: 2026-01-03}}
    nodes:
      kept: {op: filter, in: rows, with: {where: day >= first}}
nodes:
  days: {op: generate, with: {rows: 4, columns: {day: "to_date('2026-01-01') + i"}}}
  a: {op: call, in: {rows: days}, with: {graph: from}}
  b: {op: call, in: {rows: days}, with: {graph: from, first: 2026-01-04}}
  c: {op: call, in: {rows: days}, with: {graph: from, first: to_date('2026-01-01') + 1}}
  out_a: {op: file.write_csv, in: a, with: {path: a.csv}}
  out_b: {op: file.write_csv, in: b, with: {path: b.csv}}
  out_c: {op: file.write_csv, in: c, with: {path: c.csv}}
  halves:
    op: loop
    in: {start: days}
    with:
      carry: {left: {from: start}, gone: {value: to_date('2026-01-01')}}
      body:
        rest: {op: filter, in: left, with: {where: day > gone}}
      next: {left: rest, gone: gone + 1}
      until: "gone == '2026-01-03'"
  out_loop: {op: file.write_csv, in: halves.left, with: {path: loop.csv}}
  scalars: {op: file.write_csv, in: halves.scalars, with: {path: scalars.csv}}
""")
        self.assertEqual(self.read("a.csv"), "2026-01-03\n2026-01-04\n")
        self.assertEqual(self.read("b.csv"), "2026-01-04\n")
        self.assertEqual(self.read("c.csv"), "2026-01-02\n2026-01-03\n2026-01-04\n")
        self.assertEqual(self.read("loop.csv"), "2026-01-03\n2026-01-04\n")
        self.assertEqual(self.read("scalars.csv"), "2026-01-03,2\n")
        self.refuses(78, """flowrun: 1
graphs:
  from:
    in: {rows: any}
    out: kept
    scalars: {first: {type: date, default: 2026-02-30}}
    nodes:
      kept: {op: filter, in: rows, with: {where: day >= first}}
nodes:
  days: {op: generate, with: {rows: 4, columns: {day: "to_date('2026-01-01') + i"}}}
  a: {op: call, in: {rows: days}, with: {graph: from}}
  out: {op: file.write_csv, in: a, with: {path: a.csv}}
""", "'2026-02-30' is no date for the scalar 'first'")

    def test_tests_of_a_job(self):
        job = """flowrun: 1
nodes:
  lines: {op: file.read_csv, with: {path: in.csv, type: {day: date, at: timestamp}}}
  rows: {op: file.read_rows, with: {path: in.bin, type: {day: date, at: timestamp}}}
  kept: {op: filter, in: lines, with: {where: "day > '2026-01-01'"}}
  out: {op: file.write_csv, in: kept, with: {path: out.csv}}
  packed: {op: file.write_rows, in: rows, with: {path: out.bin}}
tests:
  - name: lines and rows
    given:
      lines: ["2026-01-02,2026-01-02", "2026-01-01,2026-01-05T10:00"]
      rows: [{day: 2026-01-02, at: "2026-01-02T00:00:00Z"}, [2026-01-03, 2026-01-04]]
    expect:
      out: ["2026-01-02,2026-01-02T00:00:00Z"]
      packed: [{day: 2026-01-02, at: "2026-01-02T00:00:00Z"}, {day: 2026-01-03, at: "2026-01-04"}]
"""
        self.write("job.yaml", job)
        done = self.flowrun("test", "job.yaml", "-v")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.write("wrong.yaml", job.replace('at: "2026-01-04"', "at: 2026-01-05"))
        done = self.flowrun("test", "wrong.yaml")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("2026-01-04T00:00:00Z", done.stdout + done.stderr)
        self.write("wrong.yaml", job.replace('at: "2026-01-04"', "at: noon"))
        done = self.flowrun("test", "wrong.yaml")
        self.assertEqual(done.returncode, 78, done.stdout + done.stderr)
        self.assertIn("'noon' is no value for 'at'", done.stderr)

    def test_rows_of_4_and_of_8_bytes(self):
        day, us = 20780, 1_795_472_103_500_000
        self.write("in.bin", struct.pack("<iq", day, us) + struct.pack("<iq", -1, -1))
        self.succeeds("""flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: in.bin, type: {day: date, at: timestamp}}}
  sorted: {op: sort, in: rows, with: {by: [at]}}
  out: {op: file.write_rows, in: sorted, with: {path: out.bin}}
  text: {op: file.write_csv, in: sorted, with: {path: out.csv}}
""")
        self.assertEqual((self.dir / "out.bin").read_bytes(), struct.pack("<iq", -1, -1) + struct.pack("<iq", day, us))
        self.assertEqual(self.read("out.csv"), "1969-12-31,1969-12-31T23:59:59.999999Z\n2026-11-23,2026-11-23T22:15:03.500000Z\n")

    def test_days_that_no_text_has_are_printed_all_the_same(self):
        self.write("in.bin", struct.pack("<iqiqiq", 2**31 - 1, 2**63 - 1, -(2**31), -(2**63), 2932897, 0))
        self.succeeds("""flowrun: 1
nodes:
  rows: {op: file.read_rows, with: {path: in.bin, type: {day: date, at: timestamp}}}
  more: {op: map, in: rows, with: {day: day, at: at, month: "date_trunc('month', day)", next: day + 1, hour: hour(at)}}
  text: {op: file.write_csv, in: more, with: {path: out.csv}}
""")
        self.assertEqual(self.read("out.csv").splitlines(), [
            "+5881580-07-11,+294247-01-10T04:00:54.775807Z,9999-12-31,9999-12-31,4",
            "-5877641-06-23,-290308-12-21T19:59:05.224192Z,0001-01-01,0001-01-01,19",
            "+10000-01-01,1970-01-01T00:00:00Z,9999-12-31,9999-12-31,0",
        ])

    def test_reports_and_checks_show_times(self):
        self.write("in.csv", "1,2026-01-02,2026-01-02\n2,2026-01-01,2026-01-05T10:00\n")
        self.succeeds("flowrun: 1\n" + NODES + """  last: {op: reduce, in: rows, with: {let: {day: min(day), at: max(at)}}}
  out: {op: file.write_csv, in: last, with: {path: out.csv}}
""")
        results = {r["name"]: r["value"] for r in json.loads(self.read("report.json"))["results"]}
        self.assertEqual(results, {"day": "2026-01-01", "at": "2026-01-05T10:00:00Z"})
        self.refuses(65, "flowrun: 1\n" + NODES + """  good: {op: check, in: rows, with: {sorted: [day]}}
  out: {op: file.write_csv, in: good, with: {path: out.csv}}
""", "day: 2026-01-01, at: 2026-01-05T10:00:00Z")

    def test_keys_of_times_are_joined(self):
        self.write("in.csv", "".join(f"{i},2026-01-{i % 28 + 1:02},2026-01-01T{i % 24:02}:00\n" for i in range(200)))
        self.write("days.csv", "2026-01-03,third\n2026-01-09,ninth\n")
        self.succeeds("flowrun: 1\n" + NODES + """  read: {op: file.read_csv, with: {path: days.csv, type: {day: date, name: string}}}
  names: {op: sort, in: read, with: {by: [day]}}
  sorted: {op: sort, in: rows, with: {by: [day]}}
  joined: {op: join, in: {left: sorted, right: names}, with: {by: [day]}}
  looked: {op: lookup, in: {stream: rows, table: names}, with: {by: [day], missing: drop}}
  a: {op: file.write_csv, in: joined, with: {path: a.csv}}
  b: {op: file.write_csv, in: looked, with: {path: b.csv}}
""")
        for name in ("a.csv", "b.csv"):
            lines = self.read(name).splitlines()
            self.assertEqual(len(lines), 15)
            self.assertEqual({line.split(",")[-1] for line in lines}, {"third", "ninth"})


if __name__ == "__main__":
    main()
