#!/usr/bin/env python3
"""flowrun test: tests of jobs that pass, fail, and are wrong themselves."""

import os
import signal
import time

from flowrun_process import main, process_test

# The job of the language's description, with its test.
OUT_DEGREE = """flowrun: 1
name: out-degree
doc: How many different targets each source has.
params:
  input:  {type: path, required: true, help: "text edge list: src dst"}
  memory: {type: bytes, default: 64MiB}
resources:
  memory: ${memory}
  scratch:
    - {path: /mnt/nvme0/flowrun, limit: 500GiB}
    - {path: /mnt/nvme1/flowrun, limit: 200GiB}
types:
  edge: {src: u64, dst: u64}
nodes:
  edges:   {op: file.read_csv, with: {path: "${input}", delimiter: " ", type: edge}, on_error: {to: bad, max_ratio: 0.5}}
  sorted:  {op: sort, in: edges, with: {by: [src, dst], unique: true}}
  degree:  {op: group, in: sorted, with: {by: [src], let: {deg: "count()"}}}
  top:     {op: sort, in: degree, with: {by: [-deg, src], limit: 10}}
  write:   {op: file.write_csv, in: top, with: {path: out/degree.csv}}
  rejects: {op: file.write_lines, in: edges.bad, with: {path: out/rejected.txt}}
tests:
  - {name: duplicates count once, given: {edges: ["1 2", "1 2", "x"]}, expect: {write: ["1,1"], rejects: ["x"]}}
"""

# Rows in every form, a value that is reported, and a rule that rows can break.
SUMS = """flowrun: 1
params:
  in: {type: path, required: true}
  out: {type: path, required: true}
  least: {type: int, default: 1}
nodes:
  read: {op: file.read_rows, with: {path: "${in}", type: {a: u32, b: i16}}}
  proper: {op: filter, in: read, with: {where: "a >= ${least}"}}
  sorted: {op: sort, in: proper, with: {by: [a]}}
  checked: {op: check, in: sorted, with: {unique: [a]}}
  total: {op: reduce, in: sorted, with: {let: {rows: "count()", sum: "sum(i64(b))"}}}
  write: {op: file.write_rows, in: checked, with: {path: "${out}"}}
tests:
"""
GOOD = (
    SUMS
    + """
  - name: maps, lists and values
    given: {read: [{a: 2, b: -1}, [1, 5], {b: 7, a: 0}]}
    expect: {write: [[1, 5], {a: 2, b: -1}], total.rows: 2, total.sum: 4}
  - name: another least
    params: {least: 2}
    given: {read: [[2, -1], [1, 5]]}
    expect: {write: [[2, -1]]}
  - name: no rows at all
    given: {read: []}
    expect: {write: [], total.rows: 0}
  - name: a number twice
    given: {read: [[3, 1], [3, 2]]}
    fails: "repeats a"
"""
)

TEXT = """flowrun: 1
nodes:
  read: {{op: file.read_csv, with: {{path: in.csv, type: {{k: i32, s: string}}}}}}
  write: {{op: file.write_csv, in: read, with: {{path: out.csv}}}}
tests:
  - {{name: one, given: {{read: [{given}]}}, expect: {{write: "{expected}"}}}}
"""


