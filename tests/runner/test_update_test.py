#!/usr/bin/env python3
"""flowrun test --update: expected rows become those that come, and nothing else in a spec changes."""

import json
import os
import random
import re
import stat

from flowrun_process import main, process_test

LINES = """flowrun: 1
# A job with lines, a count and files.
nodes:
  read: {op: file.read_lines, with: {path: x}}
  sorted: {op: sort, in: read, with: {by: [text]}}
  n: {op: reduce, in: sorted, with: {let: {n: "count()"}}}
  write: {op: file.write_lines, in: sorted, with: {path: y}}
tests:
"""
PARTS = """flowrun: 1
nodes:
  read: {op: file.read_csv, with: {path: x, type: {c: string, n: u8}}}
  parts: {op: file.write_csv, in: read, with: {path: "out/{c}.csv"}}
tests:
"""
# One column of each type that packed rows have, and what a source of text reads as it.
TYPES = {
    "b": ("bool", "true"),
    "u": ("u8", "255"),
    "i": ("i64", "-9223372036854775808"),
    "f": ("f32", "0.1"),
    "g": ("f64", "0.30000000000000004"),
    "h": ("f64", "-1e-310"),
    "k": ("f64", "inf"),
    "m": ("f64", "nan"),
    "d": ("date", "2026-02-28"),
    "t": ("timestamp", "2026-02-28T23:59:59.000001Z"),
    "p": ("decimal[2]", "-12.30"),
    "y": ("bytes[4]", "a'$\""),
}


