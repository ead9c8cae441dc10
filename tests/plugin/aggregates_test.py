#!/usr/bin/env python3
"""Aggregates of plugins: what they do beside the built-in ones, the example with HyperLogLog, and what becomes of jobs
with bad ones.

    aggregates_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]     see plugin_tests.py
"""

import json
import pathlib
import subprocess
import unittest

from plugin_tests import COMPILERS, PLUGIN, SANITIZERS, main, plugin_tests

HERE = pathlib.Path(__file__).resolve().parent
# In memory; spilled with tiny blocks and batches; one thread and three.
VARIANTS = ((), ("-j", "1", "--batch-size", "700"), ("-j", "3", "--force-spill", "--block-size", "4096", "--batch-size", "4KiB", "-m", "24MiB"),
            ("--plain-executor", "--force-spill"))
# Groups of one row and of hundreds.
ROWS = """  rows: {op: generate, with: {rows: 30000, columns: {k: "u32(if(i % 3 == 0, rand(1, i) % 50, rand(1, i) % 20000))",
         v: "u16(rand(2, i) % 1000)", w: "i8(i % 200)", x: "f32(rand(3, i) % 1000) / 8", word: "string(rand(4, i) % 300)"}}}
"""
OUT = "  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"


def named(aggregates):
    return "{" + ", ".join(f'{name}: "{aggregate}"' for name, aggregate in aggregates.items()) + "}"


def grouped(**aggregates):
    """Behind a stable sort."""
    return ROWS + f"""  sorted: {{op: sort, in: rows, with: {{by: [k], stable: true}}}}
  made: {{op: group, in: sorted, with: {{by: [k], let: {named(aggregates)}}}}}
""" + OUT


def combined(**aggregates):
    return ROWS + f"  made: {{op: sort, in: rows, with: {{by: [k], combine: {named(aggregates)}}}}}\n" + OUT


def reduced(**aggregates):
    return ROWS + f"  made: {{op: reduce, in: rows, with: {{let: {named(aggregates)}}}}}\n" + OUT


class aggregate_tests(plugin_tests):
    def run_job(self, plugin, nodes, *more, code=0, name="toy"):
        self.write("job.yaml", f"flowrun: 1\nplugins: [{name}]\nnodes:\n" + nodes)
        done = self.flowrun("job.yaml", "--plugin", plugin, "-T", "scratch", *more)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(self.files("scratch"), [])
        return done

    def spilled_bytes(self, plugin, nodes, **more):
        self.run_job(plugin, nodes, "--force-spill", "-m", "24MiB", "--report", "report.json", **more)
        return int(json.loads((self.dir / "report.json").read_text())["actual"]["scratch_written_bytes"])

    def files(self, folder):
        return [p for p in (self.dir / folder).glob("*")] if (self.dir / folder).exists() else []

    def alike(self, plugin, *jobs, lines=100, name="toy"):
        outputs = []
        for nodes in jobs:
            for more in VARIANTS:
                self.run_job(plugin, nodes, *more, name=name)
                outputs.append((self.dir / "out.csv").read_bytes())
                self.assertEqual(outputs[-1], outputs[0], (nodes, more))
        self.assertGreaterEqual(len(outputs[0].splitlines()), lines)
        return outputs[0].decode().splitlines()


