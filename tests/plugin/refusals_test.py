#!/usr/bin/env python3
"""Plugins that are not taken, most of them before any of their code runs.

    refusals_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]     see plugin_tests.py
"""

import os
import pathlib
import struct
import sys
import unittest

from plugin_tests import PLUGIN, PLUS, SANITIZERS, job, main, plugin_tests


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
        self.refuse(self.patched(8, struct.pack("<I", 4)), "the memory sanitizer")  # which nothing here has

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


if __name__ == "__main__":
    main()
