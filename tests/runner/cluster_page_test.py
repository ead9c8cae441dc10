#!/usr/bin/env python3
"""--ui and flowrun top of a job on a cluster: its stages and tasks, while they run and when they have ended."""

import json
import os
import re
import signal

from cluster_process import cluster_process
from flowrun_process import ENDLESS, main
from watching_process import watching_test

JOB = """flowrun: 1
name: watched
params: {rows: {type: int, default: 30000}, rule: {type: string, default: "true"}}
nodes:
  drawn:  {op: generate, with: {rows: "${rows}", columns: {k: "rand(1, i) % 1000", t: "concat('row ', i)"}}}
  sorted: {op: sort, in: drawn, with: {by: [k], stable: true}}
  counts: {op: group, in: sorted, with: {by: [k], let: {n: "count()"}}}
  all:    {op: file.write_csv, in: counts, with: {path: out/all.csv}}
  right:  {op: check, in: counts, with: {where: "${rule}"}}
  total:  {op: reduce, in: counts, with: {let: {rows: "sum(n)"}}}
"""
LOOP = """flowrun: 1
name: watched
params: {times: {type: int, default: 3}}
nodes:
  drawn: {op: generate, with: {rows: 3000, columns: {x: i}}}
  long:
    op: loop
    in: {rows: drawn}
    with: {carry: {now: {from: rows}}, body: {sorted: {op: sort, in: now, with: {by: [-x]}}}, next: {now: sorted}, times: "${times}"}
  saved: {op: file.write_csv, in: long.now, with: {path: out/x.csv}}
"""
CLUSTER = ("-m", "64MiB", "-j", "2", "-T", "scratch", "--cluster", "local:2", "--tasks", "4", "--divide-from", "1")


