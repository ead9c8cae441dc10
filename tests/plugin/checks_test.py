#!/usr/bin/env python3
"""What flowrun plugins check finds wrong with operators, by the tests of jobs.

    checks_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]     see plugin_tests.py
"""

import pathlib
import unittest

from plugin_tests import PLUGIN, PLUS, ROOT, SANITIZERS, job, main, plugin_tests

HERE = pathlib.Path(__file__).resolve().parent

# Seven rows through a node.
JOB = """flowrun: 1
plugins: [%(plugin)s]
nodes:
  rows: {op: file.read_csv, with: {path: none.csv, type: {value: u64}}}
  made: {op: %(word)s, in: rows%(more)s}
  out:  {op: file.write_csv, in: made, with: {path: out.csv}}
tests: [{name: seven, given: {rows: [%(given)s]}, expect: {out: [%(expect)s]}}]
"""
# All that toy_operators.cc has.
TOYS = """flowrun: 1
plugins: [toy]
nodes:
  counted: {op: toy.upward, with: {rows: 300}}
  drawn:   {op: map, in: counted, with: {value: "value / 3 * 7 % 90"}}
  beside:  {op: toy.beside, in: drawn}
  sorted:  {op: sort, in: beside, with: {by: [value]}}
  changed: {op: toy.changes, in: sorted, with: {by: [value]}}
  twice:   {op: toy.repeat, in: changed, with: {times: 3}}
  named:   {op: toy.label, in: twice, with: {of: [value]}}
  out:     {op: file.write_csv, in: named, with: {path: out.csv}}
  total:   {op: toy.total, in: twice, with: {of: [value]}}
  forget:  {op: toy.forget, in: twice, with: {of: [value]}}
tests: [{name: all, expect: {total.total: "TOTAL"}}]
"""
# All that wide_operators.cc has, but for the source that never fails to wake and the operator that takes too much.
WIDE = """flowrun: 1
plugins: [wide]
nodes:
  spawned: {op: wide.spawned, with: {rows: 250}}
  late:    {op: wide.late, with: {rows: 9}}
  sleeps:  {op: wide.sleeps, with: {rows: 9}}
  all:     {op: concat, in: [spawned, late, sleeps]}
  sound:   {op: wide.sound, in: all, on_error: {to: bad}}
  picked:  {op: wide.pick, in: sound, with: {where: value > 1, number: value, texts: {t: "concat('no.', value)"}}}
  queued:  {op: wide.through_queue, in: picked}
  back:    {op: wide.through_vector, in: queued}
  both:    {op: wide.there_and_back, in: back}
  names:   {op: file.write_csv, in: both, with: {path: names.csv}}
  halved:  {op: wide.halved, in: sound.bad}
  out:     {op: file.write_csv, in: halved, with: {path: out.csv}}
  save:    {op: wide.save, in: all, with: {path: saved.txt, of: [value]}}
tests: [{name: all, expect: {out: [HALVES]}}]
"""


