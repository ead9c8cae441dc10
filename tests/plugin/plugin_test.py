#!/usr/bin/env python3
"""Plugins as their authors and users meet them: built from an installed package, loaded, refused.

    plugin_test.py FLOWRUN BUILD [COMPILER...]     BUILD is the build that FLOWRUN is of
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/runner"))
from flowrun_process import main, process_test  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
COMPILERS = sys.argv[1:] or ["g++"]
del sys.argv[1:]
SANITIZERS = re.findall(r"-fsanitize=[\w,]+", re.search(r"^CMAKE_CXX_FLAGS:.*$", (BUILD / "CMakeCache.txt").read_text(), re.M)[0])
NOTE = b"flowrun\0"

# What a plugin is made of around what a test is about.
PLUGIN = """#include <flowrun/plugin.hpp>
#include <cstdlib>
#include <fstream>
// Whoever runs code of this file finds out: the file appears.
static const bool loaded = [] { if (const char* f = std::getenv("LOADED")) std::ofstream(f) << "x"; return true; }();
FLOWRUN_PLUGIN("%(name)s", "1.2.3") {
  %(body)s
}
"""
PLUS = """plugin.add(fr::function("%s").signature("%s(x) → f64").help("One more.")
                 .overload([](double x) -> double { %s return x + 1; }));"""


def job(expression, plugins="[toy]", rows=10):
    return f"""flowrun: 1
plugins: {plugins}
nodes:
  numbers: {{op: generate, with: {{rows: {rows}, columns: {{value: i}}}}}}
  mapped:  {{op: map, in: numbers, with: {{y: "{expression}"}}}}
  out:     {{op: file.write_csv, in: mapped, with: {{path: out.csv}}}}
