#!/usr/bin/env python3
"""NumPy files, with NumPy itself: what it saves is read, and what is written it loads and maps."""

import gzip
import lzma
import warnings

import numpy as np
from flowrun_process import main
from resuming_process import resuming_test

COPY = """flowrun: 1
nodes:
  rows: {op: file.read_npy, with: {path: PATH, type: TYPE MORE}}
  out: {op: file.write_npy, in: rows, with: {path: out/sorted}}
"""
KINDS = {
    "b": ("bool", "?"), "c": ("u8", "u1"), "d": ("u16", "<u2"), "e": ("u32", "<u4"), "f": ("u64", "<u8"), "g": ("i8", "i1"),
    "h": ("i16", "<i2"), "i": ("i32", "<i4"), "k": ("i64", "<i8"), "l": ("f32", "<f4"), "m": ("f64", "<f8"),
    "n": ('"bytes[5]"', "S5"), "o": ("date", "<M8[D]"), "p": ("timestamp", "<M8[us]"),
}  # fmt: skip


def random_array(fields, size, align=False):
    rng = np.random.default_rng(3)
    out = np.zeros(size, np.dtype(fields, align=align))
    for name in out.dtype.names:
        kind = out.dtype[name]
        if kind.kind == "b":
            out[name] = rng.integers(0, 2, size)
        elif kind.kind == "S":
            out[name] = [b"%d" % n for n in rng.integers(0, 10**4, size)]
        else:
            out[name] = rng.integers(0, 120, size)
    return out


def save(path, given):
    with warnings.catch_warnings():  # of versions 2.0 and 3.0: old NumPy doesn't read them
        warnings.simplefilter("ignore", UserWarning)
        np.save(path, given)


