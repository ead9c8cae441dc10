#!/usr/bin/env python3
"""Operators of plugins: what they do beside the built-in ones, and what becomes of jobs with bad ones.

    operators_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]     see plugin_tests.py
"""

import pathlib
import struct
import unittest

from plugin_tests import SANITIZERS, main, plugin_tests

HERE = pathlib.Path(__file__).resolve().parent


class operator_test(plugin_tests):
    """Operators of plugins do what the built-in ones of the same meaning do."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toy = cls.compile(cls.shared / "operators" / "toy.so", "", source=(HERE / "toy_operators.cc").read_text().replace("%", "%%"))

    def run_job(self, nodes, *more, code=0):
        self.write("job.yaml", "flowrun: 1\nplugins: [toy]\nnodes:\n" + nodes)
        done = self.flowrun("job.yaml", "--plugin", self.toy.parent, "-T", "scratch", *more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def alike(self, *jobs):
        outputs = []
        for nodes in jobs:
            for more in ((), ("-j", "1"), ("-j", "3", "--batch-size", "4KiB"), ("--plain-executor", "--force-spill")):
                self.run_job(nodes, *more)
                outputs.append((self.dir / "out.csv").read_bytes())
        self.assertGreater(len(outputs[0]), 100)
        self.assertEqual(set(outputs), {outputs[0]})

    def test_stateless(self):
        rows = "  rows: {op: generate, with: {rows: 20000, columns: {value: \"rand(1, i)\"}}}\n"
        out = "  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"
        self.alike(rows + "  made: {op: toy.repeat, in: rows, with: {times: 3}}\n" + out,
                   rows + "  made: {op: flat_map, in: rows, with: {rows: [{value: value}, {value: value}, {value: value}]}}\n" + out)
        self.alike(rows + "  made: {op: toy.label, in: rows, with: {of: [value]}}\n" + out,
                   rows + "  made: {op: map, in: rows, with: {value: value, label: \"concat('no.', value)\"}}\n" + out)

    def test_rows_that_are_given_one_by_one(self):
        """They come on in batches: one of a row takes far more memory than the row."""
        self.run_job("""  rows: {op: generate, with: {rows: 300000, columns: {value: "rand(1, i)"}}}
  made: {op: toy.repeat, in: rows, with: {times: 10}}
  sorted: {op: sort, in: made, with: {by: [value]}}
  out: {op: file.write_rows, in: sorted, with: {path: out.rows}}
""", "-m", "32MiB", "--report", "report.json")
        self.assertEqual((self.dir / "out.rows").stat().st_size, 10 * 300000 * 8)
        self.within_budget(self.report())

    def test_columns_that_are_younger_than_the_plugin(self):
        """One that was built for version 1.0 knows neither times nor decimals, one for 1.1 no decimals; one of today passes
        them on."""
        rows = "  rows: {op: generate, with: {rows: 3, columns: {value: i, price: \"to_decimal(i, 2)\", day: \"to_date('2026-01-01') + i\"}}}\n"
        made = "  made: {op: toy.beside, in: rows}\n  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"
        new, old = self.toy.read_bytes(), self.dir / "old" / "toy.so"
        self.run_job(rows + made)
        self.assertIn("2.00,2026-01-03", (self.dir / "out.csv").read_text())
        at = new.index(struct.pack("<II", 1, 2), new.index(b"flowrun\0"))
        old.parent.mkdir()
        for minor, column in ((1, "'price', of decimal[2]"), (0, "'day', of date")):
            old.write_bytes(new[: at + 4] + struct.pack("<I", minor) + new[at + 8 :])
            given = rows if minor == 1 else rows.replace('price: "to_decimal(i, 2)", ', "")
            self.write("job.yaml", "flowrun: 1\nplugins: [toy]\nnodes:\n" + given + made)
            done = self.flowrun("job.yaml", "--plugin", old.parent)
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertIn(f"the plugin was built before there were columns such as {column}", done.stderr)

    def test_rows_passed_and_written_keep_their_order(self):
        rows = "  rows: {op: generate, with: {rows: 20000, columns: {value: \"rand(1, i)\"}}}\n"
        out = "  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"
        self.alike(rows + "  made: {op: toy.beside, in: rows}\n" + out,
                   rows + "  made: {op: flat_map, in: rows, with: {rows: [{value: value}, {value: value + 1}]}}\n" + out)

    def test_ordered(self):
        rows = """  drawn: {op: generate, with: {rows: 20000, columns: {value: "rand(1, i) % 300"}}}
  rows: {op: sort, in: drawn, with: {by: [value]}}