"""


class plugin_tests(process_test):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-test-"))
        cls.prefix = cls.shared / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True)
        cls.good = cls.compile(cls.shared / "good" / "toy.so", PLUS % ("plus", "plus", ""))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    def setUp(self):
        super().setUp()
        # What a plugin declares is never freed, since plugins are never unloaded.
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0"

    @classmethod
    def compile(cls, path, body, name="toy", source=PLUGIN, more=()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o755)
        path.with_suffix(".cc").write_text(source % {"name": name, "body": body})
        subprocess.run([COMPILERS[0], "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *SANITIZERS, *more,
                        f"-I{cls.prefix}/include", path.with_suffix(".cc"), "-o", path], check=True)
        path.chmod(0o755)
        return path

    def plugin(self, body, **more):
        return self.compile(self.dir / "plugins" / "toy.so", body, **more)

    def refuse(self, plugin, *parts, code=78, runs=False):
        """A job that names the plugin has a fault; nothing of it ran, nothing appears."""
        self.write("job.yaml", job("toy.plus(f64(value))"))
        self.environment["LOADED"] = str(self.dir / "loaded")
        done = self.flowrun("job.yaml", "--plugin", plugin.parent)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in ("job.yaml:2:11", *parts):
            self.assertIn(part, done.stderr)
        self.assertEqual((self.dir / "loaded").exists(), runs)
        self.assertFalse((self.dir / "out.csv").exists())
        return done

    def patched(self, at, bytes_):
        """The good plugin with other bytes in its note."""
        content = bytearray(self.good.read_bytes())
        note = content.find(NOTE, content.find(struct.pack("<III", 8, 144, 1)))
        self.assertGreater(note, 0)
        content[note + 8 + at:note + 8 + at + len(bytes_)] = bytes_
        path = self.write("plugins/toy.so", bytes(content))
        path.parent.chmod(0o755)
        path.chmod(0o755)
        return path


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
        for part in ("toy 1.2.3", str(self.good), "1.0, built with", "toy.plus(x) → f64", "One more."):
            self.assertIn(part, listed.stdout)
        for command in (["ops", "expressions"], ["reference"]):
            self.assertIn("toy.plus(x) → f64", self.flowrun("--plugin", self.good, *command).stdout)
        self.assertIn("no plugins: give --plugin", self.flowrun("plugins").stdout)

    def test_one_symbol_and_a_note(self):
        names = subprocess.run(["nm", "-D", "--defined-only", self.example(COMPILERS[0]) / "geohash.so"],
                               capture_output=True, text=True, check=True).stdout.split("\n")
        self.assertEqual([line.split()[-1] for line in names if line], ["flowrun_plugin_v1"])

    def example(self, compiler):
        build = self.dir / f"build-{pathlib.Path(compiler).name}"
        if not build.exists():
            flags = [f"-DCMAKE_CXX_FLAGS={' '.join(SANITIZERS)}"] if SANITIZERS else []
            subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT / "plugin/examples/geohash", "-B", build, *flags,
                            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={compiler}"],
                           check=True, capture_output=True)
            made = subprocess.run(["cmake", "--build", build], capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stdout)
            build.chmod(0o755)
            (build / "geohash.so").chmod(0o755)
        return build

    def test_the_example_builds_and_passes_its_tests(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                done = subprocess.run(["ctest", "--test-dir", self.example(compiler), "--output-on-failure"],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_new_plugin_builds_and_passes(self):
        outputs = {"function": "0,", "stateless": "line,4\nnumber,6\nline,4\nnumber,6\nline,4\nnumber,6\n",
                   "ordered": "", "source": "871,178\n"}
        for number, (kind, output) in enumerate(outputs.items()):
            with self.subTest(kind=kind):
                folder = f"deep/{kind}"
                done = self.flowrun("plugin", "new", folder, *(["--kind", kind] if number else []))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(p.name for p in (self.dir / folder).iterdir()),
                                 sorted(["CMakeLists.txt", "README.md", f"{kind}.cc", "job.yaml"]))
                flags = [f"-DCMAKE_CXX_FLAGS={' '.join(['-Wall -Wextra -Wpedantic -Wshadow -Werror', *SANITIZERS])}"]
                for command in (["cmake", "-G", "Ninja", "-S", folder, "-B", f"{folder}/build", *flags,
                                 f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILERS[-number % len(COMPILERS)]}"],
                                ["cmake", "--build", f"{folder}/build"], ["chmod", "-R", "go-w", f"{folder}/build"],
                                ["ctest", "--test-dir", f"{folder}/build", "--output-on-failure"]):
                    done = subprocess.run(command, cwd=self.dir, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                done = self.flowrun("run", f"{folder}/job.yaml", "--plugin", f"{folder}/build")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue((self.dir / "output.csv").read_text().startswith(output))
        again = self.flowrun("plugin", "new", "deep/function")
        self.assertEqual(again.returncode, 73)
        self.assertIn("it is there already", again.stderr)
        for arguments in (["new", "Shop"], ["new", "shop", "--kind", "breaker"], ["new"], ["check"], ["frob"]):
            self.assertEqual(self.flowrun("plugin", *arguments).returncode, 64, arguments)

    def test_a_good_plugin_is_found_good(self):
        done = self.flowrun("plugins", "check", self.example(COMPILERS[0]) / "geohash.so")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^geohash 1.0.0: 3 functions, \d+ calls, \d{3,} rows: nothing is wrong$")

    def test_the_example_through_pkg_config(self):
        self.environment["PKG_CONFIG_PATH"] = str(next(self.prefix.rglob("pkgconfig")))
        flags = subprocess.run(["pkg-config", "--cflags", "flowrun"], env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(pathlib.Path(flags.split()[0][2:]).resolve(), (self.prefix / "include").resolve())

    def test_faults_in_a_call_stand_at_their_place(self):
        geohash = self.example(COMPILERS[0])
        for call, column, *parts in (
            ("geohash.encode(1, 2, 13)", 37, "13 is no length of a geohash", "it has 1 to 12 letters"),
            ("geohash.encode(1, 2, value)", 37, "this is not a constant"),
            ("geohash.encode(1, 2, -1)", 37, "this is not a number from 0"),
            ("geohash.encode(1, 2, 2.5)", 37, "f64", "u64"),
            ("geohash.encode(1, 2, '3')", 37, "string", "to_u64"),
            ("geohash.encode(1, 'x', 3)", 34, "string", "f64", "to_f64"),
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
        done = self.flowrun("job.yaml", "--plugin", self.example(COMPILERS[0]))
        self.assertEqual(done.returncode, 65, done.stderr)
        for part in ("node 'mapped': plugin geohash 1.0.0, function encode", "latitude 120", "a filter in front"):
            self.assertIn(part, done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())


class refusal_test(plugin_tests):
    def test_no_plugin_of_that_name(self):
        self.write("job.yaml", job("toy.plus(f64(value))", "[toi]"))
        done = self.flowrun("job.yaml", "--plugin", self.good.parent)
        self.assertEqual(done.returncode, 78)
        for part in ("job.yaml:2:11", "there is no plugin 'toi'", "did you mean 'toy'?", f"searched: {self.good.parent}"):
            self.assertIn(part, done.stderr)
        done = self.flowrun("job.yaml")
        self.assertIn("no directory of plugins is known: give --plugin PATH, or set FLOWRUN_PLUGIN_PATH", done.stderr)

    def test_a_job_that_does_not_name_its_plugin(self):
        self.write("job.yaml", job("toy.plus(f64(value))", "[]"))
        done = self.flowrun("job.yaml", "--plugin", self.good.parent)
        self.assertEqual(done.returncode, 78)
        self.assertIn("unknown function 'toy.plus'", done.stderr)
        self.assertIn("plugins: [toy]", done.stderr)

    def test_wrong_lists_of_plugins(self):
        for plugins, part in (("toy", "'plugins' is text"), ("[./toy.so]", "'./toy.so' is a path"), ("[[toy]]", "a plugin is a list")):
            with self.subTest(plugins=plugins):
                self.write("job.yaml", job("1", plugins))
                done = self.flowrun("check", "job.yaml")
                self.assertEqual(done.returncode, 78)
                self.assertIn(part, done.stderr)

    def test_paths_that_are_no_plugins(self):
        self.write("job.yaml", job("1", "[]"))
        text = self.write("folder/text.so", "not a shared object")
        for path, code, part in ((self.dir / "none.so", 66, "there is no plugin"), (text, 78, "it is no shared object"),
                                 (pathlib.Path(sys.executable).resolve(), 78, "no note of flowrun")):
            with self.subTest(path=path):
                done = self.flowrun("run", "job.yaml", "--plugin", path)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(part, done.stderr)
        os.mkfifo(self.dir / "folder/pipe.so")
        with open(self.dir / "folder/large.so", "wb") as large:
            large.truncate(1 << 40)
        (self.dir / "folder/empty.so").write_bytes(b"")
        (self.dir / "folder/directory.so").mkdir()
        listed = self.flowrun("plugins", "--plugin", text.parent).stdout
        self.assertEqual(listed.count("it is no shared object"), 3)
        self.assertEqual(listed.count("it is no file"), 2)

    def test_files_that_others_may_write(self):
        for path, mode, part in (("toy.so", 0o775, "others may write the file"), ("", 0o777, "others may write the directory")):
            with self.subTest(path=path):
                plugin = self.plugin(PLUS % ("plus", "plus", ""))
                (plugin.parent / path).chmod(mode)
                self.refuse(plugin, part, "toy.so")
                (plugin.parent / path).chmod(0o755)

    def test_paths_that_the_loader_would_change(self):
        plugin = self.compile(self.dir / "plugins" / "$LIB" / "toy.so", PLUS % ("plus", "plus", ""))
        self.refuse(plugin, "its path has a $")

    @unittest.skipIf(os.geteuid() != 0, "only root can give a file away")
    def test_files_of_another_user(self):
        plugin = self.plugin(PLUS % ("plus", "plus", ""))
        os.chown(plugin, 12345, 12345)
        self.refuse(plugin, "belongs to another user (12345)")

    def test_another_interface(self):
        self.refuse(self.patched(0, struct.pack("<I", 2)), "built for version 2 of the plugin interface")
        self.refuse(self.patched(4, struct.pack("<I", 99)), "needs version 1.99 of the plugin interface")

    def test_another_sanitizer(self):
        self.refuse(self.patched(8, struct.pack("<I", 2)), "the thread sanitizer")

    def test_a_name_that_is_no_word(self):
        plugin = self.patched(16, b"Toy\0")
        done = self.flowrun("plugins", "--plugin", plugin)
        self.assertIn("its name 'Toy' is no word", done.stderr)

    def test_notes_that_are_cut_off(self):
        content = self.good.read_bytes()
        for size in (10, 63, 64, 200, len(content) // 2, len(content) - 5000):
            with self.subTest(size=size):
                self.write("cut/toy.so", content[:size]).parent.chmod(0o755)
                done = self.flowrun("plugins", "--plugin", self.dir / "cut")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("refused", done.stdout)

    def test_a_missing_entry(self):
        plugin = self.plugin("", source="""#include <flowrun/plugin.hpp>
