#!/usr/bin/env python3
"""The page as a browser draws it: what it shows is what the report or the job's metrics say."""

import html.parser
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

CHROMIUM = sys.argv.pop(2) if len(sys.argv) > 2 and not sys.argv[2].startswith("-") else "chromium"
from flowrun_process import SORT, main, process_test  # noqa: E402
from report_structure_test import LOOP  # noqa: E402

LINES = """flowrun: 1
name: from a pipe
nodes:
  read: {op: file.read_csv, with: {path: pipe, header: false, type: {x: u64}}}
  even: {op: filter, in: read, with: {where: "x % 2 == 0"}}
  write: {op: file.write_csv, in: even, with: {path: out.csv}}
"""


def many_nodes(number):
    lines = ["flowrun: 1", "name: many nodes", "nodes:", "  n0: {op: generate, with: {rows: 1000, columns: {x: i}}}"]
    for i in range(1, number - 1):
        op = "sort, in: n%d, with: {by: [-x]}" if i % 5 == 0 else "filter, in: n%d, with: {where: x < 900}"
        lines.append(f"  n{i}: {{op: {op % (i - 1)}}}")
    return "\n".join([*lines, f"  out: {{op: file.write_rows, in: n{number - 2}, with: {{path: out}}}}", ""])


class shown(html.parser.HTMLParser):
    """Of a page that was drawn: the values of the table of nodes, what is drawn as a node, labels of edges, texts by id."""

    def __init__(self, text):
        super().__init__()
        self.values, self.drawn, self.labels, self.texts = {}, {}, {}, {}
        self.node, self.into = None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "tr":
            self.node = found.get("data-node")
        elif tag == "td" and self.node and "data-field" in found:
            self.values[self.node, found["data-field"]] = found["data-value"]
        elif tag == "g" and "data-node" in found:
            self.drawn[found["data-node"]] = found
        if tag in ("p", "span", "h1") and "id" in found:
            self.into.append(found["id"])
            self.texts[found["id"]] = ""
        elif tag == "text" and "data-edge" in found:
            self.into.append(int(found["data-edge"]))
            self.texts[int(found["data-edge"])] = ""

    def handle_endtag(self, tag):
        if tag in ("p", "span", "h1", "text") and self.into:
            self.into.pop()

    def handle_data(self, data):
        if self.into:
            self.texts[self.into[-1]] += data


