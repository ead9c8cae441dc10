#!/usr/bin/env python3
"""flowrun infer: what it prints is a job that reads the file, and what it can't say it says so."""

import bz2
import csv
import datetime
import gzip
import io
import json
import random

from flowrun_process import SANITIZED, main, process_test

SALES = "day;Order No.;amount;note\n13.02.2026;1;1.5;a\n01.03.2026;2;;\"b;c\"\n"
SALES_YAML = """# flowrun infer sales.csv
# 2 rows: all that there are
# 4 fields a line, ";" between them, line 1 is a header
types:
  sales_row:
    day: date      # 2026-02-13 to 2026-03-01
    order_no: u32  # 1 to 2
    amount: f64    # always 1.5; 1 of 2 missing ("")
    note: string   # 1 to 3 bytes
nodes:
  sales:
    op: file.read_csv
    with:
      path: sales.csv
      type: sales_row
      delimiter: ";"
      columns: header
      names: {order_no: "Order No."}
      format: {day: "%d.%m.%Y"}
      null_values: [""]
      missing: {amount: amount_missing}
"""
OUTPUT = "day,order_no,amount,note,amount_missing\n2026-02-13,1,1.5,a,false\n2026-03-01,2,0,b;c,true\n"


class drawn_column:
    """A column of a file: texts, and which of them are missing. `values` are what they stand for."""

    MISSING = ["", "NA", "NULL", "\\N", "n/a", "-"]
    FORMS = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d %b %Y", "%Y%m%d", "%d-%m-%Y"]
    CLOCKS = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%d/%b/%Y:%H:%M:%S"]

    def __init__(self, r, rows, number):
        self.name = r.choice(["x{}", "Name {}", "a-{} (EUR)", "{}", "ID{}", "select{}"]).format(number)
        self.kind = r.choice(["int", "int", "float", "date", "time", "bool", "text", "words", "code"])
        self.missing_text = r.choice(self.MISSING) if r.random() < 0.4 else None
        self.form = r.choice(self.FORMS if self.kind == "date" else self.CLOCKS)
        self.bits = r.choice([1, 8, 27, 28, 31, 32, 40, 63])
        self.sign = r.random() < 0.3
        cells = [self.cell(r) for _ in range(rows)]
        self.missing = [self.missing_text is not None and r.random() < 0.2 for _ in range(rows)]
        self.values = [value for value, _ in cells]
        self.texts = [self.missing_text if gone else text for gone, (_, text) in zip(self.missing, cells)]

    def cell(self, r):
        if self.kind == "int":
            value = r.randrange(1 << self.bits)
            value = -value if self.sign and r.random() < 0.5 else value
            return value, str(value)
        if self.kind == "float":
            value = r.uniform(-1000, 1000)
            return value, repr(value)
        if self.kind in ("date", "time"):
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=r.randrange(50 * 365 * 86400))
            text = moment.strftime(self.form)
            return datetime.datetime.strptime(text, self.form), text
        if self.kind == "bool":
            value = r.random() < 0.5
            return value, "true" if value else "false"
        if self.kind == "code":
            text = f"{r.randrange(1000):04}"
        elif self.kind == "words":
            text = r.choice(["red", "blue", "light green"])
        else:
            text = "".join(r.choice("ab \u00e4,;|\t\"'\n\r01.-") for _ in range(r.randrange(6)))
        return text, text

    def same(self, type, row, got):
        value = self.values[row]
        if type in ("u32", "u64", "i64"):
            return int(got) == (int(self.texts[row]) if not isinstance(value, int) else value)
        if type == "f64":
            return float(got) == float(self.texts[row])
        if type == "bool":
            return got == self.texts[row]
        if type == "date":
            return got == f"{value:%Y-%m-%d}"
        if type == "timestamp":
            return got == f"{value:%Y-%m-%dT%H:%M:%S}Z"
        return got == self.texts[row]