"""
        out = "  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"
        self.alike(rows + "  made: {op: toy.changes, in: rows, with: {by: [value]}}\n" + out,
                   rows + "  made: {op: group, in: rows, with: {by: [value]}}\n" + out)

    def test_source_and_reports_and_sinks(self):
        done = self.run_job("""  rows: {op: toy.upward, with: {rows: 100000}}
  total: {op: toy.total, in: rows, with: {of: [value]}}
  forget: {op: toy.forget, in: rows, with: {of: [value]}}
""", "--report", "report.json")
        self.assertIn("forgotten: 4999950000", done.stderr)
        report = self.report()
        self.assertEqual([r["value"] for r in report["results"]], ["4999950000"])
        self.assertEqual({n["id"]: (n["op"], n["rows"]) for n in report["nodes"]}["rows"], ("toy.upward", "100000"))

    def test_in_a_loop(self):
        done = self.run_job("""  start: {op: toy.upward, with: {rows: 3}}
  grown:
    op: loop
    in: {start: start}
    with:
      carry: {current: {from: start}, i: {value: 0}}
      body:
        twice: {op: toy.repeat, in: current, with: {times: 2}}
      next: {current: twice, i: i + 1}
      until: "i == 4"
  total: {op: reduce, in: grown.current, with: {let: {n: "count()"}}}
""", "--report", "report.json")
        self.assertEqual({r["node"]: r["value"] for r in self.report()["results"]}["total"], "48", done.stderr)

    def test_rows_that_grow_stay_within_the_budget(self):
        done = self.run_job("""  rows: {op: toy.upward, with: {rows: 2000}}
  made: {op: toy.label, in: rows, with: {of: [value], length: 100KB}}
  long: {op: map, in: made, with: {n: "length(label)"}}
  out: {op: file.write_csv, in: long, with: {path: out.csv}}
""", "-m", "64MiB", "--report", "report.json")
        self.assertEqual((self.dir / "out.csv").read_text().split(), ["100000"] * 2000, done.stderr)
        self.within_budget(self.report())
        done = self.run_job("""  rows: {op: toy.upward, with: {rows: 10}}
  made: {op: toy.label, in: rows, with: {of: [value], length: 20MB}}
  out: {op: file.write_csv, in: made, with: {path: out.csv}}
""", "-m", "64MiB", code=75)
        self.assertIn("node 'made': one row takes", done.stderr)

    def test_what_flowrun_says_about_them(self):
        for command, parts in ((["ops"], ["toy.repeat", "Gives each row several times."]),
                               (["ops", "toy.label"], ["A text for each number.", "default no.", "a size, such as 64MiB"]),
                               (["reference"], ["toy.changes", "The first row of each value."]),
                               (["schema"], ['"toy.upward"']),
                               (["plugins"], ["operator   toy.total", "Adds numbers up."])):
            with self.subTest(command=command):
                done = self.flowrun("--plugin", self.toy, *command)
                for part in parts:
                    self.assertIn(part, done.stdout)
        self.write("job.yaml", "flowrun: 1\nplugins: [toy]\nnodes:\n  rows: {op: toy.upward, with: {rows: 7}}\n"
                               "  made: {op: toy.label, in: rows, with: {of: [value]}}\n"
                               "  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"
                               "tests: [{name: two, given: {rows: [[5], [6]]}, expect: {out: ['5,no.5', '6,no.6']}}]\n")
        self.assertIn("toy.label", self.flowrun("plan", "job.yaml", "--plugin", self.toy).stdout)
        done = self.flowrun("test", "job.yaml", "--plugin", self.toy)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_files_that_are_read(self):
        """Also by an operator that is no source."""
        plugin = self.plugin("""plugin.add(fr::stateless<fr::row_type>("tag").summary("Tags.").input("in", "rows").output("out", "rows")
            .parameter({.name = "file", .kind = FR_PARAMETER_PATH, .required = true, .help = "The tag."})
            .check([](fr::node& node) { node.set_output(0, node.input(), node.input_order()); return node.input(); })
            .apply([](const fr::row_type&, const fr::batch& in, fr::out& out) { out.pass(in, 0, in.size()); }));""")
        job = """flowrun: 1
plugins: [toy]
nodes:
  rows: {op: generate, with: {rows: 9, columns: {value: i}}}
  made: {op: toy.tag, in: rows, with: {file: FILE}}
  out: {op: file.write_csv, in: made, with: {path: out.csv}}