class good_test(plugin_tests):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toy = cls.compile(cls.shared / "good" / "build" / "toy.so", "", source=(HERE / "toy_operators.cc").read_text().replace("%", "%%"))
        values = sorted({v + d for v in (i // 3 * 7 % 90 for i in range(300)) for d in (0, 1)})
        cls.job = TOYS.replace("TOTAL", str(3 * sum(values)))

    def test_a_job_that_is_given(self):
        self.write("job.yaml", self.job)
        done = self.flowrun("plugins", "check", self.toy, "job.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^toy 1.2.3: 7 operators in 1 test, each under \d\d settings: nothing is wrong\n$")
        self.assertEqual(self.files(), ["job.yaml"])

    def test_all_roles(self):
        wide = self.compile(self.shared / "wide" / "wide.so", "", source=(HERE / "wide_operators.cc").read_text().replace("%", "%%"))
        halves = sorted({v // 2 for v in range(250) if v % 3 == 0}, reverse=True)
        self.write("job.yaml", WIDE.replace("HALVES", ", ".join(f"'{h},half {h}'" for h in halves)))
        done = self.flowrun("plugins", "check", wide, "job.yaml")
        self.assertEqual(done.stdout.split("not tried:")[0], "wide 1.2.3: 10 operators in 1 test, each under 25 settings: nothing is wrong with these\n",
                         done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_the_examples(self):
        for name in ("bloom", "difference", "fifo", "top"):
            with self.subTest(name=name):
                plugin = self.example(name) / f"{name}.so"
                done = self.flowrun("plugins", "check", plugin, ROOT / "plugin/examples" / name / "job.yaml")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("nothing is wrong\n", done.stdout)

    def test_what_is_not_tried_is_named(self):
        done = self.flowrun("plugins", "check", self.toy)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("toy.repeat", done.stdout.split("not tried: ")[1])
        self.write("job.yaml", JOB % {"plugin": "toy", "word": "toy.repeat", "more": ", with: {times: 2}", "given": "'1', '2'",
                                      "expect": "'1', '1', '2', '2'"})
        done = self.flowrun("plugins", "check", self.toy, "job.yaml")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 operator in 1 test", done.stdout)
        untried = done.stdout.split("not tried: ")[1]
        self.assertIn("toy.upward", untried)
        self.assertNotIn("toy.repeat", untried)

    def test_jobs_beside_the_plugin(self):
        for place in ("near", "near/build"):
            with self.subTest(place=place):
                plugin = self.compile(self.dir / "near" / "build" / "toy.so", "", source=(HERE / "toy_operators.cc").read_text().replace("%", "%%"))
                other = self.write("near/other.yaml", "flowrun: 1\nplugins: [else]\nnodes: {}\n")
                near = self.write(f"{place}/job.yaml", JOB % {"plugin": "toy", "word": "toy.beside", "more": "", "given": "'1'", "expect": "'1', '2'"})
                done = self.flowrun("plugins", "check", plugin)
                self.assertIn("1 operator in 1 test", done.stdout)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                near.unlink()
                other.unlink()

    def test_jobs_that_are_no_use(self):
        self.write("job.yaml", job("1", "[]"))
        done = self.flowrun("plugins", "check", self.toy, "job.yaml")
        self.assertEqual(done.returncode, 78, done.stdout)
        self.assertIn("job.yaml doesn't name the plugin 'toy'", done.stderr)
        self.write("job.yaml", job("1", "[toy]"))
        done = self.flowrun("plugins", "check", self.toy, "job.yaml")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("job.yaml has no tests", done.stderr)
        # Its own test fails: nothing can be compared.
        self.write("job.yaml", JOB % {"plugin": "toy", "word": "toy.repeat", "more": ", with: {times: often}", "given": "'1'", "expect": "'1'"})
        done = self.flowrun("plugins", "check", self.toy, "job.yaml")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("can't be tried", done.stdout)
        self.assertIn("often", done.stdout)
        self.assertIn("nothing is wrong with what could be tried", done.stdout)


class faulty_test(plugin_tests):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.faulty = cls.compile(cls.shared / "faulty" / "faulty.so", "", source=(HERE / "faulty_operators.cc").read_text().replace("%", "%%"))

    def check(self, word, *parts, given=(7, 7, 3, 9, 9, 9, 1), **more):
        self.write("job.yaml", JOB % {"plugin": "faulty", "word": f"faulty.{word}", "more": "", "given": ", ".join(f"'{v}'" for v in given),
                                      "expect": ""})
        done = self.flowrun("plugins", "check", self.faulty, "job.yaml", *more.get("options", ()))
        self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
        for part in (f"job.yaml, test 'seven': faulty.{word} ", "faulty 1: 1 operator in 1 test", "NOT as it has to be", *parts):
            self.assertIn(part, done.stdout + done.stderr)
        return done

    def test_what_depends_on_where_batches_are_cut(self):
        for word in ("position", "forgetting"):
            done = self.check(word, f"faulty.{word} gives something else with batches of one row\n", "out: usually", "where batches are cut")
            self.assertNotIn("as usual, again", done.stdout)

    def test_rows_that_are_lost(self):
        self.check("losing", "gives something else with batches of one row\n", "out: usually 21 rows (-), now 7 (+)", "leave()")

    def test_state_that_all_share(self):
        self.check("counting", "gives something else as usual, again")
        self.check("crowded", "gives something else with batches of one row", "4 threads and late steps")

    def test_failures(self):
        self.check("throwing", "fails, and usually doesn't with batches of one row\n", "an exception of an unknown type")

    def test_ends_of_the_process(self):
        self.check("leaving", "ended its process with exit(0) with batches of one row\n", "never ends the process")
        self.check("exiting", "ended its process with exit(70) with batches of one row\n", "operator exiting ended the process with exit()")
        self.check("fragile", "ended its process with exit(3) cancelled after 0 % of the steps", "also: cancelled after 30 %")

    def test_ends_of_the_process_before_the_run(self):
        for word, parts in (("ending", ["ended its process with exit(0) as usual\n"]),
                            ("quitting", ["ended its process with exit(70) as usual\n", "faulty 1, operator quitting ended the process with exit()"])):
            self.write("job.yaml", JOB % {"plugin": "faulty", "word": f"faulty.{word}", "more": "", "given": "'1'", "expect": "'1'"})
            done = self.flowrun("plugins", "check", self.faulty, "job.yaml")
            self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
            for part in ("a word of faulty", "never ends the process", *parts):
                self.assertIn(part, done.stdout + done.stderr)
        for command in ("check", "run"):
            done = self.flowrun(command, "job.yaml", "--plugin", self.faulty)
            self.assertEqual(done.returncode, 70, done.stderr)
            self.assertIn("faulty 1, operator quitting ended the process with exit()", done.stderr)

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_crashes(self):
        self.check("aborting", "ended its process with signal 6 with batches of one row\n", "faulty 1, operator aborting (abort)",
                   "also: with batches of one row, 1 thread")
        self.check("deep", "ended its process with signal 11 with batches of one row\n", "faulty 1, operator deep (stack overflow)")

    def test_hangs(self):
        self.check("hanging", "hangs: it didn't end within 3 s with batches of one row\n", "also: with batches of one row, 1 thread\n",
                   "a step that never returns", options=("--limit", "3"))

    def test_waiting(self):
        for word, parts in (("impatient", ["gives something else blocked at any step\n", "- 7", "+ 0", "what it did before it was blocked"]),
                            ("asleep", ["hangs: it didn't end within 2 s as usual\n", "waits for a wake that never comes"])):
            self.write("job.yaml", f"flowrun: 1\nplugins: [faulty]\nnodes:\n  made: {{op: faulty.{word}}}\n"
                                   "  out: {op: file.write_csv, in: made, with: {path: out.csv}}\n"
                                   "tests: [{name: it, expect: {out: ['7']}}]\n")
            done = self.flowrun("plugins", "check", self.faulty, "job.yaml", "--limit", "2" if word == "asleep" else "60")
            self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
            for part in parts:
                self.assertIn(part, done.stdout)

    def test_what_is_left_behind(self):
        self.check("littering", "leaves files behind as usual\n", "tmp/faulty.tmp, 1 bytes")

    def test_what_is_said_before_the_run(self):
        done = self.check("unsorted", "with its orders looked at\n", "it says of an output that it is sorted".replace("it says", "its check says"))
        self.assertNotIn("gives something else", done.stdout)
        self.check("miscounting", "has not as many rows as was said to be certain as usual\n", "node 'made' (faulty.miscounting): 7 rows, where its check says just 3")


class ending_test(plugin_tests):
    """The line of a plugin that ends the process in a job."""

    def test_exit(self):
        plugin = self.plugin(PLUS % ("plus", "plus", "if (x == 5) std::exit(0);"), source=PLUGIN)
        self.write("job.yaml", job("toy.plus(f64(value))"))
        done = self.flowrun("job.yaml", "--plugin", plugin)
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("node 'mapped'" if "node" in done.stderr else "plugin toy 1.2.3, function plus", done.stderr)
        self.assertIn("ended the process with exit()", done.stderr)
        self.assertFalse((self.dir / "out.csv").exists())

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_crashes_of_several_threads_at_once(self):
        body = """plugin.add(fr::function("plus").signature("plus(x) → f64").help("Aborts.").overload([](double x) -> double {
            static std::atomic<int> inside = 0;
            if (x == 0) return x;
            ++inside;
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
            while (inside < 3 && std::chrono::steady_clock::now() < end) {}
            std::abort(); }));"""
        plugin = self.plugin(body, source="#include <atomic>\n#include <chrono>\n" + PLUGIN)
        for _ in range(20):
            self.write("job.yaml", job("toy.plus(f64(value))", rows=200000))
            done = self.flowrun("job.yaml", "--plugin", plugin, "-j", "4", "--batch-size", "64KiB")
            self.assertEqual(done.returncode, -6, done.stderr)
            self.assertEqual(done.stderr.count("a crash inside of plugin toy 1.2.3, function plus (abort)"), 1, done.stderr)

    @unittest.skipIf(SANITIZERS, "a sanitizer has its own line")
    def test_a_stack_that_is_used_up(self):
        # Frames smaller than the page below a stack: larger ones may leap over it, into the stack of another thread.
        body = """plugin.add(fr::function("plus").signature("plus(x) → f64").help("Deep.").overload([](double x) -> double {
            static const auto down = [](auto&& self, double y) -> double {
              volatile char room[512] = {}; return y < 0 ? 0 : self(self, y + 1) + room[0] + y; };
            return down(down, x); }));"""
        plugin = self.plugin(body)
        for threads in ("1", "3"):
            self.write("job.yaml", job("toy.plus(f64(value))"))
            done = self.flowrun("job.yaml", "--plugin", plugin, "-j", threads)
            self.assertEqual(done.returncode, -11, done.stderr)
            self.assertIn("a crash inside of plugin toy 1.2.3, function plus (stack overflow)", done.stderr)


if __name__ == "__main__":
    main()
