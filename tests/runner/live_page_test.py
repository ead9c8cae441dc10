#!/usr/bin/env python3
"""--ui: the page of a running job over HTTP, its state, and those who ask badly or not at all."""

import http.client
import json
import os
import re
import socket
import time

from flowrun_process import ENDLESS, SANITIZED, SORT, main, process_test

LINES = """flowrun: 1
name: from a pipe
nodes:
  read: {op: file.read_csv, with: {path: pipe, header: false, type: {x: u64}}}
  sorted: {op: sort, in: read, with: {by: [x]}}
  write: {op: file.write_csv, in: sorted, with: {path: out.csv}}
"""


class live_page_test(process_test):
    def watched(self, *arguments, job=SORT):
        self.write("job.yaml", job)
        started = self.start("job.yaml", "--ui", "0", "--progress", "none", *arguments)
        self.port = int(re.search(r"watched at http://127\.0\.0\.1:(\d+)/\n", started.stderr.readline()).group(1))
        return started

    def ask(self, path="/state.json", method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def state(self, viewer=None):
        answer, body = self.ask("/state.json" + (f"?viewer={viewer}" if viewer else ""))
        self.assertEqual(answer.status, 200)
        return json.loads(body)

    def until(self, holds, viewer=None):
        for _ in range(200):
            state = self.state(viewer)
            if holds(state):
                return state
            time.sleep(0.05)
        self.fail(f"it never came: {state}")

    def stop(self, job):
        job.terminate()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 143)

    def test_the_state_of_a_job_at_work(self):
        job = self.watched("-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "scratch")
        state = self.until(lambda s: int(s["disks"][0]["written_bytes"]) > 0)
        self.assertEqual((state["status"], state["end"], state["format"]), ("running", "", 1))
        self.assertEqual([phase["state"] for phase in state["phases"]], ["running", "waiting"])
        live = state["live"]
        self.assertEqual((live["phase"], live["activity"]), (1, "drawn"))
        self.assertTrue(0 <= live["ratio"] < 1)
        self.assertGreater(int(live["resident_bytes"]), 1 << 20)
        self.assertGreater(int(state["edges"][0]["rows"]), 0)
        later = self.until(lambda s: s["live"]["elapsed_seconds"] > live["elapsed_seconds"])
        self.assertGreaterEqual(int(later["nodes"][0]["rows"]), int(state["nodes"][0]["rows"]))
        self.stop(job)

    def test_the_page_and_nothing_else(self):
        job = self.watched("-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "scratch")
        answer, body = self.ask("/")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn('id="report">null</script>', body.decode())
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        for path in ("/job.yaml", "/../job.yaml", "/%2e%2e/job.yaml", "/metrics", "/state.json/"):
            self.assertIn(self.ask(path)[0].status, (400, 404), path)
        self.assertEqual(self.ask("/", method="POST")[0].status, 405)
        self.assertEqual(self.ask("/", method="DELETE")[0].status, 405)
        self.until(lambda s: s["status"] == "running")  # before, a signal ends it as it ends any program
        self.stop(job)

    def test_names_that_others_may_choose_are_refused(self):
        job = self.watched("-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "scratch")
        for host, status in (("evil.example:80", 403), (f"localhost:{self.port}", 200), (f"127.0.0.1:{self.port}", 200),
                             ("LOCALHOST", 200), (f"localhost.:{self.port}", 200), ("localhost.example", 403), (".", 403)):  # fmt: skip
            self.assertEqual(self.ask("/state.json", Host=host)[0].status, status, host)
        self.stop(job)

    def test_who_looks_gets_the_report(self):
        os.mkfifo(self.dir / "pipe")
        job = self.watched("--report", "report.json", job=LINES)
        with open(self.dir / "pipe", "w") as pipe:
            pipe.write("3\n1\n2\n")
            pipe.flush()
            self.assertEqual(self.state("me")["status"], "running")
        last = self.until(lambda s: s["status"] != "running", "me")
        self.assertNotIn("live", last)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)
        self.assertEqual(last, self.report())

    def test_nobody_looks_and_nothing_waits(self):
        job = self.watched()
        begun = time.monotonic()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)
        self.assertLess(time.monotonic() - begun, 20 if SANITIZED else 1)

    def test_secrets_stay_masked(self):
        os.mkfifo(self.dir / "pipe")
        self.environment["TOKEN"] = "a-long-secret"
        text = LINES.replace("nodes:", 'params: {token: {type: string, default: "${env:TOKEN}"}}\nnodes:')
        job = self.watched(job=text)
        with open(self.dir / "pipe", "w") as pipe:
            answer, body = self.ask()
            self.assertNotIn(b"a-long-secret", body)
            self.assertIn(b"${env:TOKEN}", body)
            pipe.write("1\n")
        job.communicate(timeout=60)

    def test_idle_connections_and_readers_that_leave(self):
        job = self.watched("-p", "rows=3000000", "-m", "64MiB", "-T", "scratch", "--report", "report.json")
        idle = []
        for number in range(100):
            connection = socket.socket()
            connection.settimeout(5)
            self.addCleanup(connection.close)
            idle.append(connection)
            try:
                connection.connect(("127.0.0.1", self.port))
                if number % 3 == 0:
                    connection.sendall(b"GET /state.js")
                if number % 3 == 1:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    connection.close()  # before the answer
            except OSError:  # the queue is full, or the job has ended
                pass
        job.communicate(timeout=100)
        self.assertEqual(job.returncode, 0)
        self.assertEqual(self.report()["status"], "succeeded")

    def test_long_requests_are_refused(self):
        job = self.watched("-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "scratch")
        try:
            status = self.ask("/" + "x" * 20000)[0].status
            self.assertGreaterEqual(status, 400)
        except (OSError, http.client.HTTPException):
            pass
        self.assertEqual(self.ask("/")[0].status, 200)
        self.stop(job)

    def test_a_taken_port(self):
        self.write("job.yaml", SORT)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            done = self.flowrun("job.yaml", f"--ui={address}", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: can't serve the page at " + address, done.stderr)
        self.assertIn("goes on", done.stderr)
        self.assertEqual(self.report()["status"], "succeeded")

    def test_a_range_of_ports(self):
        self.write("job.yaml", SORT)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            first = taken.getsockname()[1]
            for host in ("", "127.0.0.1:", "localhost:"):
                done = self.flowrun("--ui", f"{host}{first}-{first + 20}", "job.yaml")
                self.assertEqual(done.returncode, 0, done.stderr)
                port = int(re.search(r"watched at http://127\.0\.0\.1:(\d+)/", done.stderr)[1])
                self.assertIn(port, range(first + 1, first + 21))

    def test_without_an_address(self):
        self.write("job.yaml", SORT)
        for words in (("--ui", "job.yaml"), ("run", "--ui", "job.yaml"), ("job.yaml", "--ui"), ("job.yaml", "--ui", "-j", "1")):
            done = self.flowrun(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"watched at http://127\.0\.0\.1:\d+/")

    def test_wrong_addresses(self):
        self.write("job.yaml", SORT)
        for address in ("--ui=here", "--ui=127.0.0.1:99999", "--ui=:"):
            self.fails(64, self.flowrun("job.yaml", address), "is no address to serve the page at", "9465")
        self.assertEqual(self.files("out"), [])


if __name__ == "__main__":
    main()
