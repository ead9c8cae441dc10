#!/usr/bin/env python3
"""The example of files of columns (plugin/examples/arrow), built out of the tree; what it reads and writes is compared
with pyarrow, which this runs in.

    build/pyarrow/bin/python arrow_test.py FLOWRUN BUILD [COMPILER...]     BUILD is the build that FLOWRUN is of
"""

import decimal
import math
import os
import pathlib
import random
import signal
import subprocess
import sys

# The example is built with the Arrow that this Python has.
os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"

import pyarrow as pa  # noqa: E402
import pyarrow.feather  # noqa: E402
import pyarrow.ipc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from plugin_tests import COMPILERS, SANITIZERS, main, plugin_tests  # noqa: E402

FORMATS = ("parquet", "ipc")


def write_file(table, path, how="parquet", **more):
    if how == "parquet":
        pq.write_table(table, path, **more)
    else:
        rows = more.pop("row_group_size", None)
        with pyarrow.ipc.new_file(path, table.schema, options=pyarrow.ipc.IpcWriteOptions(**more)) as out:
            out.write_table(table, rows)


def read_file(path, how="parquet"):
    return pq.read_table(path) if how == "parquet" else pyarrow.feather.read_table(path)


def job(read, write="", policy=""):
    """Reads, and writes with one of the plugin's words or as CSV: the parameters of both."""
    source, sink = read.split(" ", 1), (write or "file.write_csv path: out.csv").split(" ", 1)
    policy = policy and f", on_error: {policy}"
    return f"""flowrun: 1
plugins: [arrow]
nodes:
  rows: {{op: {source[0]}, with: {{{source[1]}}}{policy}}}
  out: {{op: {sink[0]}, in: rows, with: {{{sink[1]}}}}}
"""


