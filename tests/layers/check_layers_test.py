#!/usr/bin/env python3
"""Tests check_layers.py on made-up trees: each rule is broken once, and only that rule is reported."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_layers  # noqa: E402

CLEAN = {
    "engine/base/CMakeLists.txt": "flowrun_layer(base\n  SOURCES error.cc  # the only one\n  DEPENDS fmt::fmt)\n",
    "engine/base/error.h": "#pragma once\n",
    "engine/base/error.cc": '#include "engine/base/error.h"\n#include <string>\n',
    "engine/sort/CMakeLists.txt": "flowrun_layer(sort SOURCES sort.cc)\n",
    "engine/sort/sort.cc": '#include <tbb/task_arena.h>\n#include "engine/base/error.h"\n',
    "specs/CMakeLists.txt": "flowrun_layer(specs SOURCES reader.cc)\n",
    "specs/job.proto": "",
    "specs/reader.cc": '#include <yaml-cpp/yaml.h>\n#include "specs/job.pb.h"\n',
    "engine/metrics/CMakeLists.txt": "flowrun_layer(metrics SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/exporter.cc)\n",
    "engine/metrics/exporter.cc": "#include <prometheus/text_serializer.h>\n",
    "tests/base/CMakeLists.txt": "flowrun_test(base SOURCES\n  error_test.cc)\n",
    "tests/base/error_test.cc": '#include <yaml-cpp/yaml.h>\n#include "engine/base/error.h"\n',
    "build/release/junk.cc": "#include <tbb/tbb.h>\n",
}


class layers_test(unittest.TestCase):
    def check(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **changes}.items():
                target = pathlib.Path(root, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            return check_layers.check(root)

    def assert_one_breach(self, changes, start, *words):
        breaches, notes = self.check(changes)
        self.assertEqual(notes, [])
        self.assertEqual(len(breaches), 1, breaches)
        self.assertTrue(breaches[0].startswith(start), breaches[0])
        for word in words:
            self.assertIn(word, breaches[0])

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.check({}), ([], []))

    def test_sources_that_a_pattern_lists(self):
        lists = {"operators/CMakeLists.txt": "file(GLOB words CONFIGURE_DEPENDS *.cc)\n"}
        self.assertEqual(self.check({**lists, "operators/sort.cc": ""}), ([], []))
        self.assert_one_breach({**lists, "operators/parts/keys.cc": ""}, "operators/parts/keys.cc:1:", "no CMakeLists")

    def test_an_include_that_points_up(self):
        self.assert_one_breach(
            {"engine/sort/kernel.h": "", "engine/base/error.cc": '\n#include "engine/sort/kernel.h"\n'},
            "engine/base/error.cc:2:", "engine/base may not include engine/sort")

    def test_an_include_that_points_sideways(self):
        self.assert_one_breach(
            {"engine/expr/program.h": "", "engine/sort/sort.cc": '#include "engine/expr/program.h"\n'},
            "engine/sort/sort.cc:1:", "engine/sort may not include engine/expr")

    def test_an_include_two_layers_down_is_fine(self):
        self.assertEqual(self.check({
            "runner/CMakeLists.txt": "add_executable(flowrun main.cc)\n",
            "runner/main.cc": '#include "engine/base/error.h"\n'}), ([], []))

    def test_an_include_of_nothing(self):
        self.assert_one_breach({"engine/base/error.cc": '#include "error.h"\n#include "engine/base/error.h"\n'},
                               "engine/base/error.cc:1:", "not in the repository")

    def test_a_generated_header_without_its_proto(self):
        self.assert_one_breach({"specs/reader.cc": '#include "specs/jobs.pb.h"\n'}, "specs/reader.cc:1:", "jobs.pb.h")

    def test_an_example_has_its_own_headers_and_no_others(self):
        example = {"plugin/examples/top/CMakeLists.txt": "flowrun_add_plugin(top top.cc)\n",
                   "plugin/examples/top/heap.h": "#pragma once\n"}
        self.assertEqual(self.check({**example, "plugin/examples/top/top.cc": '#include "heap.h"\n'}), ([], []))
        self.assert_one_breach({**example, "plugin/examples/top/top.cc": '#include "heap.h"\n#include "engine/base/error.h"\n'},
                               "plugin/examples/top/top.cc:2:", "which is not in the repository")

    def test_our_own_header_in_angle_brackets(self):
        self.assert_one_breach({"specs/reader.cc": "#include <engine/base/error.h>\n"},
                               "specs/reader.cc:1:", 'write "engine/base/error.h"')

    def test_a_header_in_no_layer(self):
        self.assert_one_breach({"engine/misc.h": "", "engine/base/error.cc":
                                '#include "engine/base/error.h"\n#include "engine/misc.h"\n'},
                               "engine/misc.h:1:", "no layer owns")

    def test_a_header_that_nobody_includes(self):
        self.assert_one_breach({"engine/sort/kernel.h": ""}, "engine/sort/kernel.h:1:", "nobody includes")

    def test_a_header_that_is_listed_instead(self):
        self.assertEqual(self.check({"engine/sort/kernel.h": "", "engine/sort/CMakeLists.txt":
                                     "flowrun_layer(sort SOURCES sort.cc kernel.h)\n"}), ([], []))

    def test_a_source_that_is_not_built(self):
        self.assert_one_breach({"engine/base/lost.cc": ""}, "engine/base/lost.cc:1:", "no CMakeLists.txt")
        self.assert_one_breach({"tests/base/lost_test.cc": ""}, "tests/base/lost_test.cc:1:", "no CMakeLists.txt")

    def test_a_source_that_is_only_named_in_a_comment(self):
        self.assert_one_breach({"engine/base/CMakeLists.txt": "# error.cc\n"}, "engine/base/error.cc:1:",
                               "no CMakeLists.txt")

    def test_what_several_test_folders_share(self):
        tests = {"tests/base/CMakeLists.txt": "flowrun_test(base SOURCES error_test.cc)\n",
                 "tests/sort/CMakeLists.txt": "flowrun_test(sort SOURCES sort_test.cc)\n"}
        for rig, breaks in (("tests/sort/rig.h", False), ("tests/support/rig.h", False), ("tests/base/rig.h", True)):
            changes = {**tests, rig: "", "tests/sort/sort_test.cc": f'#include "{rig}"\n'}
            if breaks:
                self.assert_one_breach(changes, "tests/sort/sort_test.cc:1:", rig, "lies in tests/support")
            else:
                self.assertEqual(self.check(changes), ([], []))

    def test_libraries_stay_in_their_layers(self):
        for header, library in [("tbb/parallel_for.h", "oneTBB"), ("oneapi/tbb.h", "oneTBB"), ("execution", "oneTBB"),
                                ("yaml-cpp/yaml.h", "yaml-cpp"), ("prometheus/counter.h", "prometheus-cpp"),
                                ("google/protobuf/message.h", "Protocol Buffers")]:
            changed = {"engine/base/error.cc": f'#include "engine/base/error.h"\n#include <{header}>\n'}
            if library == "prometheus-cpp":
                changed["engine/metrics/exporter.cc"] = ""
            self.assert_one_breach(changed, "engine/base/error.cc:2:", library)

    def test_prometheus_in_one_file_only(self):
        self.assert_one_breach(
            {"engine/metrics/CMakeLists.txt": "flowrun_layer(metrics SOURCES exporter.cc other.cc)\n",
             "engine/metrics/other.cc": "#include <prometheus/counter.h>\n"},
            "engine/metrics/other.cc:1:", "one file")

    def test_planning_is_pure(self):
        self.assert_one_breach({"engine/plan/CMakeLists.txt": "flowrun_layer(plan SOURCES phases.cc)\n",
                                "engine/plan/phases.cc": "#include <vector>\n#include <thread>\n"},
                               "engine/plan/phases.cc:2:", "no threads")

    def test_a_long_file_is_a_note(self):
        breaches, notes = self.check({"specs/reader.cc": "\n" * 601})
        self.assertEqual(breaches, [])
        self.assertEqual(len(notes), 1)
        self.assertTrue(notes[0].startswith("specs/reader.cc:1: note: 601 lines"))
        self.assertEqual(self.check({"specs/reader.cc": "\n" * 600}), ([], []))


if __name__ == "__main__":
    unittest.main()
