#!/usr/bin/env python3
"""What a run says while it works and when it has ended: progress in each mode, the report, metrics."""

import json
import os
import re
import socket
import subprocess
import threading

from flowrun_process import ENDLESS, FLOWRUN, SANITIZED, SORT, job_with_sinks, main, process_test
from watching_process import terminal

REDUCE = """flowrun: 1
name: adding
nodes:
  rows: {op: generate, with: {rows: 1000, columns: {x: i}}}
  even: {op: filter, in: rows, with: {where: "x % 2 == 0"}}
  sum: {op: reduce, in: even, with: {let: {n: "count()", total: "sum(x)"}}}
"""


# Two rows, added up again and again.
LOOP = """flowrun: 1
nodes:
  start: {op: generate, with: {rows: 2, columns: {x: i}}}
  round:
    op: loop
    in: {start: start}
    with:
      carry: {rows: {from: start}}
      body:  {next: {op: map, in: rows, with: {x: x + 1}}}
      next:  {rows: next}
      times: ROUNDS
  write: {op: file.write_rows, in: round.rows, with: {path: out}}
""".replace("ROUNDS", "60000" if SANITIZED else "600000")  # for more than a second


class progress_test(process_test):
    def test_a_loop_is_not_nearly_done_all_the_time(self):
        self.write("job.yaml", LOOP)
        done = self.flowrun("job.yaml", "-q", "--progress", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stderr.splitlines()][:-1]
        inside = [line for line in lines if not line["ratio_known"]]
        self.assertTrue(inside, lines)
        for line in inside:
            self.assertIsNone(line["ratio"])
            self.assertIsNone(line["seconds_left"])
        looping = [line for line in inside if line["iterations"] > 0]
        self.assertTrue(looping, inside)
        self.assertTrue(any("round: iteration" in line["activity"] for line in looping), looping)
        iterations = [line["iterations"] for line in inside]
        self.assertEqual(iterations, sorted(iterations))

    def test_of_a_pipe_no_share_but_what_was_read(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: "-"}}
  longest: {op: sort, in: lines, with: {by: [-length(text)], limit: 1}}
  write: {op: file.write_lines, in: longest, with: {path: out}}
""")
        job = subprocess.Popen(
            [FLOWRUN, "job.yaml", "-q", "--progress", "json"], cwd=self.dir, env=self.environment, text=True,
            stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        text = 1_000_000 * "a line\n"
        feeding = threading.Thread(target=lambda: (job.stdin.write(text), job.stdin.flush()))
        feeding.start()
        for _ in range(30):  # about one a second
            said = json.loads(job.stderr.readline())
            self.assertNotIn("status", said)
            self.assertIsNone(said["ratio"])
            if said["bytes_read"] > 0:
                break
        self.assertGreater(said["bytes_read"], 0)
        feeding.join()
        self.assertLessEqual(said["bytes_read"], len(text))
        job.communicate()
        self.assertEqual(job.returncode, 0)

    def test_json_lines(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "-q", "--progress", "json", "-p", "rows=2000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stderr.splitlines()]
        self.assertEqual(lines[-1]["status"], "succeeded")
        self.assertEqual(lines[-1]["ratio"], 1)
        self.assertGreater(len(lines), 1)
        for line in lines[:-1]:
            self.assertEqual(line["phases"], 2)
            self.assertIn(line["phase"], (1, 2))
            self.assertGreaterEqual(line["ratio"], 0)
        ratios = [line["ratio"] for line in lines]
        self.assertEqual(ratios, sorted(ratios))

    def test_a_run_that_does_not_begin_is_reported_too(self):
        job = job_with_sinks("out", source="{op: file.read_lines, with: {path: in.txt}}")
        for told, change in (
            ("job.yaml:3:", lambda: (self.dir / "in.txt").unlink()),
            ("no file matches '*.txt'", lambda: self.no_text(job)),
            ("unknown operator 'file.write_cvs'", lambda: self.write("job.yaml", job.replace("write_csv", "write_cvs"))),
            ("there is no job job.yaml", lambda: (self.dir / "job.yaml").unlink()),
        ):
            self.write("in.txt", "a\n")
            self.write("job.yaml", job)
            done = self.flowrun("-q", "job.yaml", "--report", "report.json")
            self.assertEqual((done.returncode, self.report()["status"]), (0, "succeeded"), done.stderr)
            change()
            done = self.flowrun("-q", "job.yaml", "--report", "report.json")
            self.assertIn(done.returncode, (66, 78), done.stderr)
            report = self.report()
            self.assertEqual((report["status"], report["job"], report["format"]), ("failed", "job", 1))
            self.assertIn(told, report["error"])

    def no_text(self, job):
        (self.dir / "in.txt").unlink()
        self.write("job.yaml", job.replace("in.txt", '"*.txt"'))

    def test_what_is_no_report_stays_where_a_run_does_not_begin(self):
        self.write("job.yaml", job_with_sinks("out", source="{op: file.read_lines, with: {path: [in.txt, more.txt]}}"))
        self.write("other.json", '{"a": 1}')
        self.write("in.txt", "1\n")
        for path in ("job.yaml", "other.json", "in.txt"):
            before = (self.dir / path).read_text()
            done = self.flowrun("-q", "job.yaml", "--report", path)
            self.assertIn(done.returncode, (66, 78), done.stderr)
            self.assertEqual((self.dir / path).read_text(), before)

    def test_bytes_that_are_no_utf8(self):
        with open(os.fsencode(self.dir) + b"/n\xff.txt", "wb") as file:
            file.write(b"\xff\xfeab\n")
        job = """flowrun: 1