class test_update_test(process_test):
    def update(self, name, *more, code=0):
        done = self.flowrun("test", "--update", name, *more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def becomes(self, before, after, job=LINES, updated=True):
        """The tests of `before` are rewritten to `after`; after that they pass, and nothing is left to rewrite."""
        self.write("a.yaml", job + before)
        done = self.update("a.yaml")
        self.assertEqual((self.dir / "a.yaml").read_bytes().decode(), job + after, done.stdout)
        if updated:
            self.assertIn("a.yaml  updated   ", done.stdout)
        plain = self.flowrun("test", "a.yaml")
        self.assertEqual((plain.returncode, plain.stderr), (0, ""), plain.stdout)
        self.nothing_to_do("a.yaml")
        return done.stdout

    def nothing_to_do(self, name):
        path = self.dir / name
        before = (path.stat(), path.read_bytes())
        done = self.update(name)
        self.assertIn(f"{name}  ok  ", done.stdout)
        self.assertNotIn("updated", done.stdout)
        after = (path.stat(), path.read_bytes())
        self.assertEqual((before[0].st_mtime_ns, before[0].st_ino, before[1]), (after[0].st_mtime_ns, after[0].st_ino, after[1]))

    def test_values_that_differ_and_nothing_else(self):
        said = self.becomes(
            "  - {name: flow,   given: {read: [b, a]}, expect: {write: [x, 'b'], n.n: 3}}  # behind\n",
            "  - {name: flow,   given: {read: [b, a]}, expect: {write: [a, 'b'], n.n: 2}}  # behind\n",
        )
        self.assertIn("  updated flow, line 9\n    write: expected 2 rows (-), found 2 (+)\n      - x\n      + a\n        b\n", said)
        self.assertIn("    n.n: expected 3, found 2\n", said)
        self.assertRegex(said, r"\n\n1 test passed, 1 updated in 1 spec \(")

    def test_blocks_keep_their_comments(self):
        self.becomes(
            '  - name: block\n    given: {read: [b, a, c, "010", d]}\n    expect:\n      write:   # rows\n'
            '        - "a"       # first\n        # own\n        - "q"       # second\n        - z\n'
            "        - 'c'       # last\n        # end\n      n.n: 4  # so many\n# the end\n",
            '  - name: block\n    given: {read: [b, a, c, "010", d]}\n    expect:\n      write:   # rows\n'
            '        - "010"\n        - "a"       # first\n        # own\n        - "b"       # second\n'
            "        - 'c'       # last\n        - 'd'\n        # end\n      n.n: 5  # so many\n# the end\n",
        )

    def test_lists_over_several_lines(self):
        self.becomes(
            '  - name: lines\n    given: {read: [b, a, c, d, e]}\n    expect:\n      write: [\n        "a",   # one\n'
            '        # between\n        "x",   # two\n        "d"    # three\n      ]\n',
            '  - name: lines\n    given: {read: [b, a, c, d, e]}\n    expect:\n      write: [\n        "a",   # one\n'
            '        # between\n        "b",   # two\n        "c",\n        "d",    # three\n        "e"\n      ]\n',
        )
        self.becomes(
            '  - name: few\n    given: {read: [b]}\n    expect: {write: ["a", "b",\n                     "c", "d"]}\n',
            '  - name: few\n    given: {read: [b]}\n    expect: {write: ["b"]}\n',
        )

    def test_from_nothing_and_to_nothing(self):
        self.becomes(
            "  - {given: {read: [a]}, expect: {write: []}}\n  - name: several\n    given: {read: [b, a]}\n    expect: {write: []}\n",
            '  - {given: {read: [a]}, expect: {write: ["a"]}}\n  - name: several\n    given: {read: [b, a]}\n'
            '    expect: {write: [\n      "a",\n      "b"\n    ]}\n',
        )
        self.becomes(
            "  - given: {read: []}\n    expect:\n      write:  # none\n        - a\n        # why\n        - b\n      n.n: 2\n"
            "  - {given: {read: []}, expect: {write: [a, b]}}\n",
            "  - given: {read: []}\n    expect:\n      write: []  # none\n        # why\n      n.n: 0\n"
            "  - {given: {read: []}, expect: {write: []}}\n",
        )

    def test_texts(self):
        self.becomes(
            "  - given: {read: [b, a]}\n    expect:\n      write: |\n        b\n        x\n\n      # behind\n      n.n: 1\n"
            '  - {given: {read: ["b $5", a]}, expect: {write: "a\\n"}}\n'
            "  - given: {read: ['', a]}\n    expect:\n      write: |\n        a\n",
            "  - given: {read: [b, a]}\n    expect:\n      write: |\n        a\n        b\n\n      # behind\n      n.n: 2\n"
            '  - {given: {read: ["b $5", a]}, expect: {write: "a\\x0ab $$5\\x0a"}}\n'
            "  - given: {read: ['', a]}\n    expect:\n      write: \"\\x0aa\\x0a\"\n",
        )

    def test_texts_that_are_reported(self):
        """They are compared whole and as they are, not as a report shows them."""
        job = ("flowrun: 1\nname: texts\nnodes:\n  read: {op: file.read_lines, with: {path: in}}\n"
               "  best: {op: reduce, in: read, with: {let: {name: 'min(text)'}}}\ntests:\n")
        tab, long = "a\tO\"Brien \\ \u00a0", "x" * 90
        before = "".join(f"  - {{given: {{read: [{json.dumps(t)}]}}, expect: {{best.name: no}}}}\n" for t in (tab, long + "y"))
        self.write("a.yaml", job + before)
        self.update("a.yaml")
        self.assertEqual(self.flowrun("test", "a.yaml").returncode, 0)
        changed = (self.dir / "a.yaml").read_text()
        self.assertIn(long + "y", changed.split("expect")[-1])
        self.write("a.yaml", changed.replace(f"best.name: {long}y", f"best.name: {long}z"))
        self.assertEqual(self.flowrun("test", "a.yaml").returncode, 1)

    def test_line_ends_a_byte_order_mark_and_no_end_of_the_last_line(self):
        before = LINES + "  - given: {read: [b, a, c]}\n    expect:\n      write:\n        - a  # ä\n        - x"
        after = LINES + "  - given: {read: [b, a, c]}\n    expect:\n      write:\n        - a  # ä\n        - b\n        - c"
        for begin, end in (("", "\r\n"), ("\ufeff", "\n"), ("\ufeff", "\r\n")):
            self.write("a.yaml", begin + before.replace("\n", end))
            self.update("a.yaml")
            self.assertEqual((self.dir / "a.yaml").read_bytes().decode(), begin + after.replace("\n", end))
            self.nothing_to_do("a.yaml")

    def test_lines_that_look_like_something_else(self):
        odd = ["010", "1e5", "null", "~", "true", "no", "2026-01-01", "- a", "a: b", "# c", "[d", "e ", " f", "", "$${g}", "ä€😀",
               "\\", '"', "'", "\t", "\u2028", "*h", "&i", "!j", "0x1f", "%k", "@l", "|", ">"]
        given = ", ".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"' for line in odd)
        for expected in ("[]", "[a]", "['a']", '["a"]', "''"):
            self.write("a.yaml", LINES + f"  - given: {{read: [{given}]}}\n    expect: {{write: {expected}}}\n")
            self.update("a.yaml")
            self.nothing_to_do("a.yaml")
        # Whoever reads the file with another reader of YAML finds texts, too.
        self.becomes("  - {given: {read: [7, x]}, expect: {write: [a, b]}}\n", '  - {given: {read: [7, x]}, expect: {write: ["7", x]}}\n')

    def test_each_type(self):
        for form in ("list", "map", "block", "none"):
            columns = ", ".join(f"{name}: '{type}'" for name, (type, _) in TYPES.items())
            job = (f"flowrun: 1\ntypes: {{row: {{{columns}}}}}\nnodes:\n  read: {{op: file.read_rows, with: {{path: x, type: row}}}}\n"
                   "  write: {op: file.write_rows, in: read, with: {path: y}}\ntests:\n")
            quoted = {name: "'" + text.replace("'", "''").replace("$", "$$") + "'" for name, (_, text) in TYPES.items()}
            row = "{" + ", ".join(f"{name}: {text}" for name, text in quoted.items()) + "}"
            zero = {name: {"bool": "false", "date": "1970-01-01", "timestamp": "1970-01-01", "bytes[4]": "abcd"}.get(type, "0")
                    for name, (type, _) in TYPES.items()}
            backwards = list(reversed(zero))
            expected = {
                "list": "[[" + ", ".join(zero.values()) + "]]",
                "map": "[{" + ", ".join(f"{name}: {zero[name]}" for name in backwards) + "}]",
                "block": "\n        - " + "\n          ".join(f"{name}: {zero[name]}  # {name}" for name in backwards),
                "none": "[]",
            }[form]
            self.write("a.yaml", job + f"  - given: {{read: [{row}, {row}]}}\n    expect:\n      write: {expected}\n")
            done = self.update("a.yaml")
            text = (self.dir / "a.yaml").read_text()
            self.assertIn("0.30000000000000004", text)
            if form == "block":
                self.assertIn("\n        - y: \"a'$$\\\"\"  # y\n          p: -12.30  # p\n", text)
                self.assertRegex(text, r"# b\n        - y: .*\n          p: -12.30\n")
            self.assertRegex(text, r"t: \"2026-02-28.23:59:59.000001.*\"" if form != "list" else "23:59:59")
            self.assertIn("+ {b: true, u: 255, ", done.stdout)
            self.nothing_to_do("a.yaml")

    def test_a_nan_is_a_nan(self):
        """0.0 / 0.0 has its sign set, which its text doesn't say."""
        job = ("flowrun: 1\nnodes:\n  read: {op: file.read_rows, with: {path: x, type: {a: f64, b: f32}}}\n"
               "  over: {op: map, in: read, with: {q: a / a, r: b / b, s: 0.0 - a / a}}\n"
               "  n: {op: reduce, in: over, with: {let: {sum: sum(q)}}}\n"
               "  write: {op: file.write_rows, in: over, with: {path: y}}\ntests:\n")
        self.becomes(
            "  - given: {read: [[0, 0], [2, 4]]}\n    expect: {write: [], n.sum: 1}\n"
            "  - given: {read: [[0, 0], [2, 4]]}\n    expect: {write: [[nan, nan, 7], [1, 1, -1]], n.sum: nan}\n",
            "  - given: {read: [[0, 0], [2, 4]]}\n    expect: {write: [\n      {q: nan, r: nan, s: nan},\n"
            "      {q: 1, r: 1, s: -1}\n    ], n.sum: nan}\n"
            "  - given: {read: [[0, 0], [2, 4]]}\n    expect: {write: [[nan, nan, nan], [1, 1, -1]], n.sum: nan}\n",
            job=job,
        )

    def test_only_cells_that_differ(self):
        job = ("flowrun: 1\nnodes:\n  read: {op: file.read_rows, with: {path: x, type: {a: u32, b: i16}}}\n"
               "  write: {op: file.write_rows, in: read, with: {path: y}}\ntests:\n")
        self.becomes(
            "  - given: {read: [[1, 2], [3, 4], [5, 6], [7, 8]]}\n    expect:\n      write:\n"
            "        - {b: 2,   a: '1'}\n        - [ 3, 9 ]   # nine\n        - {b: '1', a: 5}\n",
            "  - given: {read: [[1, 2], [3, 4], [5, 6], [7, 8]]}\n    expect:\n      write:\n"
            "        - {b: 2,   a: '1'}\n        - [ 3, 4 ]   # nine\n        - {b: '6', a: 5}\n        - {b: 8, a: 7}\n",
            job=job,
        )

    def test_several_files(self):
        self.becomes(
            "  - given: {read: ['DE,1', 'FR,2', 'AT,3', 'AT,4']}\n    expect: {parts: {out/DE.csv: ['DE,2'], out/IT.csv: ['IT,1']}}\n"
            "  - given: {read: ['DE,1', 'AT,3', 'AT,4']}\n    expect:\n      parts:\n        out/IT.csv: ['IT,1']  # gone\n"
            "        # Germany\n        out/DE.csv: ['DE,1']\n"
            "  - given: {read: []}\n    expect:\n      parts:\n        out/IT.csv: ['IT,1']\n"
            "  - given: {read: ['DE,1']}\n    expect: {parts: {}}\n",
            "  - given: {read: ['DE,1', 'FR,2', 'AT,3', 'AT,4']}\n    expect: {parts: {out/DE.csv: ['DE,1'], out/AT.csv: [\n"
            "      \"AT,3\",\n      \"AT,4\"\n    ], out/FR.csv: [\"FR,2\"]}}\n"
            "  - given: {read: ['DE,1', 'AT,3', 'AT,4']}\n    expect:\n      parts:\n"
            "        # Germany\n        out/DE.csv: ['DE,1']\n        out/AT.csv: [\n          \"AT,3\",\n          \"AT,4\"\n        ]\n"
            "  - given: {read: []}\n    expect:\n      parts: {}\n"
            "  - given: {read: ['DE,1']}\n    expect: {parts: {out/DE.csv: [\"DE,1\"]}}\n",
            job=PARTS,
        )

    def test_what_is_left_alone(self):
        self.environment["SECRET"] = "hunter2"
        job = LINES.replace("nodes:", "params: {p: {type: string, default: x}}\nnodes:")
        tests = (
            "  - {name: parameter, given: {read: [b, a]}, expect: {write: ['${p}', b]}}\n"
            "  - {name: anchor, given: {read: [b, a]}, expect: {write: &rows [x], n.n: 7}}\n"
            "  - {name: alias, given: {read: [b, a]}, expect: {write: *rows}}\n"
            "  - &whole {name: whole, given: {read: [b, a]}, expect: {n.n: 7}}\n"
            "  - *whole\n"
            "  - {name: secret, given: {read: ['my ${env:SECRET}']}, expect: {write: [x]}}\n"
            "  - {name: bytes, given: {read: [a]}, expect: {write: [a], n.m: 7}}\n"
            "  - {name: other, given: {read: [b, a]}, fails: no such thing}\n"
            "  - {name: good, given: {read: [b, a]}, expect: {n.n: 3}}\n"
        )
        self.write("a.yaml", job + tests)
        done = self.update("a.yaml", code=1)
        after = tests.replace("n.n: 7}}\n  - {name: alias", "n.n: 2}}\n  - {name: alias").replace("n.n: 3", "n.n: 2")
        self.assertEqual((self.dir / "a.yaml").read_text(), job + after)
        said = done.stdout
        self.assertIn("a.yaml:10:63: write stays as it is: a parameter stands in it\n", said)
        self.assertIn("a.yaml:11:59: write stays as it is: it has an anchor, or is an alias of a value that has one\n    the rest was updated\n", said)
        self.assertEqual(said.count("it has an anchor, or is an alias"), 4)
        self.assertRegex(said, r"a.yaml:15:\d+: write stays as it is: what came holds a value of \$\{env:…\}")
        self.assertNotIn("hunter2", said + done.stderr + (self.dir / "a.yaml").read_text())
        self.assertIn("n reports no 'm'; it reports n\n", said)
        self.assertIn("it succeeded, and should have failed with 'no such thing'", said)
        self.assertIn("  updated good, line 18\n", said)
        self.assertRegex(said, r"FAILED: 8 of 9 tests, 1 updated in 1 spec")
        # A line that is not UTF-8 has no place in YAML.
        self.write("b.yaml", LINES.replace("op: sort, in: read, with: {by: [text]}", "op: map, in: read, with: {text: 'text[0:1]'}")
                   + "  - {name: half a letter, given: {read: [ä]}, expect: {write: [x]}}\n")
        before = (self.dir / "b.yaml").read_bytes()
        self.assertIn("write stays as it is: what came is not UTF-8, and YAML can say nothing else", self.update("b.yaml", code=1).stdout)
        self.assertEqual((self.dir / "b.yaml").read_bytes(), before)

    def test_what_is_never_the_same_is_left_with_what_is_beside_it(self):
        """The column has the path of a temporary file, which each run calls otherwise."""
        job = LINES.replace("{path: x}", "{path: x, file_column: file}").replace("sorted, with: {path: y}", "lines, with: {path: y}")
        job = job.replace("  write:", "  lines: {op: map, in: sorted, with: {text: file}}\n  write:")
        text = job + "  - {given: {read: [b, a]}, expect: {write: [], n.n: 1}}\n"
        self.write("a.yaml", text)
        done = self.update("a.yaml", code=1)
        self.assertIn("it stays as it is: a second run gave something else", done.stdout)
        self.assertEqual((self.dir / "a.yaml").read_text(), text)

    def test_faults_and_failures_change_nothing(self):
        self.write("a.yaml", LINES.replace("by: [text]", "by: [txt]") + "  - {given: {read: [b]}, expect: {write: [x]}}\n")
        before = (self.dir / "a.yaml").read_bytes()
        done = self.update("a.yaml", code=78)
        self.assertIn("unknown column 'txt'", done.stderr)
        self.assertEqual((self.dir / "a.yaml").read_bytes(), before)
        job = LINES.replace("  write:", "  c: {op: check, in: sorted, with: {unique: [text]}}\n  write:").replace("in: sorted, with: {path: y}", "in: c, with: {path: y}")
        self.write("b.yaml", job + "  - {given: {read: [b, b]}, expect: {write: [x]}}\n")
        before = (self.dir / "b.yaml").read_bytes()
        self.assertIn("it failed:\n", self.update("b.yaml", code=1).stdout)
        self.assertEqual((self.dir / "b.yaml").read_bytes(), before)

    def test_several_specs_and_a_filter(self):
        test = "  - {name: one, given: {read: [b, a]}, expect: {n.n: 3}}\n  - {name: two, given: {read: [b, a]}, expect: {n.n: 3}}\n"
        for name in ("d/a.yaml", "d/b.yaml"):
            self.write(name, LINES + test)
        done = self.update("d", "-k", "two", code=0)
        self.assertEqual(done.stdout.count("updated   1 of 1 test\n"), 2)
        for name in ("d/a.yaml", "d/b.yaml"):
            self.assertEqual((self.dir / name).read_text(), LINES + test[:-5] + " 2}}\n")
        done = self.flowrun("-q", "test", "-u", "d")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual((self.dir / "d/a.yaml").read_text(), LINES + test.replace("3", "2"))

    def test_links_and_permissions_stay(self):
        path = self.write("real/a.yaml", LINES + "  - {given: {read: [b, a]}, expect: {n.n: 3}}\n")
        path.chmod(0o640)
        (self.dir / "link.yaml").symlink_to("real/a.yaml")
        self.update("link.yaml")
        self.assertTrue((self.dir / "link.yaml").is_symlink())
        self.assertIn("n.n: 2", path.read_text())
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        self.assertEqual(self.files(), ["link.yaml", "real/a.yaml"])

    def test_hard_links_keep_what_was_there(self):
        text = LINES + "  - {given: {read: [b, a]}, expect: {n.n: 3}}\n"
        path = self.write("a.yaml", text)
        os.link(path, self.dir / "copy.of.a")
        done = self.update("a.yaml")
        self.assertIn("warning: a.yaml has other names (hard links), which keep what it was before", done.stderr)
        self.assertEqual(path.read_text(), text.replace("3", "2"))
        self.assertEqual((self.dir / "copy.of.a").read_text(), text)

    def test_nothing_changes_that_can_not_be_told(self):
        text = LINES + "  - {given: {read: [b, a]}, expect: {n.n: 3}}\n"
        path = self.write("a.yaml", text)
        done = self.shell('exec "$0" test --update a.yaml > /dev/full')
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertIn(b"can't write to standard output", done.stderr)
        self.assertEqual(path.read_text(), text)
        self.assertEqual(self.files(), ["a.yaml"])

    def test_a_file_that_can_not_be_written(self):
        text = LINES + "  - {given: {read: [b, a]}, expect: {n.n: 3}}\n"
        path = self.write("a.yaml", text)
        path.chmod(0o444)
        done = self.update("a.yaml", code=73)
        self.assertIn("can't update a.yaml: it is read-only; the file is as it was", done.stderr)
        self.assertIn("help: make it writable", done.stderr)
        self.assertEqual(path.read_text(), text)
        # With nothing to change it is not written to.
        path.chmod(0o644)
        path.write_text(text.replace("3", "2"))
        path.chmod(0o444)
        self.assertEqual(self.update("a.yaml").returncode, 0)
        # As on a full disk: no file may grow beyond so many bytes.
        path.chmod(0o644)
        path.write_text(text + "# " + 60000 * "x" + "\n")
        before = path.read_bytes()
        done = self.shell("ulimit -f 20; trap '' XFSZ; exec \"$0\" test --update a.yaml")
        self.assertEqual(done.returncode in (73, 74), True, done)
        self.assertIn(b"can't write", done.stderr)
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(self.files(), ["a.yaml"])

    def test_standard_input_has_no_file(self):
        done = self.flowrun("test", "--update", "-")
        self.fails(64, done, "--update can't rewrite standard input: it has no file", "save the job to a file")
        os.mkfifo(self.dir / "pipe")
        self.fails(64, self.flowrun("test", "-u", "pipe"), "--update can't rewrite pipe: it is no file")

    def test_any_layout(self):
        """Rows written in every way that YAML has: comments behind rows that stay are kept, and all else is."""
        seed = int(os.environ.get("FLOWRUN_SEED", "1"))
        draw = random.Random(seed)
        words = ["a", "b", "c", "d", "e", "f g", "h,i", "7", "k: l", "#m", "it's", 'say "n"', "$o"]

        def scalar(text):
            forms = ['"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"',
                     "'" + text.replace("'", "''").replace("$", "$$") + "'"]
            if re.fullmatch(r"[a-z]( [a-z])?", text):
                forms.append(text)
            return draw.choice(forms)

        def rows(count):
            return sorted(draw.choice(words) for _ in range(count))

        def layout(items, indent):
            pad = " " * indent
            style = draw.randrange(5)
            if not items:
                return draw.choice([" []", " [ ]", " [  # none\n" + pad + "]"])
            comment = lambda: draw.choice(["", "", f"  # note {draw.randrange(1000)}"])
            if style == 0:
                return "\n" + "\n".join(draw.choice(["", f"{pad}# over {draw.randrange(1000)}\n"]) + f"{pad}-{' ' * draw.choice([1, 3])}{scalar(i)}{comment()}" for i in items)
            if style == 1:
                return " [" + ", ".join(map(scalar, items)) + draw.choice(["", ", "]) + "]"
            if style == 2:
                last = draw.choice(["", ","])
                lines = [pad + scalar(i) + ("," if n + 1 < len(items) else last) + comment() for n, i in enumerate(items)]
                return " [" + comment() + "\n" + "\n".join(lines) + "\n" + pad + "]"
            if style == 3:
                return " [" + (",\n" + pad).join(map(scalar, items)) + " ]"
            return " [ " + "".join(scalar(i) + draw.choice([", ", " ,", ",\n" + pad]) for i in items) + "]"

        for attempt in range(6):
            tests, kept = "", []
            for number in range(25):
                given, expected = rows(draw.randrange(6)), rows(draw.randrange(6))
                tests += (f"  - name: test {number}\n    once: true\n    given: {{read: [{', '.join(map(scalar, given))}]}}\n"
                          f"    expect:  # of test {number}\n      write:{layout(expected, 8)}\n      # behind {number}\n      n.n: {len(given)}\n")
                kept += [f"# of test {number}", f"# behind {number}"]
            self.write("a.yaml", LINES + tests)
            done = self.flowrun("test", "a.yaml", "-u")
            text = (self.dir / "a.yaml").read_text()
            where = f"FLOWRUN_SEED={seed}, attempt {attempt}\n{LINES + tests}\n{text}\n"
            self.assertEqual((done.returncode, done.stderr), (0, ""), where + done.stdout)
            for comment in kept:
                self.assertIn(comment + "\n", text, where)
            for over in re.findall(r"# over \d+", tests):
                self.assertIn(over, text, where)
            self.nothing_to_do("a.yaml")


if __name__ == "__main__":
    main()