class page_test(process_test):
    def document(self, address, milliseconds=0):
        words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900", "--dump-dom"]
        if milliseconds:
            words.append(f"--virtual-time-budget={milliseconds}")
        profile = self.dir / "profile"
        done = subprocess.run([*words, f"--user-data-dir={profile}", address], capture_output=True, text=True, timeout=60)
        return done.stdout

    def drawn(self, address, milliseconds=0):
        text = self.document(address, milliseconds)
        self.write("dumped.html", text.split('<script type="application/json"')[0])
        return shown(text)

    def page_of(self, job, *arguments):
        self.write("job.yaml", job)
        done = self.flowrun("job.yaml", "-q", "--report", "report.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.flowrun("report", "report.json", "-o", "run.html").returncode, 0)
        return self.report(), self.drawn(f"file://{self.dir}/run.html")

    def same(self, report, page):
        self.assertEqual(set(page.drawn), {node["id"] for node in report["nodes"]})
        for node in report["nodes"]:
            for field in ("rows", "bytes"):
                self.assertEqual(page.values[node["id"], field], node[field], (node["id"], field))
            self.assertAlmostEqual(float(page.values[node["id"], "busy"]), node["busy_seconds"])
            for reason, seconds in node["blocked_seconds"].items():
                self.assertAlmostEqual(float(page.values[node["id"], reason]), seconds)

    def test_a_run_that_has_ended(self):
        report, page = self.page_of(SORT, "-p", "rows=200000", "--force-spill", "-m", "64MiB", "-T", "scratch")
        self.same(report, page)
        self.assertEqual((page.texts["job"], page.texts["status"]), ("sorting", "succeeded"))
        self.assertIn(report["host"], page.texts["about"])
        self.assertEqual(page.texts["notice"], "")
        for index in range(len(report["edges"])):
            self.assertRegex(page.texts[index], r"rows/s · .*B/s")

    def test_a_loop(self):
        report, page = self.page_of(LOOP)
        self.same(report, page)
        self.assertIn("3 iterations", page.drawn["round"]["aria-label"])

    def test_a_job_on_a_cluster(self):
        report, page = self.page_of(LOOP, "--cluster", "local:2", "--tasks", "3", "--divide-from", "1", "-T", "scratch")
        self.same(report, page)
        text = (self.dir / "dumped.html").read_text()
        told = re.findall('<span class="tasks">(.*?)</span>', text)
        self.assertEqual(len(told), len(report["stages"]))
        for stage, line in zip(report["stages"], told):
            tasks = f"{stage['tasks']} task{'' if stage['tasks'] == 1 else 's'}"
            names = ", ".join(name.removeprefix("round.") for name in stage["nodes"])
            self.assertTrue(line.startswith(f"{names}: {tasks}" if stage["inside"] else tasks), line)
        self.assertIn("<h2>Stages</h2>", text)
        self.assertEqual(re.findall("Memory in|Predicted and actual|undefined|NaN", text), [])

    def test_tasks_at_work(self):
        stage = {"nodes": ["a"], "tasks": 9, "tasks_done": 3, "tasks_at_work": 2, "attempts": 7, "phase": 1, "seconds": 5, "median_seconds": 1,
                 "slowest_seconds": 4, "slowest_task": 5}  # fmt: skip
        inside = {**stage, "nodes": ["b.c"], "inside": "b", "phase": 2, "attempts": 5, "slowest_task": 0}
        state = {"job": "far", "status": "running", "format": 1, "verdict": "", "io_backend": "spark://far:7077", "cpu_seconds": 1, "live":
                 {"elapsed_seconds": 5, "phase": 1, "ratio": 0.1, "activity": "a: 3 of 9 tasks", "resident_bytes": str(1 << 20)},
                 "nodes": [{"id": i, "op": o, "role": r, "rows": "5", "busy_seconds": 1, "inside": w}
                           for i, o, r, w in (("a", "generate", "source", ""), ("b", "loop", "control", ""), ("b.c", "map", "stateless", "b"))],
                 "edges": [{"from": "a", "to": "b", "kind": "exchange", "rows": "5"}], "pipelines": [{"nodes": ["b.c"], "inside": "b"}],
                 "phases": [{"state": "running", "nodes": ["a"]}, {"state": "waiting", "nodes": ["b"]}],
                 "stages": [stage, inside]}  # fmt: skip
        self.page_of(SORT)
        page = (self.dir / "run.html").read_text()
        self.write("live.html", re.sub(r'(<script type="application/json" id="report">).*?(</script>)',
                                       lambda m: m[1] + json.dumps(state) + m[2], page, flags=re.DOTALL))  # fmt: skip
        shown = self.drawn(f"file://{self.dir}/live.html")
        text = (self.dir / "dumped.html").read_text()
        self.assertEqual(re.findall('<span class="tasks">(.*?)</span>', text),
                         ["3 of 9 tasks done, 2 at work, 4 waiting · 7 attempts · median 1.0 s · slowest 4.0 s (task 5)",
                          "c: 3 of 9 tasks done, 2 at work, 4 waiting · median 1.0 s · slowest 4.0 s"])  # fmt: skip
        self.assertRegex(shown.texts["progress-text"], r"^about 10 % · stage 1 of 2 · a: 3 of 9 tasks")
        self.assertEqual(shown.texts["about"], "spark://far:7077")
        self.assertEqual(re.findall("undefined|NaN|budget", text), [])

    def test_many_nodes(self):
        report, page = self.page_of(many_nodes(30))
        self.same(report, page)
        self.assertEqual(len(page.drawn), 30)

    def test_on_a_phone(self):
        # Chromium has no window as narrow as that, so the page is looked at in a frame, which says how wide it is.
        long = "a-name-without-a-blank" * 5
        job = re.sub(r"\bn(\d)\b", r"n\1_with_a_name_that_is_longer_than_its_box", many_nodes(8))
        self.page_of(re.sub("^name: .*", f"name: {long}", job, flags=re.MULTILINE))
        # What a node shows lies in its box, and no text of a line on another one.
        tell = """<script>
            const lines = [...document.querySelectorAll(".node")].map((node) => [...node.querySelectorAll("text")].map((text) => text.getBBox()));
            const wrong = lines.filter(([id, op, state]) => state.x < op.x + op.width || state.x + state.width > 200 || id.x + id.width > 200);
            parent.postMessage(`${document.documentElement.scrollWidth} of ${innerWidth}, ${wrong.length} of ${lines.length} nodes`, "*");
            </script></body>"""
        self.write("told.html", (self.dir / "run.html").read_text().replace("</body>", tell))
        self.write("phone.html", "<iframe src=told.html style='border:0;width:390px;height:844px'></iframe>"
                   "<script>onmessage = said => { document.title = said.data }</script>")  # fmt: skip
        said = re.search("<title>(.*) of 390, (.*)</title>", self.document(f"file://{self.dir}/phone.html", 3000))
        self.assertEqual(said[2], "0 of 8 nodes")
        self.assertLessEqual(int(said[1]), 390)  # a bar for scrolling may take some of them

    def test_a_report_with_a_format_of_its_own_is_refused_by_the_page(self):
        self.page_of(SORT)
        path = self.dir / "run.html"
        path.write_text(re.sub(r'"format": ?1', '"format": 7', path.read_text()))
        self.assertIn("format 7", self.drawn(f"file://{path}").texts["notice"])

    def test_a_job_at_work(self):
        os.mkfifo(self.dir / "pipe")
        self.write("job.yaml", LINES)
        job = self.start("job.yaml", "--ui", "0", "--metrics-listen", "0", "--progress", "none", "--report", "report.json")
        told = job.stderr.readline() + job.stderr.readline()
        page_url = re.search(r"watched at (\S+)", told).group(1)
        metrics_url = re.search(r"metrics at (\S+)", told).group(1)
        with open(self.dir / "pipe", "w") as pipe:
            pipe.write("".join(f"{i}\n" for i in range(400000)))
            pipe.flush()
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            rows_total = re.compile(r'flowrun_node_rows_total\{.*\bnode="(\w+)".*\} (\S+)')
            series = {}
            for _ in range(100):  # until what was written has gone through
                before = series
                series = dict(rows_total.findall(opener.open(metrics_url, timeout=30).read().decode()))
                if series and series == before:
                    break
                time.sleep(0.3)
            self.assertEqual(set(series), {"read", "even", "write"})
            page = self.drawn(page_url, 3000)
            self.assertEqual(page.texts["status"], "running")
            for node, rows in series.items():
                self.assertEqual(float(page.values[node, "rows"]), float(rows), node)
            self.assertRegex(page.texts["progress-text"], r"phase 1 of 1")
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)


if __name__ == "__main__":
    main()