class test_command_test(process_test):
    def test_the_example_of_the_description(self):
        self.write("out-degree.yaml", OUT_DEGREE)
        done = self.flowrun("test", "out-degree.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout, r"^out-degree.yaml  ok        1 test, [0-9.]+ s\n\n1 test passed in 1 spec \(")
        self.assertEqual(self.files(), ["out-degree.yaml"])  # its outputs went elsewhere

    def test_forms_of_rows(self):
        self.write("good.yaml", GOOD)
        done = self.flowrun("test", "good.yaml", "-v")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"ok        4 tests")
        for name in ("maps, lists and values", "another least", "no rows at all", "a number twice"):
            self.assertRegex(done.stdout, rf"\n  ok      {name} \([0-9]+ ms\)\n")

    def test_both_variants_spill_and_agree(self):
        rows = "[" + ", ".join(f"[{(i * 7919) % 5000}, {i % 100}]" for i in range(5000)) + "]"
        expected = "[" + ", ".join(str(i) for i in range(5000)) + "]"
        self.write(
            "many.yaml",
            "flowrun: 1\nresources: {memory: 64MiB}\nnodes:\n"
            "  read: {op: file.read_rows, with: {path: from, type: {a: u32, b: u8}}}\n"
            "  sorted: {op: sort, in: read, with: {by: [a]}}\n"
            "  only: {op: map, in: sorted, with: {a: a}}\n"
            "  write: {op: file.write_rows, in: only, with: {path: to}}\n"
            f"tests:\n  - name: sorted\n    given: {{read: {rows}}}\n    expect: {{write: {expected}}}\n",
        )
        done = self.flowrun("test", "many.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_verbatim_text_and_generators(self):
        self.write(
            "text.yaml",
            "flowrun: 1\nnodes:\n"
            "  bytes: {op: file.read_rows, with: {path: a, type: {c: u8}}}\n"
            "  back: {op: file.write_rows, in: bytes, with: {path: '-'}}\n"
            "  drawn: {op: generate, with: {rows: 3, columns: {x: i, y: 'i * 2'}}}\n"
            "  shown: {op: file.write_csv, in: drawn, with: {path: b, header: true}}\n"
            "  lines: {op: file.read_lines, with: {path: c, delimiter: '\\0'}}\n"
            "  kept: {op: file.write_lines, in: lines, with: {path: d, delimiter: '\\0'}}\n"
            "tests:\n"
            "  - name: as they are\n"
            "    given: {bytes: banana, lines: [a b, '']}\n"
            "    expect: {back: [98, 97, 110, 97, 110, 97], shown: ['x,y', '0,0', '1,2', '2,4'], kept: [a b, '']}\n"
            "  - name: instead of the generator\n"
            "    given: {bytes: '', drawn: [[7, 1], [9, 0]], lines: []}\n"
            '    expect: {back: \'\', shown: "x,y\\n7,1\\n9,0\\n", kept: []}\n'
            "  - name: the order of the generator is kept\n"
            "    given: {bytes: '', drawn: [[7, 1], [6, 0]], lines: []}\n"
            "    fails: comes before its predecessor by x\n",
        )
        done = self.flowrun("test", "text.yaml", "-v")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_differs_is_shown(self):
        tests = (
            "  - name: a row too many\n    given: {read: [[1, 5], [2, 6], [3, 7]]}\n"
            "    expect: {write: [[1, 5], [2, 0], [3, 7], [4, 8]], total.rows: 4, total.size: 1}\n"
            "  - name: right\n    given: {read: [[1, 5]]}\n    expect: {write: [[1, 5]]}\n"
            "  - name: should not work\n    given: {read: [[1, 5]]}\n    fails: unique\n"
            "  - name: fails otherwise\n    given: {read: [[1, 5], [1, 6]]}\n    fails: no such message\n"
            "  - name: fails by itself\n    given: {read: [[1, 5], [1, 6]]}\n    expect: {write: []}\n"
        )
        self.write("bad.yaml", SUMS + tests)
        done = self.flowrun("test", "bad.yaml", "-v")
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        self.assertIn("bad.yaml  FAILED    4 of 5 tests\n", done.stdout)
        self.assertIn("\n  FAILED  a row too many, line 14\n    write: expected 4 rows (-), found 3 (+)\n", done.stdout)
        self.assertIn(
            "        {a: 1, b: 5}\n      - {a: 2, b: 0}\n      + {a: 2, b: 6}\n        {a: 3, b: 7}\n"
            "      - {a: 4, b: 8}\n    total.rows: expected 4, found 3\n"
            "    total reports no 'size'; it reports rows, sum\n",
            done.stdout,
        )
        self.assertIn("  ok      right (", done.stdout)
        self.assertIn("should not work, line 20\n    it succeeded, and should have failed with 'unique'\n", done.stdout)
        self.assertIn("    it failed, but not with 'no such message':\n", done.stdout)
        self.assertRegex(done.stdout, r"fails by itself, line 26\n    it failed:\n      .*repeats a.*\n")
        self.assertRegex(done.stdout, r"\n\nFAILED: 4 of 5 tests in 1 spec \(")

    def test_a_line_end_that_is_missing(self):
        self.write("text.yaml", TEXT.format(expected="1,a", given='"1,a"'))
        done = self.flowrun("test", "text.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("    write: expected 1 row (-), found 1 (+)\n        the file ends with a line end, and the expected text "
                      "doesn't", done.stdout)

    def test_messages_name_no_directory_that_is_gone(self):
        self.write("text.yaml", TEXT.format(expected="1,a", given='"1"'))
        self.assertRegex(self.flowrun("test", "text.yaml").stdout, r"\n +given/read:1:1: expected 2 fields, got 1\n.*`flowrun infer given/read`")

    def test_once(self):
        self.write("once.yaml", GOOD.replace("- name: another", "- once: true\n    name: another"))
        done = self.flowrun("test", "once.yaml", "-v")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("another least (once, ", done.stdout)
        self.assertNotIn("twice (once, ", done.stdout)
        self.write("once.yaml", GOOD.replace("- name: another", "- once: perhaps\n    name: another"))
        done = self.flowrun("test", "once.yaml", "-k", "another")
        self.assertEqual(done.returncode, 78, done.stdout)
        self.assertIn("error: 'perhaps' is no value for once", done.stderr)

    def test_filter(self):
        self.write("a.yaml", GOOD)
        self.write("b.yaml", OUT_DEGREE)
        done = self.flowrun("test", "-k", "LEAST")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a.yaml  ok        1 test,", done.stdout)
        self.assertNotIn("b.yaml", done.stdout)
        done = self.flowrun("test", "-k", "nothing of the kind")
        self.fails(64, done, "no test has 'nothing of the kind' in its name")

    def test_folders(self):
        self.write("specs/a.yaml", GOOD)
        self.write("specs/deep/b.yaml", OUT_DEGREE)
        self.write("specs/c.yaml", SUMS.replace("tests:\n", ""))
        self.write("specs/other.yaml", "services: {}\n")  # no job
        self.write("specs/.hidden/d.yaml", "flowrun: 1\n")
        self.write("specs/notes.txt", "flowrun: 1\n")
        done = self.flowrun("test", "specs")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^specs/a.yaml       ok        4 tests, ")
        self.assertEqual(lines[1], "specs/c.yaml       no tests")
        self.assertRegex(lines[2], r"^specs/deep/b.yaml  ok        1 test, ")
        self.assertRegex(lines[4], r"^5 tests passed in 2 specs \([0-9.]+ s\); 1 spec without tests$")
        done = self.flowrun("-q", "test", "specs")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.write("nothing/x.txt", "")
        self.fails(66, self.flowrun("test", "nothing"), "there are no specs (*.yaml) in nothing")
        self.fails(66, self.flowrun("test", "absent.yaml"), "there is no absent.yaml")

    def test_a_spec_with_faults_counts_as_failed(self):
        self.write("a.yaml", "flowrun: 1\nnodes:\n  a: {op: sort, in: b}\n")
        self.write("b.yaml", GOOD)
        self.write("c.yaml", "flowrun: 1\nnodes: [\n")
        done = self.flowrun("test")
        self.assertEqual(done.returncode, 78)
        self.assertIn("a.yaml:3:21: error: there is no node 'b'\n", done.stderr)
        self.assertIn("1 fault in a.yaml", done.stderr)
        self.assertIn("c.yaml:2:8: error:", done.stderr)
        self.assertIn("a.yaml  FAILED    the spec has faults\nb.yaml  ok ", done.stdout)
        self.assertRegex(done.stdout, r"FAILED: 0 of 4 tests in 3 specs \([0-9.]+ s\); 2 specs with faults")

    def test_faults_of_the_operators(self):
        self.write("a.yaml", GOOD.replace("unique: [a]", "uniqe: [a]"))
        done = self.flowrun("test", "a.yaml", "-k", "another")
        self.assertEqual(done.returncode, 78)
        self.assertIn("did you mean 'unique'?", done.stderr)
        self.assertIn("a.yaml  FAILED    1 of 1 test\n  FAILED  another least: 1 fault\n", done.stdout)
        done = self.flowrun("test", "a.yaml")
        self.assertIn("FAILED    4 of 4 tests", done.stdout)
        self.assertEqual(done.stderr.count("did you mean 'unique'?"), 1)  # not for each test again

    def one_fault(self, test, place, message, *more):
        """A test in the line behind SUMS, in flow style from column 5 on."""
        self.write("a.yaml", SUMS + "  - {" + test + "}\n")
        self.write("empty", "")
        done = self.flowrun("test", "a.yaml")
        self.assertEqual(done.returncode, 78, done.stdout + done.stderr)
        self.assertIn(f"a.yaml:14:{place}: error: {message}", done.stderr)
        self.assertIn("1 fault in a.yaml", done.stderr)
        for part in more:
            self.assertIn(part, done.stderr)
        checked = self.flowrun("check", "a.yaml", "-p", "in=empty", "-p", "out=y")
        self.assertEqual((checked.returncode, checked.stderr), (78, done.stderr))
        # Also where files of the job are missing.
        checked = self.flowrun("check", "a.yaml", "-p", "in=missing", "-p", "out=y")
        self.assertEqual((checked.returncode, checked.stderr[-len(done.stderr):]), (78, done.stderr))

    def test_check_counts_tests(self):
        self.write("a.yaml", GOOD)
        done = self.flowrun("check", "a.yaml", "-p", "in=/dev/null", "-p", "out=y")
        self.assertRegex(done.stderr, r"^a\.yaml: no faults; 6 nodes, \d phases, 4 tests\n$")

    def test_faults_of_tests(self):
        given = "given: {read: [[1, 2]]}"
        self.one_fault("nam: x, " + given, 6, "unknown key 'nam' in a test", "did you mean 'name'?")
        self.one_fault("inputs: {}, " + given, 6, "unknown key 'inputs' in a test", "here it is called 'given'")
        self.one_fault(given + ", expect: {wirte: []}", 40, "there is no sink 'wirte'", "did you mean 'write'?")
        self.one_fault(given + ", expect: {sorted: []}", 40, "'sorted' is no sink: it is a sort")
        self.one_fault(given + ", expect: {totl.rows: 1}", 40, "there is no node 'totl'", "did you mean 'total'?")
        self.one_fault("given: {red: [], read: []}", 14, "there is no source 'red'", "did you mean 'read'?")
        self.one_fault("given: {sorted: [], read: []}", 14, "'sorted' is no source: it is a sort")
        self.one_fault("given: {read: [{a: 1, c: 2, b: 3}]}", 28, "the rows have no column 'c'")
        self.one_fault("given: {read: [{a: 1}]}", 21, "the row has no 'b'")
        self.one_fault("given: {read: [[1]]}", 21, "a row of 1 value", "{a: …, b: …} or […, …]")
        self.one_fault("given: {read: [7]}", 21, "a row of {a: u32, b: i16} is text")
        self.one_fault("given: {read: [[-1, 2]]}", 22, "'-1' is no value for 'a'", "0 to 4294967295")
        self.one_fault("given: {read: [[1, [2]]]}", 25, "'b' is a list")
        self.one_fault("given: {read: {a: 1}}", 20, "the rows of 'read' are a map")
        self.one_fault(given + ", expect: {write: [[1, x]]}", 52, "'x' is no value for 'b'")
        self.one_fault(given + ", params: {lest: 1}", 46, "the job has no parameter 'lest'", "did you mean 'least'?")
        self.one_fault(given + ", params: {least: x}", 47, "'x' is no int for the parameter 'least'")
        self.one_fault(given + ", fails: ''", 38, "'fails' is empty")
        self.one_fault(given + ", fails: x, expect: {}", 31, "a test that fails has no outputs to look at")
        self.one_fault("name: x", 5, "'x' gives no rows for the source 'read'", "given: {read: [row, …]}")
        # What happens to lie there is no part of a test.
        self.write("there.csv", "7\n")
        self.write("c.yaml", "flowrun: 1\nnodes:\n  read: {op: file.read_csv, with: {path: there.csv, type: {a: u8}}}\n"
                   "  write: {op: file.write_csv, in: read, with: {path: to.csv}}\n"
                   "tests:\n  - {name: bare, expect: {write: ['7']}}\n")
        done = self.flowrun("test", "c.yaml")
        self.assertEqual(done.returncode, 78, done.stdout)
        self.assertIn("'bare' gives no rows for the source 'read'", done.stderr)
        inside = """flowrun: 1
params: {file: {type: path, default: there.csv}}
nodes:
  rows: {op: generate, with: {rows: 3, columns: {k: i}}}
  branch:
    op: if
    in: {rows: rows}
    with: {condition: rows(rows) == 3, then: {read: {op: file.read_csv, with: {path: "${file}", type: {a: u8}}}}, out: {r: read}}
  write: {op: file.write_csv, in: branch.r, with: {path: to.csv}}
tests:
  - {name: bare, PARAMSexpect: {write: ['7']}}
"""
        self.write("c.yaml", inside.replace("PARAMS", ""))
        done = self.flowrun("test", "c.yaml")
        self.assertEqual(done.returncode, 78, done.stdout)
        self.assertIn("'bare' would read the file of 'branch.then.read'", done.stderr)
        self.write("c.yaml", inside.replace("PARAMS", "params: {file: there.csv}, "))
        done = self.flowrun("test", "c.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_files_of_bytes_have_no_rows(self):
        self.write("a.yaml", "flowrun: 1\nname: x\nnodes:\n  read: {op: file.read_npy, with: {path: a.npy, type: {x: u32}}}\n"
                   "  write: {op: file.write_npy, in: read, with: {path: b.npy}}\n"
                   "tests:\n  - {given: {read: [[1]]}, expect: {write: [[1]]}}\n")
        done = self.flowrun("test", "a.yaml")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("'read' reads no lines, which rows could stand for", done.stderr)
        self.assertIn("'write' writes no lines, which rows could stand for", done.stderr)

    def test_a_parameter_without_a_value(self):
        self.write("a.yaml", GOOD.replace("default: 1", "required: true"))
        done = self.flowrun("test", "a.yaml", "-k", "maps")
        self.assertEqual(done.returncode, 78)
        self.assertIn("a.yaml:15:5: error: 'maps, lists and values' gives no value for the parameter 'least'", done.stderr)
        self.assertEqual(self.flowrun("test", "a.yaml", "-k", "another").returncode, 0)

    def test_a_pattern_of_names_passes_over_no_broken_job(self):
        self.write("good.yaml", GOOD)
        self.write("bad.yaml", "flowrun: 1\nnodes: {a: {op: [}\n")
        done = self.flowrun("test", ".", "-k", "another")
        self.assertEqual(done.returncode, 78, done.stdout)
        self.assertIn("bad.yaml", done.stderr)

    def test_a_parameter_that_is_a_pattern_of_paths(self):
        self.write("s-1.txt", "b\n")
        self.write("s-2.txt", "a\n")
        self.write("a.yaml", "flowrun: 1\nparams: {in: {type: path, required: true}}\nnodes:\n"
                   "  read: {op: file.read_lines, with: {path: '${in}'}}\n"
                   "  write: {op: file.write_lines, in: read, with: {path: out}}\n"
                   "tests:\n  - {params: {in: 's-*.txt'}, expect: {write: [b, a]}}\n")
        done = self.flowrun("test", "a.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_a_test_may_expect_faults(self):
        self.write(
            "a.yaml",
            SUMS + "  - {name: too large, params: {least: 99999999999999999999}, given: {read: []}, fails: no value}\n"
            "  - {name: wrong column, params: {in: x}, fails: nothing about it}\n",
        )
        done = self.flowrun("test", "a.yaml")
        # The first is a fault of the test itself; the second runs and fails otherwise.
        self.assertEqual(done.returncode, 78, done.stdout)
        self.assertIn("is no int for the parameter 'least'", done.stderr)
        self.assertIn("it failed, but not with 'nothing about it'", done.stdout)
        self.write(
            "b.yaml",
            "flowrun: 1\nparams: {by: {type: string, default: a}}\nnodes:\n"
            "  read: {op: file.read_rows, with: {path: from, type: {a: u8}}}\n"
            "  sorted: {op: sort, in: read, with: {by: ['${by}']}}\n"
            "  write: {op: file.write_rows, in: sorted, with: {path: to}}\n"
            "tests:\n  - {name: no such key, params: {by: b}, given: {read: []}, fails: \"'b'\"}\n",
        )
        done = self.flowrun("test", "b.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.write("from", "")
        self.assertEqual(self.flowrun("check", "b.yaml").returncode, 0)

    def test_nothing_is_left_behind(self):
        self.write("good.yaml", GOOD)
        (self.dir / "tmp").mkdir()
        self.environment["TMPDIR"] = str(self.dir / "tmp")
        self.assertEqual(self.flowrun("test", "good.yaml").returncode, 0)
        self.assertEqual(self.files("tmp"), [])
        self.assertEqual(list((self.dir / "tmp").iterdir()), [])

    def start_endless(self):
        """A test that runs until it is stopped, and its directory."""
        self.write(
            "long.yaml",
            "flowrun: 1\nresources: {memory: 64MiB}\nnodes:\n"
            "  drawn: {op: generate, with: {kind: random, rows: 20000000000}}\n"
            "  total: {op: reduce, in: drawn, with: {let: {sum: 'sum(value % 2)'}}}\n"
            "tests:\n  - {name: endless}\n",
        )
        (self.dir / "tmp").mkdir(exist_ok=True)
        self.environment["TMPDIR"] = str(self.dir / "tmp")
        before = set((self.dir / "tmp").iterdir())
        started = self.start("test", "long.yaml")
        until = time.monotonic() + 30
        made = set()
        while not made and time.monotonic() < until:
            time.sleep(0.01)
            made = set((self.dir / "tmp").iterdir()) - before
        time.sleep(0.2)  # it is in use by now
        return started, made.pop()

    def test_interruption(self):
        started, _ = self.start_endless()
        os.kill(started.pid, signal.SIGINT)
        started.communicate(timeout=60)
        self.assertEqual(started.returncode, 130)
        self.assertEqual(list((self.dir / "tmp").iterdir()), [])

    def test_the_next_run_removes_what_a_killed_one_left(self):
        killed, left = self.start_endless()
        os.kill(killed.pid, signal.SIGKILL)
        killed.communicate(timeout=60)
        self.assertTrue(left.exists())
        (left / "folder").mkdir(exist_ok=True)
        (left / "folder" / "file").write_text("")
        others = self.dir / "tmp" / "flowrun-tests"
        others.mkdir()
        own = self.dir / "tmp" / "flowrun-tests.of-may"
        own.mkdir()
        (self.dir / "tmp" / f"{left.name}-link").symlink_to(others)
        running, used = self.start_endless()
        self.assertFalse(left.exists())
        self.write("good.yaml", GOOD)
        self.assertEqual(self.flowrun("test", "good.yaml").returncode, 0)
        self.assertTrue(used.exists())  # its process still runs
        self.assertTrue(others.exists())
        self.assertTrue(own.exists())
        os.kill(running.pid, signal.SIGINT)
        running.communicate(timeout=60)


if __name__ == "__main__":
    main()