def every_type(rows=5000):
    """Each type that has a counterpart, and what it is in a file that flowrun wrote."""
    draw = random.Random(1)
    integers = {"i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
                "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64()}
    columns, expected = {}, {}
    for name, kind in integers.items():
        bits = int(name[1:])
        low = -(1 << bits - 1) if name[0] == "i" else 0
        values = [draw.randint(low, low + (1 << bits) - 1) for _ in range(rows)]
        columns[name] = expected[name] = pa.array(values, kind)
    for name, kind in (("f32", pa.float32()), ("f64", pa.float64())):
        columns[name] = expected[name] = pa.array([draw.uniform(-1e9, 1e9) for _ in range(rows)], kind)
    columns["yes"] = expected["yes"] = pa.array([draw.random() < 0.5 for _ in range(rows)])
    texts = ["".join(draw.choices("aäβ€𝄞 \n,\"", k=draw.randrange(20))) for _ in range(rows)]
    for name, kind in (("text", pa.string()), ("large_text", pa.large_string())):
        columns[name], expected[name] = pa.array(texts, kind), pa.array(texts)
    columns["coded"], expected["coded"] = pa.array(texts).dictionary_encode(), pa.array(texts)
    columns["binary"], expected["binary"] = pa.array([t.encode() for t in texts]), pa.array(texts)
    fixed = pa.array([draw.randbytes(7) for _ in range(rows)], pa.binary(7))
    columns["fixed"] = expected["fixed"] = fixed
    numbers = [draw.randrange(1 << 30) for _ in range(rows)]
    for name, kind, plain in (
            ("clock", pa.time32("ms"), pa.int32()),
            ("fine_clock", pa.time64("us"), pa.int64())):
        values = [n % 80000 for n in numbers]
        columns[name], expected[name] = pa.array(values, plain).cast(kind), pa.array(values, plain)
    columns["date"] = expected["date"] = pa.array([n % 80000 - 40000 for n in numbers], pa.int32()).cast(pa.date32())
    for name, unit, zone, scale in (("second", "s", None, 1e6), ("milli", "ms", "UTC", 1e3), ("micro", "us", None, 1),
                                    ("nano", "ns", "Europe/Paris", 1e-3)):
        values = [n - (1 << 29) for n in numbers]
        columns[name] = pa.array(values, pa.int64()).cast(pa.timestamp(unit, zone))
        expected[name] = pa.array([math.floor(v * scale) if scale >= 1 else v // 1000 for v in values],
                                  pa.int64()).cast(pa.timestamp("us", "UTC"))
    for name, kind in (("money", pa.decimal128(18, 2)), ("digits", pa.decimal128(9, 9)), ("whole", pa.decimal128(38, 0)),
                       ("wide", pa.decimal256(40, 4))):
        most = 10**min(kind.precision, 18) - 1
        values = [decimal.Decimal(draw.choice((most, -most, draw.randint(-most, most)))).scaleb(-kind.scale) for _ in range(rows)]
        columns[name], expected[name] = pa.array(values, kind), pa.array(values, pa.decimal128(19, kind.scale))
    return pa.table(columns), pa.table(expected)


def varint(n):
    """As Thrift's compact protocol has an integer."""
    n, out = n << 1 if n >= 0 else -n * 2 - 1, b""
    while n >= 128:
        n, out = n >> 7, out + bytes([n & 127 | 128])
    return out + bytes([n])


class arrow_tests(plugin_tests):
    @classmethod
    def setUpClass(cls):
        pass  # no other plugin

    def run_job(self, text, *more, compiler=COMPILERS[0]):
        self.write("job.yaml", text)
        return self.flowrun("job.yaml", "--progress", "none", "--report", "report.json", "--plugin",
                            self.example("arrow", compiler), *more)

    def succeeds(self, text, *more, **with_):
        done = self.run_job(text, *more, **with_)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refuses(self, code, text, *parts, more=()):
        """The job ends with `code`; the message has all parts; nothing appears but what was there."""
        self.write("job.yaml", text)
        before = [name for name in self.files() if name != "report.json"]
        done = self.run_job(text, *more)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual([name for name in self.files() if name != "report.json"], before)
        return done


    def report_of(self, node, counter):
        return int(next(n for n in self.report()["nodes"] if n["id"] == node).get(counter, 0))


class round_trip_test(arrow_tests):
    def test_every_type(self):
        given, expected = every_type()
        for compiler in COMPILERS:
            for how in FORMATS:
                for back in FORMATS:
                    with self.subTest(compiler=compiler, read=how, write=back):
                        write_file(given, self.dir / "in", how, row_group_size=1999)
                        self.succeeds(job(f"arrow.read_{how} path: in", f"arrow.write_{back} path: out"), compiler=compiler)
                        made = read_file(self.dir / "out", back)
                        self.assertEqual(made.schema.names, expected.schema.names)
                        for name in made.schema.names:
                            self.assertTrue(made[name].combine_chunks().equals(expected[name].combine_chunks()), name)
                            self.assertFalse(made.schema.field(name).nullable)

    def test_every_type_of_rows(self):
        columns = {f"{kind}x": f"{kind}(1 << {bits - 1} | i)" for kind, bits in (
            ("u8", 8), ("u16", 16), ("u24", 24), ("u32", 32), ("u40", 40), ("u48", 48), ("u64", 64))}
        columns |= {f"{kind}x": f"{kind}(i64(i) - 5)" for kind in ("i8", "i16", "i32", "i64", "f32", "f64")}
        columns |= {"b": "i % 3 == 0", "s": "string(i)"}
        given = ", ".join(f"{name}: '{expression}'" for name, expression in columns.items())
        wanted = {f"u{bits}x": [1 << bits - 1 | i for i in range(10)] for bits in (8, 16, 24, 32, 40, 48, 64)}
        wanted |= {f"{kind}x": [i - 5 for i in range(10)] for kind in ("i8", "i16", "i32", "i64", "f32", "f64")}
        wanted |= {"b": [i % 3 == 0 for i in range(10)], "s": [str(i) for i in range(10)]}
        for how in FORMATS:
            self.succeeds(job(f"generate rows: 10, columns: {{{given}}}", f"arrow.write_{how} path: out"))
            made = read_file(self.dir / "out", how)
            self.assertEqual(made.to_pydict(), wanted)
            kinds = [str(made.schema.field(f"u{bits}x").type) for bits in (24, 32, 40, 48)]
            self.assertEqual(kinds, ["uint32", "uint32", "uint64", "uint64"])

    def test_dictionaries_and_views(self):
        words = ["a", "", "long enough not to lie in a view of sixteen bytes"] * 100
        table = pa.table({"word": pa.array(words).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
                          "number": pa.array([5, 7, 9] * 100, pa.int64()).dictionary_encode(),
                          "flag": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1] * 100), pa.array([True, False])),
                          "view": pa.array(words, pa.string_view())})
        write_file(table, self.dir / "in", "ipc")
        self.succeeds(job("arrow.read_ipc path: in", "arrow.write_ipc path: out"))
        self.assertEqual(read_file(self.dir / "out", "ipc").to_pydict(), table.to_pydict())

    def test_columns_are_projected(self):
        rows = list(range(1000))
        table = pa.table({"a": rows, "money": pa.array(rows, pa.decimal128(10, 2)), "b": [str(i) for i in rows],
                          "list": [[i] for i in rows], "c": rows})
        for how in FORMATS:
            write_file(table, self.dir / "in", how, row_group_size=300)
            self.succeeds(job(f'arrow.read_{how} path: in, columns: [c, b]'))
            self.assertEqual((self.dir / "out.csv").read_text(), "".join(f"{i},{i}\n" for i in rows))

    def test_no_rows_and_many_columns(self):
        for how in FORMATS:
            for table in (pa.table({"a": pa.array([], pa.int64()), "s": pa.array([], pa.string())}),
                          pa.table({f"c{i}": [i, i + 1] for i in range(500)})):
                write_file(table, self.dir / "in", how)
                self.succeeds(job(f"arrow.read_{how} path: in", f"arrow.write_{how} path: out"))
                self.assertEqual(read_file(self.dir / "out", how).to_pydict(), table.to_pydict())

    def test_long_texts(self):
        draw = random.Random(2)
        texts = ["x" * draw.choice((0, 3, 5000, 700000)) + str(i) for i in range(200)]
        for how in FORMATS:
            write_file(pa.table({"i": range(200), "s": texts}), self.dir / "in", how)
            self.succeeds(job(f"arrow.read_{how} path: in", f"arrow.write_{how} path: out"), "--batch-size", "16KiB")
            self.assertEqual(read_file(self.dir / "out", how)["s"].to_pylist(), texts)

    def test_the_bytes_depend_on_the_rows_alone(self):
        given, _ = every_type(30000)
        write_file(given, self.dir / "in", row_group_size=7000)
        for how, extra in (("parquet", ", row_group: 12345"), ("parquet", ", row_group_bytes: 700KiB, compression: zstd"),
                           ("ipc", ", compression: lz4")):
            made = []
            for more in (["-j", "1"], ["-j", "3"], ["--batch-size", "4KiB"], ["--plain-executor"]):
                self.succeeds(job("arrow.read_parquet path: in", f"arrow.write_{how} path: out{extra}"), *more)
                made.append((self.dir / "out").read_bytes())
            self.assertEqual(len(set(made)), 1)
            if extra == ", row_group: 12345":
                groups = pq.ParquetFile(self.dir / "out").metadata
                self.assertEqual([groups.row_group(i).num_rows for i in range(groups.num_row_groups)], [12345, 12345, 5310])
            elif how == "parquet":
                self.assertGreater(pq.ParquetFile(self.dir / "out").metadata.num_row_groups, 3)

    def test_compressions(self):
        table = pa.table({"a": list(range(20000)), "s": ["abc" * (i % 7) for i in range(20000)]})
        write_file(table, self.dir / "in")
        for how, names in (("parquet", ("none", "snappy", "zstd", "lz4")), ("ipc", ("none", "zstd", "lz4"))):
            for name in names:
                self.succeeds(job("arrow.read_parquet path: in", f"arrow.write_{how} path: out, compression: {name}"))
                self.assertEqual(read_file(self.dir / "out", how).to_pydict(), table.to_pydict())
                self.succeeds(job(f"arrow.read_{how} path: out", f"arrow.write_{how} path: again"))
                self.assertEqual(read_file(self.dir / "again", how).to_pydict(), table.to_pydict())


