#!/usr/bin/env python3
"""Metrics of a job on a cluster: while its tasks run, and in the file when it has ended."""

import json
import re
import signal
import time
import urllib.request

from cluster_process import cluster_process
from flowrun_process import main

JOB = """flowrun: 1
name: counted
params: {rows: {type: int, default: 30000}, rule: {type: string, default: "true"}}
nodes:
  drawn:  {op: generate, with: {rows: "${rows}", columns: {k: "rand(1, i) % 1000", t: "concat('row ', i)"}}}
  right:  {op: check, in: sorted, with: {where: "${rule}"}}
  sorted: {op: sort, in: drawn, with: {by: [k], stable: true}}
  loop:
    op: loop
    in: {rows: sorted}
    with:
      carry: {now: {from: rows}}
      body: {few: {op: filter, in: now, with: {where: "k % 2 == 0"}}}
      next: {now: few}
      times: 3
  all:    {op: file.write_csv, in: right, with: {path: out/all.csv}}
  left:   {op: file.write_csv, in: loop.now, with: {path: out/left.csv}}
"""
SERIES = re.compile(r'^(flowrun_\w+)\{job_name="counted"(?:,(.*))?\} (\S+)$')
CLUSTER = ("-q", "-T", "scratch", "--cluster", "local:2", "--tasks", "3", "--divide-from", "1")


def values_of(text):
    out = {}
    for line in text.splitlines():
        if line.startswith("flowrun_"):
            name, labels, value = SERIES.match(line).groups()
            out[name + (f"{{{labels}}}" if labels else "")] = float(value)
    return out


class cluster_metrics_test(cluster_process):
    def setUp(self):
        super().setUp()
        self.write("job.yaml", JOB)

    def file_values(self):
        return values_of((self.dir / "job.prom").read_text())

    def test_the_file_says_what_the_report_says(self):
        done = self.flowrun("job.yaml", *CLUSTER, "--metrics-file", "job.prom", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told, report = self.file_values(), json.loads((self.dir / "report.json").read_text())
        self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (1, 0))
        tasks = sum(stage["tasks"] for stage in report["stages"])
        self.assertEqual((told["flowrun_tasks_done_total"], told["flowrun_task_attempts_total"]), (tasks, tasks))
        for node in report["nodes"]:
            labels = f'{{node="{node["id"]}",op="{node["op"]}"}}'
            self.assertEqual(told["flowrun_node_rows_total" + labels], int(node["rows"]), node)
        self.assertIn('flowrun_node_rows_total{node="loop.few",op="filter"}', told)
        self.assertEqual(told['flowrun_loop_iterations_total{node="loop"}'], 3)

    def test_a_run_that_fails(self):
        done = self.flowrun("job.yaml", *CLUSTER, "--metrics-file", "job.prom", "-p", "rule=k < 900")
        self.assertEqual(done.returncode, 65, done.stderr)
        told = self.file_values()
        self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (0, 65))
        self.assertGreaterEqual(told["flowrun_tasks_done_total"], 6)  # the stages in front of the check

    def test_a_run_that_is_stopped(self):
        driver = self.start("job.yaml", *CLUSTER, "--metrics-file", "job.prom", "-p", "rows=3000000")
        self.until_workers(driver, 1)
        driver.send_signal(signal.SIGINT)
        driver.communicate(timeout=60)
        self.assertEqual(self.file_values()["flowrun_job_exit_code"], 130)

    def test_a_job_that_is_wrong(self):
        self.write("job.yaml", JOB.replace("by: [k]", "by: [q]"))
        done = self.flowrun("job.yaml", *CLUSTER, "--metrics-file", "job.prom")
        self.assertEqual(done.returncode, 78)
        self.assertEqual(self.file_values()["flowrun_job_exit_code"], 78)

    def test_what_is_asked_for_while_tasks_run(self):
        driver = self.start("job.yaml", *[word for word in CLUSTER if word != "-q"], "--progress", "none",
                            "--metrics-listen", "19464-19499", "-p", "rows=3000000")
        address = re.search(r"http://\S+", driver.stderr.readline())[0]
        seen = []
        while driver.poll() is None:
            try:
                seen.append(values_of(urllib.request.urlopen(address, timeout=5).read().decode()))
            except OSError:
                break
            time.sleep(0.05)
        driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, 0)
        seen = [values for values in seen if "flowrun_job_phase" in values]  # the job was there
        self.assertGreater(len(seen), 5)
        for name in ("flowrun_tasks_done_total", "flowrun_task_rows_total", "flowrun_job_phase",
                     "flowrun_task_attempts_total", "flowrun_job_progress_ratio"):
            values = [values.get(name, 0) for values in seen]
            self.assertEqual(values, sorted(values), name)
            self.assertGreater(values[-1], 0, name)
        self.assertEqual(seen[-1]["flowrun_job_phases"], 5)
        last_rows = [values.get('flowrun_node_rows_total{node="drawn",op="generate"}', 0) for values in seen]
        self.assertEqual(set(last_rows), {0, 3000000})  # once the stage is over


if __name__ == "__main__":
    main()
