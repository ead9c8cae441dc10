#!/usr/bin/env python3
"""The Python package: what jobs write comes as arrays, what is wrong as exceptions, and Ctrl-C leaves nothing.

    PYTHONPATH=python package_test.py FLOWRUN [test…]
"""

import copy
import datetime
import decimal
import doctest
import gc
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

os.environ["FLOWRUN"] = str(pathlib.Path(sys.argv.pop(1)).resolve())

import flowrun  # noqa: E402
import flowrun.row_types  # noqa: E402
import numpy as np  # noqa: E402

try:
    import pyarrow  # noqa: F401

    HAS_ARROW = True
except ImportError:
    HAS_ARROW = False

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL_KINDS = {
    "b": "i % 3 == 0", "c": "u8(i * 50)", "d": "u16(i * 9001)", "e": "u24(i * 4000037)", "f": "u32(i * 999999937)",
    "g": "u40(i * 999999999989)", "h": "u48(i * 77777777777777)", "k": "rand(1, i)", "m": "i8(-50 * i64(i))",
    "n": "i16(-9000 * i64(i))", "o": "i32(-5 * i64(i))", "p": "-7 * i64(i)", "q": "f32(i / 4.0)", "r": "i / 3.0",
    "t": "to_date('1969-12-30') + i", "u": "to_timestamp(-1500000 * i64(i))",
    "v": "to_decimal(i * 1.25 - 2, 2)", "w": "-0.000000000000000001 * to_decimal(i, 0)",
}  # fmt: skip


def job_of(columns, sink="file.write_rows", rows=5, **more):
    return {
        "flowrun": 1,
        "nodes": {
            "rows": {"op": "generate", "with": {"rows": rows, "columns": columns}},
            "out": {"op": sink, "in": "rows", "with": {"path": "out/rows", **more}},
        },
    }


