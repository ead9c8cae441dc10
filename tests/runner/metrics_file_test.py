#!/usr/bin/env python3
"""--metrics-file: what it says of runs that succeed, fail and are stopped; what becomes of the file that was there."""

import json
import os
import re
import signal
import time

from flowrun_process import ENDLESS, SORT, main, process_test

SERIES = re.compile(r'^(\w+)\{job_name="((?:[^"\\]|\\.)*)"(?:,(.*))?\} (\S+)$')


class metrics_file_test(process_test):
    def values(self, name="job.prom", job="sorting"):
        """What stands in the file, by name and labels. Each series has to have the job's name."""
        out = {}
        for line in (self.dir / name).read_text().splitlines():
            if not line.startswith("#"):
                match = SERIES.match(line)
                self.assertTrue(match, line)
                self.assertEqual(match.group(2), job)
                out[match.group(1) + (f"{{{match.group(3)}}}" if match.group(3) else "")] = float(match.group(4))
        return out

    def run_job(self, *more, text=SORT):
        self.write("job.yaml", text)
        return self.flowrun("job.yaml", "--metrics-file", "job.prom", *more)

    def test_a_run_that_succeeds(self):
        before = time.time()
        done = self.run_job("-T", "scratch", "--force-spill", "-p", "rows=500000")
        after = time.time()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("warning", done.stderr)
        told = self.values()
        self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (1, 0))
        start, end = told["flowrun_job_start_timestamp_seconds"], told["flowrun_job_end_timestamp_seconds"]
        self.assertTrue(before - 0.01 <= start < end <= after + 0.01, (before, start, end, after))
        self.assertAlmostEqual(told["flowrun_job_duration_seconds"], end - start, places=2)
        self.assertEqual(told["flowrun_job_last_success_timestamp_seconds"], end)
        self.assertEqual(told['flowrun_node_rows_total{node="out",op="file.write_rows"}'], 500000)
        self.assertEqual(told['flowrun_disk_errors_total{disk="scratch"}'], 0)
        self.assertGreater(told['flowrun_disk_written_bytes_total{disk="scratch"}'], 0)
        self.assertEqual(self.files(), ["job.prom", "job.yaml", "out/sorted.u64"])

    def test_it_has_nothing_of_the_moment(self):
        """What is true only while a job runs would stay in the file until the next run, and so in the collector."""
        self.assertEqual(self.run_job("-T", "scratch", "--force-spill").returncode, 0)
        text = (self.dir / "job.prom").read_text()
        for name in ("progress", "flowrun_job_phase", "flowrun_memory_used", "scratch_used", "process_"):
            self.assertNotIn(name, text)

    def test_a_failure_keeps_the_last_success(self):
        self.assertEqual(self.run_job().returncode, 0)
        success = self.values()["flowrun_job_last_success_timestamp_seconds"]
        failing = SORT.replace("out/sorted.u64", "/dev/full")
        for _ in range(2):
            self.assertEqual(self.run_job(text=failing).returncode, 73)
            told = self.values()
            self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (0, 73))
            self.assertEqual(told["flowrun_job_last_success_timestamp_seconds"], success)
            self.assertGreater(told["flowrun_job_end_timestamp_seconds"], success)
            self.assertIn('flowrun_node_rows_total{node="drawn",op="generate"}', told)
        self.assertEqual(self.run_job().returncode, 0)
        self.assertGreater(self.values()["flowrun_job_last_success_timestamp_seconds"], success)

    def test_a_job_that_never_succeeded(self):
        self.assertEqual(self.run_job(text=SORT.replace("out/sorted.u64", "/dev/full")).returncode, 73)
        self.assertEqual(self.values()["flowrun_job_last_success_timestamp_seconds"], 0)

    def test_another_job_s_success_is_none_of_this_one(self):
        self.assertEqual(self.run_job().returncode, 0)
        text = SORT.replace("name: sorting", "name: other").replace("out/sorted.u64", "/dev/full")
        self.assertEqual(self.run_job(text=text).returncode, 73)
        self.assertEqual(self.values(job="other")["flowrun_job_last_success_timestamp_seconds"], 0)

    def test_names_with_quotes(self):
        text = SORT.replace("name: sorting", r'name: "a \"b\" c:\\d\nend"')
        told = r"a \"b\" c:\\d\nend"
        self.assertEqual(self.run_job(text=text).returncode, 0)
        success = self.values(job=told)["flowrun_job_last_success_timestamp_seconds"]
        self.assertEqual(self.run_job(text=text.replace("out/sorted.u64", "/dev/full")).returncode, 73)
        self.assertEqual(self.values(job=told)["flowrun_job_last_success_timestamp_seconds"], success)

    def test_a_job_without_a_name_is_called_as_its_file(self):
        self.assertEqual(self.run_job(text=SORT.replace("name: sorting\n", "")).returncode, 0)
        self.assertEqual(self.values(job="job")["flowrun_job_success"], 1)

    def test_a_job_has_one_name_everywhere(self):
        text = SORT.replace("name: sorting\n", "")
        self.write("nightly.sums.yaml", text)
        for file, name in (("nightly.sums.yaml", "nightly.sums"), ("-", "job")):
            done = self.flowrun("run", file, "--metrics-file", "job.prom", "--report", "report.json", input=text)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.values(job=name)["flowrun_job_success"], 1)
            self.assertEqual(self.report()["job"], name)
            self.assertIn(f"\n{name}: succeeded in ", "\n" + done.stderr)
            self.assertEqual(json.loads(self.flowrun("plan", file, "-f", "json", input=text).stdout)["job"], name)
            (self.dir / "job.prom").unlink()

    def test_faults_before_the_run(self):
        """An input that is missing ends a run of the night as a full disk does."""
        missing = SORT.replace("{op: generate, with: {kind: random, rows: \"${rows}\"}}",
                               "{op: file.read_rows, with: {path: nowhere.u64, type: {value: u64}}}")
        done = self.run_job(text=missing)
        self.assertEqual(done.returncode, 66, done.stderr)
        told = self.values()
        self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (0, 66))
        self.assertNotIn("flowrun_job_info", (self.dir / "job.prom").read_text())

    def failed_check(self, success, *more, text=SORT, job="sorting"):
        done = self.run_job(*more, text=text)
        self.assertEqual(done.returncode, 78, done.stderr)
        told = self.values(job=job)
        self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (0, 78))
        self.assertEqual(told["flowrun_job_last_success_timestamp_seconds"], success)
        self.assertEqual({name for name in told if not name.startswith("flowrun_job_")}, set())

    def test_a_job_with_faults_is_a_failed_run(self):
        wrong = SORT.replace("by: [value]", "by: [nothing]")
        self.failed_check(0, text=wrong)
        self.assertEqual(self.run_job().returncode, 0)
        success = self.values()["flowrun_job_last_success_timestamp_seconds"]
        self.failed_check(success, text=wrong)
        self.failed_check(success, text=SORT + "more: words\n")
        self.failed_check(success, "-p", "nothing=1")

    def test_a_fault_that_says_the_option_s_name_is_none_about_its_file(self):
        self.assertEqual(self.run_job().returncode, 0)
        success = self.values()["flowrun_job_last_success_timestamp_seconds"]
        self.failed_check(success, text=SORT + "--metrics-file: words\n")

    def test_a_job_that_can_not_be_read_keeps_its_name(self):
        """The name of the job can't be read either: the file has it from the run before."""
        torn = SORT.replace("name: sorting", "name: {sorting")
        self.failed_check(0, text=torn, job="job")
        for name, told in (("sorting", "sorting"), (r'"a \"b\" c:\\d\nend"', r"a \"b\" c:\\d\nend")):
            self.assertEqual(self.run_job(text=SORT.replace("name: sorting", f"name: {name}")).returncode, 0)
            success = self.values(job=told)["flowrun_job_last_success_timestamp_seconds"]
            for _ in range(2):
                self.failed_check(success, text=torn, job=told)

    def test_a_job_that_is_not_there(self):
        self.assertEqual(self.run_job().returncode, 0)
        success = self.values()["flowrun_job_last_success_timestamp_seconds"]
        (self.dir / "job.yaml").unlink()
        self.fails(66, self.flowrun("job.yaml", "--metrics-file", "job.prom"), "there is no job job.yaml")
        told = self.values()
        self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (0, 66))
        self.assertEqual(told["flowrun_job_last_success_timestamp_seconds"], success)

    def test_a_fault_about_the_file_leaves_it_as_it_was(self):
        """The fault is that it is the job's own file."""
        self.assertEqual(self.run_job().returncode, 0)
        before = (self.dir / "job.prom").read_text()
        for more in (["--set", "nodes.out.with.path=job.prom"], ["--report", "job.prom"]):
            done = self.run_job(*more)
            self.fails(78, done, "--metrics-file", "job.prom")
            self.assertEqual((self.dir / "job.prom").read_text(), before)

    def test_stopped_by_a_signal(self):
        self.write("job.yaml", SORT)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            job = self.start("job.yaml", "--metrics-file", "job.prom", "--progress", "json", "-p", f"rows={ENDLESS}",
                             "-m", "32MiB", "-T", "scratch")
            self.until_rows_move(job)
            job.send_signal(number)
            job.communicate(timeout=60)
            self.assertEqual(job.returncode, code)
            told = self.values()
            self.assertEqual((told["flowrun_job_success"], told["flowrun_job_exit_code"]), (0, code))
            self.assertGreater(told['flowrun_node_rows_total{node="drawn",op="generate"}'], 0)

    def test_a_place_that_can_not_be_written(self):
        """Is told before the run."""
        self.write("job.yaml", SORT)
        for path in ("nowhere/job.prom", "/proc/job.prom", "."):
            done = self.flowrun("job.yaml", "--metrics-file", path)
            self.fails(73, done, "flowrun: error: ", "help: ")
            self.assertEqual(self.files(), ["job.yaml"])
        self.fails(64, self.flowrun("job.yaml", "--metrics-file", "-"), "can't be standard output")

    def test_a_pipe_or_a_device_keeps_nothing(self):
        """A pipe would be waited for without a word."""
        self.write("job.yaml", SORT)
        os.mkfifo(self.dir / "pipe")
        (self.dir / "link").symlink_to("pipe")
        for path in ("pipe", "link", "/dev/null", "/dev/stdout"):
            done = self.flowrun("job.yaml", "--metrics-file", path)
            self.fails(73, done, f"can't write {path}: --metrics-file needs a regular file", "help: give a file")
            self.assertEqual(self.files("out"), [])

    def test_somebody_else_s_file_stays(self):
        self.write("job.prom", "node,value\n")
        done = self.run_job()
        self.fails(73, done, "job.prom holds something else than metrics")
        self.assertEqual((self.dir / "job.prom").read_text(), "node,value\n")
        self.assertEqual(self.files(), ["job.prom", "job.yaml"])

    def test_a_file_of_the_job_is_a_fault(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "--metrics-file", "out.prom", "--set", "nodes.out.with.path=out.prom")
        self.fails(78, done, "--metrics-file and 'out' both write 'out.prom'")
        self.fails(78, self.flowrun("job.yaml", "--metrics-file", "x.prom", "--report", "x.prom"), "x.prom")
        self.assertEqual(self.files(), ["job.yaml"])

    def test_a_failure_to_write_at_the_end_is_a_warning(self):
        """The job has succeeded, whatever becomes of its metrics."""
        os.mkfifo(self.dir / "in")
        os.mkdir(self.dir / "there")
        self.write("job.yaml", """flowrun: 1
nodes:
  read: {op: file.read_lines, with: {path: in}}
  write: {op: file.write_lines, in: read, with: {path: lines}}
""")
        job = self.start("job.yaml", "--metrics-file", "there/job.prom", "--progress", "none")
        with open(self.dir / "in", "w") as feeder:  # returns when the job reads
            feeder.write("one\n")
            feeder.flush()
            (self.dir / "there").rename(self.dir / "elsewhere")
            (self.dir / "there").write_text("no directory any more")
        _, messages = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, messages)
        self.assertIn("flowrun: warning: the file of --metrics-file was not written: ", messages)
        self.assertEqual((self.dir / "lines").read_text(), "one\n")

    def test_a_name_that_node_exporter_passes_over(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "--metrics-file", "job.txt")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: --metrics-file job.txt: node_exporter reads only files whose names end in .prom", done.stderr)

    def test_beside_http(self):
        """While the next run works, its page says when the last one succeeded."""
        self.assertEqual(self.run_job().returncode, 0)
        success = self.values()["flowrun_job_last_success_timestamp_seconds"]
        job = self.start("job.yaml", "--metrics-file", "job.prom", "--metrics-listen", "0", "--progress", "json", "-p",
                         f"rows={ENDLESS}", "-m", "32MiB", "-T", "scratch")
        url = re.search(r"metrics at (\S+)", job.stderr.readline()).group(1)
        self.until_rows_move(job)
        page = self.page(url)
        told = {m.group(1): float(m.group(4)) for m in map(SERIES.match, page.splitlines()) if m}
        self.assertEqual(told["flowrun_job_last_success_timestamp_seconds"], success)
        self.assertGreater(told["flowrun_job_start_timestamp_seconds"], success)
        self.assertNotIn("flowrun_job_success", told)


if __name__ == "__main__":
    main()