"""
        for file, parts in (("none.txt", ("job.yaml:5:", "none.txt", "No such file")),
                            ("out.csv", ("job.yaml:6:", "'out' writes 'out.csv', which 'made' reads"))):
            self.write("job.yaml", job.replace("FILE", file))
            done = self.flowrun("check", "job.yaml", "--plugin", plugin)
            self.assertNotEqual(done.returncode, 0)
            for part in parts:
                self.assertIn(part, done.stderr)

    def test_faults(self):
        for node, place, *parts in (
            ("{op: toy.repeat, in: rows}", "5:", "times"),
            ("{op: toy.repeat, in: rows, with: {times: often}}", "5:50", "often"),
            ("{op: toy.repeat, in: rows, with: {time: 3}}", "5:43", "did you mean 'times'?"),
            ("{op: toy.label, in: rows, with: {of: [valu]}}", "5:47", "did you mean 'value'?"),
            ("{op: toy.label, in: rows, with: {of: [real]}}", "5:", "this is no u64 column", "one column of type u64", "write u64(x)"),
            ("{op: toy.changes, in: rows, with: {by: [value]}}", "5:", "'toy.changes' needs 'rows' sorted by value", "op: sort"),
            ("{op: toy.repeet, in: rows}", "5:14", "did you mean 'toy.repeat'?"),
        ):
            with self.subTest(node=node):
                done = self.run_job('  rows: {op: generate, with: {rows: 9, columns: {value: "rand(1, i)", real: "f64(i)"}}}\n'
                                    f"  made: {node}\n  out: {{op: file.write_csv, in: made, with: {{path: out.csv}}}}\n", code=78)
                for part in (f"job.yaml:{place}", *parts):
                    self.assertIn(part, done.stderr)


class bad_operator_test(plugin_tests):
    """Whatever an operator does wrong, the job ends with its name, and nothing appears."""

    OPERATOR = """struct settings { fr::row_type type{std::vector<fr::column>{{"value", {FR_U64, 8}}}};
      %(members)s };
