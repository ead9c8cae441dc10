#!/usr/bin/env python3
"""flowrun run --cluster local:N: what users see of it, and what is left when tasks or the driver are killed."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

from cluster_process import cluster_process, words_of
from flowrun_process import SANITIZED, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import parts  # noqa: E402

JOB = """flowrun: 1
name: counting
params: {rows: {type: int, default: 30000}}
nodes:
  drawn:  {op: generate, with: {rows: "${rows}", columns: {k: "rand(1, i) % 1000", t: "concat('row ', i)"}}}
  sorted: {op: sort, in: drawn, with: {by: [k], stable: true}}
  groups: {op: group, in: sorted, with: {by: [k], let: {n: "count()", last: "last(t)"}}}
  all:    {op: file.write_csv, in: sorted, with: {path: out/all.csv, header: true}}
  some:   {op: file.write_csv, in: groups, with: {path: out/groups.csv}}
  total:  {op: reduce, in: groups, with: {let: {n: "sum(n)"}}}
"""
# Long enough to be met at work, in any stage.
LONG = "1000000" if SANITIZED else "3000000"


class cluster_test(cluster_process):
    def setUp(self):
        super().setUp()
        self.write("job.yaml", JOB)

    def expected(self, *arguments):
        """The outputs of one machine."""
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = {name: (self.dir / "out" / name).read_bytes() for name in ("all.csv", "groups.csv")}
        for name in files:
            (self.dir / "out" / name).unlink()
        return files

    def outputs(self):
        return {"all.csv": parts.joined(self.dir / "out/all.csv", '"'), "groups.csv": parts.joined(self.dir / "out/groups.csv")}

    def nothing_left(self):
        """But for the outputs."""
        out = {path.name for path in (self.dir / "out").iterdir()} if (self.dir / "out").exists() else set()
        scratch = self.files("scratch") if (self.dir / "scratch").exists() else []
        self.assertEqual((out - {"all.csv", "groups.csv"}, scratch), (set(), []))

    def test_the_same_rows_and_a_report(self):
        expected = self.expected()
        for width in (1, 2, 5):
            done = self.flowrun("job.yaml", "--cluster", f"local:{width}", "-T", "scratch", "--report", "report.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("total.n = 30000", done.stderr)
            self.assertEqual(self.outputs(), expected)
            report = json.loads((self.dir / "report.json").read_text())
            self.assertEqual(report["status"], "succeeded")
            rows = {node["id"]: int(node["rows"]) for node in report["nodes"]}
            self.assertEqual(rows, {"drawn": 30000, "sorted": 30000, "groups": 1000, "all": 30000, "some": 1000,
                                    "total": 1})
            self.nothing_left()
            told = json.loads((self.dir / "out/all.csv/manifest.json").read_text())
            self.assertEqual((told["rows"], sum(part["rows"] for part in told["parts"])), (30000, 30000))

    def test_plan_shows_the_stages(self):
        done = self.flowrun("plan", "job.yaml", "--cluster", "local:3")
        self.assertIn("stage 1: 3 tasks, pieces of 'drawn'", done.stdout)
        self.assertIn("reads   partial results of 'total'", done.stdout)
        done = self.flowrun("plan", "job.yaml", "--cluster", "local:3", "-f", "dot")
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("--format dot doesn't show the stages of --cluster", done.stderr)

    def test_plan_tells_programs_the_stages(self):
        def planned(*options):
            done = self.flowrun("plan", "job.yaml", "-f", "json", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        self.assertEqual(planned()["stages"], [])
        plan = planned("--cluster", "local:3")
        names = [node["id"] for node in plan["nodes"]]
        stages = [
            (stage["tasks"], names[stage["source"]] if "source" in stage else None,
             [(names[read["node"]], read["rows"], read["part"], [term["column"] for term in read["range_of"]])
              for read in stage["reads"]],
             {names[node] for node in stage["nodes"]}, [names[node] for node in stage["first_steps"]])
            for stage in plan["stages"]
        ]
        self.assertEqual(stages, [
            (3, "drawn", [], {"drawn"}, ["sorted"]),
            (3, None, [("sorted", "runs", "range", ["k"])], {"sorted", "groups", "all", "some"}, ["total"]),
            (1, None, [("total", "partial results", "all", [])], {"total"}, []),
        ])

    def test_streams_that_are_sorted_by_more_than_they_are_merged_by(self):
        """Both are cut where the first two bytes of t change."""
        for by in ("t", "t[0:3]", "t[0:2]"):
            self.write("job.yaml", f"""flowrun: 1