class npy_test(resuming_test):
    def copied(self, path, type, *more, with_="", **others):
        self.write("job.yaml", COPY.replace("PATH", path).replace("TYPE", type).replace("MORE", with_))
        (self.dir / "out/sorted").unlink(missing_ok=True)
        done = self.flowrun("job.yaml", "-q", *more, **others)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.dir / "out/sorted", mmap_mode="r", allow_pickle=False)

    def type_of(self, names):
        return "{" + ", ".join(f"{name}: {KINDS[name][0]}" for name in names) + "}"

    def test_all_types_both_ways(self):
        for align in (False, True):
            given = random_array([(name, code) for name, (_, code) in KINDS.items()], 5000, align)
            np.save(self.dir / "in.npy", given)
            for names in (list(KINDS), list(KINDS)[::-1], ["p", "c"]):
                for more in ((), ("-j", "1", "-m", "8MiB"), ("--plain-executor",)):
                    out = self.copied("in.npy", self.type_of(names), *more)
                    self.assertEqual(list(out.dtype.names), names)
                    for name in names:
                        self.assertEqual(out.dtype[name], given.dtype[name])
                        self.assertTrue((out[name] == given[name]).all(), name)
            swapped = given.astype(given.dtype.newbyteorder(">"))
            np.save(self.dir / "in.npy", swapped)
            out = self.copied("in.npy", self.type_of(KINDS))
            self.assertTrue(all((out[name] == given[name]).all() for name in KINDS))

    def test_plain_arrays_of_one_and_two_dimensions(self):
        for name, (_, code) in KINDS.items():
            given = random_array([(name, code)], 3000)[name]
            np.save(self.dir / "in.npy", given)
            out = self.copied("in.npy", self.type_of([name]))
            self.assertEqual((out.dtype, out.shape), (given.dtype, given.shape))
            self.assertTrue((out == given).all())
        given = np.arange(3000, dtype="<i2").reshape(-1, 3)
        np.save(self.dir / "in.npy", given)
        out = self.copied("in.npy", "{x: i16, y: i16, z: i16}")
        self.assertEqual(out.tolist(), [tuple(row) for row in given.tolist()])
        np.save(self.dir / "in.npy", np.asfortranarray(given))
        done = self.flowrun("check", "job.yaml")
        self.fails(65, done, "job.yaml:3:", "Fortran order", "numpy.ascontiguousarray(a)")

    def test_empty_arrays(self):
        np.save(self.dir / "in.npy", np.zeros(0, [("a", "<u4"), ("b", "<f8")]))
        self.assertEqual(self.copied("in.npy", "{b: f64, a: u32}").shape, (0,))
        np.save(self.dir / "in.npy", np.zeros((0, 2), "<u4"))
        self.assertEqual(self.copied("in.npy", "{b: u32, a: u32}").shape, (0,))

    def test_names_as_numpy_writes_them(self):
        fields = [("my 'name'", "<u4"), ('say "x"', "<u4"), ("\u00e4\u4e2d\\", "<u4"), (("a title", "d"), "<u4")]
        given = random_array(fields, 10)
        save(self.dir / "in.npy", given)  # with version 3.0
        names = """, names: {a: "my 'name'", b: 'say "x"', c: "\u00e4\u4e2d\\\\"}"""
        out = self.copied("in.npy", "{c: u32, a: u32, d: u32, b: u32}", with_=names)
        for ours, theirs in zip("abcd", given.dtype.names):
            self.assertEqual(out[ours].tolist(), given[theirs].tolist())
        many = random_array([(f"a rather long name of a column, number {i}", "<u4") for i in range(2000)], 3)
        save(self.dir / "in.npy", many)  # with version 2.0
        out = self.copied("in.npy", "{a: u32}", with_=', names: {a: "a rather long name of a column, number 1717"}')
        self.assertEqual(out.tolist(), many[many.dtype.names[1717]].tolist())

    def test_a_header_of_version_2_is_written_where_it_must(self):
        columns = ", ".join(f'column_number_{i}: "i + {i}"' for i in range(3000))
        self.write("job.yaml", "flowrun: 1\nnodes:\n  rows: {op: generate, with: {rows: 4, columns: {%s}}}\n"
                   "  out: {op: file.write_npy, in: rows, with: {path: wide.npy}}\n" % columns)
        done = self.flowrun("job.yaml", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "wide.npy").read_bytes()[6], 2)
        loaded = np.load(self.dir / "wide.npy", mmap_mode="r", max_header_size=1 << 20)
        self.assertEqual(loaded["column_number_2999"].tolist(), [2999, 3000, 3001, 3002])

    def test_several_files_compressed_ones_and_pipes(self):
        a, b = random_array([("x", "<u4"), ("y", ">f8")], 30_000), random_array([("y", "<f8"), ("", "V3"), ("x", "<u4")], 20_000)
        expected = [(x, y) for part in (a, b, a) for x, y in zip(part["x"].tolist(), part["y"].tolist())]
        np.save(self.dir / "part1.npy", a)
        np.save(self.dir / "part2.npy", b)
        np.save(self.dir / "part3.npy", a)
        type = "{x: u32, y: f64}"
        self.assertEqual(self.copied('"part*.npy"', type).tolist(), expected)
        whole = (self.dir / "part2.npy").read_bytes()
        for compress in (gzip.compress, lzma.compress):
            self.write("part2.npy", compress(whole))
            self.assertEqual(self.copied('"part*.npy"', type, "-m", "16MiB").tolist(), expected)
        self.write("job.yaml", COPY.replace("PATH", '"-"').replace("TYPE", type).replace("MORE", ""))
        done = self.shell('cat part1.npy | "$0" -q job.yaml')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(np.load(self.dir / "out/sorted").tolist(), expected[:30_000])
        named = self.write("named.yaml", COPY.replace("PATH", '"part[12].npy"').replace("TYPE", type)
                           .replace("MORE", ", file_column: file").replace("write_npy", "write_csv"))
        self.assertEqual(self.flowrun(named, "-q").returncode, 0)
        lines = (self.dir / "out/sorted").read_text().splitlines()
        self.assertEqual((lines[0].split(",")[2], lines[-1].split(",")[2], len(lines)), ("part1.npy", "part2.npy", 50_000))

    def test_what_is_wrong_with_a_file_is_said_before_the_run(self):
        given = random_array([("src", "<u4"), ("weight", "<f8")], 100)
        np.save(self.dir / "in.npy", given)
        whole = (self.dir / "in.npy").read_bytes()
        self.write("job.yaml", COPY.replace("PATH", "in.npy").replace("TYPE", "{src: u64}").replace("MORE", ""))
        said = 'field "src" is "<u4" (u32), but `type` says src: u64'
        for command in ("check", "run"):
            self.fails(65, self.flowrun(command, "job.yaml"), "job.yaml:3:42: error: in.npy: " + said, "type: {src: u32, weight: f64}")
        self.write("job.yaml", COPY.replace("PATH", "in.npy").replace("TYPE", "{src: u32, weight: f64}").replace("MORE", ""))
        for content, message in ((whole[:-5], "in.npy: the file ends at byte"), (whole + b"1", "but the file goes on"),
                                 (whole[:90], "within the header"), (b"", "within the header"), (b"src,weight\n", "begins with \\x93NUMPY")):
            self.write("in.npy", content)
            self.fails(65, self.flowrun("check", "job.yaml"), "job.yaml:3:42: error: in.npy: ", message)
            self.write("in.npy", gzip.compress(content) if content else content)
            self.fails(65, self.flowrun("job.yaml", "-q"), "in.npy: ", message)
            self.assertFalse((self.dir / "out/sorted").exists())
        np.save(self.dir / "in.npy", np.array([{}], dtype=object), allow_pickle=True)
        self.fails(65, self.flowrun("check", "job.yaml"), "holds objects of Python")

    def test_a_missing_time_leaves_no_output(self):
        given = np.arange(100_000).astype("<M8[us]")
        given[77_777] = np.datetime64("NaT")
        np.save(self.dir / "in.npy", given)
        self.write("job.yaml", COPY.replace("PATH", "in.npy").replace("TYPE", "{at: timestamp}").replace("MORE", ""))
        for more in ((), ("-j", "1"), ("-j", "3")):
            done = self.flowrun("job.yaml", "-q", *more)
            self.fails(65, done, "in.npy: row 77777 (counted from 0): column 'at' is NaT", "numpy.isnat")
            self.assertEqual(self.files("out") if (self.dir / "out").exists() else [], [])

    def test_a_job_that_was_killed_goes_on(self):
        given = random_array([("x", "<u4"), ("", "V3"), ("y", ">u8")], 4_000_000)
        given["y"] = np.arange(len(given))
        np.save(self.dir / "a.npy", given[:1_000_001])
        np.save(self.dir / "b.npy", given[1_000_001:])
        self.write("job.yaml", COPY.replace("PATH", "[a.npy, b.npy]").replace("TYPE", "{x: u32, y: u64}").replace("MORE", ""))
        expected = self.expected()
        for _ in range(3):  # a kill may come when the output is in place already: then all is done again
            self.assertTrue(self.kill_while_writing())
            _, rows = self.goes_on(expected)
            if rows["rows"] < len(given):
                break
        self.assertLess(rows["rows"], len(given))
        loaded = np.load(self.dir / "out/sorted", mmap_mode="r")
        self.assertTrue((loaded["y"] == given["y"]).all() and (loaded["x"] == given["x"]).all())


if __name__ == "__main__":
    main()