__attribute__((section(".note.flowrun"), used, aligned(4))) static const fr::detail::note_record note =
    fr::detail::make_note("%(name)s", "1");
%(body)s""")
        self.refuse(plugin, "has no function flowrun_plugin_v1")

    @unittest.skipIf(SANITIZERS, "sanitizers leave names open")
    def test_a_missing_symbol(self):
        plugin = self.plugin(PLUS % ("plus", "plus", "missing();"), source='extern "C" void missing();\n' + PLUGIN)
        self.refuse(plugin, "plugin toy 1.2.3 can't be loaded", "missing")

    def test_declarations_that_throw(self):
        for thrown, part in (('std::runtime_error("no licence")', "no licence"), ("1", "an exception of an unknown type")):
            with self.subTest(thrown=thrown):
                self.refuse(self.plugin(f"throw {thrown}; {PLUS % ('plus', 'plus', '')}", source="#include <stdexcept>\n" + PLUGIN),
                            "plugin toy 1.2.3", part, runs=True)
                (self.dir / "loaded").unlink()

    def test_declarations_that_are_wrong(self):
        plus = PLUS % ("plus", "plus", "")
        for body, part in ((plus.replace('"plus")', '"Plus")'), "the name 'Plus' is no word"),
                           (plus.replace('.help("One more.")', ""), "the function plus has no help"),
                           (plus.replace('.signature("plus(x) → f64")', ""), "the function plus has no signature"),
                           (plus + plus, "declares the function toy.plus twice")):
            with self.subTest(part=part):
                self.refuse(self.plugin(body), "plugin toy 1.2.3", part, runs=True)
                (self.dir / "loaded").unlink()

    def test_two_plugins_of_one_name(self):
        other = self.plugin(PLUS % ("plus", "plus", ""))
        self.write("job.yaml", job("1", "[]"))
        done = self.flowrun("job.yaml", "--plugin", self.good, "--plugin", other)
        self.assertEqual(done.returncode, 78)
        for part in ("two plugins have the name 'toy'", str(self.good), str(other)):
            self.assertIn(part, done.stderr)


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

    def test_the_end_of_the_process(self):
        self.check("[](double x) { if (x > 0) std::exit(0); return x; }", "ended its process with exit(0)")

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
        self.fail(70, where, "it gives rows of 8 bytes to an output whose rows have 16", check="""
            node.set_output(0, fr::row_type({{"a", {FR_U64, 8}}, {"b", {FR_U64, 8}}}));""")
        self.fail(70, where, "rows that lie neither in its input nor in memory that it took", apply="""
            static unsigned char mine[8]; fr_batch b = in.raw(); b.rows = mine; b.num_rows = 1;
            const fr::batch own(b); out.pass(own, 0, 1);""")
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
        self.fail(-6, "a crash inside of plugin toy 1.2.3, operator bad", check="std::abort();")

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
