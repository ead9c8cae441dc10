#!/usr/bin/env python3
"""Loops, ifs and calls of jobs on a cluster: the driver runs them, as stages of their bodies."""

import json
import pathlib
import shutil
import signal
import sys
import unittest

from cluster_process import cluster_process
from flowrun_process import SANITIZED, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import parts  # noqa: E402

# Breadth-first search in a random graph.
SEARCH = """flowrun: 1
name: search
params: {edges: {type: int, default: 20000}, check: {type: string, default: "true"}}
nodes:
  drawn: {op: generate, with: {rows: "${edges}", columns: {src: "rand(1, i) % (${edges} / 4)", dst: "rand(2, i) % (${edges} / 4)"}}}
  edges: {op: sort, in: drawn, with: {by: [src, dst]}}
  levels:
    op: loop
    in: {edges: edges}
    with:
      carry: {prev: {rows: [], type: {node: u64}}, cur: {rows: [{node: 0}], type: {node: u64}}, t: {value: 0}}
      body:
        reached: {op: join, in: {left: cur, right: edges}, with: {by: {node: src}}}
        checked: {op: check, in: reached, with: {where: "${check}"}}
        next:    {op: map, in: reached, with: {node: dst}}
        sorted:  {op: sort, in: next, with: {by: [node], unique: true}}
        fresh:   {op: join, in: {left: sorted, right: cur}, with: {by: [node], kind: anti}}
        new:     {op: join, in: {left: fresh, right: prev}, with: {by: [node], kind: anti}}
        count:   {op: reduce, in: new, with: {let: {n: "count()", largest: "max(node)"}}}
        level:   {op: map, in: new, with: {node: node, value: "t + 1"}}
      next:    {prev: cur, cur: new, t: "t + 1"}
      until:   "count.n == 0 or t > 8"
      collect: {out: level}
  found:  {op: sort, in: levels.out, with: {by: [value, node]}}
  saved:  {op: file.write_csv, in: found, with: {path: out/levels.csv}}
  values: {op: file.write_csv, in: levels.scalars, with: {path: out/scalars.csv}}
"""
# A loop in a graph that calls itself, and an if: sums of halves, and of their halves.
NESTED = """flowrun: 1
graphs:
  halved:
    in: {rows: {x: u64}}
    out: {sums: {from: all, type: {x: u64}}}
    nodes:
      small:   {op: filter, in: rows, with: {where: "x % 2 == 0"}}
      half:    {op: map, in: small, with: {x: "x / 2 + call_depth"}}
      deeper:  {op: call, in: {rows: half}, with: {graph: halved, when: "rows(rows) > 10"}}
      doubled:
        op: loop
        in: {rows: rows}
        with:
          carry: {now: {from: rows}}
          body: {more: {op: map, in: now, with: {x: "x + iteration"}}}
          next: {now: more}
          times: 2
      chosen:
        op: if
        in: {rows: doubled.now}
        with:
          condition: "rows(rows) > 500"
          then: {some: {op: filter, in: rows, with: {where: "x < 1000"}}}
          else: {some: {op: map, in: rows, with: {x: "x + 7"}}}
          out: {out: some}
      all: {op: concat, in: [chosen, deeper.sums]}
nodes:
  drawn:  {op: generate, with: {rows: 3000, columns: {x: "rand(1, i) % 5000"}}}
  sums:   {op: call, in: {rows: drawn}, with: {graph: halved}}
  sorted: {op: sort, in: sums, with: {by: [x]}}
  saved:  {op: file.write_csv, in: sorted, with: {path: out/sums.csv}}
  plain:  {op: file.write_csv, in: sums, with: {path: out/plain.csv}}
"""
STAGES = ("-T", "scratch", "--cluster", "local:3", "--divide-from", "1")
LONG = ("-p", f"edges={100000 if SANITIZED else 400000}")