class use_test(aggregate_tests):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toy = cls.compile(cls.shared / "aggregates" / "toy.so", "", source=(HERE / "toy_aggregates.cc").read_text().replace("%", "%%"))

    def test_beside_built_in_ones(self):
        own = {"a": "sum(v)", "b": "sum(w)", "c": "count()", "d": "sum(u8(v > 100))", "e": "max(v * 2)"}
        toys = {"a": "toy.sum(v)", "b": "toy.sum(w)", "c": "u64(0)", "d": "toy.above(v, 100)", "e": "max(v * 2)"}
        toys["c"] = "count()"
        self.alike(self.toy, grouped(**own), grouped(**toys), combined(**own), combined(**toys))
        self.alike(self.toy, reduced(**own), reduced(**toys), lines=1)
        # Without arguments; and narrow results.
        self.alike(self.toy, grouped(c="count()", n="sum(u8(starts_with(word, '12')))"), combined(c="toy.rows()", n="toy.begin(word, '12')"),
                   grouped(c="toy.rows()", n="toy.begin(word, '12')"))

    def test_sums_of_floats_go_by_the_order(self):
        self.alike(self.toy, grouped(s="sum(x * 0.1)"), grouped(s="toy.sum(x * 0.1)"))
        self.alike(self.toy, combined(s="sum(x * 0.1)"), combined(s="toy.sum(x * 0.1)"))
        self.alike(self.toy, reduced(s="sum(x * 0.1)"), reduced(s="toy.sum(x * 0.1)"), lines=1)

    def test_states_in_the_order_of_rows(self):
        jobs = [job(d=f"toy.{word}(v)") for job in (grouped, combined) for word in ("digest", "digest_text", "digest_whole")]
        self.alike(self.toy, *jobs)
        self.alike(self.toy, *(reduced(d=f"toy.{word}(v * 3)") for word in ("digest", "digest_text", "digest_whole")), lines=1)

    def test_narrow_states_go_with_rows_that_are_numbers(self):
        # Key and state have seven bytes.
        self.alike(self.toy, grouped(s="f32(max(u8(v)) - min(u8(v))) / 2").replace('s: "f32(max(u8(v)) - min(u8(v))) / 2"', 's: "toy.span(v)"'),
                   combined(s="toy.span(v)"))
        lines = self.alike(self.toy, grouped(low="min(u8(v & 255))", high="max(u8(v & 255))", s="toy.span(v & 255)"),
                           combined(low="min(u8(v & 255))", high="max(u8(v & 255))", s="toy.span(v & 255)"))
        for line in lines:
            _, low, high, span = line.split(",")
            self.assertEqual(float(span), (int(high) - int(low)) / 2)

    def test_states_travel_through_scratch(self):
        # 300,000 rows of 20 bytes have 50 keys: what is written is a row of each key and run.
        job = """  rows: {op: generate, with: {rows: 300000, columns: {k: "u32(rand(1, i) % 50)", v: "rand(2, i) % 1000", w: "i"}}}
  made: {op: sort, in: rows, with: {by: [k], combine: {d: "AGGREGATE"}}}
""" + OUT
        written, results = {}, {}
        for word in ("digest_text", "digest_whole"):
            written[word] = self.spilled_bytes(self.toy, job.replace("AGGREGATE", f"toy.{word}(v)"))
            results[word] = (self.dir / "out.csv").read_text()
        self.assertEqual(results["digest_text"], results["digest_whole"])
        self.assertGreater(written["digest_text"], 0)
        self.assertLess(5 * written["digest_text"], written["digest_whole"])

    def test_nothing_has_a_result_too(self):
        nodes = """  rows: {op: generate, with: {rows: 0, columns: {v: i}}}
  made: {op: OP}
""" + OUT
        aggregates = 'let: {n: "toy.rows()", d: "toy.digest_text(v)", s: "toy.span(v)"}'
        for op in ("group, in: rows, with: {by: [], %s}" % aggregates, "reduce, in: rows, with: {%s}" % aggregates):
            self.run_job(self.toy, nodes.replace("OP", op))
            self.assertEqual((self.dir / "out.csv").read_text(), "0,0,-1\n")

    def test_long_texts_and_wide_states_in_bounded_memory(self):
        nodes = """  rows: {op: generate, with: {rows: ROWS, columns: {k: i / 3, v: LENGTH}}}
  sorted: {op: sort, in: rows, with: {by: [k]}}
  made: {op: OP}
  short: {op: map, in: made, with: {s: length(s), t: t}}
  out: {op: file.write_csv, in: short, with: {path: out.csv}}
"""
        group = 'group, in: sorted, with: {by: [k], let: {s: "toy.stars(v)", t: "toy.wide(v, 65536)"}}'
        for more in VARIANTS:
            self.run_job(self.toy, nodes.replace("ROWS", "3000").replace("LENGTH", "u64(10000)").replace("OP", group), *more)
            self.assertEqual((self.dir / "out.csv").read_text(), 1000 * "30000,3\n")
        for op in (group, group.replace("by: [k]", "by: []"), group.replace("group", "reduce").replace("by: [k], ", "")):
            with self.subTest(op=op):
                done = self.run_job(self.toy, nodes.replace("ROWS", "30").replace("LENGTH", "u64(10000000)").replace("OP", op), "-m", "32MiB", code=75)
                self.assertIn("node 'made': one row takes", done.stderr)

    def test_constants_of_loops(self):
        nodes = """  rows: {op: generate, with: {rows: 1000, columns: {v: i}}}
  counted:
    op: loop
    in: {rows: rows}
    with:
      times: 4
      body:
        made: {op: reduce, in: rows, with: {let: {n: "toy.above(v, iteration * 100)"}}}
        kept: {op: map, in: made, with: {n: n}}
      collect: {all: kept}
  out: {op: file.write_csv, in: counted.all, with: {path: out.csv}}
"""
        self.run_job(self.toy, nodes)
        self.assertEqual((self.dir / "out.csv").read_text().split(), ["999", "899", "799", "699"])
        done = self.run_job(self.toy, nodes.replace("iteration * 100", "0 - f64(iteration)"), code=78)
        self.assertIn("a limit below 0 lets all pass", done.stderr)
        done = self.run_job(self.toy, nodes.replace("toy.above(v, iteration * 100)", "toy.wide(v, iteration)"), code=78)
        self.assertIn("a constant that has no value yet", done.stderr)

    def test_faults_stand_at_their_place(self):
        for call, column, *parts in (
            ("toy.sum(word)", 28, "no form of it suits these arguments", "(u64), (i64), (f64)"),
            ("toy.above(v, w)", 41, "this is not a constant"),
            ("toy.above(v, -1)", 41, "a limit below 0", "0 or more"),
            ("toy.above(word, 1)", 38, "string", "f64", "to_f64"),
            ("toy.above(v)", 28, "takes 2 arguments, not 1", "toy.above(x, limit)"),
            ("toy.abov(v, 1)", 28, "unknown aggregate 'toy.abov'", "toy.above"),
            ("toy.nothing(v)", 28, "unknown aggregate", "the plugin toy has toy.above"),
            ("tie.sum(v)", 28, "unknown aggregate", "tie"),
            ("toy.plus(v)", 28, "'toy.plus' is a function and no aggregate", "first(toy.plus(x))"),
            ("toy.sum(v) + 1", 28, "this is no aggregate"),
            ("sum(toy.sum(v))", 32, "'toy.sum' is an aggregate and no function", "aggregates stand alone"),
            ("toy.sum(srk)", 36, "unknown column 'srk'"),
            ("toy.wide(v, 70000)", 28, "its state would have 70000 bytes", "1 to 65536"),
        ):
            with self.subTest(call=call):
                self.write("job.yaml", "flowrun: 1\nplugins: [toy]\nnodes:\n" + ROWS + "  made: {op: reduce, in: rows,\n    with: {let: {abcd: 1, n: \"CALL\"}}}\n"
                           .replace("abcd: 1, n:", "somename:").replace("CALL", call) + OUT)
                done = self.flowrun("check", "job.yaml", "--plugin", self.toy)
                self.assertEqual(done.returncode, 78, done.stderr)
                for part in (f"job.yaml:7:{column + 1}", *parts):
                    self.assertIn(part, done.stderr)

    def test_what_flowrun_says_about_them(self):
        listed = self.flowrun("plugins", "--plugin", self.toy).stdout
        self.assertIn("aggregate  toy.above(x, limit) → u64", listed)
        for command in (["ops", "expressions"], ["reference"]):
            said = self.flowrun("--plugin", self.toy, *command).stdout
            self.assertIn("toy.above(x, limit) → u64", said)
            self.assertIn("aggregates of plugins", said.lower())
        checked = self.flowrun("plugins", "check", self.toy)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertRegex(checked.stdout, r"1 function, 10 aggregates, \d+ calls, \d{4,} rows: nothing is wrong")