class cluster_page_test(cluster_process, watching_test):
    def watch(self, *arguments, job=JOB):
        self.write("job.yaml", job)
        return self.watched(*CLUSTER, *arguments)

    def stop(self, driver):
        driver.send_signal(signal.SIGTERM)
        said = driver.communicate(timeout=60)[1]
        self.assertEqual(driver.returncode, 143)
        self.assertIn("stopped by SIGTERM", said)

    def rows_of(self, state):
        return {node["id"]: int(node["rows"]) for node in state["nodes"]}

    def test_the_state_of_tasks_at_work(self):
        driver = self.watch("-p", f"rows={ENDLESS}")
        state = self.until_state(lambda s: s["stages"] and s["stages"][0]["tasks_at_work"] == 2 and self.rows_of(s)["drawn"] > 0)
        self.assertEqual((state["status"], state["end"], state["format"]), ("running", "", 1))
        self.assertEqual([phase["state"] for phase in state["phases"]], ["running"] + 3 * ["waiting"])
        self.assertEqual(state["phases"][0]["nodes"], ["drawn", "sorted"])
        stage = state["stages"][0]
        self.assertEqual((stage["phase"], stage["nodes"], stage["tasks"], stage["tasks_done"], stage["attempts"]),
                         (1, ["drawn", "sorted"], 4, 0, 2))  # fmt: skip
        self.assertGreater(stage["slowest_seconds"], 0)
        live = state["live"]
        self.assertEqual((live["phase"], live["activity"]), (1, "drawn, sorted: 0 of 4 tasks"))
        self.assertGreater(int(live["resident_bytes"]), 1 << 20)
        self.assertEqual((state["threads"], state["memory_budget_bytes"]), (2, str(64 << 20)))
        # What tasks have, and the whole job hasn't.
        for name in ("disks", "memory", "sorts"):
            self.assertEqual(state[name], [], name)
        self.assertFalse({"memory_bytes", "batches_bytes", "held_bytes"} & set(state["phases"][0]))
        self.assertNotIn("predicted", state)
        kinds = {(edge["from"], edge["to"]): edge["kind"] for edge in state["edges"]}
        self.assertEqual((kinds["drawn", "sorted"], kinds["sorted", "counts"], kinds["counts", "right"]), ("stream", "stream", "exchange"))
        later = self.until_state(lambda s: self.rows_of(s)["drawn"] > self.rows_of(state)["drawn"])
        self.assertEqual(later["edges"][0]["rows"], later["nodes"][0]["rows"])
        self.stop(driver)

    def test_a_worker_that_is_killed_is_another_attempt(self):
        driver = self.watch("-p", f"rows={ENDLESS}")
        self.until_state(lambda s: s["stages"] and s["stages"][0]["tasks_at_work"] == 2)
        os.kill(self.until_workers(driver, 0), signal.SIGKILL)
        stage = self.until_state(lambda s: s["stages"][0]["attempts"] == 3)["stages"][0]
        self.assertEqual((stage["tasks"], stage["tasks_done"]), (4, 0))
        self.stop(driver)

    def test_who_looks_gets_the_report(self):
        driver = self.watch("--report", "report.json", "-p", "rows=2000000")
        state = {}
        while state.get("status") != "succeeded":
            state = json.loads(self.page(f"http://127.0.0.1:{self.port}/state.json?viewer=me"))
            self.assertIn(state["status"], ("running", "succeeded"))
        driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, 0)
        self.assertEqual(state, self.report())
        self.assertNotIn("live", state)
        self.assertEqual([phase["state"] for phase in state["phases"]], ["finished"] * 4)
        self.assertEqual(self.rows_of(state), {"drawn": 2000000, "sorted": 2000000, "counts": 1000, "all": 1000, "right": 1000, "total": 1})
        self.assertEqual([stage["phase"] for stage in state["stages"]], [1, 2, 3, 4])
        self.assertNotIn("tasks_done", state["stages"][0])
        self.assertEqual([(p["phase"], p["nodes"]) for p in state["pipelines"]], [(1, ["drawn"]), (2, ["counts", "all"]), (3, ["right"])])
        self.assertEqual(state["parameters"][0], {"name": "rows", "value": "2000000"})
        self.assertTrue(state["host"] and state["start"] and state["end"])

    def test_a_job_that_fails_says_where(self):
        self.write("job.yaml", JOB)
        done = self.flowrun("job.yaml", "-q", *CLUSTER, "--report", "report.json", "-p", "rule=n < 9")
        self.assertEqual(done.returncode, 65, done.stderr)
        state = self.report()
        self.assertEqual(state["status"], "failed")
        self.assertIn("breaks the rule", state["error"])
        self.assertEqual([phase["state"] for phase in state["phases"]], ["finished", "finished", "stopped", "waiting"])
        self.assertEqual(self.rows_of(state)["drawn"], 30000)
        last = state["stages"][2]
        self.assertEqual((last["nodes"], last["tasks"], last["tasks_done"], "tasks_at_work" in last), (["right"], 1, 0, False))
        self.assertEqual([stage.get("tasks_done") for stage in state["stages"]], [None, None, 0])

    def test_iterations_of_a_loop_are_stages_inside_of_one(self):
        driver = self.watch("-p", "times=100000", job=LOOP)

        def in_a_later_iteration(s):
            return any(stage["inside"] and stage["tasks"] > 20 for stage in s["stages"])

        state = self.until_state(in_a_later_iteration)
        self.assertEqual([phase["state"] for phase in state["phases"]], ["finished", "running", "waiting"])
        inside = [stage for stage in state["stages"] if stage["inside"]]
        self.assertEqual({(stage["inside"], stage["phase"]) for stage in inside}, {("long", 2)})
        self.assertEqual(inside[0]["nodes"], ["long.sorted"])
        self.assertEqual(len([stage for stage in inside if "tasks_done" in stage]), 1)
        self.assertRegex(state["live"]["activity"], r"^long: iteration \d+, stage \d of 2: \d of \d tasks?$")
        nodes = {node["id"]: node for node in state["nodes"]}
        self.assertGreater(int(nodes["long"]["iterations"]), 3)
        self.assertGreaterEqual(int(nodes["long.sorted"]["rows"]), 3000 * int(nodes["long"]["iterations"]))
        self.stop(driver)

    def test_what_another_driver_has_done(self):
        self.write("job.yaml", JOB)
        words = ("job.yaml", "-q", *CLUSTER, "--resume")
        done = self.flowrun(*words, "-p", "rule=n < 9")
        self.assertEqual(done.returncode, 65, done.stderr)
        done = self.flowrun(*words, "--report", "report.json", "-p", "rule=n < 9")
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertEqual([phase["state"] for phase in self.report()["phases"]], ["finished_before", "finished_before", "stopped", "waiting"])

    def test_top(self):
        driver = self.watch("-p", f"rows={ENDLESS}")
        self.until_state(lambda s: s["stages"] and s["stages"][0]["tasks_at_work"] == 2 and self.rows_of(s)["drawn"] > 0)
        done = self.flowrun("top", self.port, "--once")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^watched running .* stage 1 of 4: drawn, sorted: 0 of 4 tasks")
        cells = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
        head = next(line for line in cells if line[0] == "nodes")
        self.assertEqual(head[:7], ["nodes", "stage", "tasks", "done", "at work", "waiting", "attempts"])
        told = next(line for line in cells if line[0] == "drawn, sorted")
        self.assertEqual(told[:7], ["drawn, sorted", "1", "4", "0", "2", "2", "2"])
        self.assertNotIn("memory of", done.stdout)
        self.stop(driver)

    def test_rows_of_tasks_are_not_to_be_had(self):
        driver = self.watch("-p", f"rows={ENDLESS}")
        self.until_state(lambda s: s["stages"])
        self.fails(64, self.flowrun("tap", self.port, "drawn"), "rows of a job on a cluster can't be tapped", "without --cluster")
        self.stop(driver)

    def test_secrets_stay_masked(self):
        self.environment["TOKEN"] = "a-long-secret"
        driver = self.watch("-p", f"rows={ENDLESS}", job=JOB.replace("params: {", 'params: {token: {type: string, default: "${env:TOKEN}"}, '))
        text = self.page(f"http://127.0.0.1:{self.port}/state.json")
        self.assertNotIn("a-long-secret", text)
        self.assertIn("${env:TOKEN}", text)
        self.stop(driver)


if __name__ == "__main__":
    main()