nodes:
  a: {{op: generate, with: {{rows: 20000, columns: {{v: i, t: "bytes(concat('', 1000 + rand(1, i) % 9000), 4)"}}}}}}
  s: {{op: sort, in: a, with: {{by: ["{by}"]}}}}
  t: {{op: sort, in: a, with: {{by: ["t[0:2]"]}}}}
  m: {{op: merge, in: [s, t], with: {{by: ["t[0:2]"]}}}}
  c: {{op: check, in: m, with: {{sorted: ["t[0:2]"]}}}}
  r: {{op: reduce, in: c, with: {{let: {{n: "count()", v: "sum(v)"}}}}}}
""")
            done = self.flowrun("job.yaml", "-q", "--cluster", "local:3", "-T", "scratch", "--report", "report.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            results = json.loads((self.dir / "report.json").read_text())["results"]
            self.assertEqual([int(r["value"]) for r in results if r["node"] == "r"], [40000, 20000 * 19999])

    def test_words_that_are_wrong(self):
        for words, said in ((["--cluster", "local"], "--cluster 'local' is no cluster"),
                            (["--cluster", "local:0"], "is no cluster"),
                            (["--cluster", "dask://"], "dask://HOST:8786"),
                            (["--cluster", "dask://host"], "--cluster 'dask://host' is no cluster"),
                            (["--cluster", "spark://:7077"], "is no cluster"),
                            (["--cluster", "spark://host:port"], "is no cluster"),
                            (["--cluster", "spark://host:65536"], "is no cluster"),
                            (["--cluster", "local:3", "--backend", "memory"], "exclude each other")):
            done = self.flowrun("job.yaml", *words)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(said, done.stderr)
        done = self.flowrun("worker", "nowhere", "0", "0")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("a worker is started by the driver", done.stderr)

    def test_an_error_of_a_task_is_the_error_of_the_job(self):
        self.write("job.yaml", JOB + """
  bad: {op: check, in: sorted, with: {where: "k < 900"}}
""")
        alone = self.flowrun("job.yaml", "-q", "-T", "scratch")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:3", "--report", "report.json")
        self.assertEqual((done.returncode, alone.returncode), (65, 65), done.stderr)
        self.assertIn("task 1 of stage 4: ", done.stderr)
        self.assertEqual(done.stderr.count("breaks the rule"), 1)
        self.assertIn(alone.stderr.splitlines()[0].removeprefix("flowrun: error: "), done.stderr)
        self.assertEqual(json.loads((self.dir / "report.json").read_text())["status"], "failed")
        self.nothing_left()
        self.assertFalse((self.dir / "out/all.csv").exists())

    def test_an_input_that_changes_between_tasks_ends_the_job(self):
        """They would read a mixture, or less than there was."""
        self.write("job.yaml", """flowrun: 1
nodes:
  rows:   {op: file.read_rows, with: {path: in.rows, type: {k: u32, v: u32}}}
  sorted: {op: sort, in: rows, with: {by: [k]}}
  out:    {op: file.write_csv, in: sorted, with: {path: out/all.csv}}
""")
        given = os.urandom(8 * 500_000)

        def shorten():
            os.truncate(self.dir / "in.rows", len(given) * 3 // 4)

        def replace():
            self.write("other.rows", bytes(len(given)))
            os.rename(self.dir / "other.rows", self.dir / "in.rows")

        for change, words in (
            (shorten, "it had 3.81 MiB and has 2.86 MiB"),
            (replace, "it was written to"),
            (lambda: (self.dir / "in.rows").unlink(), ""),  # the next task can't open it, or finds it gone
        ):
            with self.subTest(words):
                self.write("in.rows", given)
                job = self.start("job.yaml", "-q", "-T", "scratch", "--cluster", "local:1", "--tasks", "6")
                while job.poll() is None and not list((self.dir / "scratch").glob("*/done-0-1*")):
                    time.sleep(0.002)
                change()
                err = job.communicate()[1]
                self.assertIn(job.returncode, (65, 66), err)
                if words:
                    self.assertIn(f"in.rows has changed since the job began: {words}", err)
                self.nothing_left()
                self.assertFalse((self.dir / "out/all.csv").exists())

    def test_a_full_shared_directory_is_named(self):
        small = self.dir / "small"
        small.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small]).returncode != 0:
            self.skipTest("a small file system can't be mounted")
        self.addCleanup(subprocess.run, ["umount", small])
        # All of it is what tasks leave for others, and no task spills.
        self.write("job.yaml", """flowrun: 1
