#!/usr/bin/env python3
"""Functions of plugins: what jobs make of them, what checks and runs find wrong with them.

    functions_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]     see plugin_tests.py
"""

import pathlib
import struct
import subprocess
import unittest

from plugin_tests import COMPILERS, PLUGIN, PLUS, SANITIZERS, job, main, plugin_tests


class use_test(plugin_tests):
    def test_a_function_from_a_named_plugin(self):
        self.write("job.yaml", job("toy.plus(f64(value)) * 2", rows=5000))
        done = self.flowrun("job.yaml", "--plugin", self.good.parent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.csv").read_text().split(), [str(2 * (i + 1)) for i in range(5000)])

    def test_every_place_of_an_expression(self):
        nodes = """flowrun: 1
plugins: [toy]
nodes:
  numbers: {op: generate, with: {rows: 3000, columns: {v: "f64(i % 700)", w: "rand(1, i) % 100"}}}
  kept:    {op: filter, in: numbers, with: {where: "PLUS(v) > 20"}}
  sorted:  {op: sort, in: kept, with: {by: ["-PLUS(v)", w]}}
  scanned: {op: scan, in: sorted, with: {state: {s: 0.5}, set: {s: "PLUS(s) + v"}, emit: {v: v, w: w, s: "PLUS(s)"}}}
  windows: {op: window, in: scanned, with: {before: 1, let: {d: "PLUS(row[-1].s)"}}}
  again:   {op: sort, in: windows, with: {by: [w]}}
  groups:  {op: group, in: again, with: {by: [w], let: {d: "sum(PLUS(d))", m: "max(PLUS(v))"}}}
  out:     {op: file.write_csv, in: groups, with: {path: out.csv}}
"""
        outputs = []
        for function in ("toy.plus(", "(1 + "):
            self.write("job.yaml", nodes.replace("PLUS(", function))
            for more in ((), ("-j", "1"), ("--force-spill", "--batch-size", "4KiB")):
                done = self.flowrun("job.yaml", "--plugin", self.good.parent, *more)
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.append((self.dir / "out.csv").read_bytes())
        self.assertGreater(len(outputs[0]), 1000)
        self.assertEqual(set(outputs), {outputs[0]})

    def test_constants_and_columns_at_all_places(self):
        """Loops over numbers go by blocks of rows, with an eye on what is the same for all of them."""
        plugin = self.plugin("""plugin.add(fr::function("mix").signature("mix(a, b, c) → u64").help("Mixes.")
            .overload([](uint64_t a, uint64_t b, uint64_t c) { return a * 31 + (b < c ? b : c); }));
          plugin.add(fr::function("fma").signature("fma(a, b) → f64").help("Multiplies, then adds.")
            .overload([](double a, double b) { return a * b + a; }));
          plugin.add(fr::function("odd").signature("odd(a) → bool").help("Whether it is odd.")
            .overload([](int64_t a) { return a % 2 != 0; }));""", more=("-O2",))
        numbers = "  numbers: {op: generate, with: {rows: ROWS, columns: {x: \"rand(1, i) % 1000\", y: \"rand(2, i)\", f: \"f64(rand(3, i)) / 7\"}}}"
        lets = {"mix": [(f"toy.mix({a}, {b}, {c})", f"{a} * 31 + min({b}, {c})") for a in ("x", 3) for b in ("y % 1000", 500) for c in ("x", 7)],
                "fma": [(f"toy.fma({a}, {b})", f"({a} * {b}) + {a}") for a in ("f", 0.1) for b in ("f", 3.3)],
                "odd": [("toy.odd(x)", "x % 2 != 0")]}
        for rows in (1, 63, 64, 65, 3000):
            outputs = []
            for which in (0, 1):
                let = ", ".join(f"{name}{i}: \"{pair[which]}\"" for name, pairs in lets.items() for i, pair in enumerate(pairs))
                self.write("job.yaml", "flowrun: 1\nplugins: [toy]\nnodes:\n" + numbers.replace("ROWS", str(rows)) + f"""
  mapped: {{op: map, in: numbers, with: {{{let}}}}}
  out: {{op: file.write_csv, in: mapped, with: {{path: out.csv}}}}
""")
                done = self.flowrun("job.yaml", "--plugin", plugin)
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.append((self.dir / "out.csv").read_bytes())
            self.assertEqual(*outputs)

    def test_dates_and_timestamps(self):
        plugin = self.plugin("""plugin.add(fr::function("next").signature("next(t)").help("The next day, or second.")
            .overload([](fr::date d) { return fr::date{d.days + 1}; })
            .overload([](fr::timestamp t) { return fr::timestamp{t.microseconds + 1'000'000}; }));
          plugin.add(fr::function("until").signature("until(t, end) → i64").help("Days until a constant one.")
            .overload([](fr::date d, fr::constant<fr::date> end) { return int64_t{end.value.days} - d.days; }));
          plugin.add(fr::function("since").signature("since(begin, t) → i64").help("Days since a constant one.")
            .overload([](fr::date begin) { return begin.days; },
                      [](const int32_t& first, fr::constant<fr::date>, fr::date d) { return int64_t{d.days} - first; }));""")
        self.write("job.yaml", """flowrun: 1
plugins: [toy]
nodes:
  rows: {op: generate, with: {rows: 2, columns: {day: "to_date('2026-02-27') + i", at: "to_timestamp(1000000 * i)"}}}
  made:
    op: map
    in: rows
    with: {day: toy.next(day), at: toy.next(at), left: "toy.until(day, '2026-03-01')", same: "toy.next(day) == day + 1"}
  out: {op: file.write_csv, in: made, with: {path: out.csv}}
""")
        done = self.flowrun("job.yaml", "--plugin", plugin)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.csv").read_text(),
                         "2026-02-28,1970-01-01T00:00:01Z,2,true\n2026-03-01,1970-01-01T00:00:02Z,1,true\n")
        since = "toy.since({}, to_date('2026-01-01') + value)"
        for begin in ("to_date('2025-12-31')", "'2025-12-31'"):
            self.write("job.yaml", job(since.format(begin), rows=2))
            done = self.flowrun("job.yaml", "--plugin", plugin)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.dir / "out.csv").read_text(), "1\n2\n")
        self.write("job.yaml", job(since.format("'2025-11-31'")))
        done = self.flowrun("job.yaml", "--plugin", plugin)
        self.assertEqual(done.returncode, 78)
        self.assertIn("'2025-11-31' is no date: November 2025 has 30 days", done.stderr)
        self.write("job.yaml", job("toy.next(value)"))
        done = self.flowrun("job.yaml", "--plugin", plugin)
        self.assertEqual(done.returncode, 78)
        self.assertIn("its forms are (date), (timestamp)", done.stderr)

    def test_the_file_itself_and_the_environment(self):
        for plugins, arguments, path in (("[]", ["--plugin", self.good], None), ("[toy]", [], str(self.good.parent))):
            with self.subTest(arguments=arguments):
                if path is not None:
                    self.environment["FLOWRUN_PLUGIN_PATH"] = f"/nonexistent::{path}"
                self.write("job.yaml", job("toy.plus(f64(value))", plugins))
                self.assertEqual(self.flowrun("run", "job.yaml", *arguments).returncode, 0)
                self.assertEqual(self.flowrun("check", "job.yaml", *arguments).returncode, 0)
                self.assertEqual(self.flowrun("plan", "job.yaml", *arguments).returncode, 0)

    def test_the_configuration_of_the_machine(self):
        self.write("home/.config/flowrun/config.yaml", f"plugins: [~/none, {self.good.parent}]\nresources: {{memory: 64MiB}}\n")
        self.write("job.yaml", job("toy.plus(f64(value))"))
        self.assertEqual(self.flowrun("job.yaml").returncode, 0)
        for wrong, part in (("plugins: here", "'plugins' is text"), ("plugins: [{}]", "a directory of plugins is a map")):
            self.write("home/.config/flowrun/config.yaml", wrong)
            done = self.flowrun("job.yaml")
            self.assertEqual(done.returncode, 78)
            self.assertIn(part, done.stderr)

    def test_the_interface_is_plain_c(self):
        self.write("plain.c", "#include <flowrun/plugin.h>\nfr_note note; fr_function function;\n")
        for standard in ("c99", "c11"):
            subprocess.run(["gcc", f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                            f"-I{self.prefix}/include", self.dir / "plain.c"], check=True)

    def test_what_flowrun_says_about_it(self):
        listed = self.flowrun("plugins", "--plugin", self.good.parent)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for part in ("toy 1.2.3", str(self.good), "1.2, built with", "toy.plus(x) → f64", "One more."):
            self.assertIn(part, listed.stdout)
        for command in (["ops", "expressions"], ["reference"]):
            self.assertIn("toy.plus(x) → f64", self.flowrun("--plugin", self.good, *command).stdout)
        self.assertIn("no plugins: give --plugin", self.flowrun("plugins").stdout)

    def test_pkg_config(self):
        self.environment["PKG_CONFIG_PATH"] = str(next(self.prefix.rglob("pkgconfig")))
        flags = subprocess.run(["pkg-config", "--cflags", "flowrun"], env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(pathlib.Path(flags.split()[0][2:]).resolve(), (self.prefix / "include").resolve())


class geohash_test(plugin_tests):
    """The example of functions, built out of the tree."""

    def test_one_symbol_and_a_note(self):
        names = subprocess.run(["nm", "-D", "--defined-only", self.example("geohash") / "geohash.so"],
                               capture_output=True, text=True, check=True).stdout.split("\n")
        self.assertEqual([line.split()[-1] for line in names if line], ["flowrun_plugin_v1"])

    def test_the_example_builds_and_passes_its_tests(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                done = subprocess.run(["ctest", "--test-dir", self.example("geohash", compiler), "--output-on-failure"],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_good_plugin_is_found_good(self):
        done = self.flowrun("plugins", "check", self.example("geohash") / "geohash.so")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^geohash 1.0.0: 3 functions, \d+ calls, \d{3,} rows: nothing is wrong$")

    def test_signed_numbers_are_no_unsigned_ones(self):
        plugin = self.plugin("""plugin.add(fr::function("twice").signature("twice(n) → u64").help("Twice.")
                                .overload([](uint64_t n) -> uint64_t { return 2 * n; }));""")
        self.write("job.yaml", job("toy.twice(i64(value) - 3)"))
        done = self.flowrun("job.yaml", "--plugin", plugin)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("is i64", done.stderr)
        self.assertIn("u64(x)", done.stderr)
        self.write("job.yaml", job("toy.twice(u64(i64(value) + 3))"))
        self.assertEqual(self.flowrun("job.yaml", "--plugin", plugin).returncode, 0)

    def test_faults_in_a_call_stand_at_their_place(self):
        geohash = self.example("geohash")
        for call, column, *parts in (
            ("geohash.encode(1, 2, 13)", 37, "13 is no length of a geohash", "it has 1 to 12 letters"),
            ("geohash.encode(1, 2, value)", 37, "this is not a constant"),
            ("geohash.encode(1, 2, -1)", 37, "this is not a number from 0"),
            ("geohash.encode(1, 2, 2.5)", 37, "f64", "u64"),
            ("geohash.encode(1, 2, '3')", 37, "string", "to_u64"),
            ("geohash.encode(1, 'x', 3)", 34, "string", "f64", "to_f64"),
            ("geohash.encode(1, to_decimal(2, 1), 3)", 34, "decimal[1]", "words of plugins take no decimals", "f64(x)"),
            ("geohash.encode(1, 2)", 16, "takes 3 arguments, not 2", "geohash.encode(latitude, longitude, letters) → string"),
            ("geohash.encode(91, 2, 3)", 16, "there is no place at latitude 91"),
            ("geohash.encod(1, 2, 3)", 16, "unknown function 'geohash.encod'", "geohash.encode"),
        ):
            with self.subTest(call=call):
                self.write("job.yaml", job(call, "[geohash]").replace("in: numbers, with: {y", "in: numbers,\n    with: {y"))
                done = self.flowrun("check", "job.yaml", "--plugin", geohash)
                self.assertEqual(done.returncode, 78, done.stderr)
                for part in (f"job.yaml:6:{column}", *parts):
                    self.assertIn(part, done.stderr)

    def test_bad_rows_end_the_job_and_name_plugin_and_node(self):
        self.write("job.yaml", job("geohash.encode(f64(value) * 30, 2, 3)", "[geohash]"))
        done = self.flowrun("job.yaml", "--plugin", self.example("geohash"))
        self.assertEqual(done.returncode, 65, done.stderr)
        where = "node 'mapped': 'geohash.encode(f64(value) * 30, 2, 3)' fails for the row {value: 4}: plugin geohash 1.0.0, function encode"
        for part in (where, "latitude 120", "a filter in front"):
            self.assertIn(part, done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())


class check_test(plugin_tests):
    """What flowrun plugins check finds."""

    def check(self, overload, *parts, code=70, state=""):
        plugin = self.plugin(f"""plugin.add(fr::function("bad").signature("bad(…)").help("Bad.").overload({overload}));""",
                             source=f"#include <atomic>\n#include <string>\n[[maybe_unused]] static std::atomic<uint64_t> calls = 0;\n{state}\n" + PLUGIN)
        done = self.flowrun("plugins", "check", plugin)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stdout + done.stderr)

    def test_results_that_change(self):
        self.check("[](double x) { return x + double(++calls % 2); }", "gives other results, or refuses, the second time")

    def test_results_that_depend_on_the_row_before(self):
        self.check("[](uint64_t x) { static thread_local uint64_t before; return std::exchange(before, x); }",
                   "gives other results")

    def test_what_is_no_bad_data(self):
        self.check("[](double x) { if (x > 0) throw 1; return x; }", "bad(f64): fails", "an exception of an unknown type")

    def test_texts_as_long_as_a_number_says(self):
        self.check("[](uint64_t x, fr::text_out& out) { std::memset(out.extend(x), '*', x); }", "nothing is wrong", code=0)

    def test_the_end_of_the_process(self):
        self.check("[](double x) { if (x > 0) std::exit(0); return x; }", "plugin toy 1.2.3, function bad ended the process with exit()",
                   "ended its process with exit(70)", "a plugin never ends the process")

    def test_values_that_their_type_does_not_hold(self):
        # A table by hand: the header's own can't do it.
        body = """static const auto name = std::string_view("bad");
          static fr_function f{};
          f.size = sizeof f; f.name = f.signature = f.help = {name.size(), name.data()}; f.min_args = f.max_args = 1;
          f.bind = [](void*, const fr_argument*, size_t, fr_binding* out, fr_problem*) -> int { out->result = {FR_U8, 0}; return FR_OK; };
          f.run = [](const void*, const fr_call* call) -> size_t {
            for (size_t i = 0; i < call->num_rows; ++i) static_cast<uint64_t*>(call->out)[i] = 300;
            return call->num_rows; };
          raw = &f;"""
        source = """#include <flowrun/plugin.hpp>
static const fr_function* raw;
static void declare(fr::plugin&) { %(body)s }
__attribute__((section(".note.flowrun"), used, aligned(4))) static const fr::detail::note_record note = fr::detail::make_note("%(name)s", "1.2.3");
extern "C" __attribute__((visibility("default"))) int flowrun_plugin_v1(const fr_host* host, const fr_registrar* r) {
  const int code = fr::detail::enter(host, r, &declare);
  r->add_function(r->self, raw);
  return code;
}
"""
        plugin = self.plugin(body, source=source)
        done = self.flowrun("plugins", "check", plugin)
        self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
        self.assertIn("gives 300, which u8 doesn't hold", done.stdout)
        # Nor does a job count with it: a filter would go by 255 rows for one.
        plugin = self.plugin(body.replace("FR_U8", "FR_BOOL").replace("300", "255"), source=source)
        job = """flowrun: 1
plugins: [toy]
nodes:
  numbers: {op: generate, with: {rows: 5000, columns: {n: i}}}
  kept: {op: filter, in: numbers, with: {where: toy.bad(n)}}
  out: {op: file.write_csv, in: kept, with: {path: out.csv}}
"""
        self.write("job.yaml", job)
        done = self.flowrun("job.yaml", "--plugin", plugin)
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("function bad gives 255, which bool doesn't hold", done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_crashes(self):
        self.check("[](std::string_view x) { if (x.size() == 5000) std::abort(); return x; }", "a crash inside of plugin toy 1.2.3, function bad",
                   "ended its process with signal 6")

    def test_what_can_not_be_loaded(self):
        done = self.flowrun("plugins", "check", self.patched(0, struct.pack("<I", 2)))
        self.assertEqual(done.returncode, 78)
        self.assertIn("version 2 of the plugin interface", done.stderr)


class failure_test(plugin_tests):
    def fail(self, statement, code, *parts, expression="toy.plus(f64(value))"):
        plugin = self.plugin(PLUS % ("plus", "plus", statement), source="#include <stdexcept>\n" + PLUGIN)
        self.write("job.yaml", job(expression))
        done = self.flowrun("job.yaml", "--plugin", plugin, "-T", "scratch")
        self.assertEqual(done.returncode, code, done.stderr)
        for part in ("plugin toy 1.2.3, function plus", *parts):
            self.assertIn(part, done.stderr)
        self.assertNotIn("bug in flowrun", done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())
        self.assertEqual(list((self.dir / "scratch").glob("*")) if (self.dir / "scratch").exists() else [], [])

    def test_exceptions_end_the_job(self):
        self.fail('if (x == 5) throw fr::error("five is too much", "drop it");', 65, "five is too much", "drop it")
        self.fail('if (x == 5) throw std::runtime_error("five");', 70, "five")
        self.fail("if (x == 5) throw 5;", 70, "an exception of an unknown type")

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_a_crash_names_the_plugin(self):
        self.fail("if (x == 5) std::abort();", -6, "a crash inside of plugin toy")
        self.fail("if (x == 5) *static_cast<volatile int*>(nullptr) = 1;", -11, "a crash inside of plugin toy")

    def test_texts_that_are_too_long(self):
        plugin = self.plugin("""plugin.add(fr::function("plus").signature("plus(x) → string").help("Long.")
            .overload([](uint64_t x, fr::text_out& out) { std::memset(out.extend(x << 20), 'x', x << 20); }));""")
        self.write("job.yaml", job("length(toy.plus(value))"))
        done = self.flowrun("job.yaml", "--plugin", plugin, "-m", "32MiB")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("node 'mapped': one row takes", done.stderr)
        done = self.flowrun("job.yaml", "--plugin", plugin, "-m", "256MiB")
        self.assertEqual((done.returncode, (self.dir / "out.csv").read_text().split()),
                         (0, [str(i << 20) for i in range(10)]), done.stderr)


if __name__ == "__main__":
    main()
