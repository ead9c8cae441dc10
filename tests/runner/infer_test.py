#!/usr/bin/env python3
"""flowrun infer: what it prints is a job that reads the file, and what it can't say it says so."""

import bz2
import csv
import datetime
import decimal
import gzip
import io
import json
import random
import shutil
import struct

from descriptor_bytes import field, file
from flowrun_process import ROOT, SANITIZED, main, process_test

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
WRITTEN = "day,order_no,amount,note\n2026-02-13,1,1.5,a\n2026-03-01,2,,b;c\n"  # by the job of -o
OUTPUT = "day,order_no,amount,note,amount_missing\n2026-02-13,1,1.5,a,false\n2026-03-01,2,0,b;c,true\n"


class drawn_column:
    """A column of a file: texts, and which of them are missing. `values` are what they stand for."""

    MISSING = ["", "NA", "NULL", "\\N", "n/a", "-"]
    FORMS = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d %b %Y", "%Y%m%d", "%d-%m-%Y"]
    CLOCKS = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%d/%b/%Y:%H:%M:%S"]

    def __init__(self, r, rows, number):
        self.name = r.choice(["x{}", "Name {}", "a-{} (EUR)", "{}", "ID{}", "select{}"]).format(number)
        self.kind = r.choice(["int", "int", "float", "money", "date", "time", "bool", "text", "words", "code"])
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
        if self.kind == "money":
            value = decimal.Decimal(r.randrange(-(10**7), 10**7)).scaleb(-2)
            return value, f"{value:.2f}"
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
        if type.startswith("decimal"):
            return decimal.Decimal(got) == decimal.Decimal(self.texts[row])
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
        self.assertEqual(self.flowrun("-q", "job.yaml").stdout, WRITTEN)
        self.assertEqual(self.said("sales.csv", "-o", "-").stdout, (self.dir / "job.yaml").read_text())
        self.fails(73, self.flowrun("infer", "sales.csv", "-o", "job.yaml"), "job.yaml is there already", "another -o")
        (self.dir / "link.yaml").symlink_to("job.yaml")
        self.fails(73, self.flowrun("infer", "sales.csv", "-o", "link.yaml"), "link.yaml leads to", "another -o")
        (self.dir / "hanging.yaml").symlink_to("made.yaml")
        self.fails(73, self.flowrun("infer", "sales.csv", "-o", "hanging.yaml"), "is a link to what isn't there", "-o made.yaml")
        self.assertFalse((self.dir / "made.yaml").exists())
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

    def test_a_quote_that_is_never_closed(self):
        def lines(first, count):
            return "".join(f"{i},text {i}\n" for i in range(first, first + count))

        self.write("half.csv", "id,name\n" + lines(0, 150) + '150,"x\n' + lines(151, 149))
        self.fails(65, self.flowrun("infer", "half.csv"), "half.csv:152: a quote that isn't closed", "150 of 300 lines", "quote: \"\"")
        self.write("end.csv", "id,name\n" + lines(0, 295) + '295,"x\n' + lines(296, 4))
        done = self.flowrun("infer", "end.csv")
        self.assertIn("# ? 5 of 300 lines are malformed", done.stdout)

    def test_columns_that_hold_what_could_be_a_delimiter(self):
        for name, value, kind in (
            ("zone", "2026-01-03 02:23:53 UTC", "timestamp"),
            ("day", "3/19/2026 2:16 AM", "timestamp"),
            ("pairs", "89.1806;31.9290", "string"),
            ("words", "a;b;c", "string"),
            ("pipes", "231|154|219", "string"),
            ("time", "5:18 min", "string"),
        ):
            with self.subTest(name):
                self.write("x.csv", f"id,{name}\n" + "".join(f"{i},{value}\n" for i in range(200)))
                done = self.flowrun("infer", "x.csv")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn('# 2 fields a line, "," between them, line 1 is a header', done.stdout)
                self.assertRegex(done.stdout, rf"\n    id: u32 .*\n    {name}: {kind} ")

    def test_a_first_file_without_rows(self):
        header = "id,amount,day\n"
        for day, rows in (("1", ""), ("2", "1,2.50,2026-01-02\n2,3.25,2026-01-02\n"), ("3", "3,1.00,2026-01-03\n")):
            self.write(f"d{day}.csv", header + rows)
        done = self.flowrun("infer", "d*.csv", "-o", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        job = (self.dir / "job.yaml").read_text()
        for kind in ("id: u32", "amount: decimal[2]", "day: date", "columns: header"):
            self.assertIn(kind, job)
        self.assertEqual(len(self.flowrun("-q", "job.yaml").stdout.splitlines()), 4)

    def test_a_name_that_yaml_takes_for_nothing(self):
        self.write("null.csv", "a,b\n1,2\n")
        self.assertEqual(self.flowrun("infer", "null.csv", "-o", "job.yaml").returncode, 0)
        done = self.flowrun("-q", "job.yaml")
        self.assertEqual((done.returncode, done.stdout), (0, "a,b\n1,2\n"), done.stderr)

    def test_help_that_teaches(self):
        text = self.said("--help").stdout
        for part in ("Examples:", "--delimiter", "'logs/*.csv.gz'", "Exit codes", "can't be inferred", "csv, lines"):
            self.assertIn(part, text)

    def test_json_lines(self):
        self.write("x.jsonl", """{"id": 1, "user": {"name": "Ann", "tags": []}, "day": "2026-11-23", "price": 12.50, "ok": true, "a.b": null}

{"price": 3.25, "id": 18446744073709551615, "user": {"name": "12"}, "x": "a", "n": [1], "day": "2026-11-24"}
{"id": 7, "x": 1, "price": 0.75, "day": "2026-11-24", "user": null, "ok": null, "Amount (EUR)": 1e3}
""")
        self.assertEqual(self.said("x.jsonl").stdout, """# flowrun infer x.jsonl
# 3 rows: all that there are
# an object of JSON a line
# ? "user.tags" is left out: arrays, and a column has one value
# ? "x" is left out: texts and numbers, and a column has one of them
# ? "n" is left out: arrays, and a column has one value
types:
  x_row:
    id: u64            # 1 to 18446744073709551615
    user_name: string  # 1 of 3 missing ("null, or no such key"); 2 to 3 bytes
    day: date          # 2026-11-23 to 2026-11-24
    price: decimal[2]  # 0.75 to 12.50
    ok: bool           # 2 of 3 missing ("null, or no such key")
    a_b: string        # 3 of 3 missing ("null, or no such key"); only null
    amount_eur: f64    # always 1000; 2 of 3 missing ("null, or no such key")
nodes:
  x:
    op: file.read_json_lines
    with:
      path: x.jsonl
      type: x_row
      names: {user_name: "user.name", a_b: "a\\\\.b", amount_eur: "Amount (EUR)"}
      other_keys: skip
      default: {user_name: "", a_b: ""}
      missing: {ok: ok_missing, amount_eur: amount_eur_missing}
""")
        self.said("x.jsonl", "-o", "job.yaml")
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)
        lines = [json.loads(line) for line in self.flowrun("-q", "job.yaml").stdout.splitlines()]
        self.assertEqual([line["id"] for line in lines], [1, 2**64 - 1, 7])
        self.assertEqual([line["user_name"] for line in lines], ["Ann", "12", ""])
        self.assertEqual([line["ok"] is None for line in lines], [False, True, True])
        self.assertNotIn("ok_missing", lines[0])

    def test_json_lines_that_are_malformed_or_none(self):
        self.write("x.jsonl", '{"a": 1}\n' * 60 + '{"a": 1, "a": 2}\n{"a": }\n')
        done = self.said("x.jsonl", "-o", "job.yaml")
        self.assertIn('2 of 62 lines are malformed, and on_error leaves them out: x.jsonl:61: the key "a" is there twice; x.jsonl:62: this is no JSON', done.stderr)
        self.assertEqual(self.flowrun("job.yaml", "--progress", "none").stdout, '{"a":1}\n' * 60)
        self.write("y.jsonl", '{"a": 1}\n{a}\n{b}\n')
        self.fails(65, self.flowrun("infer", "y.jsonl"), "y.jsonl:2: this is no JSON", "2 of 3 lines are no JSON objects")
        self.write("w.jsonl", '{"a": 1}\n{"a": 1e400}\n')
        self.fails(65, self.flowrun("infer", "w.jsonl"), "w.jsonl:2: expected f64 (up to 1.7976931348623157e+308), got the number 1e400")
        self.write("z.jsonl", '[1, 2]\n[3, 4]\n')
        self.assertIn("file.read_lines", self.said("z.jsonl").stdout)
        self.fails(65, self.flowrun("infer", "z.jsonl", "--as", "json_lines"), "no JSON object")
        for text, how in (('[{"a": 1},\n {"a": 2}]\n', "jq -c '.[]' FILE"), ('[\n  {\n    "a": 1\n  }\n]\n', "jq -c '.[]' FILE"),
                          ('{\n  "a": 1\n}\n{\n  "a": 2\n}\n', "jq -c . FILE"), ("{'a': 1}\n{'a': 2}\n", "json.dumps(row)")):
            self.write("other.json", text)
            self.fails(65, self.flowrun("infer", "other.json"), "other.json: ", how)
            self.assertIn("file.read_lines", self.said("other.json", "--as", "lines").stdout)
        self.write("log.txt", "[2026-11-23 10:00:00] {started}\n[2026-11-23 10:00:01] {ended}\n{braces} here\n")
        self.said("log.txt")
        self.write("e.jsonl", '{"": 1}\n')
        self.fails(65, self.flowrun("infer", "e.jsonl"), "the objects have no key whose values can be a column")
        self.assertIn("file.read_lines", self.said("x.jsonl", "--as", "lines").stdout)

    def test_random_json_lines_are_read_as_they_were_meant(self):
        for seed in range(20 if SANITIZED else 100):
            with self.subTest(seed=seed):
                self.one_random_json_file(random.Random(seed))

    def one_random_json_file(self, r):
        makers = {
            "int": lambda: r.randrange(1 << r.choice([1, 28, 31, 63])) * r.choice([1, 1, 1, -1]), "big": lambda: r.randrange(2**64),
            "float": lambda: r.uniform(-1e6, 1e6), "huge": lambda: r.randrange(10**30), "bool": lambda: r.random() < 0.5,
            "text": lambda: r.choice(["", "NA", "12", "true", "\u00e4 \n", "x, y", "2026-11-23"]), "number": lambda: str(r.randrange(99)),
            "day": lambda: str(datetime.date(2000, 1, 1) + datetime.timedelta(days=r.randrange(9999))),
            "form": lambda: (datetime.datetime(2000, 1, 1) + datetime.timedelta(days=r.randrange(9999))).strftime("%d.%m.%Y"),
            "moment": lambda: f"{datetime.datetime(2000, 1, 1) + datetime.timedelta(seconds=r.randrange(10**9)):%Y-%m-%dT%H:%M:%SZ}",
            "array": lambda: [r.random()], "mixed": lambda: r.choice([1, "x", {"a": 1}]),
        }  # fmt: skip
        keys = {}
        for i in range(r.randint(1, 8)):
            path = r.choice(["k{}", "o.k{}", "o.p.k{}", "A key {}"]).format(i)
            keys[path] = (r.choice(list(makers)), r.random() < 0.3)
        keys["id"] = ("int", False)
        objects = []
        for _ in range(r.choice([1, 3, 40, 300])):
            made = {}
            for path, (kind, gaps) in keys.items():
                *outer, last = path.split(".")
                at = made
                for key in outer:
                    at = at.setdefault(key, {})
                if gaps and r.random() < 0.3:
                    if r.random() < 0.5:
                        at[last] = None
                else:
                    at[last] = makers[kind]()
            objects.append(made)
        self.write("x.jsonl", "".join(json.dumps(o, ensure_ascii=r.random() < 0.5) + r.choice(["\n", " \r\n"]) for o in objects).encode())
        (self.dir / "job.yaml").unlink(missing_ok=True)
        told = json.loads(self.said("x.jsonl", "--json").stdout)
        self.said("x.jsonl", "-o", "job.yaml")
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0, told["yaml"])
        done = self.shell('"$0" -q job.yaml')
        self.assertEqual((done.returncode, done.stderr), (0, b""), told["yaml"])
        got = [json.loads(line, parse_float=str) for line in done.stdout.decode().split("\n")[:-1]]
        self.assertEqual(len(got), len(objects), told["yaml"])
        for column in told["columns"]:
            for row, source in zip(got, objects):
                value = source
                for key in column["header"].split("."):
                    value = value.get(key) if isinstance(value, dict) else None
                found = row[column["name"]]
                if value is None:
                    self.assertTrue(found == "" if column["type"] == "string" else found is None, told["yaml"])
                elif column["type"] == "f64":
                    self.assertEqual(float(found), float(value), told["yaml"])
                elif column["type"] == "date" and "." in value:
                    self.assertEqual(found, "-".join(reversed(value.split("."))), told["yaml"])
                elif column["type"] == "timestamp":
                    self.assertEqual(found, value, told["yaml"])
                else:
                    self.assertEqual(found if column["type"][:7] != "decimal" else float(found), value, told["yaml"])

    def npy(self, descr, shape, data):
        text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data

    def test_an_array_without_fields(self):
        for descr in ("[]", "[('', '|V4')]"):
            self.write("a.npy", self.npy(descr, "(3,)", bytes(12 if "V4" in descr else 0)))
            self.fails(65, self.flowrun("infer", "a.npy"), "a.npy")

    def test_arrays_of_numpy(self):
        descr = "[('id', '<u4'), ('Amount (EUR)', '>f8'), ('name', '<U2'), ('day', '<M8[D]')]"
        rows = b"".join(struct.pack("<I", i) + struct.pack(">d", i / 4) + "ab".encode("utf-32-le") + struct.pack("<q", 20000 + i) for i in range(3))
        self.write("a.npy", self.npy(descr, "(3,)", rows))
        self.assertEqual(self.said("a.npy").stdout, """# flowrun infer a.npy
# 3 rows: all that there are
# a structured array of 4 fields
# a missing time (NaT) ends the job; on_error: skip leaves such rows out
# ? field "name" is left out: it is of NumPy's type "<U2", which no column can be; say numpy.char.encode(a, 'utf-8') in NumPy, which makes bytes of it
types:
  a_row:
    id: u32
    amount_eur: f64
    day: date
nodes:
  a: {op: file.read_npy, with: {path: a.npy, type: a_row, names: {amount_eur: "Amount (EUR)"}}}
""")
        self.said("a.npy", "-o", "job.yaml")
        expected = "id,amount_eur,day\n0,0,2024-10-04\n1,0.25,2024-10-05\n2,0.5,2024-10-06\n"
        self.assertEqual(self.flowrun("-q", "job.yaml").stdout, expected)
        self.write("b.npy", gzip.compress(self.npy("'<i8'", "(2, 3)", struct.pack("<6q", *range(6)))))
        self.said("b.npy", "-o", "b.yaml")
        self.assertEqual(self.flowrun("-q", "b.yaml").stdout, "c0,c1,c2\n0,1,2\n3,4,5\n")
        self.write("c.npy", self.npy("'<f4'", "(0,)", b""))
        self.said("c.npy", "-o", "c.yaml")
        self.assertEqual(self.flowrun("-q", "c.yaml").stdout, "value\n")
        self.fails(65, self.flowrun("infer", "a.npy", "c.npy"), "c.npy: its rows have one value, but `type` has 3 columns")
        self.write("d.npy", self.npy("'<c16'", "(1,)", bytes(16)))
        self.fails(65, self.flowrun("infer", "d.npy"), "d.npy: its element is of NumPy's type", "a.view('<f8')")
        self.write("e.npy", self.npy("'<c16'", "(1,)", b"")[:20])
        self.fails(65, self.flowrun("infer", "e.npy"), "e.npy: the file ends at byte 20, within the header")

    def test_messages_with_their_descriptors(self):
        for name in ("shop.desc", "visits.pb"):
            shutil.copy(ROOT / "tests/golden/jobs/protobuf" / name, self.dir)
        shop = ("--descriptors", "shop.desc", "--message", "shop.Visit")
        done = self.said("visits.pb", *shop, "-o", "job.yaml")
        self.assertIn("left out, since a column has one value: tags", done.stderr)
        self.assertIn("4 of 2,000 messages are malformed, and on_error leaves them out: visits.pb, byte", done.stderr)
        text = (self.dir / "job.yaml").read_text()
        self.assertIn('fields: {address_city: "address.city", address_zip: "address.zip"}', text)
        done = self.flowrun("job.yaml", "--progress", "none")
        self.assertEqual(done.stdout.split("\n")[0], "user,at,address_city,address_zip,delta,kind,price")
        self.assertEqual(len(done.stdout.split("\n")), 1998)
        self.write("timeless.pb", (self.dir / "visits.pb").read_bytes() + b"\x02\x08\x05")
        done = self.said("timeless.pb", *shop)
        self.assertIn("at: timestamp         # 1 of 2,001 missing (\"absent\")", done.stdout)
        self.assertIn("missing: {at: at_missing}", done.stdout)
        self.fails(65, self.flowrun("infer", "visits.pb", *shop[:-1], "shop.Vist"), "there is no message 'shop.Vist'", "did you mean 'shop.Visit'?")
        self.fails(64, self.flowrun("infer", "visits.pb", "--as", "protobuf"), "messages don't say what they are", "--descriptors FILE --message NAME")
        self.fails(64, self.flowrun("infer", "visits.pb", *shop[:2]), "--descriptors and --message belong together")
        self.write("cut.pb", (self.dir / "visits.pb").read_bytes()[:-1])
        self.fails(65, self.flowrun("infer", "cut.pb", *shop, "--all"), "cut.pb: at byte", "the file ends within one")

    def test_messages_within_messages_have_very_many_fields(self):
        # Each holds the next one twice: 2^40 fields.
        messages = {f"M{i}": [field("a", 1, f".p.M{i + 1}"), field("b", 2, f".p.M{i + 1}")] for i in range(40)}
        self.write("x.desc", file("x.proto", {**messages, "M40": []}, package="p"))
        self.write("x.pb", b"\x00" * 10)
        done = self.flowrun("infer", "x.pb", "--descriptors", "x.desc", "--message", "p.M0")
        self.fails(65, done, "there are more than 5,000 fields", "write the `type` by hand")

    def test_messages_that_lie_very_deep(self):
        chain = {f"M{i}": [field("a", 1, f".p.M{i + 1}"), field("v", 2)] for i in range(150)}
        self.write("x.desc", file("x.proto", {**chain, "M150": [field("v", 2)]}, package="p"))
        self.write("x.pb", b"\x02\x10\x05" * 10)
        done = self.said("x.pb", "--descriptors", "x.desc", "--message", "p.M0", "-o", "job.yaml")
        self.assertIn("left out, since a column has one value: " + "a." * 99 + "a (which is too deep)", done.stderr)

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
        while columns[0].kind not in ("int", "float", "money", "bool") or all(columns[0].missing) or columns[0].name == "0":
            columns[0] = drawn_column(r, rows, 0)  # some column tells the header from the rows
        delimiter = r.choice(",;\t|")
        header = r.random() < 0.8
        out = io.StringIO()
        quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        if any("\r" in text for c in columns for text in c.texts):
            quoting = csv.QUOTE_ALL  # csv leaves a \r alone, and at the end of a line that is part of the line end
        writer = csv.writer(out, delimiter=delimiter, lineterminator=r.choice(["\n", "\r\n"]), quoting=quoting)
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
                    self.assertEqual(got[i][found["name"]], "", told["yaml"])
                elif not column.missing[i] or found["type"] == "string":
                    ambiguous = column.kind in ("date", "time") and any(f"'{found['name']}'" in q for q in told["questions"])
                    if not ambiguous:
                        self.assertTrue(column.same(found["type"], i, got[i][found["name"]]), (text, got[i][found["name"]], told["yaml"]))


if __name__ == "__main__":
    main()