FLOWRUN_PLUGIN("toy", "1.2.3") {
  plugin.add(fr::stateless<settings>("%(name)s").summary("%(summary)s").input("in", "rows").output("out", "rows")
    .check([]([[maybe_unused]] fr::node& node) { settings s; %(check)s return s; })
    .apply([](const settings& s, const fr::batch& in, fr::out& out) { (void)s; (void)in; (void)out; %(apply)s }));
  %(more)s
}
"""

    def operator(self, **parts):
        values = {"name": "bad", "summary": "Bad.", "members": "", "more": "", "apply": "out.pass(in, 0, in.size());",
                  "check": "node.set_output(0, s.type);", **parts}
        return self.compile(self.dir / "plugins" / "toy.so", "",
                            source="#include <flowrun/plugin.hpp>\n#include <stdexcept>\n#include <cstdlib>\n"
                                   + (self.OPERATOR % values).replace("%", "%%"))

    def fail(self, code, *expected, **parts):
        plugin = self.operator(**parts)
        self.write("job.yaml", "flowrun: 1\nplugins: [toy]\nnodes:\n  rows: {op: generate, with: {kind: counter, rows: 100}}\n"
                               "  made: {op: toy.bad, in: rows}\n  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n")
        done = self.flowrun("job.yaml", "--plugin", plugin.parent, "-T", "scratch", "-m", "64MiB")
        self.assertEqual(done.returncode, code, done.stderr)
        for part in ("plugin toy 1.2.3", *expected):
            self.assertIn(part, done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())
        self.assertEqual(list((self.dir / "scratch").glob("*")) if (self.dir / "scratch").exists() else [], [])

    def test_what_is_wrong_with_its_rows(self):
        where = "node 'made': plugin toy 1.2.3, operator bad"
        self.fail(70, where, "it gives rows of 8 bytes where rows have 16", check="""
            node.set_output(0, fr::row_type({{"a", {FR_U64, 8}}, {"b", {FR_U64, 8}}}));""")
        self.fail(70, where, "rows that lie neither in what it was handed nor in memory that it took", apply="""
            static unsigned char mine[8]; fr_batch b = in.raw(); b.rows = mine; b.num_rows = 1;
            const fr::batch own(b); out.pass(own, 0, 1);""")
        self.fail(70, where, "rows whose column 'a' has a bool that is neither 0 nor 1", check="""
            node.set_output(0, fr::row_type({{"a", {FR_BOOL, 1}}, {"b", {FR_BYTES, 7}}}));""")
        self.fail(70, where, "rows whose column 'a' has a string outside of their heap", check="""
            s.type = fr::row_type({{"a", {FR_STRING, 8}}}); node.set_output(0, s.type);""", apply="""
            auto& rows = out.rows(s.type); rows.put(rows.append(), 0, fr_string{7, 100000});""")
        for apply in ("out.pass(in, 0, 1, 7);", "try { out.pass(in, 0, 1, 7); } catch (...) {}"):
            self.fail(70, where, "rows to output 7, which it doesn't have", apply=apply)
        self.fail(70, where, "one step took", apply="""
            for (int i = 0; i < 100'000'000; ++i) { auto& rows = out.rows(s.type); rows.put(rows.append(), 0, i); }""")

    def test_checks(self):
        where = "plugin toy 1.2.3, operator bad"
        self.fail(70, where, "its check leaves the output 'out' without columns", check="(void)node;")
        self.fail(78, where, "would give two columns the name 'a'", check='node.set_output(0, fr::row_type({{"a", {FR_U64, 8}}, {"a", {FR_U64, 8}}}));')
        self.fail(78, where, "would give a column the name 'a b'", check='node.set_output(0, fr::row_type({{"a b", {FR_U64, 8}}}));')
        self.fail(70, where, "sorted by 'b', which it doesn't have", check='node.set_output(0, s.type, {{"b"}});')
        for part in ("4, 4294967295", "0, 9", "2, 4"):  # of a column of 8 bytes, and of numbers there are no parts
            self.fail(70, where, "sorted by bytes of 'k' that there are not",
                      check='node.set_output(0, fr::row_type({{"k", {%s, 8}}}), {{"k", false, %s}});' % ("FR_U64" if part == "2, 4" else "FR_BYTES", part))
        self.fail(70, where, "it sets output 3", check="node.set_output(3, s.type);")
        self.fail(65, where, "not today", check='throw fr::error("not today");')
        self.fail(78, where, "no licence", check='throw fr::error("no licence", "buy one", FR_BAD_SPEC);')

    def test_exceptions(self):
        where = "node 'made': plugin toy 1.2.3, operator bad"
        self.fail(65, where, "row 7 is bad", "mend it", apply='throw fr::error("row 7 is bad", "mend it");')
        self.fail(70, where, "oops", apply='throw std::runtime_error("oops");')
        self.fail(70, where, "an exception of an unknown type", apply="throw 1;")

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_crashes(self):
        self.fail(-6, "a crash inside of node 'made': plugin toy 1.2.3, operator bad", apply="std::abort();")
        self.fail(-6, "a crash inside of node 'made': plugin toy 1.2.3, operator bad", check="std::abort();")

    def test_declarations(self):
        for expected, parts in (("the name 'Bad' is no word", {"name": "Bad"}),
                                ("the operator bad has no summary", {"summary": ""}),
                                ("declares the operator toy.bad twice", {"more": """plugin.add(fr::stateless<settings>("bad").summary("B.")
                                    .input("in", "i").output("out", "o").check([](fr::node&) { return settings(); })
                                    .apply([](const settings&, const fr::batch&, fr::out&) {}));"""}),
                                ("the operator two has no check or no build", {"more": """plugin.add(fr::stateless<settings>("two").summary("B.")
                                    .input("in", "i").output("out", "o"));"""}),
                                ("has a parameter without a name or help", {"more": """plugin.add(fr::stateless<settings>("two").summary("B.")
                                    .input("in", "i").output("out", "o").parameter({.name = "x", .help = ""})
                                    .check([](fr::node&) { return settings(); }).apply([](const settings&, const fr::batch&, fr::out&) {}));"""})):
            with self.subTest(expected=expected):
                done = self.flowrun("version", "--plugin", self.operator(**parts))
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("plugin toy 1.2.3", done.stderr)
                self.assertIn(expected, done.stderr)

    def test_a_word_of_flowrun(self):
        plugin = self.compile(self.dir / "plugins" / "file.so", "", source="#include <flowrun/plugin.hpp>\n" + (self.OPERATOR % {
            "name": "read_csv", "summary": "Mine.", "members": "", "more": "", "apply": "", "check": "(void)node;"}
        ).replace('"toy"', '"file"').replace("%", "%%"))
        done = self.flowrun("version", "--plugin", plugin)
        self.assertEqual(done.returncode, 78)
        for part in ("plugin file 1.2.3", str(plugin), "file.read_csv, which is one of flowrun's own"):
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    main()