nodes:
  rows: {op: file.read_lines, with: {path: "*.txt"}}
  most: {op: reduce, in: rows, with: {let: {m: max(text)}}}
  out: {op: file.write_lines, in: rows, with: {path: out.dat}}
"""
        self.write("job.yaml", job)
        done = self.flowrun("-q", "job.yaml", "--report", "report.json", "--resume", "-T", "scratch")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        result, = self.report()["results"]
        self.assertEqual(result["value"], '"\ufffd\ufffdab"')
        plan = json.loads(self.flowrun("plan", "job.yaml", "--format", "json").stdout)
        self.assertNotIn("\\ud", json.dumps(plan))
        self.write("job.yaml", job.replace("_lines", "_csv").replace("with: {path: \"", "with: {type: {text: u8}, path: \""))
        done = self.flowrun("-q", "job.yaml", "--report", "report.json")
        self.assertEqual(done.returncode, 65)
        self.assertNotIn("protobuf", done.stderr)
        self.assertIn('n\ufffd.txt:1:1: expected u8, got "\ufffd\ufffdab', self.report()["error"])

    def test_a_report_that_cant_be_written_is_told_apart_from_the_job(self):
        self.write("job.yaml", SORT)
        self.fails(73, self.flowrun("-q", "job.yaml", "--report", "/dev/full"),
                   "the job has succeeded, and its outputs are there, but not its report: can't write to /dev/full")  # fmt: skip
        self.assertEqual(self.files("out"), ["sorted.u64"])
        self.write("job.yaml", SORT.replace("out/sorted.u64", "sorted.u64"))
        for path in (".", "out"):
            self.fails(73, self.flowrun("job.yaml", "--report", path), f"can't write {path}: it is a directory")
        self.assertEqual(self.files(), ["job.yaml", "out/sorted.u64"])

    def test_json_of_a_failure(self):
        self.write("job.yaml", SORT.replace("out/sorted.u64", "/dev/full"))
        lines = [
            line for line in self.flowrun("job.yaml", "--progress", "json").stderr.splitlines() if line.startswith("{")
        ]
        self.assertEqual(json.loads(lines[-1])["status"], "failed")

    def test_quiet_says_nothing(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "-q")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_no_bar_where_nobody_looks(self):
        self.write("job.yaml", SORT)
        err = self.flowrun("job.yaml").stderr
        self.assertNotIn("\r", err)
        self.assertNotIn("\033", err)
        self.assertTrue(err.startswith("sorting: succeeded in "), err)

    def test_a_bar_on_a_terminal_that_goes_at_the_end(self):
        self.write("job.yaml", SORT)
        shown = terminal(self, "job.yaml", "-p", "rows=3000000")
        self.assertEqual(shown.ended(100), 0)
        drawn = shown.text
        self.assertRegex(drawn, r"\r +\d+% [^\r]*1/2 drawn")
        self.assertRegex(drawn, r"\r\033\[Ksorting: succeeded in ")  # erased before the report


class report_test(process_test):
    def test_one_thread_is_one(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "-p", "rows=1000", "-j", "1", "--progress", "none")
        self.assertIn(", 1 thread, ", done.stderr)

    def test_work_beside_the_pipeline_is_the_nodes(self):
        """Runs are sorted by tasks of their own."""
        self.write("job.yaml", """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 1500000, columns: {s: "concat('w', rand(1, i) % 1000)", x: i}}}
  sorted: {op: sort, in: rows, with: {by: [s, -x]}}
  out: {op: file.write_csv, in: sorted, with: {path: out.csv}}