nodes:
  drawn:  {op: generate, with: {rows: 2000000, columns: {x: i}}}
  turned: {op: reverse, in: drawn}
  all:    {op: file.write_csv, in: turned, with: {path: out/all.csv}}
""")
        done = self.flowrun("job.yaml", "-q", "--cluster", "local:2", "-T", "small")
        self.assertIn(done.returncode, (73, 75), done.stderr)
        self.assertIn(str(small), done.stderr)
        self.assertEqual([path.name for path in small.iterdir()], [])
        self.nothing_left()

    def test_too_little_memory_for_a_task(self):
        """Known before the run. It names the task's memory, and the -m that suffices."""
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "-p", "rows=4000", "--cluster", "local:2", "--tasks", "30",
                            "-m", "40MiB")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertRegex(done.stderr, r"a task of stage 2, which merges 30 files, needs \d+ MiB of memory, and has 20.0 MiB\n")
        self.assertRegex(done.stderr, r"\n  expected: phase 1 wants at least\n")
        self.assertRegex(done.stderr, r"\n +\d+ others +\d+")
        enough = re.search(r"help: run with -m (\d+MiB), or ", done.stderr)
        self.assertTrue(enough, done.stderr)
        self.assertFalse((self.dir / "scratch").exists())
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "-p", "rows=4000", "--cluster", "local:2", "--tasks", "30",
                            "-m", enough[1])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.nothing_left()

    def test_faults_are_told_before_the_run(self):
        self.write("job.yaml", JOB.replace("by: [k], stable", "by: [q], stable"))
        done = self.flowrun("job.yaml", "--cluster", "local:3")
        self.assertEqual(done.returncode, 78)
        self.assertIn("unknown column 'q'", done.stderr)

    def is_refused_and_leaves(self, path, run, said):
        """The output that would take the place of somebody's file."""
        self.write(path, "a file of somebody")
        done = self.flowrun(*run)
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual((self.dir / path).read_text(), "a file of somebody")

    def test_outputs_replace_what_jobs_have_written_and_nothing_else(self):
        expected = self.expected()
        self.write("out/all.csv", "a file of before")
        run = ("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2")
        self.assertEqual(self.flowrun(*run).returncode, 0)
        self.assertEqual(self.flowrun(*run).returncode, 0)  # folders of before
        self.assertEqual(self.outputs(), expected)
        alone = self.flowrun("job.yaml", "-q", "-T", "scratch")
        self.assertEqual(alone.returncode, 73, alone.stderr)
        self.assertIn("if a run with --cluster has written it, give another path, or remove it", alone.stderr)
        (self.dir / "out/all.csv/manifest.json").unlink()
        self.is_refused_and_leaves("out/all.csv/mine", run, "is a directory that no job has written")
        # Nor is one that has the manifest of something else, or more than its own manifest names.
        self.write("out/all.csv/manifest.json", '{"name": "an extension", "manifest_version": 3}')
        self.is_refused_and_leaves("out/all.csv/mine", run,
                                   "out/all.csv is a directory that no job has written: out/all.csv/manifest.json: it is no manifest of parts")
        shutil.rmtree(self.dir / "out/all.csv")
        self.assertEqual(self.flowrun(*run).returncode, 0)
        self.is_refused_and_leaves("out/all.csv/mine", run, "out/all.csv has mine, which is no part of the output that is there")

    def test_a_directory_is_no_part_of_an_output(self):
        run = ("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2")
        self.assertEqual(self.flowrun(*run).returncode, 0)
        (self.dir / "out/all.csv/part-00001.csv").unlink()
        self.is_refused_and_leaves("out/all.csv/part-00001.csv/mine", run,
                                   "out/all.csv has part-00001.csv, which is no part of the output that is there")

    def test_what_comes_into_a_folder_while_the_job_runs_stays(self):
        run = ("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "--resume", "-p", f"rows={LONG}")
        self.assertEqual(self.flowrun(*run).returncode, 0)
        before = self.outputs()
        driver = self.start(*run)
        self.until_workers(driver, 0)
        self.write("out/all.csv/mine", "a file of somebody")
        _, err = driver.communicate(timeout=120)
        self.assertEqual(driver.returncode, 73, err)
        self.assertIn("out/all.csv has mine, which is no part of the output that is there", err)
        self.assertEqual((self.dir / "out/all.csv/mine").read_text(), "a file of somebody")
        (self.dir / "out/all.csv/mine").unlink()
        self.assertEqual(self.outputs(), before)
        done = self.flowrun(*run)  # what its tasks have done is there
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outputs(), before)

    def test_nothing_else_lies_in_an_output(self):
        two = """flowrun: 1
nodes:
  a: {op: generate, with: {rows: 300, columns: {k: "i %% 3", n: i}}}
  first:  {op: file.write_csv, in: a, with: {path: out/o}}
  second: {op: file.write_csv, in: a, with: {path: "%s"}}
"""
        for path in ("out/o/{k}.csv", "out/o/sub/{k}.csv", "out/o/b.csv", "out/../out/o/b.csv", f"{self.dir}/out/o/b.csv"):
            self.write("job.yaml", two % path)
            for words in (["run", "-q"], ["plan"]):
                with self.subTest(path=path, words=words):
                    done = self.flowrun(*words, "job.yaml", "-T", "scratch", "--cluster", "local:2")
                    self.assertEqual(done.returncode, 78, done.stderr)
                    self.assertIn(f"'second' writes {path}, which lies in out/o: on a cluster that is a folder, which 'first' makes anew", done.stderr)
                    self.assertFalse((self.dir / "out").exists())
        self.write("job.yaml", two % "out/o2/{k}.csv")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        # What an output is read from lies in it, too.
        self.write("job.yaml", """flowrun: 1
nodes:
  kept: {op: file.read_csv, with: {path: out/o, type: {k: u64, n: u64}}}
  out:  {op: file.write_csv, in: kept, with: {path: out/o}}
""")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("job.yaml:3:42: error: 'kept' reads out/o/part-00000, which lies in out/o", done.stderr)
        self.assertIn("1 fault in job.yaml", done.stderr)
        self.write("job.yaml", """flowrun: 1
graphs:
  reading:
    in: {rows: any}
    out: {kept: kept}
    nodes:
      kept: {op: file.read_csv, with: {path: out/o/part-00000, type: {k: u64, n: u64}}}
nodes:
  a:   {op: generate, with: {rows: 3, columns: {n: i}}}
  b:   {op: call, in: {rows: a}, with: {graph: reading}}
  out: {op: file.write_csv, in: b.kept, with: {path: out/o}}
""")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("'kept' reads out/o/part-00000, which lies in out/o", done.stderr)
        # So does what the command writes.
        self.write("job.yaml", two % "out/o2/{k}.csv")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "--report", "out/o/report.json")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("--report writes out/o/report.json, which lies in out/o", done.stderr)
        # What is refused isn't written there all the same.
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "--metrics-file", "out/o/m.prom")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertFalse((self.dir / "out/o/m.prom").exists())

    def test_an_output_has_a_name(self):
        run = ("-q", "-T", "scratch", "--cluster", "local:2")
        self.assertEqual(self.flowrun("job.yaml", *run).returncode, 0)
        for path in ("out/all.csv/", "out/all.csv/."):
            with self.subTest(path):
                self.write("other.yaml", JOB.replace("out/all.csv", path))
                done = self.flowrun("other.yaml", *run)
                self.assertEqual(done.returncode, 73, done.stderr)
                self.assertIn(f"{path} has no name for an output at its end", done.stderr)
        self.write("other.yaml", JOB.replace("out/all.csv", "."))
        done = self.flowrun("other.yaml", *run)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("flowrun reads other.yaml, which lies in .", done.stderr)
        self.nothing_left()

    def test_the_report_says_what_lies_in_outputs(self):
        self.write("job.yaml", """flowrun: 1
name: "${env:SECRET}"
nodes:
  a: {op: generate, with: {rows: 300, columns: {k: "u32(i % 3)", n: i}}}
  folder: {op: file.write_csv, in: a, with: {path: out/o, header: true, delimiter: ";"}}
  tree:   {op: file.write_csv, in: a, with: {path: "out/t/{k}.csv"}}
""")
        self.environment["SECRET"] = "hunter2xyz"
        reports = []
        for options in ((), ("--cluster", "local:2")):
            shutil.rmtree(self.dir / "out", ignore_errors=True)
            done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--report", "report.json", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            told = json.loads((self.dir / "report.json").read_text())["outputs"]
            reports.append([{name: value for name, value in out.items() if name not in ("files", "num_files")} for out in told])
        self.assertEqual(reports[0], reports[1])
        self.assertEqual([(out["path"], out["num_files"]) for out in told], [("out/o", "2"), ("out/t/{k}.csv", "3")])
        # What came from the environment isn't shown.
        manifest = (self.dir / "out/o/manifest.json").read_text()
        self.assertNotIn("hunter2xyz", manifest)
        self.assertEqual(json.loads(manifest)["job"], "${env:SECRET}")

    def test_a_killed_task_is_run_again(self):
        expected = self.expected("-p", f"rows={LONG}")
        for stage in (0, 1):
            driver = self.start("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}")
            os.kill(self.until_workers(driver, stage), signal.SIGKILL)
            _, err = driver.communicate(timeout=120)
            self.assertEqual(driver.returncode, 0, err)
            self.assertEqual(self.outputs(), expected)
            self.nothing_left()

    def test_a_frozen_task_is_run_beside(self):
        expected = self.expected("-p", f"rows={LONG}")
        driver = self.start("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}")
        frozen = self.until_workers(driver, 0)
        os.kill(frozen, signal.SIGSTOP)
        _, err = driver.communicate(timeout=120)
        self.assertEqual(driver.returncode, 0, err)
        self.assertEqual(self.outputs(), expected)
        self.assertFalse(pathlib.Path(f"/proc/{frozen}").exists())
        self.nothing_left()

    def test_a_task_that_goes_on_when_its_job_has_ended_leaves_nothing(self):
        """As on a machine that was cut off: nobody could end it."""
        for stage in (0, 1):
            driver = self.start("job.yaml", "-q", "-p", f"rows={LONG}", "--cluster", "local:1", "-T", "scratch")
            words = words_of(self.until_workers(driver, stage))[:-1]
            driver.send_signal(signal.SIGSTOP)
            directory = pathlib.Path(os.fsdecode(words[words.index(b"worker") + 1]))
            before = len(list(directory.glob(f"{stage}-0-*")))
            late = subprocess.Popen(words, cwd=self.dir, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.addCleanup(late.stdin.close)
            self.addCleanup(late.wait)
            self.addCleanup(late.kill)
            while len(list(directory.glob(f"{stage}-0-*"))) == before:
                self.assertIsNone(late.poll())
            time.sleep(0.02)  # it is at work, and on a fast machine not for long
            late.send_signal(signal.SIGSTOP)
            driver.send_signal(signal.SIGCONT)
            _, said = driver.communicate(timeout=60)
            self.assertEqual(driver.returncode, 0, said)
            late.send_signal(signal.SIGCONT)
            self.assertNotEqual(late.wait(timeout=60), 0)
            self.nothing_left()

    def test_progress_is_that_of_the_whole_job(self):
        done = self.flowrun("job.yaml", "-T", "scratch", "--cluster", "local:2", "-p", "rows=6000000", "--progress", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        *lines, end = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        self.assertEqual({line["phases"] for line in lines}, {3})
        for what in ("ratio", "rows", "phase"):
            told = [line[what] for line in lines]
            self.assertEqual(told, sorted(told))
        self.assertEqual(lines[0]["activity"], "drawn, sorted: 0 of 2 tasks")
        # The heads of all tasks: rows are drawn, sorted into a run, merged with other runs; then two partial results.
        self.assertEqual((end["status"], end["ratio"], end["rows"]), ("succeeded", 1.0, 18_000_002))

    def test_a_plan_has_as_many_tasks_as_the_run(self):
        plan = self.flowrun("plan", "job.yaml", "--cluster", "local:2", "--tasks", "5")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn("  stage 1: 5 tasks, pieces of 'drawn'\n", plan.stdout)
        self.assertIn("  stage 2: 5 tasks\n", plan.stdout)
        self.assertIn("  stage 3: one task\n", plan.stdout)
        done = self.flowrun("job.yaml", "-T", "scratch", "--cluster", "local:2", "--tasks", "5", "--report", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([stage["tasks"] for stage in json.loads((self.dir / "r.json").read_text())["stages"]], [5, 5, 1])
        for words, problem in ((["--tasks", "5"], "--tasks is for jobs on a cluster"),
                               (["--cluster", "local:2", "--tasks", "0"], "--tasks is 0")):  # fmt: skip
            done = self.flowrun("plan", "job.yaml", *words)
            self.assertEqual(done.returncode, 64)
            self.assertIn(problem, done.stderr)

    def test_the_report_has_stages(self):
        done = self.flowrun("job.yaml", "-T", "scratch", "--cluster", "local:2", "--report", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        stages = json.loads((self.dir / "r.json").read_text())["stages"]
        self.assertEqual([(stage["nodes"], stage["tasks"]) for stage in stages],
                         [(["drawn", "sorted"], 2), (["sorted", "groups", "all", "some", "total"], 2), (["total"], 1)])  # fmt: skip
        for stage in stages:
            self.assertLessEqual(stage["median_seconds"], stage["slowest_seconds"])
            self.assertLessEqual(stage["slowest_seconds"], stage["seconds"])
        self.assertRegex(done.stderr, r"(?m)^  2 +2 .* sorted, groups, all, some, total$")
        self.assertNotIn("predicted", done.stderr)
        self.assertRegex(done.stderr, r" of memory in a task at most \(budget of those at work at once .*\), ")

    @unittest.skipIf(SANITIZED, "it is about what takes long")
    def test_a_frequent_key_is_told(self):
        """Most rows have one key, by which they are grouped."""
        job = JOB.replace("rand(1, i) % 1000", "if(i % 10 == 0, i, 7)").replace("${rows}", "3000000")
        # Slow enough for every machine: a task of less than a second isn't worth a warning.
        slow = "t"
        for digit in "12345678" * 2:
            slow = f"regex_replace({slow}, '[{digit}-9]+', 'x')"
        self.write("job.yaml", job.replace('last: "last(t)"', f'd: "max(length({slow}))"'))
        done = self.flowrun("job.yaml", "-T", "scratch", "--cluster", "local:2", "--tasks", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^flowrun: warning: stage 2: task \d took .*, half of the tasks .* or less: it had "
                                      r"2,7\d\d,\d\d\d rows, and they .* or fewer; rows that are equal in k come to one task$")  # fmt: skip

    def test_a_stopped_driver_leaves_nothing(self):
        driver = self.start("job.yaml", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}")
        worker = self.until_workers(driver, 0)
        driver.send_signal(signal.SIGINT)
        _, err = driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, 130, err)
        self.assertIn("no output was written", err)
        self.until_gone(worker)
        self.nothing_left()
        self.assertEqual(self.files("out") if (self.dir / "out").exists() else [], [])

    def test_workers_end_with_a_killed_driver_and_the_next_run_removes_what_is_left(self):
        expected = self.expected("-p", f"rows={LONG}")
        driver = self.start("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}")
        worker = self.until_workers(driver, 1)
        driver.kill()
        driver.communicate()
        self.until_gone(worker)
        self.assertFalse((self.dir / "out/all.csv").exists())
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outputs(), expected)
        self.nothing_left()

    def test_a_killed_driver_goes_on_with_resume(self):
        expected = self.expected("-p", f"rows={LONG}")
        run = ("job.yaml", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}", "--resume")
        driver = self.start(*run)
        worker = self.until_workers(driver, 1)
        driver.kill()
        driver.communicate()
        self.until_gone(worker)
        done = self.flowrun(*run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("goes on: stage 1 of 3: 2 of 2 tasks done", done.stderr)
        self.assertEqual(self.outputs(), expected)
        self.nothing_left()

    def test_a_scratch_directory_that_looks_as_if_it_had_a_limit(self):
        self.write("job.yaml", "flowrun: 1\nresources: {scratch: ['sc:5MiB'], memory: 64MiB}\n"
                               + JOB.split("\n", 1)[1])
        done = self.flowrun("job.yaml", "-q", "-p", "rows=4000", "--cluster", "local:2", "--tasks", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.dir / "sc").exists())
        self.assertTrue((self.dir / "sc:5MiB").is_dir())

    def test_another_number_of_tasks_starts_over(self):
        """The stages are others then, and what is there would be taken for what it isn't."""
        expected = self.expected("-p", f"rows={LONG}")
        for first, then, fact in (("--tasks 4", "--tasks 1", "--tasks"), ("--tasks 4", "--tasks 4 --divide-from 1GiB", "--divide-from")):
            run = ("job.yaml", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}", "--resume")
            driver = self.start(*run, *first.split())
            worker = self.until_workers(driver, 1)
            driver.kill()
            driver.communicate()
            self.until_gone(worker)
            done = self.flowrun(*run, *then.split())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, f"starts over: .*{fact}")
            self.assertEqual(self.outputs(), expected)
            self.nothing_left()

    def test_outputs_in_the_working_directory_go_on(self):
        self.write("job.yaml", JOB.replace("out/", ""))
        run = ("job.yaml", "-q", "-T", "scratch", "--cluster", "local:1", "--tasks", "3", "-p", f"rows={LONG}", "--resume")
        driver = self.start(*run)
        self.until_workers(driver, 1)
        while len(list((self.dir / "scratch").glob("*/*/done-1-*"))) == 0:
            time.sleep(0.005)
        driver.kill()
        driver.communicate()
        done = self.flowrun(*run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(parts.parts_of(self.dir / "all.csv")), 3)
        self.nothing_left()
        self.assertEqual([path.name for path in self.dir.glob(".*.tmp")], [])

    def test_clean_removes_what_a_killed_driver_has_left_and_nothing_of_one_at_work(self):
        run = ("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}", "--resume")
        driver = self.start(*run)
        self.until_workers(driver, 0)
        done = self.flowrun("clean", "scratch")
        self.assertIn("of a job on a cluster; its driver works there: left", done.stdout)
        driver.kill()
        driver.communicate()
        done = self.flowrun("clean", "-n", "scratch")
        self.assertRegex(done.stdout, r"flowrun-cluster-resume-\w+: .*; would be removed")
        self.assertNotEqual(list((self.dir / "scratch").iterdir()), [])
        done = self.flowrun("clean", "scratch")
        self.assertRegex(done.stdout, r"flowrun-cluster-resume-\w+: .*; removed")
        self.assertEqual(list((self.dir / "scratch").iterdir()), [])

    def test_clean_waits_for_workers_that_are_about_to_end(self):
        directory = self.dir / "scratch/flowrun-cluster-resume-0"
        directory.mkdir(parents=True)
        ends = time.monotonic() + 1

        def write():
            number = 0
            while time.monotonic() < ends:
                try:
                    (directory / f"written-{number}").write_bytes(b"")
                except FileNotFoundError:  # the directory is gone
                    return
                number += 1

        workers = [threading.Thread(target=write) for _ in range(4)]
        for worker in workers:
            worker.start()
        done = self.flowrun("clean", "scratch")
        for worker in workers:
            worker.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"flowrun-cluster-resume-0: .*; removed")
        self.assertFalse(directory.exists())

    def test_what_has_changed_starts_over(self):
        run = ("job.yaml", "-T", "scratch", "--cluster", "local:2", "-p", f"rows={LONG}", "--resume")
        driver = self.start(*run)
        self.until_workers(driver, 1)
        driver.send_signal(signal.SIGTERM)
        _, err = driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, 143, err)
        self.assertIn("what is finished stays", err)
        self.write("job.yaml", JOB.replace("% 1000", "% 999"))
        expected = self.expected("-p", f"rows={LONG}")
        done = self.flowrun(*run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("starts over: the job has changed", done.stderr)
        self.assertEqual(self.outputs(), expected)
        self.nothing_left()


if __name__ == "__main__":
    main()