class flat_columns_test(arrow_tests):
    """Columns of numbers come straight from the pages of a Parquet file, other columns from Arrow's reader."""

    KINDS = {"i32": pa.int32(), "u32": pa.uint32(), "i64": pa.int64(), "u64": pa.uint64(), "f32": pa.float32(), "f64": pa.float64()}
    # Of 3000 rows: pages and batches end within runs and at their ends.
    ABSENT = {"none": lambda i: False, "all": lambda i: True, "first": lambda i: i == 0, "last": lambda i: i == 2999,
              "runs": lambda i: i // 97 % 2 == 1, "half": lambda i: i >= 1500, "some": lambda i: i * 7919 % 11 == 0}

    def reads_as_it_is(self, table, columns=(), nulls=("bad", "zero"), **how):
        """Nulls as zeros, and without the rows that have some."""
        write_file(table, self.dir / "in", **how)
        table = table.select(columns or table.schema.names)
        empty = {"text": "", "flag": False}
        wanted = {"bad": table.drop_null(),
                  "zero": pa.table({name: table[name].fill_null(empty.get(name, 0)) for name in table.schema.names})}
        for kind in nulls:
            read = f"arrow.read_parquet path: in, columns: [{', '.join(table.schema.names)}], nulls: {kind}"
            self.succeeds(job(read, "arrow.write_ipc path: out", policy="skip" if kind == "bad" else ""))
            made = read_file(self.dir / "out", "ipc")
            for name in made.schema.names:
                self.assertEqual(made[name].to_pylist(), wanted[kind][name].to_pylist(), (name, kind, how))

    def test_nulls_in_every_place(self):
        columns = {f"{kind}_{where}": pa.array([None if absent(i) else i for i in range(3000)], type_)
                   for kind, type_ in self.KINDS.items() for where, absent in self.ABSENT.items()}
        columns["text"] = pa.array([None if i % 13 == 5 else "x" * (i % 9) for i in range(3000)])
        table = pa.table(columns)
        for version in ("1.0", "2.0"):
            for coded, size in ((True, 1000), (False, 1000), (False, 1 << 20)):
                how = {"data_page_version": version, "use_dictionary": coded, "data_page_size": size, "write_batch_size": 100}
                self.reads_as_it_is(table, nulls=["zero"], row_group_size=2999, **how)
            for where in self.ABSENT:
                self.reads_as_it_is(table, ["u64_none", f"i32_{where}", f"f64_{where}", "text"][where == "none":], nulls=["bad"], **how)

    def test_beside_other_columns(self):
        draw = random.Random(7)
        rows = 70001
        table = pa.table({
            "few": pa.array([i % 50 for i in range(rows)], pa.int32()),
            "text": [f"{draw.getrandbits(60):x}"[:i % 15] for i in range(rows)],
            "many": pa.array([draw.random() for _ in range(rows)]),  # its dictionary becomes too large within a chunk
            "flag": pa.array([None if i == 40000 else i % 3 == 0 for i in range(rows)]),
            "small": pa.array([i % 100 for i in range(rows)], pa.int8()),
            "sparse": pa.array([i if 50000 < i < 50010 else None for i in range(rows)], pa.int64()),
            "stamp": pa.array(range(rows), pa.timestamp("ms"))})
        table = table.set_column(6, "stamp", table["stamp"].cast(pa.int64()))
        for how in ({}, {"row_group_size": 33333, "dictionary_pagesize_limit": 50000, "data_page_size": 10000},
                    {"data_page_version": "2.0", "dictionary_pagesize_limit": 50000, "compression": "zstd"},
                    {"use_dictionary": False, "column_encoding": {"few": "DELTA_BINARY_PACKED", "many": "BYTE_STREAM_SPLIT"}}):
            self.reads_as_it_is(table, **how)
            self.reads_as_it_is(table, ["sparse", "many", "few"], **how)
            self.reads_as_it_is(table, ["text", "flag"], **how)

    def test_columns_that_are_required(self):
        fields = [pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64()), pa.field("text", pa.string(), nullable=False)]
        rows = 20000
        values = [list(range(rows)), [None if i % 2 else i for i in range(rows)], [str(i) for i in range(rows)]]
        table = pa.table(values, schema=pa.schema(fields))
        for version in ("1.0", "2.0"):
            self.reads_as_it_is(table, data_page_version=version, data_page_size=3000, row_group_size=7777)

    def test_the_row_of_a_null(self):
        values = [None if i == 61234 else i for i in range(100000)]
        write_file(pa.table({"b": list(range(100000)), "a": values}), self.dir / "in", row_group_size=50000)
        self.refuses(65, job("arrow.read_parquet path: in"), "'in', row group 1, row 11234 (from 0): column 'a' is null")

    def test_sizes_that_no_file_has(self):
        write_file(pa.table({"text": [f"text{i}" for i in range(12345)]}), self.dir / "in", compression="none")
        content = (self.dir / "in").read_bytes()
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        size = pq.ParquetFile(self.dir / "in").metadata.row_group(0).column(0).total_uncompressed_size
        for wrong in (-size, size + (1 << 41)):
            said = content[footer:-8].replace(varint(size), varint(wrong))
            self.assertNotEqual(said, content[footer:-8])
            self.write("in", content[:footer] + said + len(said).to_bytes(4, "little") + b"PAR1")
            self.refuses(78, job("arrow.read_parquet path: in"), "cannot read 'in'", "its footer tells sizes that no file has")

    def test_fewer_values_than_rows(self):
        rows = 12345
        table = pa.table({"a": list(range(rows)), "text": ["x"] * rows, "b": [None] + list(range(rows - 1))})
        for columns in (["a"], ["b"], ["text"], ["text", "a"]):
            write_file(table, self.dir / "in", data_page_size=1000)
            content = (self.dir / "in").read_bytes()
            footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
            promised = content[footer:].replace(varint(rows), varint(rows + 1))
            self.write("in", content[:footer] + promised)
            self.assertEqual(pq.ParquetFile(self.dir / "in").metadata.num_rows, rows + 1)
            self.refuses(65, job(f"arrow.read_parquet path: in, columns: [{', '.join(columns)}], nulls: zero"),
                         "cannot read 'in', row group 0")

    def test_damaged_pages(self):
        """Without checksums values may be others, but nothing else happens."""
        draw = random.Random(8)
        rows = 4000
        table = pa.table({"a": [None if i % 5 == 0 else i for i in range(rows)], "b": [i % 7 / 2 for i in range(rows)]})
        for version in ("1.0", "2.0"):
            write_file(table, self.dir / "in", data_page_version=version, data_page_size=2000, write_batch_size=200, compression="none")
            whole = (self.dir / "in").read_bytes()
            footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
            for turn in range(20):
                damaged = bytearray(whole)
                for _ in range(1 if turn % 2 else 20):
                    damaged[draw.randrange(4, footer)] = draw.randrange(256)
                self.write("in", bytes(damaged))
                done = self.run_job(job("arrow.read_parquet path: in, nulls: zero"))
                self.assertIn(done.returncode, (0, 65), done.stderr)
                self.assertNotIn("internal", done.stderr)
                if done.returncode == 0:
                    self.assertEqual((self.dir / "out.csv").read_text().count("\n"), rows)
                (self.dir / "out.csv").unlink(missing_ok=True)