class cluster_loops_test(cluster_process):
    def outputs(self):
        out = {}
        for path in (self.dir / "out").iterdir():
            out[path.name] = parts.joined(path) if path.is_dir() else path.read_bytes()
        return out

    def expected(self, *arguments):
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.outputs()

    def nothing_left(self):
        self.assertEqual(self.files("scratch"), [])
        self.assertEqual([path.name for path in (self.dir / "out").glob(".*")], [])

    def test_plan_tells_programs_the_stages_of_bodies(self):
        self.write("job.yaml", SEARCH)
        words = ("plan", "job.yaml", "--cluster", "local:3")
        stages = json.loads(self.flowrun(*words, "-f", "json").stdout)["stages"]
        loop, = (stage for stage in stages if "least_divided_bytes" in stage)
        body, = loop["bodies"]
        self.assertEqual(body["path"], "levels")
        text = self.flowrun(*words).stdout
        self.assertIn(f"on a cluster: {len(stages)} stages\n", text)
        self.assertIn(f"levels: {len(body['stages'])} stages each time\n", text)
        whole = [reason for stage in stages + body["stages"] for reason in stage["whole_because"]]
        self.assertEqual(len(whole), sum(line.count("' (") for line in text.splitlines() if "whole, because of" in line))
        self.assertTrue(any(stage["at_most"] for stage in body["stages"]))

    @unittest.skipIf(SANITIZED, "many tasks for one message")
    def test_too_little_memory_for_a_task_of_a_body(self):
        """How many files it reads depends on rows. It names the task's memory, and says how that comes from -m."""
        self.write("job.yaml", SEARCH)
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "--tasks", "30", "--divide-from", "1",
                            "-m", "80MiB")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertRegex(done.stderr, r"in 'levels', iteration \d+: task \d+ of stage \d+: a memory budget of 40.0 MiB is too")
        self.assertRegex(done.stderr, r"\n  expected: memory: \d+MiB or more; phase 1 wants at least\n")
        self.assertRegex(done.stderr, r"\n +\d+ others +\d+")
        self.assertIn("help: that is what a task has: with local:N an N-th of -m, ", done.stderr)
        self.assertNotIn("run with -m", done.stderr)

    def test_a_search(self):
        self.write("job.yaml", SEARCH)
        expected = self.expected("--report", "alone.json")
        self.assertGreater(expected["levels.csv"].count(b"\n"), 1000)
        done = self.flowrun("job.yaml", *STAGES, "-v", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outputs(), expected)
        self.nothing_left()
        self.assertIn("stage 3 of 6, levels: iteration 2, stage 1 of 4: 3 of 3 tasks done", done.stderr)
        iterations = int(expected["scalars.csv"].split(b",")[1])
        self.assertIn(f"levels.iterations = {iterations}", done.stderr)
        report = json.loads((self.dir / "report.json").read_text())
        self.assertEqual(done.stderr.count("levels.count.n = "), 1)  # the last one
        nodes = {node["id"]: node for node in report["nodes"]}
        self.assertEqual(int(nodes["levels"]["iterations"]), iterations)
        self.assertEqual(int(nodes["levels.level"]["rows"]), expected["levels.csv"].count(b"\n"))
        stages = {tuple(stage["nodes"]): stage["tasks"] for stage in report["stages"]}
        self.assertEqual(stages["levels.reached", "levels.next", "levels.sorted"], 3 * iterations)
        self.assertEqual(stages["levels.count",], iterations)
        places = [[(node["id"], node["inside"], node["role"]) for node in json.loads((self.dir / name).read_text())["nodes"]]
                  for name in ("report.json", "alone.json")]
        self.assertEqual(*places)
        counts = [{node["id"]: [node[name] for name in ("rows_in", "rows", "bytes", "iterations")]
                   for node in json.loads((self.dir / name).read_text())["nodes"]} for name in ("report.json", "alone.json")]  # fmt: skip
        self.assertEqual(*counts)
        edges = [[(edge["from"], edge["from_port"], edge["to"], edge["to_port"], edge.get("rows"))
                  for edge in json.loads((self.dir / name).read_text())["edges"]] for name in ("report.json", "alone.json")]  # fmt: skip
        self.assertEqual(*edges)

    def test_where_there_is_little_to_read_one_task_runs_the_loop(self):
        self.write("job.yaml", SEARCH)
        expected = self.expected()
        done = self.flowrun("job.yaml", "-T", "scratch", "--cluster", "local:3", "-v")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outputs(), expected)
        self.assertIn("stage 3 of 6: 1 of 1 task done", done.stderr)

    def test_what_is_inside_of_each_other(self):
        self.write("job.yaml", NESTED)
        expected = self.expected("--report", "alone.json")
        done = self.flowrun("job.yaml", "-q", *STAGES, "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outputs(), expected)
        self.nothing_left()
        counts = [{node["id"]: [node[name] for name in ("rows", "bytes", "iterations", "fused_with")]
                   for node in json.loads((self.dir / name).read_text())["nodes"]} for name in ("report.json", "alone.json")]  # fmt: skip
        self.assertEqual(*counts)

    def test_an_error_says_in_which_iteration(self):
        self.write("job.yaml", SEARCH)
        wrong = ("-p", "check=t < 3")
        alone = self.flowrun("job.yaml", "-q", "-T", "scratch", *wrong)
        done = self.flowrun("job.yaml", "-q", *STAGES, *wrong)
        self.assertEqual((alone.returncode, done.returncode), (65, 65), done.stderr)
        for said in (alone.stderr, done.stderr):
            self.assertIn("in 'levels', iteration 3: ", said)
            self.assertIn("breaks the rule t < 3", said)
        self.nothing_left()

    def test_a_loop_without_an_end(self):
        self.write("job.yaml", SEARCH.replace('until:   "count.n == 0 or t > 8"', 'until: "t < 0"\n      max_iterations: 3'))
        done = self.flowrun("job.yaml", "-q", *STAGES)
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn("'levels' has not ended after 3 iterations", done.stderr)
        self.nothing_left()

    def test_iterations_leave_what_is_needed_to_go_on_and_a_stop_removes_it(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  drawn: {op: generate, with: {rows: 300, columns: {x: i}}}
  long:
    op: loop
    in: {rows: drawn}
    with: {carry: {now: {from: rows}}, body: {sorted: {op: sort, in: now, with: {by: [-x]}}}, next: {now: sorted}, times: 100000}
  saved: {op: file.write_csv, in: long.now, with: {path: out/x.csv}}
""")
        driver = self.start("job.yaml", "-q", *STAGES)
        self.until_workers(driver, 60)
        directory = next((self.dir / "scratch").glob("flowrun-cluster-*"))
        kinds = {}
        for path in directory.iterdir():
            kind = path.name.split("-")[0]
            kinds[kind] = kinds.get(kind, 0) + 1
        self.assertGreater(kinds["stage"], 50)
        self.assertGreater(kinds["done"], 100)
        self.assertLess(sum(kinds.values()) - kinds["stage"] - kinds["done"], 40, kinds)
        driver.send_signal(signal.SIGINT)
        _, said = driver.communicate(timeout=60)
        self.assertEqual((driver.returncode, said.count("stopped by Ctrl-C")), (130, 1), said)
        self.nothing_left()

    def test_a_stopped_driver_leaves_nothing(self):
        self.write("job.yaml", SEARCH)
        driver = self.start("job.yaml", "-q", *STAGES, *LONG)
        self.until_workers(driver, 6)
        driver.send_signal(signal.SIGINT)
        driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, 130)
        self.nothing_left()

    def test_a_killed_driver_goes_on_in_its_iteration(self):
        self.write("job.yaml", SEARCH)
        expected = self.expected(*LONG)
        for stage in (9,) if SANITIZED else (4, 9):
            shutil.rmtree(self.dir / "out")
            (self.dir / "out").mkdir()
            driver = self.start("job.yaml", "-q", "--resume", *STAGES, *LONG)
            worker = self.until_workers(driver, stage)
            driver.kill()
            driver.communicate()
            self.until_gone(worker)
            directory = next((self.dir / "scratch").glob("flowrun-cluster-resume-*/*/plan")).parent
            before = {path.name: path.stat().st_mtime_ns for path in directory.glob("done-*")}
            self.assertGreater(len(before), 2)
            again = self.flowrun("job.yaml", "-v", "--resume", *STAGES, *LONG)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(self.outputs(), expected)
            self.nothing_left()


if __name__ == "__main__":
    main()
