#!/usr/bin/env python3
"""Columns by header: whatever brings the text, each file's header counts, and what one lacks is told before the run
where the file can be looked into."""

import gzip
import random

from flowrun_process import main
from resuming_process import resuming_test

JOB = """flowrun: 1
nodes:
  rows: {op: file.read_csv, with: {path: PATH, columns: header, type: {name: string, n: u32}, names: {n: "n (1)"}}}
  sorted: {op: sort, in: rows, with: {by: [n, name]}}
  out: {op: file.write_csv, in: sorted, with: {path: out/sorted}}
"""


class csv_columns_test(resuming_test):
    def texts(self, num_rows):
        """Two files with the same rows' halves in columns of different orders, and the rows."""
        rng = random.Random(5)
        rows = [(rng.randrange(10**8), f'"x, {rng.randrange(1000)}"' if i % 9 == 0 else "abc"[: i % 4]) for i in range(num_rows)]
        middle = num_rows // 3
        a = "\ufeffn (1),note,name\r\n" + "".join(f"{n},{'z' * (n % 90)},{name}\r\n" for n, name in rows[:middle])
        extra = ",".join(f"x{i}" for i in range(40))
        b = f"{extra},name,n (1),last\n" + "".join(f"{'7,' * 40}{name},{n},\"a\nb\"\n" for n, name in rows[middle:])
        expected = sorted((n, name.strip('"').encode()) for n, name in rows)
        lines = b"".join((b'"%s",%d\n' if b"," in name else b"%s,%d\n") % (name, n) for n, name in expected)
        return a.encode(), b.encode(), lines

    def output(self, path, *more, **others):
        self.write("job.yaml", JOB.replace("PATH", path))
        (self.dir / "out/sorted").unlink(missing_ok=True)
        done = self.flowrun("job.yaml", "-q", *more, **others)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.dir / "out/sorted").read_bytes()

    def test_whatever_brings_the_text(self):
        a, b, expected = self.texts(20_000)
        self.write("a.csv", a)
        self.write("b.csv", b)
        self.write("c.csv", b"")
        for more in ((), ("--plain-executor",), ("-j", "1", "-m", "8MiB"), ("-j", "3")):
            self.assertEqual(self.output('"[a-c].csv"', *more), expected)
            self.assertEqual(self.output("[b.csv, c.csv, a.csv]", *more), expected)
        self.write("a.csv", gzip.compress(a))
        self.assertEqual(self.output("[a.csv, b.csv]"), expected)
        done = self.shell('cat a.csv | "$0" -q job.yaml --set nodes.rows.with.path="[b.csv, \\"-\\"]"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out/sorted").read_bytes(), expected)

    def test_a_header_that_lacks_a_column(self):
        self.write("a.csv", "name,n (1)\n1,1\n")
        self.write("b.csv", "name,N (1),x\n")
        self.write("job.yaml", JOB.replace("PATH", '"?.csv"'))
        for command in ("check", "run"):
            self.fails(65, self.flowrun(command, "job.yaml"), 'job.yaml:3:42: error: b.csv:1: the header has no column "n (1)"; '
                       "it has name, N (1), x", 'did you mean "N (1)"?')
        (self.dir / "b.csv").unlink()
        self.write("job.yaml", JOB.replace("PATH", '"-"'))
        done = self.shell('printf "name,n\\n1,1\\n" | "$0" job.yaml')
        self.assertEqual(done.returncode, 65)
        self.assertIn(b'/dev/stdin:1: the header has no column "n (1)"; it has name, n', done.stderr)
        self.write("a.csv", 'name,n (1),x,"name"\n')
        self.write("job.yaml", JOB.replace("PATH", "a.csv"))
        self.fails(65, self.flowrun("check", "job.yaml"), 'a.csv:1: the header has the column "name" twice, as fields 1 and 4')
        self.write("a.csv", 'x,n (1),x,"name"\n')  # nobody asks for x
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)

    def test_advice_is_accepted_when_it_is_followed(self):
        self.write("a.csv", "Order ID;day;n\n1;03.02.2026;NA\n")
        job = """flowrun: 1
nodes:
  rows: {op: file.read_csv, with: {path: a.csv, columns: header, type: {order_id: u32, day: date, n: i64}MORE}}
  write: {op: file.write_csv, in: rows, with: {path: "-"}}
"""
        more = ""
        for advised in ('delimiter: ";"', 'names: {order_id: "Order ID"}', 'format: {day: "%d.%m.%Y"}', 'null_values: ["NA"]',
                        "default: {n: 0}"):
            self.write("job.yaml", job.replace("MORE", more))
            self.fails(65, self.flowrun("-q", "job.yaml"), advised)
            more += ", " + advised
        self.write("job.yaml", job.replace("MORE", more))
        self.assertEqual(self.flowrun("-q", "job.yaml").stdout, "1,2026-02-03,0\n")

    def test_a_header_that_nobody_told_of(self):
        job = """flowrun: 1
nodes:
  rows: {op: file.read_csv, with: {path: a.csv, type: {id: u32, n: i64}MORE}}
  write: {op: file.write_csv, in: rows, with: {path: "-"}}
"""
        for header, advised in (("id,n", "header: true"), ("id,n", "columns: header"),
                                ("ID,n", 'columns: header, with names: {id: "ID"}')):
            self.write("a.csv", header + "\n1,2\n")
            self.write("job.yaml", job.replace("MORE", ""))
            self.fails(65, self.flowrun("-q", "job.yaml"), 'a.csv:1:1: expected u32, got "', "if this line is a header, say ", advised)
            self.write("job.yaml", job.replace("MORE", ", " + advised.replace("with ", "")))
            self.assertEqual(self.flowrun("-q", "job.yaml").stdout, "1,2\n")
        self.write("a.csv", "id,n\nid,3\n")
        self.assertNotIn("if this line is a header", self.flowrun("-q", "job.yaml").stderr)

    def test_a_header_that_is_longer_than_what_is_looked_at(self):
        names = ",".join(f"x{i}" for i in range(250_000))
        self.write("a.csv", f"{names},n (1)\n")
        self.write("job.yaml", JOB.replace("PATH", "a.csv"))
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)
        self.fails(65, self.flowrun("job.yaml", "-m", "256MiB"), 'a.csv:1: the header has no column "name"')
        self.write("a.csv", f"{names},n (1),name\n{',' * 250_000}7,seven\n")
        self.assertEqual(self.output("a.csv", "-m", "256MiB"), b"seven,7\n")

    def test_estimates(self):
        """Of a wide file, the texts that are taken count, not the others."""
        line = "x" * 990 + ",name,7\n"
        self.write("a.csv", "note,name,n (1)\n" + line * 1000)
        self.write("job.yaml", JOB.replace("PATH", "a.csv"))
        said = self.flowrun("plan", "job.yaml").stdout
        self.assertRegex(said, r"rows +file.read_csv .* about 1,00\d rows, 1[567]\.\d KiB")

    def test_resume(self):
        a, b, expected = self.texts(600_000)
        self.write("a.csv", a)
        self.write("b.csv", gzip.compress(b, 1))
        self.write("job.yaml", JOB.replace("PATH", "[a.csv, b.csv]"))
        self.assertEqual(self.expected(), expected)
        self.assertTrue(self.kill_when(lambda: self.manifest_bytes() >= 1500))
        _, rows = self.goes_on(expected)
        self.assertLess(rows["rows"], 600_000)  # it began behind a header


if __name__ == "__main__":
    main()