class infer_test(process_test):
    def said(self, *arguments, code=0, **more):
        done = self.flowrun("infer", *arguments, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_what_is_printed(self):
        self.write("sales.csv", SALES)
        self.assertEqual(self.said("sales.csv").stdout, SALES_YAML)
        done = self.said("sales.csv", "-o", "job.yaml")
        self.assertEqual(done.stderr, "job.yaml: flowrun job.yaml runs it\n")
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)
        self.assertEqual(self.flowrun("-q", "job.yaml").stdout, OUTPUT)
        self.assertEqual(self.said("sales.csv", "-o", "-").stdout, (self.dir / "job.yaml").read_text())
        self.fails(73, self.flowrun("infer", "sales.csv", "-o", "job.yaml"), "job.yaml is there already", "another -o")
        self.assertIn("  orders:\n", self.said("sales.csv", "--name", "orders").stdout)

    def test_pasted_into_a_job(self):
        self.write("sales.csv", SALES)
        more = "  out: {op: file.write_csv, in: sales, with: {path: out.csv}}\n"
        self.write("job.yaml", "flowrun: 1\n" + SALES_YAML + more)
        self.assertEqual(self.flowrun("-q", "job.yaml").returncode, 0)
        self.assertEqual((self.dir / "out.csv").read_text(), OUTPUT.split("\n", 1)[1])

    def test_json(self):
        self.write("sales.csv", SALES)
        told = json.loads(self.said("sales.csv", "--json").stdout)
        self.assertEqual([(c["name"], c["type"]) for c in told["columns"]],
                         [("day", "date"), ("order_no", "u32"), ("amount", "f64"), ("note", "string")])
        self.assertEqual(told["rows"], {"seen": 2, "all_seen": True})
        self.assertEqual(told["columns"][2], {"name": "amount", "type": "f64", "missing": 1, "header": "amount", "missing_texts": [""],
                                              "told_by": "amount_missing", "least": "1.5", "most": "1.5"})
        self.assertEqual(told["yaml"], SALES_YAML)
        sink = {"op": "file.write_csv", "in": "sales", "with": {"path": "out.csv", "header": True}}
        self.write("job.yaml", json.dumps({"flowrun": 1, "types": told["types"], "nodes": {**told["nodes"], "out": sink}}))
        self.assertEqual(self.flowrun("-q", "job.yaml").returncode, 0)
        self.assertEqual((self.dir / "out.csv").read_text(), OUTPUT)

    def test_whatever_brings_the_text(self):
        self.write("sales.csv", SALES)
        plain = json.loads(self.said("sales.csv", "--json").stdout)["columns"]
        self.write("x.csv", gzip.compress(SALES.encode()))
        self.write("y.csv", bz2.compress(SALES.encode()))
        for name in ("x.csv", "y.csv", "[xy].csv"):
            self.assertEqual([(c["name"], c["type"]) for c in json.loads(self.said(name, "--json").stdout)["columns"]],
                             [(c["name"], c["type"]) for c in plain])
        for command in ("cat sales.csv | $0 infer - --json", "$0 infer - --json < sales.csv", "cat x.csv | $0 infer - --json --all"):
            self.assertEqual(json.loads(self.shell(command).stdout)["columns"], plain)
        self.write("broken.csv", gzip.compress(SALES.encode() * 1000)[:-40])
        self.fails(65, self.flowrun("infer", "broken.csv", "--all"), "broken.csv", "gzip data is cut off")
        self.assertIn("no file matches", self.said("none/*.csv", code=66).stderr)

    def test_a_name_with_dollars_and_blanks(self):
        self.write("a $x ${y}.csv", "id,n\n1,2\n")
        self.said("a $x ${y}.csv", "-o", "job.yaml")
        self.assertEqual(self.flowrun("-q", "job.yaml").stdout, "id,n\n1,2\n")

    def test_malformed_lines_are_left_out_and_told(self):
        self.write("x.csv", "id,n\n" + "1,2\n" * 60 + "7\n")
        done = self.said("x.csv", "-o", "job.yaml")
        self.assertIn("1 of 61 lines are malformed, and on_error leaves them out: x.csv:62: expected 2 fields, got 1", done.stderr)
        done = self.flowrun("job.yaml", "--progress", "none")
        self.assertEqual(done.stdout, "id,n\n" + "1,2\n" * 60)

    def test_refusals(self):
        self.write("empty", "")
        self.write("bytes", b"\0" * 100)
        self.write("x.csv", "a,b\n1,2\n")
        self.fails(64, self.flowrun("infer"), "infer needs a FILE")
        self.fails(64, self.flowrun("infer", "x.csv", "--as", "parquet"), "--as can't be 'parquet'", "csv")
        self.fails(64, self.flowrun("infer", "x.csv", "--delimiter", "ab"), "--delimiter can't be 'ab'", "one byte")
        self.fails(64, self.flowrun("infer", "x.csv", "--header", "maybe"), "--header can't be 'maybe'")
        self.fails(64, self.flowrun("infer", "x.csv", "--name", "a b"), "can't name a node")
        self.fails(64, self.flowrun("infer", "x.csv", "--rows", "0"), "--rows is 0")
        self.fails(64, self.flowrun("infer", "x.csv", "--all", "--rows", "5"), "--all and a limit")
        self.fails(64, self.flowrun("infer", "x.csv", "--json", "-o", "y"), "--json and -o")
        self.fails(64, self.flowrun("infer", "-", "-"), "standard input is named twice")
        self.fails(65, self.flowrun("infer", "empty"), "empty: there is nothing in it")
        self.fails(65, self.flowrun("infer", "bytes"), "byte 0 is 0x00", "file.read_rows")
        self.fails(66, self.flowrun("infer", "none"), "can't read none: No such file or directory")
        self.fails(66, self.flowrun("infer", "."), "Is a directory")
        self.fails(66, self.flowrun("infer", "n*"), "no file matches 'n*'")
        self.fails(73, self.flowrun("infer", "x.csv", "-o", "no/such/job.yaml"), "no/such")

    def test_help_that_teaches(self):
        text = self.said("--help").stdout
        for part in ("Examples:", "--delimiter", "'logs/*.csv.gz'", "Exit codes", "can't be inferred", "csv, lines"):
            self.assertIn(part, text)

    def test_hints_in_runs(self):
        self.write("x.csv", "a,b\n1,2\n")
        job = "flowrun: 1\nnodes:\n  s: {op: file.read_csv, with: {path: x.csv, TYPE}}\n  w: {op: file.write_csv, in: s, with: {path: o}}\n"
        self.write("job.yaml", job.replace("TYPE", "type: {a: u32, b: u32}"))
        self.fails(65, self.flowrun("job.yaml"), "x.csv:1:1", "`flowrun infer x.csv` shows the file's own `type`")
        self.write("job.yaml", job.replace("TYPE", "header: true, type: {a: u32, c: u32}"))
        self.fails(65, self.flowrun("job.yaml"), "the header says a, b", "`flowrun infer` prints it")

    def test_a_line_without_an_end_takes_no_memory(self):
        if SANITIZED:
            return
        done = self.shell('ulimit -v 800000; head -c 400M /dev/zero | tr "\\0" x | "$0" infer - --all')
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn(b"a line that is longer than 16.0 MiB", done.stderr)

    def test_random_files_are_read_as_they_were_meant(self):
        for seed in range(25 if SANITIZED else 120):
            with self.subTest(seed=seed):
                self.one_random_file(random.Random(seed))

    def one_random_file(self, r):
        rows = r.choice([1, 2, 7, 60, 400])
        columns = [drawn_column(r, rows, i) for i in range(r.randint(2, 7))]
        while columns[0].kind not in ("int", "float", "bool") or all(columns[0].missing) or columns[0].name == "0":
            columns[0] = drawn_column(r, rows, 0)  # some column tells the header from the rows
        delimiter = r.choice(",;\t|")
        header = r.random() < 0.8
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator=r.choice(["\n", "\r\n"]), quoting=r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        if header:
            writer.writerow([c.name for c in columns])
        for row in zip(*(c.texts for c in columns)):
            writer.writerow(row)
        self.write("x.csv", out.getvalue().encode())
        (self.dir / "job.yaml").unlink(missing_ok=True)
        limits = r.choice([(), ("--all",), ("--bytes", "1MiB")])
        limits += ("--header", "yes" if header else "no", "--delimiter", delimiter) if r.random() < 0.5 else ()
        told = json.loads(self.said("x.csv", "--json", *limits).stdout)
        if "--header" not in limits:
            source = told["nodes"]["x"]["with"]
            self.assertEqual(source.get("delimiter", ","), delimiter, told["yaml"])
            self.assertEqual("columns" in source, header, told["yaml"])
        self.said("x.csv", "-o", "job.yaml", *limits)
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)
        done = self.shell('"$0" -q job.yaml')
        self.assertEqual((done.returncode, done.stderr), (0, b""), told["yaml"])
        got = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
        self.assertEqual(len(got), rows, told["yaml"])
        self.assertEqual(len(told["columns"]), len(columns))
        for column, found in zip(columns, told["columns"]):
            for i in range(rows):
                text = column.texts[i]
                if found["type"] != "string" and text in found.get("missing_texts", []):
                    self.assertEqual(got[i][found["told_by"]], "true", told["yaml"])
                elif not column.missing[i] or found["type"] == "string":
                    ambiguous = column.kind in ("date", "time") and any(f"'{found['name']}'" in q for q in told["questions"])
                    if not ambiguous:
                        self.assertTrue(column.same(found["type"], i, got[i][found["name"]]), (text, got[i][found["name"]], told["yaml"]))


if __name__ == "__main__":
    main()