""")
        done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-j", "1", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        busy = sum(node["busy_seconds"] for node in report["nodes"])
        self.assertGreater(busy, 0.8 * report["cpu_seconds"])

    def test_json_report(self):
        self.write("job.yaml", SORT)
        done = self.flowrun(
            "job.yaml",
            "-q",
            "--report",
            "report.json",
            "-p",
            "rows=500000",
            "--force-spill",
            "-m",
            "64MiB",
            "-T",
            "scratch",
            "-j",
            "2",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        self.assertEqual((report["job"], report["status"], report["threads"]), ("sorting", "succeeded", 2))
        self.assertEqual(int(report["memory_budget_bytes"]), 64 << 20)
        self.assertGreater(report["wall_seconds"], 0)
        self.assertGreater(report["cpu_seconds"], 0)
        self.assertGreater(int(report["peak_memory_bytes"]), 0)
        nodes = {node["id"]: node for node in report["nodes"]}
        self.assertEqual(
            [nodes[id]["op"] for id in ("drawn", "sorted", "out")], ["generate", "sort", "file.write_rows"]
        )
        self.assertEqual({int(node["rows"]) for node in nodes.values()}, {500000})
        self.assertEqual({int(node["bytes"]) for node in nodes.values()}, {4000000})
        for node in nodes.values():
            self.assertGreaterEqual(node["busy_seconds"], 0)
            self.assertEqual(set(node["blocked_seconds"]), {"io", "memory", "input", "output"})
        sort = report["sorts"][0]
        self.assertGreaterEqual(int(sort["runs"]), 1)
        self.assertEqual(int(sort["merge_passes"]), 1)
        disk = report["disks"][0]
        self.assertTrue(disk["path"].endswith("scratch"))
        self.assertGreaterEqual(int(disk["written_bytes"]), 4000000)
        self.assertGreaterEqual(int(disk["read_bytes"]), 4000000)
        self.assertGreaterEqual(set(disk), {"busy_seconds", "wait_seconds", "read_wait_seconds", "write_wait_seconds", "read_operations"})
        for side in ("predicted", "actual"):
            self.assertIn("scratch_written_bytes", report[side])
        self.assertEqual(int(report["actual"]["output_bytes"]), 4000000)

    def test_a_report_says_how_its_outputs_are_read(self):
        rows = "{op: generate, with: {rows: 3, columns: {id: i, part: u24(i), none: i == 1, text: string(i)}}}"
        self.write(
            "job.yaml",
            f"""flowrun: 1
nodes:
  rows: {rows}
  narrow: {{op: map, in: rows, with: {{id: id, part: part}}}}
  text: {{op: file.write_csv, in: rows, with: {{path: "${{env:TOKEN}}.csv", header: true, delimiter: "${{env:SEPARATOR}}", missing: {{text: none}}}}}}
  kept: {{op: file.write_rows, in: narrow, with: {{path: kept.bin, index: true}}}}
