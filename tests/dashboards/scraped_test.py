#!/usr/bin/env python3
"""A real Prometheus scrapes a job that runs, and node_exporter the file of one that has ended: every query of every panel
and variable, and the expression of every alert without its comparison, returns data. No alert fires for a sound job.

    scraped_test.py FLOWRUN REPOSITORY
"""
import json
import math
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

FLOWRUN, ROOT = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
COMPARISON = re.compile(r"\s*[<>]\s*[\d.]+$")
SPACE = 2**64
# Sorted rows on scratch are merged with those of a pipe, which come while the test lasts, now and then a line that is
# none. So the merge, which reads scratch, goes on at the pipe's pace.
JOB = """flowrun: 1
name: held
nodes:
  start: {op: generate, with: {rows: 2, columns: {x: i}}}
  round:
    op: loop
    in: {start: start}
    with:
      carry: {rows: {from: start}}
      body:  {next: {op: map, in: rows, with: {x: x + 1}}}
      next:  {rows: next}
      times: 20
  rounds:  {op: file.write_rows, in: round.rows, with: {path: rounds.bin}}
  drawn:   {op: generate, with: {kind: random, rows: 4000000}}
  sorted:  {op: sort, in: drawn, with: {by: [value]}}
  fed:     {op: file.read_csv, with: {path: fed, type: {value: u64}}, on_error: {to: bad}}
  bad:     {op: file.write_lines, in: lines, with: {path: bad.txt}}
  lines:   {op: map, in: fed.bad, with: {text: text}}
  ordered: {op: check, in: fed, with: {sorted: [value]}}
  meet:    {op: merge, in: [sorted, ordered], with: {by: [value]}}
  write:   {op: file.write_rows, in: meet, with: {path: merged.bin}}
"""