class hyperloglog_test(aggregate_tests):
    """The example."""

    def test_builds_and_passes_its_tests(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                done = subprocess.run(["ctest", "--test-dir", self.example("hyperloglog", compiler), "--output-on-failure"],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_estimates_are_near(self):
        # Groups of 1, 2, 4, … 65,536 different values, each three times.
        rows = """  rows: {op: generate, with: {rows: 393213, columns: {k: "u8(63 - clz(i / 3 + 1))", v: "hash64(1, i / 3)", t: "string(i / 3)"}}}
"""
        nodes = rows + """  sorted: {op: sort, in: rows, with: {by: [k]}}
  made: {op: group, in: sorted, with: {by: [k], let: {n: "count()", a: "sketch.distinct(v, 12)", b: "sketch.distinct(t)", c: "sketch.distinct(f64(i64(v)), 16)"}}}
""" + OUT
        self.run_job(self.example("hyperloglog") / "sketch.so", nodes, name="sketch")
        lines = [[int(cell) for cell in line.split(",")] for line in (self.dir / "out.csv").read_text().splitlines()]
        self.assertEqual(len(lines), 17)
        for k, n, *estimates in lines:
            self.assertEqual(n, 3 << k)
            for estimate, precision in zip(estimates, (12, 10, 16)):
                # Four standard errors, and one for small numbers.
                self.assertLessEqual(abs(estimate - (1 << k)), 1 + 4 * 1.04 / 2 ** (precision / 2) * (1 << k), (k, precision))

    def test_the_same_bytes_on_every_way(self):
        # Rows so wide that a sketch of 64 bytes goes through scratch with them, and one of 1 KiB doesn't.
        rows = """  rows: {op: generate, with: {rows: 40000, columns: {k: "u32(rand(1, i) % 300)", a: "rand(2, i) % 9000", b: i, c: i, d: i}}}
"""
        def let(precision):
            return f'{{n: "count()", d: "sketch.distinct(a, {precision})"}}'
        for precision in (6, 10):
            with self.subTest(precision=precision):
                self.alike(self.example("hyperloglog") / "sketch.so",
                           rows + f"  made: {{op: sort, in: rows, with: {{by: [k], combine: {let(precision)}}}}}\n" + OUT,
                           rows + f"  sorted: {{op: sort, in: rows, with: {{by: [k]}}}}\n  made: {{op: group, in: sorted, with: {{by: [k], let: {let(precision)}}}}}\n" + OUT,
                           name="sketch")
        written = [self.spilled_bytes(self.example("hyperloglog") / "sketch.so", rows.replace("40000", "400000") +
                                      f"  made: {{op: sort, in: rows, with: {{by: [k], combine: {let(precision)}}}}}\n" + OUT, name="sketch")
                   for precision in (6, 10)]
        self.assertLess(10 * written[0], written[1])
        self.alike(self.example("hyperloglog") / "sketch.so", rows + f"  made: {{op: reduce, in: rows, with: {{let: {let(14)}}}}}\n" + OUT,
                   rows + f"  made: {{op: group, in: rows, with: {{by: [], let: {let(14)}}}}}\n" + OUT, lines=1, name="sketch")


BAD = """plugin.add(fr::aggregate("bad").signature("bad(x) → u64").help("Bad.").overload<uint64_t>(
    [](uint64_t& s, uint64_t x) { %s s += x; }, [](uint64_t& s, uint64_t more) { %s s += more; }, [](uint64_t s) { %s return s; }));"""
HEAD = "#include <atomic>\n#include <stdexcept>\n[[maybe_unused]] static std::atomic<uint64_t> calls = 0;\n"


class bad_test(aggregate_tests):
    NODES = """  rows: {op: generate, with: {rows: 200000, columns: {k: "u32(rand(1, i) % 90000)", v: i}}}
  made: {op: OP}
""" + OUT
    GROUP = "group, in: rows, with: {by: [], let: {n: toy.bad(v)}}"
    REDUCE = "reduce, in: rows, with: {let: {n: toy.bad(v)}}"
    SORT = "sort, in: rows, with: {by: [k], combine: {n: toy.bad(v)}}"

    def bad(self, update="", combine="", finish=""):
        return self.plugin(BAD % (update, combine, finish), source=HEAD + PLUGIN)

    def ends(self, plugin, ops, code, *parts):
        for op in ops:
            for more in ((), ("--force-spill", "-m", "24MiB", "-j", "3")):
                with self.subTest(op=op, more=more):
                    done = self.run_job(plugin, self.NODES.replace("OP", op), *more, code=code)
                    for part in ("node 'made': ", ": plugin toy 1.2.3, aggregate bad", *parts):
                        self.assertIn(part, done.stderr)
                    self.assertNotIn("bug in flowrun", done.stderr)
                    self.assertFalse((self.dir / "out.csv").exists())

    def test_exceptions_end_the_job(self):
        everywhere = (self.GROUP, self.REDUCE, self.SORT)
        throws = self.bad(update='if (x == 150000) throw fr::error("that is too much");')
        self.ends(throws, (self.SORT,), 65, "node 'made': 'toy.bad(v)' fails for the row {v: 150000}: plugin toy")
        self.ends(self.bad(update='if (x == 150000) throw fr::error("that is too much", "drop it");'), everywhere, 65, "that is too much", "drop it")
        self.ends(self.bad(update="if (x == 150000) throw 5;"), everywhere, 70, "an exception of an unknown type")
        self.ends(self.bad(combine='throw std::runtime_error("I never combine");'), (self.REDUCE, self.SORT), 70, "I never combine")
        self.ends(self.bad(finish='throw fr::error("no end");'), everywhere, 65, "no end")

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_a_crash_names_the_plugin(self):
        self.write("job.yaml", "flowrun: 1\nplugins: [toy]\nnodes:\n" + self.NODES.replace("OP", self.SORT))
        done = self.flowrun("job.yaml", "--plugin", self.bad(combine="std::abort();"), "-T", "scratch")
        self.assertEqual(done.returncode, -6, done.stderr)
        self.assertIn("a crash inside of plugin toy 1.2.3, aggregate bad", done.stderr)

    def test_states_that_are_none_do_not_compile(self):
        for state, part in (("std::string", "a state is plain data"), ("const char*", "a state has no pointers"),
                            ("std::array<char, 70000>", "a state has at most 64 KiB")):
            with self.subTest(state=state):
                self.write("bad.cc", "#include <array>\n#include <string>\n" + PLUGIN % {"name": "toy", "body": f"""
                    using state = {state};
                    plugin.add(fr::aggregate("bad").overload<state>([](state&, double) {{}}, fr::not_combinable, [](const state&) {{ return 1; }}));"""})
                done = subprocess.run([COMPILERS[0], "-std=c++20", "-fsyntax-only", f"-I{self.prefix}/include", self.dir / "bad.cc"], capture_output=True, text=True)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(part, done.stderr)

    def by_hand(self, bound):
        """A table that the header can't make."""
        return self.plugin("""static const auto name = std::string_view("bad");
          static fr_aggregate a{};
          a.size = sizeof a; a.name = a.signature = a.help = {name.size(), name.data()}; a.min_args = a.max_args = 1;
          a.bind = [](void*, const fr_argument*, size_t, fr_aggregate_binding* out, fr_problem*) -> int {
            out->result = {FR_U64, 0}; out->state_bytes = 8; %s return FR_OK; };
          a.start = [](const void*, unsigned char* states, size_t n, fr_problem*) -> int { std::memset(states, 0, 8 * n); return FR_OK; };
          a.update = [](const void*, const fr_groups*, const fr_cells*, size_t, fr_problem*) -> int { return FR_FAILED; };
          a.finish = [](const void*, const unsigned char*, const fr_call*) -> size_t { return 0; };
          raw = &a;""" % bound, source="""#include <cstring>
#include <flowrun/plugin.hpp>
static const fr_aggregate* raw;
static void declare(fr::plugin&) { %(body)s }
__attribute__((section(".note.flowrun"), used, aligned(4))) static const fr::detail::note_record note = fr::detail::make_note("%(name)s", "1.2.3");
extern "C" __attribute__((visibility("default"))) int flowrun_plugin_v1(const fr_host* host, const fr_registrar* r) {
  const int code = fr::detail::enter(host, r, &declare);
  r->add_aggregate(r->self, raw);
  return code;
}
""")

    def test_tables_that_are_wrong(self):
        for bound, part in (("out->state_bytes = 70000;", "its state has 70000 bytes, and one has 1 to 65536"),
                            ("out->state_bytes = 0;", "its state has 0 bytes"),
                            ("out->flags = FR_COMBINABLE;", "it is combinable and has no combine"),
                            ("out->result = {FR_BYTES, 8};", "it gives types that aggregates can't have")):
            with self.subTest(bound=bound):
                plugin = self.by_hand(bound)
                done = self.run_job(plugin, self.NODES.replace("OP", self.GROUP), code=78)
                for name in ("job.yaml:5", "plugin toy 1.2.3, aggregate bad", part):
                    self.assertIn(name, done.stderr)
        self.ends(self.by_hand(""), (self.GROUP,), 70, "failed and didn't say why")

    def test_words_that_are_taken(self):
        aggregate = BAD % ("", "", "")
        function = """plugin.add(fr::function("bad").signature("bad(x)").help("Bad.").overload([](double x) { return x; }));"""
        for body in (aggregate + aggregate, aggregate + function):
            plugin = self.plugin(body, source=HEAD + PLUGIN)
            done = self.flowrun("version", "--plugin", plugin)
            self.assertEqual(done.returncode, 70, done.stderr)
            self.assertIn("toy.bad twice", done.stderr)

    def check(self, body, *parts, code=70):
        plugin = self.plugin(body, source=HEAD + PLUGIN)
        done = self.flowrun("plugins", "check", plugin)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stdout + done.stderr)
        return done.stdout

    def test_what_plugins_check_finds(self):
        first = """plugin.add(fr::aggregate("bad").signature("bad(x)").help("Bad.")%s.overload<uint64_t>(
            [](uint64_t& s, uint64_t x) { if (s == 0) s = x; }, [](uint64_t& s, uint64_t more) { if (s == 0) s = more; }, [](uint64_t s) { return s; }));"""
        self.check(first % "", "bad(u64)", "in another order: an aggregate for which it matters says in_order()")
        self.check(first % ".in_order()", "nothing is wrong", code=0)
        self.check(BAD % ("", "s += 1;", ""), "gives another result from states that are combined of 2 parts")
        self.check(BAD % ("s += ++calls;", "", ""), "gives other results the second time")
        self.check(BAD % ("", "", "throw 1;"), "bad(u64): fails", "an exception of an unknown type")
        self.check(BAD % ("static thread_local uint64_t before; std::swap(before, x);", "", ""), "gives")
        said = self.check("""plugin.add(fr::aggregate("bad").signature("bad(x)").help("Bad.").overload<double>(
            [](double& s, double x) { s += x; }, [](double& s, double more) { s += more; }, [](double s) { return s; }));""",
                          "bad(f64): gives another result from states that are combined",
                          "; where combining rounds, fr::not_combinable stands in its place")
        self.assertEqual(said.count("bad(f64): "), 1, said)
        # A state that is larger than it says.
        self.check("""struct two { uint64_t a = 0, b = 0; };
          struct size { size_t state_bytes() const { return 8; } };
          plugin.add(fr::aggregate("bad").signature("bad(x)").help("Bad.").overload<fr::bytes>([] { return size(); },
            [](const size&, fr::bytes s, uint64_t x) { reinterpret_cast<two*>(s.data())->b = x; }, fr::not_combinable,
            [](const size&, fr::const_bytes) { return 0; }));""", "writes beyond the end of a state")


if __name__ == "__main__":
    main()