class package_test(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory(prefix="flowrun-python-")
        self.addCleanup(kept.cleanup)
        self.dir = pathlib.Path(kept.name)

    def files(self):
        return sorted(str(path.relative_to(self.dir)) for path in self.dir.rglob("*") if path.is_file())

    def test_the_examples(self):
        self.assertEqual(doctest.testfile(str(ROOT / "python/README.md"), module_relative=False).failed, 0)
        self.assertEqual(doctest.testmod(flowrun.row_types).failed, 0)

    def test_compressed_outputs_are_read_as_others(self):
        columns = {"t": "concat('a ', i)", "x": "i"}
        for how, ending in (("gzip", ".gz"), ("bzip2", ".bz2"), ("xz", ".xz")):
            for more in ({"path": "out/rows" + ending}, {"compression": how}):
                made = flowrun.run(job_of(columns, "file.write_csv", header=True, **more), cwd=self.dir)["out"]
                self.assertEqual(made.compression, how)
                self.assertEqual(made.array().tolist(), [(f"a {i}", i) for i in range(5)])
                made = flowrun.run(job_of({"x": "i"}, **more), cwd=self.dir)["out"]
                self.assertEqual(made.array().tolist(), [(i,) for i in range(5)])
                made = flowrun.run(job_of(columns, "file.write_lines", column="t", **more), cwd=self.dir)["out"]
                self.assertEqual(made.array().tolist(), [(f"a {i}",) for i in range(5)])
        plain = flowrun.run(job_of(columns, "file.write_csv", path="out/rows.gz", compression="none"), cwd=self.dir)["out"]
        self.assertEqual(plain.compression, "none")
        self.assertEqual(len(plain.array()), 5)

    def test_what_is_in_a_file(self):
        (self.dir / "x.csv").write_text("id|when|n\n1|13/02/2026|NA\n2|01/03/2026|-7\n")
        found = flowrun.infer("x.csv", cwd=self.dir)
        self.assertEqual([(c["name"], c["type"]) for c in found["columns"]], [("id", "u32"), ("when", "date"), ("n", "i64")])
        self.assertEqual(found["columns"][2]["missing_texts"], ["NA"])
        self.assertEqual(found["rows"], {"seen": 2, "all_seen": True})
        self.assertEqual((found["format"], found["node"], found["paths"], found["questions"]), ("csv", "x", ["x.csv"], []))
        write = {"op": "file.write_csv", "in": "x", "with": {"path": "out.csv"}}
        job = {"flowrun": 1, "types": found["types"], "nodes": {**found["nodes"], "write": write}}
        read = flowrun.run(job, cwd=self.dir)["write"].array().tolist()
        self.assertEqual(read, [(1, datetime.date(2026, 2, 13), 0, True), (2, datetime.date(2026, 3, 1), -7, False)])
        lines = flowrun.infer([self.dir / "x.csv"], format="lines", name="log", all=True)
        self.assertEqual((list(lines["nodes"]), lines["types"], lines["columns"]), (["log"], {}, []))
        forced = flowrun.infer("x.csv", cwd=self.dir, header=False, delimiter="|", rows=2, bytes="1MiB")
        self.assertEqual([c["type"] for c in forced["columns"]], ["string", "string", "string"])
        with open(self.dir / "x.csv", "rb") as file:
            self.assertEqual(flowrun.infer("-", stdin=file)["columns"], found["columns"])
        with self.assertRaises(flowrun.InputMissingError):
            flowrun.infer("none.csv", cwd=self.dir)
        (self.dir / "bytes").write_bytes(bytes(64))
        with self.assertRaises(flowrun.BadDataError) as raised:
            flowrun.infer(self.dir / "bytes")
        self.assertIn("this is no text", raised.exception.faults[0].message)

    def test_a_file_for_each_value(self):
        columns = {"k": "i % 2", "t": "concat('a ', i)"}
        made = flowrun.run(job_of(columns, "file.write_csv", header=True, path="out/{k}.csv"), cwd=self.dir)["out"]
        self.assertTrue(made.is_partitioned)
        self.assertEqual(list(made.files), [str(self.dir / f"out/{k}.csv") for k in (0, 1)])
        self.assertEqual(made.array().tolist(), [(k, f"a {i}") for k in (0, 1) for i in range(k, 5, 2)])
        self.assertEqual(made.files[str(self.dir / "out/1.csv")].array().tolist(), [(1, "a 1"), (1, "a 3")])
        self.assertEqual(made.column("t").tolist(), ["a 0", "a 2", "a 4", "a 1", "a 3"])
        with self.assertRaisesRegex(TypeError, "several"):
            flowrun.run(job_of({"k": "i % 2"}, path="out/{k}"), cwd=self.dir)["out"].rows()
        rows = flowrun.run(
            job_of({"k": "i % 2", "i": "i"}, path="out/k={k}/x.rows", path_columns="leave_out"), cwd=self.dir
        )["out"]
        self.assertEqual(rows.columns, [("i", "u64")])
        self.assertEqual(rows.array().tolist(), [(0,), (2,), (4,), (1,), (3,)])
        empty = flowrun.run(job_of({"k": "i % 2", "i": "i"}, rows=0, path="none/{k}"), cwd=self.dir)["out"]
        self.assertEqual((empty.files, len(empty.array()), empty.array().dtype.names), ({}, 0, ("k", "i")))
        one = flowrun.run(job_of({"i": "i"}), cwd=self.dir)["out"]
        self.assertEqual(list(one.files), [one.path])
        many = flowrun.run(job_of({"k": "i"}, rows=1100, path="many/{k}"), cwd=self.dir)["out"]
        with self.assertRaisesRegex(ValueError, "1100 files"):
            many.array()

    def test_every_type_is_the_same_as_text_and_as_rows(self):
        as_rows = flowrun.run(job_of(ALL_KINDS), cwd=self.dir)["out"]
        self.assertEqual(as_rows.dtype.itemsize, 85)
        as_text = flowrun.run(job_of(ALL_KINDS, "file.write_csv", header=True, delimiter=";"), cwd=self.dir)["out"]
        self.assertEqual(as_text.settings, {"header": "true", "delimiter": ";"})
        text = as_text.array()
        flowrun.run(job_of(ALL_KINDS), cwd=self.dir)
        rows = as_rows.array()
        names = {"c": "x.c", "b": "b\\.\\\\", "t": "x.y.t"}
        as_json = flowrun.run(job_of(ALL_KINDS, "file.write_json_lines", names=names), cwd=self.dir)["out"]
        self.assertEqual(as_json.settings, {f"names.{column}": path for column, path in names.items()})
        objects = as_json.array()
        flowrun.run(job_of(ALL_KINDS), cwd=self.dir)
        self.assertEqual(rows.dtype.names, tuple(ALL_KINDS))
        for name in ALL_KINDS:
            self.assertEqual(rows[name].tolist(), text[name].tolist(), name)
            self.assertEqual(rows[name].tolist(), objects[name].tolist(), name)
            self.assertEqual(as_rows.column(name).tolist(), text[name].tolist(), name)
        self.assertEqual(rows["e"].tolist(), [i * 4000037 % 2**24 for i in range(5)])
        self.assertEqual(rows["g"].tolist(), [i * 999999999989 % 2**40 for i in range(5)])
        self.assertEqual(rows["t"].tolist(), [datetime.date(1969, 12, 30) + datetime.timedelta(i) for i in range(5)])
        self.assertEqual(rows["u"][1], np.datetime64("1969-12-31T23:59:58.500000"))
        self.assertEqual(rows["v"].tolist(), [-200, -75, 50, 175, 300])
        self.assertEqual(rows["h"].tolist(), [i * 77777777777777 % 2**48 for i in range(5)])

    def test_rows_are_mapped_where_numpy_has_their_types(self):
        rows = flowrun.run(job_of({"id": "i", "small": "u8(i)"}), cwd=self.dir)["out"].array()
        self.assertIsInstance(rows, np.memmap)
        self.assertEqual(rows.tolist(), [(i, i) for i in range(5)])
        with self.assertRaises(ValueError):
            rows["id"] = 1

    def test_an_empty_file(self):
        for sink in ("file.write_rows", "file.write_npy", "file.write_csv", "file.write_json_lines"):
            self.assertEqual(len(flowrun.run(job_of({"id": "i"}, sink, rows=0), cwd=self.dir)["out"].array()), 0)

    def test_arrays_go_in_and_come_out(self):
        given = np.array([(b"ab", 7, True), (b"a\0", 2**40 - 1, False)], [("key", "S2"), ("n", "<u8"), ("ok", "?")])
        given.tofile(self.dir / "in.bin")
        job = {
            "flowrun": 1,
            "nodes": {
                "in": {"op": "file.read_rows", "with": {"path": "in.bin", "type": flowrun.row_type_of(given.dtype)}},
                "sorted": {"op": "sort", "in": "in", "with": {"by": ["key"]}},
                "out": {"op": "file.write_rows", "in": "sorted", "with": {"path": "out.bin"}},
            },
        }
        out = flowrun.run(job, cwd=self.dir)["out"].array()
        self.assertEqual(out.dtype, given.dtype)
        self.assertEqual(out.tobytes(), given[::-1].tobytes())
        for wrong in (np.dtype([("a", "u1"), ("b", "<u4")], align=True), np.dtype([("a", ">u4")]), np.dtype("<u4"), [("a", "U3")]):
            with self.assertRaises(TypeError):
                flowrun.row_type_of(wrong)

    def test_numpy_files(self):
        made = flowrun.run(job_of(ALL_KINDS, "file.write_npy"), cwd=self.dir)["out"]
        rows = made.array()
        self.assertIsInstance(rows, np.memmap)
        self.assertEqual((made.dtype, made.rows().dtype), (rows.dtype, rows.dtype))
        expected = flowrun.run(job_of(ALL_KINDS, path="out/others"), cwd=self.dir)["out"].array()
        for name in ALL_KINDS:
            self.assertEqual(rows[name].tolist(), expected[name].tolist(), name)
            self.assertEqual(made.column(name).tolist(), expected[name].tolist(), name)
        one = flowrun.run(job_of({"x": "i"}, "file.write_npy"), cwd=self.dir)["out"]
        self.assertEqual((one.array().tolist(), one.column("x").tolist()), ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]))
        two = flowrun.run(job_of({"x": "i", "y": "i * i"}, "file.write_npy", array="plain"), cwd=self.dir)["out"]
        self.assertEqual((two.array().shape, two.column("y").tolist()), ((5, 2), [0, 1, 4, 9, 16]))

    def test_text_has_no_fixed_width(self):
        job = job_of({"name": "concat('n, \"', i, '\"')", "id": "i"}, "file.write_csv", rows=2)
        out = flowrun.run(job, cwd=self.dir)["out"]
        self.assertEqual(out.array().tolist(), [('n, "0"', 0), ('n, "1"', 1)])
        with self.assertRaisesRegex(TypeError, "'name' is of type string.*file.write_csv"):
            out.dtype
        with self.assertRaisesRegex(TypeError, "written by file.write_csv"):
            out.rows()
        job["nodes"]["out"]["op"] = "file.write_rows"
        self.assertEqual([fault.path for fault in flowrun.check(job, cwd=self.dir)], ["nodes.out.in"])
        lines = flowrun.run(job_of({"id": "i", "line": "string(i)"}, "file.write_lines", rows=3), cwd=self.dir)["out"].array()
        self.assertEqual(lines["line"].tolist(), ["0", "1", "2"])

    def test_messages_have_a_path(self):
        shop = str(ROOT / "tests/golden/jobs/protobuf/shop.desc")
        job = job_of({"user": "i"}, "file.write_protobuf", rows=2, descriptors=shop, message="shop.Visit")
        out = flowrun.run(job, cwd=self.dir)["out"]
        self.assertEqual(pathlib.Path(out.path).read_bytes(), b"\x00\x02\x08\x01")
        for read in (out.array, out.table, lambda: out.column("user")):
            with self.assertRaisesRegex((TypeError, ImportError), "file.write_protobuf|pyarrow"):
                read()
        found = flowrun.infer(out.path, descriptors=shop, message="shop.Visit", name="visits")
        self.assertEqual((found["format"], found["rows"]), ("protobuf", {"seen": 2, "all_seen": True}))

    def test_arrow_tables(self):
        if not HAS_ARROW:
            with self.assertRaisesRegex(ImportError, "pip install pyarrow"):
                flowrun.run(job_of({"id": "i"}), cwd=self.dir)["out"].table()
            return
        rows = flowrun.run(job_of(ALL_KINDS), cwd=self.dir, outputs={"out": None})["out"]
        arrays = flowrun.run(job_of(ALL_KINDS, "file.write_npy"), cwd=self.dir, outputs={"out": None})["out"]
        text = flowrun.run(job_of({**ALL_KINDS, "s": "if(i == 1, '', string(i))"}, "file.write_csv", header=True), cwd=self.dir)["out"]
        expected = [dict(zip(ALL_KINDS, row)) for row in rows.array().tolist()]
        for row in expected:
            row["u"] = row["u"].replace(tzinfo=datetime.timezone.utc)
            row["v"], row["w"] = decimal.Decimal(row["v"]).scaleb(-2), decimal.Decimal(row["w"]).scaleb(-18)
        self.assertEqual(rows.table().to_pylist(), expected)
        self.assertEqual(arrays.table().to_pylist(), expected)
        self.assertEqual(text.table().drop(["s"]).to_pylist(), expected)
        self.assertEqual(text.table()["s"].to_pylist(), ["0", "", "2", "3", "4"])
        objects = flowrun.run(job_of(ALL_KINDS, "file.write_json_lines"), cwd=self.dir)["out"]
        self.assertEqual(objects.table().to_pylist(), expected)

    def written(self, columns, sink="file.write_csv", **more):
        return flowrun.run(job_of(columns, sink, 3, **more), cwd=self.dir)["out"]

    def read(self, out):
        """The rows of an output as lists of columns: of the array, and where there is pyarrow, of the table as well."""
        rows = [list(column) for column in zip(*out.array().tolist())]
        if HAS_ARROW:
            self.assertEqual([column.to_pylist() for column in out.table().columns], rows)
        return rows

    def test_an_empty_text_alone_in_its_line_is_a_row(self):
        texts = {"s": "if(i == 1, '', concat('x', i))"}
        for more in ({}, {"header": True}, {"quote": ""}, {"path": "rows.gz"}):
            self.assertEqual(self.read(self.written(texts, **more)), [["x0", "", "x2"]])
        self.assertEqual(self.read(self.written({"s": "''"})), [["", "", ""]])
        parts = self.written({"k": "i % 2", **texts}, path="{k}.csv", path_columns="leave_out")
        self.assertEqual(self.read(parts), [["x0", "x2", ""]])

    def test_long_texts(self):
        # Python's module csv takes 128 KiB, and a block of pyarrow has 1 MiB where nothing is said.
        for length in (200_000, 3_000_000):
            long = f"concat(unhex('0a'), pad_left('\"', {length}), unhex('0a'))"
            expected = [["b", "\n" + '"'.rjust(length) + "\n", "b"], [0, 1, 2]]
            for path in ("rows.csv", "rows.csv.gz"):
                out = self.written({"s": f"if(i == 1, {long}, 'b')", "n": "i"}, path=path)
                self.assertTrue(self.read(out) == expected, f"{length} {path}")  # a difference would be long
                if HAS_ARROW:  # and longer than the block that is tried first
                    with unittest.mock.patch("flowrun.csv_files._BLOCK_BYTES", 1 << 16):
                        self.assertTrue(out.table()["s"].to_pylist() == expected[0], f"{length} {path}")
        one = self.written({"s": "pad_left('a', 300000)"}, quote="")
        self.assertEqual(set(self.read(one)[0]), {"a".rjust(300000)})

    def test_fields_of_csv(self):
        texts = ["", "a", '"', '""', ",", "\n", "a\rb", '"a",\n"b"', "\x00", "NULL", " ", "'", "\\", "^", "]", "é"]
        for delimiter, quote in ((",", '"'), ("]", "^"), ("\t", "'"), (" ", "\\"), (":", "]")):
            columns = {"s": " ".join(f"if(i == {i}, unhex('{text.encode().hex()}')," for i, text in enumerate(texts)) + " ''" + ")" * len(texts)}
            columns |= {"n": "i", "t": "to_timestamp(i)", "u": columns["s"]}
            form = {"delimiter": delimiter, "quote": quote, "header": True, "names": {"s": 'a\n"b"'}}
            out = flowrun.run(job_of(columns, "file.write_csv", len(texts), **form), cwd=self.dir)["out"]
            rows = out.array()
            self.assertEqual((rows["s"].tolist(), rows["u"].tolist()), (texts, texts))
            self.assertEqual((rows["n"].tolist(), rows["t"].astype("i8").tolist()), ([*range(len(texts))],) * 2)
            if HAS_ARROW:
                table = out.table()
                self.assertEqual((table["s"].to_pylist(), table["u"].to_pylist()), (texts, texts))

    def test_missing_values(self):
        columns = {
            "n": "u32(i + 1)", "x": "i + 0.5", "b": "i == 2", "d": "to_date('2026-01-02')", "t": "to_timestamp('2026-01-02')",
            "v": "to_decimal(1.5, 2)", "k": "bytes('NA', 2)", "s": "if(i == 2, 'NA', 'x')",
        }  # fmt: skip
        there = {"id": "i", "text": "if(i == 2, 'x', 'NA')", "key": "bytes('NA', 2)"}
        zeros = (0, 0.0, False, datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1), 0, b"", "")
        of_two = (3, 2.5, True, datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2), 150, b"NA", "NA")
        missing = {"missing": {name: "gone" for name in columns}}
        for sink, form in (
            ("file.write_csv", {}),
            ("file.write_csv", {"header": True, "null_text": "NA"}),
            ("file.write_json_lines", {}),
        ):
            out = self.written({**columns, "gone": "i == 1", **there}, sink, **missing, **form)
            rows = out.array()
            self.assertIsInstance(rows, np.ma.MaskedArray)
            self.assertEqual(rows.tolist()[1], (None,) * 8 + (1, "NA", b"NA"))
            self.assertEqual(rows.data.tolist()[1], (*zeros, 1, "NA", b"NA"))
            self.assertEqual(rows.filled().tolist(), rows.data.tolist())
            self.assertEqual(rows.tolist()[2], (*of_two, 2, "x", b"NA"))
            self.assertEqual((rows["n"].sum(), out.column("x").mean()), (4, 1.5))
            if HAS_ARROW:
                table = out.table()
                for name in columns:
                    self.assertEqual([value is None for value in table[name].to_pylist()], [False, True, False], name)
                self.assertEqual((table["n"].to_pylist(), table["s"].to_pylist()), ([1, None, 3], ["x", None, "NA"]))
                self.assertEqual((table["text"].to_pylist(), table["key"].to_pylist()), (["NA", "NA", "x"], [b"NA"] * 3))
        parts = self.written({"k": "i % 2", "n": "i", "gone": "i == 2"}, path="{k}.csv", missing={"n": "gone"})
        self.assertEqual(parts.array().tolist(), [(0, 0), (0, None), (1, 1)])
        none = flowrun.run(job_of({"k": "i", "n": "i", "gone": "true"}, "file.write_csv", 0, path="no/{k}", missing={"n": "gone"}), cwd=self.dir)
        self.assertIsInstance(none["out"].array(), np.ma.MaskedArray)
        alone = self.written({"s": "if(i == 2, '', 'x')", "gone": "i == 1"}, missing={"s": "gone"})
        self.assertEqual(self.read(alone), [["x", None, ""]])
        objects = self.written({"x": "0.0 / f64(i)", "y": "0.0 / f64(i)", "gone": "i == 1"}, "file.write_json_lines", missing={"x": "gone"})
        self.assertEqual(objects.array().tolist()[1:], [(None, 0.0), (0.0, 0.0)])
        self.assertEqual(str(objects.array().tolist()[0]), "(None, nan)")  # null is all that JSON has for either

    def test_what_needs_pyarrow_says_how_to_get_it(self):
        out = self.written({"id": "i"}, path="rows.csv.zst")
        with unittest.mock.patch.dict(sys.modules, {"pyarrow": None}):
            for read in (out.table, out.array):
                with self.assertRaisesRegex(ImportError, r"needs pyarrow: pip install pyarrow(;|$)"):
                    read()

    def test_paths_that_look_like_yaml(self):
        job = job_of({"a": "i"}, rows=3)
        for name in ("[x].bin", "{{a}}.bin", "'q'.bin", "a: b", "# x", "null", "~", " x ", "&x", "!x", "|", "a\nb\t\"c\"\\d", "1e3", "ü"):
            for path in (name, pathlib.Path(name)):
                out = flowrun.run(job, outputs={"out": path}, cwd=self.dir)["out"]
                self.assertEqual(out.array()["a"].tolist(), [0, 1, 2], name)
                self.assertIn(name.replace("{{", "{").replace("}}", "}"), self.files())
        flowrun.run(job, settings={"nodes.out.with.path": pathlib.Path("[y].bin")}, cwd=self.dir)
        self.assertIn("[y].bin", self.files())
        parts = flowrun.run(job, outputs={"out": "{a}.bin"}, cwd=self.dir)["out"]
        self.assertEqual(list(parts.files), [str(self.dir / f"{i}.bin") for i in range(3)])
        (self.dir / "-x.yaml").write_text(json.dumps(job))
        self.assertEqual(flowrun.check("-x.yaml", cwd=self.dir), [])

    def test_a_run_goes_on_by_its_paths(self):
        job = job_of({"a": "i"}, rows=3)
        for wrong in (job, json.dumps(job, indent=1)):
            with self.assertRaisesRegex(ValueError, "resume=True the job has to be the path of a file.*give its path"):
                flowrun.run(wrong, resume=True, cwd=self.dir)
        path = self.dir / "job.yaml"
        path.write_text(json.dumps(job))
        with self.assertRaisesRegex(ValueError, "resume=True the output of 'out' needs a path"):
            flowrun.run(path, resume=True, cwd=self.dir, outputs={"out": None})
        self.assertEqual(self.files(), ["job.yaml"])
        job["nodes"]["rows"]["with"] = {"rows": 2_000_000, "columns": {"a": "rand(1, i)"}}
        job["nodes"]["sorted"] = {"op": "sort", "in": "rows", "with": {"by": ["a"]}}
        job["nodes"]["out"] |= {"in": "sorted", "with": {"path": "-"}}
        path.write_text(json.dumps(job))
        more = {"resume": True, "cwd": self.dir, "scratch": self.dir / "scratch", "memory": "8MiB", "threads": 1}
        with open("/dev/full", "wb") as full, self.assertRaises(flowrun.OutputError):
            flowrun.run(path, stdout=full, **more)
        result = flowrun.run(path, **more)
        self.assertEqual([phase["state"] for phase in result.report["phases"]], ["finished_before", "finished"])
        rows = result["out"].array()["a"]
        self.assertEqual((len(rows), bool((rows[1:] >= rows[:-1]).all())), (2_000_000, True))
        self.assertEqual(self.files(), ["job.yaml"])

    def test_errors_cross_processes(self):
        for run in (lambda: flowrun.run("none.yaml"), lambda: flowrun.run(job_of({"a": "b + c"})), lambda: flowrun.run("x", binary="/no")):
            with self.assertRaises(flowrun.FlowrunError) as caught:
                run()
            error = caught.exception
            error.told_by = "a test"  # as notes are, which Python has from 3.11 on
            for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
                self.assertIs(type(other), type(error))
                self.assertEqual((str(other), other.__dict__), (str(error), error.__dict__))

    def test_faults_are_where_the_caller_wrote(self):
        job = job_of({"a": "i", "b": "amuont"})
        job["nodes"]["sorted"] = {"op": "sort", "in": "rows", "with": {"by": ["a", {"desc": "a"}], "combine": {}, "lmit": 1}}
        job["nodes"]["some\ntext"] = {"op": "file.write_cvs", "in": "sorted", "with": {"path": "x", "header": (), "names": {}}}
        faults = flowrun.check(job, cwd=self.dir)
        self.assertIn("nodes.some\ntext.op", [fault.path for fault in faults])
        del job["nodes"]["some\ntext"]
        job["params"] = {"p": {"type": "int", "default": "x"}}  # behind lists and maps, and what is empty
        faults += flowrun.check(job, cwd=self.dir)
        del job["params"]
        faults += flowrun.check(job, cwd=self.dir)
        paths = [fault.path for fault in faults]
        for path in ("params.p.default", "nodes.rows.with.columns.b"):
            self.assertIn(path, paths)
        self.assertEqual({(fault.file, fault.line, fault.column) for fault in faults}, {("", 0, 0)})
        job = job_of({"a": "i"})
        job["nodes"]["sorted"] = {"op": "sort", "in": "rows", "with": {"by": ["a", "c"]}}
        job["nodes"]["out"]["in"] = "sorted"
        for run in (flowrun.run, flowrun.plan):
            with self.assertRaisesRegex(flowrun.JobError, r"^nodes\.sorted\.with\.by\.1: unknown column 'c'"):
                run(job, cwd=self.dir)
        with self.assertRaisesRegex(flowrun.JobError, "^<job>: the job has no nodes"):
            flowrun.run({"flowrun": 1})
        with self.assertRaisesRegex(flowrun.JobError, "^<job>:2:17: unknown operator 'none'"):
            flowrun.run("flowrun: 1\nnodes: {a: {op: none}}\n")
        for path in (None, "x.bin"):
            with self.assertRaisesRegex(flowrun.JobError, "^outputs.wirte: there is no 'wirte' in nodes"):
                flowrun.run(job, cwd=self.dir, outputs={"wirte": path})
        (self.dir / "job.yaml").write_text(json.dumps(job))
        fault = flowrun.check("job.yaml", cwd=self.dir)[0]
        self.assertEqual((fault.file, fault.line, fault.path), ("job.yaml", 1, ""))

    def test_temporary_files_go_with_the_result(self):
        result = flowrun.run(job_of({"id": "i"}), cwd=self.dir, outputs={"out": None})
        path = pathlib.Path(result["out"].path)
        array = result["out"].array()
        self.assertTrue(path.exists())
        self.assertEqual(self.files(), [])
        del result
        gc.collect()
        self.assertFalse(path.parent.exists())
        self.assertEqual(array["id"].tolist(), [0, 1, 2, 3, 4])

    def test_temporary_files_stay_when_a_forked_process_ends(self):
        code = (
            f"import flowrun, multiprocessing as m; r = flowrun.run({job_of({'id': 'i'})!r}, outputs={{'out': None}})\n"
            "p = m.get_context('fork').Process(target=print, args=('child',), kwargs={'flush': True}); p.start(); p.join()\n"
            "import os, sys\nif os.fork() == 0: sys.exit()\nos.wait()\nprint(r['out'].array()['id'].tolist())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "child\n[0, 1, 2, 3, 4]\n")

    def test_standard_output_is_read_from_the_result(self):
        job = job_of({"a": "i", "b": "string(i)"}, "file.write_csv", rows=3)
        job["nodes"]["out"]["with"]["path"] = "-"
        code = f"import flowrun; r = flowrun.run({job!r}); print(r['out'].array().tolist(), open(r['out'].path).read())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "[(0, '0'), (1, '1'), (2, '2')] 0,0\n1,1\n2,2\n\n")
        with open(self.dir / "rows.csv", "wb") as file:
            result = flowrun.run(job, stdout=file)
        self.assertEqual((self.dir / "rows.csv").read_text(), "0,0\n1,1\n2,2\n")
        self.assertEqual(result["out"].path, "/dev/stdout")
        result = flowrun.run(job, outputs={"out": None})
        self.assertEqual(result["out"].array()["a"].tolist(), [0, 1, 2])

    def test_none_is_no_value_of_a_parameter(self):
        job = {"params": {"least": {"type": "int", "default": 1}}, **job_of({"x": "i"})}
        with self.assertRaisesRegex(TypeError, "'least' is None, and a value is needed; leave it out"):
            flowrun.check(job, {"least": None})
        with self.assertRaisesRegex(TypeError, "'nodes.rows.with.rows' is None"):
            flowrun.plan(job, settings={"nodes.rows.with.rows": None})

    def test_parameters_of_numpy(self):
        job = {"params": {"n": {"type": "int", "default": 1}, "on": {"type": "bool", "default": False}}, **job_of({"x": "if(params.on, params.n, 0)"}, rows=1)}
        self.assertEqual(flowrun.run(job, {"n": np.int64(7), "on": np.bool_(True)}, outputs={"out": None})["out"].array()["x"].tolist(), [7])
        with self.assertRaisesRegex(TypeError, "'n' is bytes, and a text is needed"):
            flowrun.check(job, {"n": b"7"})

    def test_a_zero_below_zero_keeps_its_sign(self):
        job = job_of({"x": "if(i == 1, -0.0, 1.5)"}, "file.write_json_lines", rows=2)
        values = flowrun.run(job, cwd=self.dir, outputs={"out": self.dir / "x.jsonl"})["out"].array()["x"].tolist()
        self.assertEqual([str(x) for x in values], ["1.5", "-0.0"])

    def test_parameters_of_all_types(self):
        text = """flowrun: 1
params: {rows: {type: int, required: true}, on: {type: bool, required: true}, half: {type: float, required: true}, out: {type: path, required: true}}
nodes:
  rows: {op: generate, with: {rows: "${rows}", columns: {x: "if(${on}, ${half}, 0.0)"}}}
  out: {op: file.write_rows, in: rows, with: {path: "${out}"}}
"""
        result = flowrun.run(text, {"rows": 2, "on": True, "half": 0.25, "out": self.dir / "x = y.bin"}, threads=1)
        self.assertEqual(result["out"].array()["x"].tolist(), [0.25, 0.25])
        self.assertEqual((result.report["threads"], result.report["nodes"][0]["rows"]), (1, 2))

    def test_errors_of_each_kind(self):
        (self.dir / "in.csv").write_text("a,1\nb,x\n")
        job = {
            "flowrun": 1,
            "nodes": {
                "in": {"op": "file.read_csv", "with": {"path": "in.csv", "type": {"k": "string", "v": "u32"}}},
                "out": {"op": "file.write_csv", "in": "in", "with": {"path": "out.csv"}},
            },
        }
        with self.assertRaises(flowrun.BadDataError) as caught:
            flowrun.run(job, cwd=self.dir)
        fault = caught.exception.faults[0]
        self.assertEqual((fault.file, fault.line, fault.column, caught.exception.exit_code), ("in.csv", 2, 3, 65))
        self.assertEqual(fault.message, 'expected u32, got "x"')
        self.assertIn("on_error", fault.advice)
        self.assertEqual(caught.exception.report["status"], "failed")
        with self.assertRaises(flowrun.InputMissingError):
            flowrun.run(job, cwd=self.dir, settings={"nodes.in.with.path": "no.csv"})
        with self.assertRaises(flowrun.UsageError):
            flowrun.run(job, cwd=self.dir, memory="much")
        with self.assertRaises(flowrun.ProgramNotFoundError):
            flowrun.run(job, binary="/no/flowrun")
        faults = flowrun.check(job, cwd=self.dir, settings={"nodes.in.op": "file.read_cvs", "nodes.out.op": "file.write_cvs"})
        self.assertEqual(len(faults), 2)
        self.assertEqual([fault.advice for fault in faults], ["did you mean 'file.read_csv'?", "did you mean 'file.write_csv'?"])
        faults = flowrun.check(job_of({f"v{i}": "amuont" for i in range(10)}), cwd=self.dir)  # many alike are all there
        self.assertEqual(sum("amuont" in fault.message for fault in faults), 10)
        self.assertEqual(flowrun.check(job, cwd=self.dir), [])
        self.assertEqual(self.files(), ["in.csv"])

    def test_ctrl_c_stops_the_job(self):
        job = job_of({"v": "rand(1, i)"}, rows=2 * 10**9)
        # Scratch is of the folder, so that whatever was left would be seen.
        begun = threading.Event()
        threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            flowrun.run(job, cwd=self.dir, scratch=self.dir / "scratch", progress=lambda _: begun.set())
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(self.files(), [])
        children = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, text=True).stdout
        self.assertNotIn("flowrun", children)

    def test_the_job_ends_with_python(self):
        """A notebook's kernel that is killed leaves no job that works on, and puts its output in place later."""
        job = job_of({"v": "rand(1, i)"}, rows=2 * 10**9)
        words = f"import flowrun; flowrun.run({job!r}, cwd={str(self.dir)!r}, scratch={str(self.dir / 'scratch')!r})"
        python = subprocess.Popen([sys.executable, "-c", words], env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.addCleanup(python.kill)
        deadline = time.monotonic() + 60
        children = []
        while not children and time.monotonic() < deadline:
            time.sleep(0.05)
            said = subprocess.run(["ps", "--ppid", str(python.pid), "-o", "pid=,comm="], capture_output=True, text=True)
            children = [int(line.split()[0]) for line in said.stdout.splitlines() if "flowrun" in line]
        time.sleep(0.2)  # it begins with asking for its parent's end
        python.kill()
        python.wait()
        while os.path.exists(f"/proc/{children[0]}") and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(os.path.exists(f"/proc/{children[0]}"))
        self.assertEqual(self.files(), [])

    def test_a_callback_that_fails_stops_the_job(self):
        def fail(_):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            flowrun.run(job_of({"v": "rand(1, i)"}, rows=2 * 10**9), cwd=self.dir, progress=fail)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