class fault_test(arrow_tests):
    def test_columns_without_a_counterpart(self):
        kinds = {"decimal": pa.array([1], pa.decimal128(38, 20)), "half": pa.array([1.0], pa.float16()),
                 "list": pa.array([[1]]), "struct": pa.array([{"x": 1}]), "map": pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8())),
                 "nothing": pa.nulls(1)}
        for name, values in kinds.items():
            for how in FORMATS:
                with self.subTest(name=name, how=how):
                    write_file(pa.table({"a": [1], name: values}), self.dir / "in", how)
                    parts = (f"column '{name}' of 'in' is of type", "leave it out: columns")
                    self.refuses(78, job(f"arrow.read_{how} path: in"), "job.yaml:4:", *parts)
                    self.refuses(78, job(f"arrow.read_{how} path: in, columns: [{name}]"), *parts)

    def test_decimals_that_are_too_large(self):
        values = [decimal.Decimal(1), decimal.Decimal(2**63 - 1), decimal.Decimal(-(2**63)), decimal.Decimal(2**63)]
        for how in FORMATS:
            write_file(pa.table({"x": pa.array(values[:3], pa.decimal128(30, 0))}), self.dir / "in", how)
            self.succeeds(job(f"arrow.read_{how} path: in"))
            self.assertEqual((self.dir / "out.csv").read_text(), "".join(f"{v}\n" for v in values[:3]))
            write_file(pa.table({"x": pa.array(values, pa.decimal128(30, 0))}), self.dir / "in", how)
            (self.dir / "out.csv").unlink()
            self.refuses(65, job(f"arrow.read_{how} path: in"), "a decimal of the column 'x' does not fit in 64 bits")

    def test_names(self):
        write_file(pa.table({"Unit Price": [1], "a": [2]}), self.dir / "in")
        self.refuses(78, job("arrow.read_parquet path: in"), "job.yaml:4:", "'Unit Price'", "leave it out: columns")
        self.refuses(78, job("arrow.read_parquet path: in, columns: [a, b]"), "has no column 'b'", "one of Unit Price, a")
        self.refuses(78, job("arrow.read_parquet path: in, columns: {a: b}"), "a list of columns, such as [src, dst]")
        self.refuses(78, job("arrow.read_parquet path: in, columns: []"), "no column is read")
        write_file(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), self.dir / "in", "ipc")
        self.refuses(78, job("arrow.read_ipc path: in"), "two columns 'a'")

    def test_files_that_are_none(self):
        (self.dir / "folder").mkdir()
        self.write("text", "a,b\n1,2\n" * 100)
        self.write("empty", "")
        for how in FORMATS:
            self.refuses(78, job(f"arrow.read_{how} path: absent"), "job.yaml:4:", "absent", "no such file")
            for name in ("text", "empty", "folder"):
                self.refuses(78, job(f"arrow.read_{how} path: {name}"), "job.yaml:4:", f"cannot read '{name}'")
        write_file(pa.table({"a": [1]}), self.dir / "in", "ipc")
        self.refuses(78, job("arrow.read_parquet path: in"), "cannot read 'in'")

    def test_nulls(self):
        values = list(range(50))
        values[33] = None
        texts = [str(i) for i in range(50)]
        texts[33] = texts[40] = None
        table = pa.table({"n": values, "s": texts, "d": pa.array(texts).dictionary_encode()})
        for how, name in (("parquet", "row group"), ("ipc", "record batch")):
            write_file(table, self.dir / "in", how, row_group_size=20)
            self.refuses(65, job(f"arrow.read_{how} path: in"), f"'in', {name} 1, row 13 (from 0): column 'n' is null",
                         "nulls: zero")
            self.refuses(65, job(f'arrow.read_{how} path: in, columns: d'), "row 13 (from 0): column 'd' is null")
            self.succeeds(job(f"arrow.read_{how} path: in, columns: d", policy="skip"))
            self.assertEqual((self.dir / "out.csv").read_text().split(), [t for t in texts if t is not None])
            self.assertEqual(self.report_of("rows", "rejected_rows"), 2)
            text = job(f"arrow.read_{how} path: in", policy="{to: bad}")
            self.succeeds(text + "  bad: {op: file.write_csv, in: rows.bad, with: {path: bad.csv}}\n")
            self.assertEqual((self.dir / "bad.csv").read_text(), "in,1,13,n,null\nin,2,0,s,null\n")
            self.assertEqual(len((self.dir / "out.csv").read_text().split()), 48)
            self.refuses(65, job(f"arrow.read_{how} path: in", policy="{to: skip, max_ratio: 0.01}"), "rows")
            self.refuses(78, job(f"arrow.read_{how} path: in, nulls: zero", policy="skip"), "nulls: bad, or no on_error")
            self.succeeds(job(f"arrow.read_{how} path: in, nulls: zero"))
            lines = (self.dir / "out.csv").read_text().split("\n")
            self.assertEqual((lines[32], lines[33], lines[40], len(lines)), ("32,32,32", "0,,", "40,,", 51))

    def test_texts_that_are_no_utf8(self):
        write_file(pa.table({"s": pa.array([b"good"] * 9000 + [b"\xc3", b"\xa4"])}), self.dir / "in")
        read = "arrow.read_parquet path: in"
        self.refuses(65, job(read, "arrow.write_parquet path: out"), "row 9000 (from 0): column 's'", "text: binary")
        self.succeeds(job(read, "arrow.write_parquet path: out, text: binary"))
        self.assertEqual(read_file(self.dir / "out")["s"].to_pylist()[-2:], [b"\xc3", b"\xa4"])

    def test_damaged_and_truncated(self):
        draw = random.Random(3)
        given, _ = every_type(3000)
        write_file(given, self.dir / "given", row_group_size=1000)
        for how in FORMATS:
            self.succeeds(job("arrow.read_parquet path: given", f"arrow.write_{how} path: in"))
            whole = (self.dir / "in").read_bytes()
            good = read_file(self.dir / "in", how)
            self.succeeds(job(f"arrow.read_{how} path: in"))
            right = (self.dir / "out.csv").read_bytes()
            (self.dir / "out.csv").unlink()
            for turn in range(40 if not SANITIZERS else 15):
                damaged = bytearray(whole)
                if turn % 4 == 0:
                    del damaged[draw.randrange(len(whole)):]
                else:
                    damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
                self.write("in", bytes(damaged))
                done = self.run_job(job(f"arrow.read_{how} path: in"))
                made = self.dir / "out.csv"
                self.assertIn(done.returncode, (0, 65, 75, 78), done.stderr)
                self.assertNotIn("internal", done.stderr)
                self.assertEqual(made.exists(), done.returncode == 0)
                if turn % 4 == 0:
                    self.assertIn(done.returncode, (65, 78))
                # Pages of Parquet have checksums; of IPC nothing does.
                if made.exists() and how == "parquet":
                    self.assertEqual(made.read_bytes(), right)
                made.unlink(missing_ok=True)
            self.assertEqual(good.num_rows, 3000)

    def test_damaged_pages_of_snappy(self):
        """Without checksums, what is damaged may be read as other values, and else is refused."""
        draw = random.Random(8)
        table = pa.table({"a": [i * i for i in range(5000)], "b": [None if i % 9 == 0 else i / 7 for i in range(5000)]})
        for version in ("1.0", "2.0"):
            write_file(table, self.dir / "in", row_group_size=2500, data_page_version=version, data_page_size=2000)
            whole = (self.dir / "in").read_bytes()
            first, refused = pq.ParquetFile(self.dir / "in").metadata, 0
            end = first.row_group(1).column(1).dictionary_page_offset + first.row_group(1).column(1).total_compressed_size
            for _ in range(30 if not SANITIZERS else 10):
                damaged = bytearray(whole)
                damaged[draw.randrange(4, end)] ^= 1 << draw.randrange(8)
                self.write("in", bytes(damaged))
                done = self.run_job(job("arrow.read_parquet path: in, nulls: zero"))
                self.assertIn(done.returncode, (0, 65, 75), done.stderr)
                self.assertNotIn("internal", done.stderr)
                refused += done.returncode == 65
                (self.dir / "out.csv").unlink(missing_ok=True)
            self.assertGreater(refused, 0)

    def test_a_bad_page_of_a_later_row_group(self):
        table = pa.table({"a": random.Random(4).choices(range(1 << 60), k=50000)})
        write_file(table, self.dir / "in", row_group_size=10000, use_dictionary=False, compression="none",
                   write_page_checksum=True)
        at = pq.ParquetFile(self.dir / "in").metadata.row_group(3).column(0).data_page_offset + 5000
        content = bytearray((self.dir / "in").read_bytes())
        content[at] ^= 1
        self.write("in", bytes(content))
        self.refuses(65, job("arrow.read_parquet path: in"), "cannot read 'in', row group 3")


