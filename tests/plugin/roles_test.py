#!/usr/bin/env python3
"""Operators of plugins beyond streams: sorts on the way, several inputs, stored rows, waiting, files, error ports.

    roles_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]     see plugin_tests.py
"""

import collections
import os
import pathlib
import random
import signal
import socket
import subprocess
import time
import unittest

from plugin_tests import COMPILERS, ROOT, SANITIZERS, main, plugin_tests

HERE = pathlib.Path(__file__).resolve().parent
# The same job in ways that must give the same bytes.
WAYS = ((), ("-j", "1"), ("-j", "3", "--batch-size", "4KiB"), ("--plain-executor", "--force-spill"),
        ("-m", "16MiB", "--force-spill", "--block-size", "4KiB"))


class role_test(plugin_tests):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = (HERE / "wide_operators.cc").read_text().replace("%", "%%")
        cls.wide = cls.compile(cls.shared / "wide" / "wide.so", "", source=source)

    def run_job(self, nodes, *more, code=0, plugins="wide", plugin=None):
        self.write("job.yaml", f"flowrun: 1\nplugins: [{plugins}]\nnodes:\n" + nodes)
        done = self.flowrun("job.yaml", "--plugin", plugin or self.wide, "-T", "scratch", *more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def alike(self, *jobs, plugin=None, plugins="wide"):
        outputs = []
        for nodes in jobs:
            for more in WAYS:
                self.run_job(nodes, *more, plugin=plugin, plugins=plugins)
                outputs.append((self.dir / "out.csv").read_bytes())
        self.assertGreater(len(outputs[0]), 100)
        self.assertEqual(set(outputs), {outputs[0]})
        return outputs[0].decode()

    ROWS = "  rows: {op: generate, with: {rows: 30000, columns: {value: \"rand(1, i) % 5000\", text: \"concat('t', rand(2, i) % 90)\"}}}\n"
    OUT = "  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"


class example_test(role_test):
    def test_all_examples_build_and_pass_their_tests(self):
        for name in ("top", "difference", "bloom", "fifo"):
            for compiler in COMPILERS:
                with self.subTest(name=name, compiler=compiler):
                    done = subprocess.run(["ctest", "--test-dir", self.example(name, compiler), "--output-on-failure"],
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_top(self):
        made = self.alike(self.ROWS + "  made: {op: top.rows, in: rows, with: {of: [text], by: [-value, length(text)], k: 3}}\n" + self.OUT,
                          plugin=self.example("top") / "top.so", plugins="top")
        rows = [line.split(",") for line in made.split()]
        per_group = collections.Counter(text for _, text in rows)
        self.assertEqual(set(per_group.values()), {3})
        self.assertEqual(len(per_group), 90)
        # The same with built-in words: sorted, numbered within groups, cut.
        self.run_job(self.ROWS + """  sorted: {op: sort, in: rows, with: {by: [text, -value], stable: true}}
  counted: {op: scan, in: sorted, with: {reset: [text], number: n}}
  kept: {op: filter, in: counted, with: {where: "n < 3"}}
  made: {op: map, in: kept, with: {value: value, text: text}}
""" + self.OUT, plugins="", plugin=self.wide)
        self.assertEqual((self.dir / "out.csv").read_text(), made)

    def test_what_is_known_of_a_breaker(self):
        top = self.example("top") / "top.so"
        nodes = self.ROWS + "  made: {op: top.rows, in: rows, with: {of: [text], by: [-value], k: 3}}\n" + self.OUT
        self.run_job(nodes, "--force-spill", "--report", "report.json", plugin=top, plugins="top")
        self.assertEqual([s["id"] for s in self.report()["sorts"]], ["made"])
        plan = self.flowrun("plan", "job.yaml", "--plugin", top).stdout
        self.assertIn("top.rows (create)", plan)
        self.assertIn("top.rows (merge)", plan)
        # What it gives is known to be sorted: a sort of it is elided, and other orders are faults.
        done = self.run_job(nodes + "  again: {op: sort, in: made, with: {by: [text, -value]}}\n  more: {op: reduce, in: again, with: {let: {n: \"count()\"}}}\n",
                            "--report", "report.json", plugin=top, plugins="top")
        self.assertEqual([r["value"] for r in self.report()["results"]], ["270"], done.stderr)

    def test_difference(self):
        numbers = random.Random(1)
        sides = [{f"k{numbers.randrange(4000)}": numbers.randrange(3) for _ in range(9000)} for _ in range(2)]
        for side, rows in zip(("before", "after"), sides):
            (self.dir / f"{side}.csv").write_text("".join(f"{k},{v}\n" for k, v in sorted(rows.items())))
        nodes = "".join(f"  {side}_rows: {{op: file.read_csv, with: {{path: {side}.csv, type: {{k: string, v: u8}}}}}}\n  {side}: {{op: sort, in: {side}_rows, with: {{by: [k]}}}}\n"
                        for side in ("before", "after"))
        made = self.alike(nodes + "  made: {op: difference.rows, in: {before: before, after: after}, with: {by: [k]}}\n" + self.OUT,
                          plugin=self.example("difference") / "difference.so", plugins="difference")
        before, after = sides
        expected = [(k, "-", before[k]) for k in before.keys() - after.keys()]
        expected += [(k, "+", after[k]) for k in after.keys() - before.keys()]
        expected += [(k, "!", after[k]) for k in after.keys() & before.keys() if before[k] != after[k]]
        self.assertEqual(made, "".join(f"{change},{k},{v}\n" for k, change, v in sorted(expected)))

    def test_difference_needs_its_inputs_sorted(self):
        done = self.run_job("  a: {op: generate, with: {rows: 5, columns: {k: i}}}\n  b: {op: generate, with: {rows: 5, columns: {k: \"rand(1, i)\"}}}\n"
                            "  made: {op: difference.rows, in: {before: a, after: b}, with: {by: [k]}}\n" + self.OUT,
                            code=78, plugin=self.example("difference") / "difference.so", plugins="difference")
        self.assertIn("'difference.rows' needs 'b' sorted by k", done.stderr)
        self.assertIn("op: sort", done.stderr)

    def test_bloom(self):
        nodes = """  events: {op: generate, with: {rows: 20000, columns: {user: "u32(rand(1, i) % 100000)"}}}
  users: {op: generate, with: {rows: 500, columns: {id: "u32(rand(2, i) % 100000)"}}}
  made: {op: bloom.matching, in: {stream: events, table: users}, with: {by: {user: id}}}
""" + self.OUT
        made = self.alike(nodes, plugin=self.example("bloom") / "bloom.so", plugins="bloom")
        passed = [int(line) for line in made.split()]
        self.run_job("""  events: {op: generate, with: {rows: 20000, columns: {user: "u32(rand(1, i) % 100000)"}}}
  users: {op: generate, with: {rows: 500, columns: {id: "u32(rand(2, i) % 100000)"}}}
  once: {op: sort, in: users, with: {by: [id], unique: true}}
  found: {op: lookup, in: {stream: events, table: once}, with: {by: {user: id}, missing: drop}}
  made: {op: map, in: found, with: {user: user}}
""" + self.OUT, plugins="", plugin=self.wide)
        matching = [int(line) for line in (self.dir / "out.csv").read_text().split()]
        self.assertGreater(len(matching), 50)
        self.assertTrue(set(matching) <= set(passed))
        self.assertLess(len(passed), len(matching) + 0.02 * 20000)


class seam_test(role_test):
    """Built-in words that are built as a plugin, too, give the same bytes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seam = cls.compile(cls.shared / "seam" / "seam.so", "", source=(HERE / "seam.cc").read_text().replace("%", "%%"),
                               more=(f"-I{ROOT}",))

    def both(self, nodes, op):
        return self.alike(self.ROWS + nodes + self.OUT, self.ROWS + nodes.replace(f"op: {op}", f"op: seam.{op}") + self.OUT,
                          plugin=self.seam, plugins="seam")

    def test_tokens(self):
        for more in ("keep: [value]", "characters: a-z, as: x", "separators: '0-9', keep: [text, value]"):
            with self.subTest(more=more):
                self.both("  made: {op: tokens, in: rows, with: {text: \"concat(text, ' and ', value, ';', text)\", " + more + "}}\n", "tokens")

    def test_reverse(self):
        self.both("  made: {op: reverse, in: rows}\n", "reverse")

    def test_pairs(self):
        rows = "  rows: {op: generate, with: {rows: 30000, columns: {a: \"rand(1, i)\", b: \"rand(2, i)\"}}}\n"
        self.alike(rows + "  made: {op: seam.pairs, in: rows}\n" + self.OUT,
                   rows + "  even: {op: filter, in: rows, with: {where: a % 2 == 0}}\n  made: {op: map, in: even, with: {sum: a + b, b: b}}\n" + self.OUT,
                   plugin=self.seam, plugins="seam")


class waiting_test(role_test):
    def fifo_job(self):
        os.mkfifo(self.dir / "lines.fifo")
        self.write("job.yaml", """flowrun: 1
plugins: [fifo]
nodes:
  lines: {op: fifo.lines, with: {path: lines.fifo}}
  out: {op: file.write_lines, in: lines, with: {path: out.txt}}
""")
        return ["job.yaml", "--plugin", self.example("fifo") / "fifo.so"]

    def test_lines_that_come_slowly(self):
        job = self.start(*self.fifo_job(), "-j", "1")
        sent = ""
        with open(self.dir / "lines.fifo", "w") as fifo:
            for i in range(20):
                sent += f"line {i}\n" * (i * 50)
                fifo.write(f"line {i}\n" * (i * 50))
                fifo.flush()
                time.sleep(0.01)
            fifo.write("the last")
        _, messages = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, messages)
        self.assertEqual((self.dir / "out.txt").read_text(), sent + "the last\n")

    def test_lines_from_a_socket(self):
        arguments = self.fifo_job()
        os.unlink(self.dir / "lines.fifo")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.dir / "lines.fifo"))
            server.listen()
            job = self.start(*arguments)
            client, _ = server.accept()
            with client:
                client.sendall(b"one\ntwo\n")
                time.sleep(0.05)
                client.sendall(b"three\n")
        _, messages = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, messages)
        self.assertEqual((self.dir / "out.txt").read_text(), "one\ntwo\nthree\n")

    def test_cancelled_while_nothing_comes(self):
        job = self.start(*self.fifo_job())
        with open(self.dir / "lines.fifo", "w") as fifo:
            fifo.write("one\n")
            fifo.flush()
            time.sleep(0.3)
            job.send_signal(signal.SIGINT)
            _, messages = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 130, messages)
        self.assertFalse((self.dir / "out.txt").exists())

    def test_a_file_is_read_too_and_none_is_missed(self):
        arguments = self.fifo_job()
        os.unlink(self.dir / "lines.fifo")
        (self.dir / "lines.fifo").write_text("a\nfile")
        self.assertEqual(self.flowrun(*arguments).returncode, 0)
        self.assertEqual((self.dir / "out.txt").read_text(), "a\nfile\n")
        os.unlink(self.dir / "lines.fifo")
        done = self.flowrun(*arguments)
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("lines.fifo", done.stderr)

    def test_two_nodes_and_one_descriptor(self):
        self.fifo_job()
        self.write("job.yaml", """flowrun: 1
plugins: [fifo]
nodes:
  one: {op: fifo.lines, with: {path: lines.fifo}}
  two: {op: fifo.lines, with: {path: lines.fifo}}
  out: {op: file.write_lines, in: one, with: {path: out.txt}}
  more: {op: file.write_lines, in: two, with: {path: more.txt}}
""")
        done = self.flowrun("job.yaml", "--plugin", self.example("fifo") / "fifo.so")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("both read", done.stderr)

    def test_work_that_is_spawned(self):
        nodes = "  made: {op: wide.spawned, with: {rows: 5000}}\n" + self.OUT
        self.assertEqual(self.alike(nodes).split(), [str(i) for i in range(5000)])
        self.run_job(nodes, "--report", "report.json")
        made = {n["id"]: n for n in self.report()["nodes"]}["made"]
        self.assertEqual(made["counts"], {"pieces": "50"})

    def test_spawned_work_that_breaks(self):
        done = self.run_job("  made: {op: wide.spawned, with: {rows: 5000, breaks_at: 700}}\n" + self.OUT, code=65)
        self.assertIn("node 'made': plugin wide 1.2.3, operator spawned: the work broke", done.stderr)
        self.assertIn("work less", done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())

    def test_wakes_that_come_late_and_by_time(self):
        for op, rows in (("late", 30), ("sleeps", 20)):
            with self.subTest(op=op):
                for more in ((), ("--plain-executor",)):
                    self.run_job(f"  made: {{op: wide.{op}, with: {{rows: {rows}}}}}\n" + self.OUT, *more)
                    self.assertEqual((self.dir / "out.csv").read_text().split(), [str(i) for i in range(rows)])


class stored_test(role_test):
    def test_stored_rows_forward_and_backward(self):
        made = self.alike(self.ROWS + "  made: {op: wide.there_and_back, in: rows}\n" + self.OUT).split()
        self.assertEqual(len(made), 60000)
        self.assertEqual(made[30000:], made[29999::-1])

    def test_a_queue_and_a_vector(self):
        same = self.alike(self.ROWS + self.OUT.replace("made", "rows"),
                          self.ROWS + "  made: {op: wide.through_queue, in: rows}\n" + self.OUT)
        self.assertEqual(len(same.split()), 30000)
        self.alike(self.ROWS + "  made: {op: reverse, in: rows}\n" + self.OUT,
                   self.ROWS + "  made: {op: wide.through_vector, in: rows}\n" + self.OUT)

    def test_they_go_to_scratch(self):
        self.run_job(self.ROWS.replace("30000", "300000") + "  made: {op: wide.through_queue, in: rows}\n"
                     "  back: {op: wide.through_vector, in: made}\n" + self.OUT.replace("made", "back"), "--report", "report.json")
        report = self.report()
        self.assertGreater(int(report["actual"]["scratch_written_bytes"]), 4_000_000)
        self.within_budget(report)

    def test_in_a_loop(self):
        self.run_job("""  start: {op: generate, with: {rows: 4, columns: {value: i}}}
  grown:
    op: loop
    in: {start: start}
    with:
      carry: {current: {from: start}, i: {value: 0}}
      body:
        twice: {op: wide.there_and_back, in: current}
        more: {op: wide.pick, in: twice, with: {number: value + i, texts: {t: "concat(i)"}}}
        next: {op: map, in: more, with: {value: number}}
      next: {current: next, i: i + 1}
      until: "i == 2"
  total: {op: reduce, in: grown.current, with: {let: {n: "count()", s: sum(value)}}}
""", "--report", "report.json")
        # Each round doubles the rows and adds the round's number to each.
        self.assertEqual({r["name"]: r["value"] for r in self.report()["results"] if r["node"] == "total"}, {"n": "16", "s": str(4 * 6 + 16)})


class other_test(role_test):
    def test_expressions(self):
        self.alike(self.ROWS + "  made: {op: wide.pick, in: rows, with: {where: value % 2 == 1, number: value * 3, texts: {a: \"concat(text, '!')\", b: upper(text)}}}\n" + self.OUT,
                   self.ROWS + "  some: {op: filter, in: rows, with: {where: value % 2 == 1}}\n"
                   "  made: {op: map, in: some, with: {number: value * 3, a: \"concat(text, '!')\", b: upper(text)}}\n" + self.OUT)

    def test_faults_of_expressions(self):
        for parameters, place, *parts in (
            ("{where: value, number: value, texts: {}}", "5:49", "bool"),
            ("{number: valu, texts: {}}", "5:50", "did you mean 'value'?"),
            ("{number: value, texts: {a: value}}", "5:68", "this is no string"),
        ):
            with self.subTest(parameters=parameters):
                done = self.run_job(self.ROWS + f"  made: {{op: wide.pick, in: rows, with: {parameters}}}\n" + self.OUT, code=78)
                for part in (f"job.yaml:{place}", *parts):
                    self.assertIn(part, done.stderr)

    def test_rows_that_are_made_are_sorted(self):
        nodes = "  rows: {op: generate, with: {rows: 30000, columns: {value: \"rand(1, i) % 5000\"}}}\n"
        made = self.alike(nodes + "  made: {op: wide.halved, in: rows}\n" + self.OUT)
        self.assertEqual(made.split("\n")[:2], ["2499,half 2499", "2498,half 2498"])
        self.assertEqual(len(made.split("\n")), 2501)
        self.run_job(nodes + "  made: {op: wide.halved, in: rows, with: {limit: 2}}\n" + self.OUT)
        self.assertEqual((self.dir / "out.csv").read_text(), "2499,half 2499\n2498,half 2498\n")

    def test_files_appear_whole_or_not_at_all(self):
        rows = "  rows: {op: generate, with: {rows: 200000, columns: {value: i}}}\n"
        self.run_job(rows + "  save: {op: wide.save, in: rows, with: {path: made/out.txt, of: [value]}}\n", "--report", "report.json")
        self.assertEqual((self.dir / "made/out.txt").read_text().split(), [str(i) for i in range(200000)])
        written = {n["id"]: n for n in self.report()["nodes"]}["save"]["file_written_bytes"]
        self.assertEqual(int(written), (self.dir / "made/out.txt").stat().st_size)
        self.run_job(rows + """  save: {op: wide.save, in: rows, with: {path: made/other.txt, of: [value]}}
  check: {op: check, in: rows, with: {where: value < 199999}}
""", code=65)
        self.assertEqual(self.files("made"), ["out.txt"])

    def test_two_writers_of_one_file(self):
        done = self.run_job("  rows: {op: generate, with: {rows: 9, columns: {value: i}}}\n"
                            "  save: {op: wide.save, in: rows, with: {path: out.csv, of: [value]}}\n" + self.OUT.replace("made", "rows"), code=78)
        self.assertIn("'save' and 'out' both write 'out.csv'", done.stderr)

    def test_on_error(self):
        rows = "  rows: {op: generate, with: {rows: 300, columns: {value: i}}}\n"
        done = self.run_job(rows + "  made: {op: wide.sound, in: rows}\n" + self.OUT, code=65)
        self.assertIn("the number 0 is a multiple of 3", done.stderr)
        self.run_job(rows + "  made: {op: wide.sound, in: rows, on_error: skip}\n" + self.OUT, "--report", "report.json")
        self.assertEqual(len((self.dir / "out.csv").read_text().split()), 200)
        self.assertEqual({n["id"]: n for n in self.report()["nodes"]}["made"]["rejected_rows"], "100")
        self.run_job(rows + "  made: {op: wide.sound, in: rows, on_error: {to: bad}}\n" + self.OUT +
                     "  worse: {op: file.write_csv, in: made.bad, with: {path: bad.csv}}\n")
        self.assertEqual((self.dir / "bad.csv").read_text().split(), [str(i) for i in range(0, 300, 3)])
        done = self.run_job(rows + "  made: {op: wide.sound, in: rows, on_error: {to: skip, max_ratio: 0.25}}\n" + self.OUT, code=65)
        self.assertIn("100 of 300 rows were rejected, more than max_ratio 0.25", done.stderr)

    def test_more_memory_than_there_is(self):
        done = self.run_job("  made: {op: wide.hungry}\n" + self.OUT, code=75)
        self.assertIn("node 'made': plugin wide 1.2.3, operator hungry: it needs", done.stderr)
        self.assertIn("-m", done.stderr)

    def test_a_queue_keeps_no_more_than_its_rows(self):
        rows = "  rows: {op: generate, with: {rows: 20000000, columns: {value: i}}}\n"
        self.run_job(rows + "  made: {op: wide.first_of_each, in: rows}\n  n: {op: reduce, in: made, with: {let: {n: \"count()\"}}}\n",
                     "-m", "32MiB", "--batch-size", "64KiB", "--report", "report.json")
        self.assertGreater(int(self.report()["results"][0]["value"]), 1000)
        self.within_budget(self.report())

    BREAKS = """#include <flowrun/plugin.hpp>
struct nothing {};
struct state {
  bool has_ended = false;
  ~state() noexcept(false) { if (has_ended) %(destroy)s; }
};
FLOWRUN_PLUGIN("toy", "1.2.3") {
  plugin.add(fr::source<nothing, state>("breaks").summary("Breaks.").output("out", "rows")
                 .check([](fr::node& node) {
                   node.set_output(0, fr::row_type(std::vector<fr::column>{{"value", {FR_U64, 8}}}));
                   return nothing{};
                 })
                 .run([](const nothing&, const fr::job&) -> state { %(build)s; return state{}; },
                      [](state& s, fr::out&) { s.has_ended = true; return false; }));
}
"""

    def breaks(self, code, *parts, build="", destroy="return"):
        source = self.BREAKS % {"build": build, "destroy": destroy}
        plugin = self.compile(self.dir / "plugins" / "toy.so", "", source=source.replace("%", "%%"))
        done = self.run_job("  made: {op: toy.breaks}\n" + self.OUT, code=code, plugins="toy", plugin=plugin)
        for part in ("node 'made': plugin toy 1.2.3, operator breaks", *parts):
            self.assertIn(part, done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())

    def test_throws_in_build(self):
        self.breaks(65, "not today", "tomorrow", build='throw fr::error("not today", "tomorrow")')
        self.breaks(70, "an exception of an unknown type", build="throw 1")

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_throws_in_destroy(self):
        self.breaks(-6, "a crash inside of", destroy="throw 1")

    def test_rows_are_read_in_steps_only(self):
        done = self.run_job(self.ROWS + "  made: {op: wide.early, in: rows}\n" + self.OUT, code=70)
        self.assertIn("node 'made': plugin wide 1.2.3, operator early: it reads or writes rows", done.stderr)
        self.assertIn("move it from start into pull, push or finish", done.stderr)
        done = self.run_job(self.ROWS + "  made: {op: wide.push_behind_the_end, in: rows}\n" + self.OUT, code=70)
        self.assertIn("or what is finished already", done.stderr)

    def test_rows_that_a_breaker_makes_may_be_long(self):
        rows = "  rows: {op: generate, with: {rows: 3000, columns: {value: \"rand(1, i)\"}}}\n"
        self.run_job(rows + "  made: {op: wide.halved, in: rows, with: {length: 64KiB}}\n"
                     "  short: {op: map, in: made, with: {half: half, n: length(text)}}\n" + self.OUT.replace("made", "short"),
                     "-m", "256MiB", "--report", "report.json")
        self.assertEqual({line.split(",")[1] for line in (self.dir / "out.csv").read_text().split()}, {"65536"})
        self.within_budget(self.report())

    def test_they_are_documented(self):
        done = self.flowrun("ops", "wide.halved", "--plugin", self.wide)
        self.assertIn("breaks the pipeline", done.stdout)
        self.assertIn("rejected rows", self.flowrun("ops", "wide.sound", "--plugin", self.wide).stdout)


if __name__ == "__main__":
    main()