# On a cluster: a stage that ends, and a loop that doesn't while the test lasts, whose iterations are stages.
STAGES = """flowrun: 1
name: held
nodes:
  made: {op: generate, with: {rows: 200000, columns: {k: "rand(1, i)"}}}
  runs: {op: sort, in: made, with: {by: [k], limit: 300}}
  long:
    op: loop
    in: {rows: runs}
    with: {carry: {now: {from: rows}}, body: {turned: {op: sort, in: now, with: {by: [-k]}}}, next: {now: turned}, times: 1000000}
  end: {op: file.write_csv, in: long.now, with: {path: end.csv}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def opened(url):
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=20).read()


class scraped_test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-scraped-"))
        cls.processes = []
        try:
            cls.set_up()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def start(cls, *words, **more):
        environment = {**os.environ, "HOME": str(cls.dir)}
        process = subprocess.Popen([str(word) for word in words], cwd=cls.dir, env=environment, **more)
        cls.processes.append(process)
        return process

    @classmethod
    def set_up(cls):
        begin = time.time()
        (cls.dir / "files").mkdir()
        (cls.dir / "job.yaml").write_text(JOB)
        os.mkfifo(cls.dir / "fed")
        options = ["-m", "48MiB", "-j", "2", "-T", "scratch:4GiB", "--force-spill", "--block-size", "64KiB", "--no-sync"]
        # A run that has ended. Its pipe is empty.
        ended = cls.start(FLOWRUN, "-q", "job.yaml", *options, "--metrics-file", "files/held.prom")
        with open(cls.dir / "fed", "w"):
            pass
        if ended.wait(60) != 0:
            raise RuntimeError("the first run failed")
        # Prometheus is there before the second one begins, so that it sees all of that.
        ports = {"9100": free_port(), "9464": free_port(), "9465": free_port()}
        text = (ROOT / "dashboards/prometheus.yml").read_text()
        text = re.sub(r'(, "127\.0\.0\.1:946[6-9]")+', "", text).replace("alerts.yml", str(ROOT / "dashboards/alerts.yml"))
        text = text.replace("scrape_interval: 5s", "scrape_interval: 500ms").replace("scrape_timeout: 4s", "scrape_timeout: 500ms")
        text = text.replace("rule_files:", "  evaluation_interval: 1s\nrule_files:", 1)
        for port, ours in ports.items():
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{ours}")
        (cls.dir / "prometheus.yml").write_text(text)
        cls.url = f"http://127.0.0.1:{free_port()}"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": open(cls.dir / "servers.log", "w")}
        cls.start("prometheus", f"--config.file={cls.dir}/prometheus.yml", f"--storage.tsdb.path={cls.dir}/data",
                  f"--web.listen-address={cls.url[7:]}", "--log.level=warn", **quiet)
        cls.start("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                  f"--collector.textfile.directory={cls.dir}/files", f"--web.listen-address=127.0.0.1:{ports['9100']}", **quiet)
        cls.wait_for(lambda: opened(cls.url + "/-/ready"))
        # The run that is held.
        job = cls.start(FLOWRUN, "job.yaml", *options, "--progress", "none", "--metrics-file", "files/held.prom",
                        "--metrics-listen", str(ports["9464"]), stderr=subprocess.DEVNULL)
        (cls.dir / "stages.yaml").write_text(STAGES)
        cls.start(FLOWRUN, "-q", "stages.yaml", "--cluster", "local:2", "--divide-from", "1", "-m", "48MiB", "-T", "scratch",
                  "--metrics-listen", str(ports["9465"]), stderr=subprocess.DEVNULL)
        cls.stop = threading.Event()
        cls.feeder = threading.Thread(target=cls.feed, daemon=True)
        cls.feeder.start()
        cls.begin = begin
        # Rows of the merge have been seen by several scrapes.
        cls.wait_for(lambda: cls.value('flowrun_node_rows_total{job="flowrun",node="meet"}') > 200_000)
        cls.wait_for(lambda: cls.value('flowrun_task_attempts_total{job="flowrun"}') > 0)
        time.sleep(3)
        cls.end = time.time()
        if job.poll() is not None:
            raise RuntimeError(f"the job has ended by itself, with {job.returncode}")

    @classmethod
    def feed(cls):
        try:
            with open(cls.dir / "fed", "w") as pipe:
                for step in range(1, 100):  # a source reads in pieces, so each step has many rows
                    first = SPACE // 100 * step
                    pipe.write("no number\n" + "".join(f"{value}\n" for value in range(first, first + 20_000)))
                    pipe.flush()
                    if cls.stop.wait(0.25):
                        return
                cls.stop.wait()
        except BrokenPipeError:
            pass

    @classmethod
    def wait_for(cls, condition):
        end, last = time.monotonic() + 40, None
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (OSError, LookupError, ValueError) as problem:
                last = problem
            time.sleep(0.2)
        raise RuntimeError(f"waited in vain: {last}; {(cls.dir / 'servers.log').read_text()[-2000:]}")

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "stop"):
            cls.stop.set()
        for process in reversed(cls.processes):
            process.kill()
            process.wait()
        shutil.rmtree(cls.dir, ignore_errors=True)

    @classmethod
    def api(cls, path, **query):
        return json.loads(opened(f"{cls.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"))["data"]

    @classmethod
    def value(cls, expression):
        return float(cls.api("query", query=expression)["result"][0]["value"][1])

    def has_data(self, expression):
        """Some number, at some time of the run."""
        query = expression
        for name, value in (("$__rate_interval", "3s"), ("$job_name", "held"), ("$instance", ".*")):
            query = query.replace(name, value)
        self.assertNotIn("$", query)
        found = self.api("query_range", query=query, start=self.begin, end=self.end, step="0.5")["result"]
        self.assertTrue(found, f"no series: {query}")
        numbers = [value for series in found for _, value in series["values"] if not math.isnan(float(value))]
        self.assertTrue(numbers, f"no numbers: {query}")

    def test_every_panel_shows_something(self):
        dashboards = sorted((ROOT / "dashboards").glob("*.json"))
        self.assertTrue(dashboards)
        for path in dashboards:
            for panel in json.loads(path.read_text())["panels"]:
                for target in panel.get("targets", []):
                    with self.subTest(dashboard=path.name, panel=panel["title"], expression=target["expr"]):
                        self.has_data(target["expr"])

    def test_every_variable_has_values(self):
        for path in (ROOT / "dashboards").glob("*.json"):
            for variable in json.loads(path.read_text())["templating"]["list"]:
                if variable["type"] == "query":
                    with self.subTest(dashboard=path.name, variable=variable["name"]):
                        call = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
                        self.assertIsNotNone(call)
                        metric = call.group(1).replace("$job_name", "held")
                        found = self.api("query_range", query=metric, start=self.begin, end=self.end, step="1")["result"]
                        self.assertTrue([series["metric"][call.group(2)] for series in found])

    def test_every_alert_can_fire_and_none_does(self):
        rules = [rule for group in self.api("rules")["groups"] for rule in group["rules"]]
        self.assertGreaterEqual(len(rules), 5)
        for rule in rules:
            with self.subTest(alert=rule["name"]):
                self.assertEqual((rule["health"], rule["state"]), ("ok", "inactive"), rule)
                without, count = COMPARISON.subn("", rule["query"])
                self.assertEqual(count, 1, rule["query"])
                self.has_data(without)

    def test_node_exporter_takes_the_file(self):
        self.assertEqual(self.value("flowrun_job_success"), 1)
        port = re.search(r"127\.0\.0\.1:(\d+)", (self.dir / "prometheus.yml").read_text().split("textfile")[1]).group(1)
        page = opened(f"http://127.0.0.1:{port}/metrics").decode()
        self.assertIn("node_textfile_scrape_error 0", page)

    def test_promtool_finds_nothing_odd_in_the_file(self):
        page = (self.dir / "files/held.prom").read_bytes()
        done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, timeout=20)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