""",
        )
        self.environment.update(TOKEN="secret-name", SEPARATOR=";")
        done = self.flowrun("job.yaml", "-q", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        outputs = {output["path"]: output for output in self.report()["outputs"]}
        self.assertEqual(set(outputs), {"${env:TOKEN}.csv", "kept.bin", "kept.bin.index"})
        text = outputs["${env:TOKEN}.csv"]
        self.assertEqual((text["node"], text["op"]), ("text", "file.write_csv"))
        self.assertEqual(
            [(column["name"], column["type"]) for column in text["columns"]],
            [("id", "u64"), ("part", "u24"), ("text", "string")],
        )
        self.assertEqual(
            {setting["name"]: setting["value"] for setting in text["with"]},
            {"header": "true", "delimiter": ";", "missing.text": "none"},
        )
        self.assertEqual(outputs["kept.bin"]["node"], "kept")
        self.assertEqual((outputs["kept.bin.index"]["node"], outputs["kept.bin.index"]["columns"]), ("", []))

    def test_on_standard_output(self):
        self.write("job.yaml", SORT)
        self.assertEqual(json.loads(self.flowrun("job.yaml", "--report", "-").stdout)["status"], "succeeded")

    def test_written_on_failure_too(self):
        self.write("job.yaml", SORT.replace("out/sorted.u64", "/dev/full"))
        self.assertEqual(self.flowrun("job.yaml", "--report", "report.json").returncode, 73)
        report = self.report()
        self.assertEqual(report["status"], "failed")
        self.assertIn("/dev/full", report["error"])
        self.assertEqual(self.files("."), ["job.yaml", "report.json"])

    def test_text_report_has_the_results(self):
        self.write("job.yaml", REDUCE)
        done = self.flowrun("job.yaml")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("sum.n = 500\n", done.stderr)
        self.assertIn(f"sum.total = {sum(range(0, 1000, 2))}\n", done.stderr)

    def test_data_on_standard_output(self):
        self.write("job.yaml", SORT.replace("file.write_rows", "file.write_csv").replace("out/sorted.u64", '"-"'))
        done = self.flowrun("job.yaml", "-p", "rows=100")
        self.assertEqual(done.returncode, 0, done.stderr)
        values = [int(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(values), 100)
        self.assertEqual(values, sorted(values))


class metrics_test(process_test):
    def test_scraped_during_a_run(self):
        self.write("job.yaml", SORT)
        job = self.start(
            "job.yaml",
            "-p",
            f"rows={ENDLESS}",
            "-m",
            "32MiB",
            "-T",
            "scratch",
            "--metrics-listen",
            "0",
            "--progress",
            "json",
        )
        url = re.search(r"metrics at (http://127\.0\.0\.1:\d+/metrics)", job.stderr.readline()).group(1)
        self.until_rows_move(job)
        page = self.page(url)
        series = {}
        for line in page.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                series[name] = float(value)
        self.assertGreater(series['flowrun_node_rows_total{job_name="sorting",node="drawn",op="generate"}'], 0)
        self.assertGreater(series['flowrun_node_busy_seconds_total{job_name="sorting",node="sorted",op="sort"}'], 0)
        self.assertEqual(series['flowrun_memory_limit_bytes{job_name="sorting"}'], 32 << 20)
        self.assertGreater(series['flowrun_memory_used_bytes{job_name="sorting"}'], 1 << 20)
        self.assertLessEqual(series['flowrun_memory_used_bytes{job_name="sorting"}'], series['flowrun_memory_limit_bytes{job_name="sorting"}'])
        self.assertGreater(series['process_resident_memory_bytes{job_name="sorting"}'], 1 << 20)
        self.assertTrue(0 <= series['flowrun_job_progress_ratio{job_name="sorting"}'] < 1)
        self.assertIn('flowrun_scratch_used_bytes{job_name="sorting",disk="scratch"}', series)
        self.assertIn('flowrun_disk_request_seconds_count{job_name="sorting",disk="scratch",direction="write"}', series)
        self.assertIn("# HELP flowrun_sort_runs ", page)
        listed = self.flowrun("metrics").stdout
        for line in page.splitlines():
            if line.startswith("# TYPE flowrun_"):
                self.assertIn(line.split()[2], listed)
        self.assertIn("process_resident_memory_bytes", listed)
        job.terminate()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 143)

    def test_a_port_that_another_job_has(self):
        self.write("job.yaml", SORT)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            address = f"127.0.0.1:{port}"
            done = self.flowrun("job.yaml", "--metrics-listen", address)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"flowrun: warning: can't serve metrics at {address}: the port is taken", done.stderr)
            self.assertIn("the job runs without", done.stderr)
            self.assertEqual(self.files("out"), ["sorted.u64"])
            last = min(port + 20, 65535)
            done = self.flowrun("job.yaml", "--metrics-listen", f"{port}-{last}")
            self.assertEqual(done.returncode, 0, done.stderr)
            served = int(re.search(r"metrics at http://127\.0\.0\.1:(\d+)/metrics", done.stderr).group(1))
            self.assertTrue(port < served <= last, served)

    def test_an_address_of_another_machine(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "--metrics-listen", "192.0.2.1:9464")
        self.fails(74, done, "can't serve metrics at 192.0.2.1:9464: Cannot assign requested address")
        self.assertEqual(self.files("out"), [])

    def test_a_job_without_a_name_is_called_as_its_file(self):
        self.write("nightly sums.yaml", LOOP)
        job = self.start("nightly sums.yaml", "--metrics-listen", "0", "--progress", "json")
        url = re.search(r"metrics at (\S+)", job.stderr.readline()).group(1)
        self.until_rows_move(job)
        page = self.page(url)
        self.assertIn('flowrun_job_phases{job_name="nightly sums"}', page)


if __name__ == "__main__":
    main()