class run_test(arrow_tests):
    def test_inside_of_the_budget(self):
        draw = random.Random(5)
        rows = 400000
        table = pa.table({"a": [draw.getrandbits(60) for _ in range(rows)], "s": [f"{draw.getrandbits(200):x}" for _ in range(rows)]})
        for size in (20000, rows):
            for how in FORMATS:
                write_file(table, self.dir / "in", how, row_group_size=min(size, 100000 if how == "ipc" else size))
                self.succeeds(job(f"arrow.read_{how} path: in", f"arrow.write_{how} path: out"), "--memory", "128MiB")
                self.within_budget(self.report())
                self.assertTrue(read_file(self.dir / "out", how).equals(table.cast(read_file(self.dir / "out", how).schema)))

    def test_a_record_batch_beyond_the_budget(self):
        write_file(pa.table({"s": ["x" * 1000] * 200000}), self.dir / "in", "ipc")
        self.refuses(75, job("arrow.read_ipc path: in"), "record batch 0", "memory", more=["--memory", "64MiB"])

    def test_whole_or_absent(self):
        # The first file is complete when the second one fails, behind the sort.
        write_file(pa.table({"a": list(range(20000)), "s": [b"good"] * 19999 + [b"\xff"]}), self.dir / "in")
        for how in FORMATS:
            text = job("arrow.read_parquet path: in", f"arrow.write_{how} path: out, text: binary")
            text += """  sorted: {op: sort, in: rows, with: {by: [-a]}}
  fails: {op: arrow.write_parquet, in: sorted, with: {path: second}}
"""
            self.refuses(65, text, "node 'fails'", "no UTF-8")

    def test_several_files(self):
        for how in FORMATS:
            for number in range(3):
                columns = {"a": [number * 1000 + i for i in range(1000)], "b": ["x"] * 1000}
                write_file(pa.table(columns), self.dir / f"in{number}", how, row_group_size=400)
            for threads in ("1", "3"):
                self.succeeds(job(f"arrow.read_{how} path: [in0, in1, in2], columns: a"), "-j", threads)
                self.assertEqual((self.dir / "out.csv").read_text(), "".join(f"{i}\n" for i in range(3000)))
            write_file(pa.table({"a": ["text"]}), self.dir / "in1", how)
            self.refuses(78, job(f"arrow.read_{how} path: [in0, in1, in2], columns: a"),
                         "the columns of 'in1' are others than those of 'in0'")

    def test_progress(self):
        write_file(pa.table({"a": random.Random(6).choices(range(1 << 60), k=100000)}), self.dir / "in", row_group_size=9999)
        self.succeeds(job("arrow.read_parquet path: in", "arrow.write_ipc path: out"))
        read, written = self.report_of("rows", "file_read_bytes"), self.report_of("out", "file_written_bytes")
        self.assertAlmostEqual(read, (self.dir / "in").stat().st_size, delta=100000)
        self.assertEqual(written, (self.dir / "out").stat().st_size)

    def test_cancelled(self):
        for how in FORMATS:
            for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
                self.write("job.yaml", job("generate rows: 2000000000, columns: {a: i}", f"arrow.write_{how} path: out"))
                started = self.start("job.yaml", "--progress", "json", "--plugin", self.example("arrow"))
                self.until_rows_move(started)
                started.send_signal(number)
                self.assertEqual(started.wait(timeout=60), code)
                self.assertEqual(self.files(), ["job.yaml"])

    def test_one_symbol(self):
        names = subprocess.run(["nm", "-D", "--defined-only", self.example("arrow") / "arrow.so"], capture_output=True,
                               text=True, check=True).stdout.split("\n")
        self.assertEqual([line.split()[-1] for line in names if line], ["flowrun_plugin_v1"])

    def test_examples_of_the_reference(self):
        said = self.flowrun("--plugin", self.example("arrow"), "ops", "arrow.read_parquet").stdout
        self.assertIn("arrow.read_parquet", said)
        self.assertIn("leave them out with `columns`", said)


if __name__ == "__main__":
    main()
