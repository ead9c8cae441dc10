#!/usr/bin/env python3
"""Nothing is exposed, nobody else leads data elsewhere: scratch, outputs, metrics, values from the environment."""

import json
import os
import pathlib
import re
import socket
import struct
import time
import unittest
import urllib.error
import urllib.request

from flowrun_process import ENDLESS, SORT, job_with_sinks, main, process_test

SECRET = "s3cret-Pa55word"
OTHER_USER = 4711
as_root = unittest.skipUnless(os.geteuid() == 0, "only root can give files to other users")


class shared_directory_test(process_test):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        self.shared = self.dir / "shared"
        self.shared.mkdir()
        os.chmod(self.shared, 0o1777)  # as /tmp

    def refused(self, target, *parts):
        self.write("job.yaml", job_with_sinks(target))
        for command in ("check", "run"):
            self.fails(73, self.flowrun(command, "job.yaml"), *parts)

    @as_root
    def test_a_link_of_another_user(self):
        victim = self.write("victim", "mine")
        link = self.shared / "out"
        link.symlink_to(victim)
        os.lchown(link, OTHER_USER, OTHER_USER)
        self.refused(link, "belongs to another user")
        self.assertEqual(victim.read_text(), "mine")

    @as_root
    def test_a_pipe_and_a_file_of_another_user(self):
        os.mkfifo(self.shared / "pipe", 0o666)
        (self.shared / "file").write_text("theirs")
        for name in ("pipe", "file"):
            os.chown(self.shared / name, OTHER_USER, OTHER_USER)
            self.refused(self.shared / name, f"of another user (id {OTHER_USER})")
        self.assertEqual((self.shared / "file").read_text(), "theirs")

    @as_root
    def test_a_file_that_only_its_owner_can_replace(self):
        (self.shared / "file").write_text("theirs")  # root's, whose files are trusted
        os.chmod(self.shared / "file", 0o666)
        self.write("job.yaml", job_with_sinks(self.shared / "file"))
        for command in ("check", "run"):
            done = self.flowrun(command, "job.yaml", user=OTHER_USER, group=OTHER_USER, extra_groups=[])
            self.fails(73, done, "job.yaml:4:", "can't replace", "the sticky bit", "let its owner remove it")
        self.assertEqual((self.shared / "file").read_text(), "theirs")
        for _ in range(2):  # its own it may
            self.write("job.yaml", job_with_sinks(self.shared / "own"))
            done = self.flowrun("-q", "job.yaml", user=OTHER_USER, group=OTHER_USER, extra_groups=[])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_hard_link_keeps_the_other_name(self):
        victim = self.write("victim", "mine")
        os.chmod(victim, 0o4700)
        os.link(victim, self.shared / "out")
        self.write("job.yaml", job_with_sinks(self.shared / "out"))
        done = self.flowrun("job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(victim.read_text(), "mine")
        self.assertEqual((self.shared / "out").stat().st_mode & 0o7777, 0o700)

    def test_a_directory_that_is_exchanged_while_the_job_runs(self):
        (self.shared / "mine").mkdir()
        (self.dir / "elsewhere").mkdir()
        # The source is a pipe: the job waits until the directory has been exchanged.
        os.mkfifo(self.dir / "rows")
        source = "{op: file.read_rows, with: {path: rows, type: {value: u64}}}"
        text = job_with_sinks(("file.write_rows", self.shared / "mine" / "out"), source=source)
        self.write("job.yaml", text)
        running = self.start("job.yaml")
        with open(self.dir / "rows", "wb") as rows:
            rows.write(bytes(8 * 1000))
            rows.flush()
            end = time.monotonic() + 30
            while not self.has_open_output(running.pid):
                self.assertIsNone(running.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            (self.shared / "mine").rename(self.shared / "gone")
            (self.shared / "mine").symlink_to(self.dir / "elsewhere")
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 73, errors)
        self.assertIn("is not the one that it was when the job began", errors)
        self.assertEqual(list((self.dir / "elsewhere").iterdir()), [])

    def has_open_output(self, pid):
        descriptors = f"/proc/{pid}/fd"
        for name in os.listdir(descriptors):
            try:
                if os.readlink(f"{descriptors}/{name}") == str(self.shared / "mine"):
                    return True
            except OSError:
                pass
        return False


class scratch_test(process_test):
    def run_with(self, scratch, *more):
        self.write("job.yaml", SORT)
        return self.flowrun("job.yaml", *(more or ["--force-spill"]), "-T", scratch)

    def test_new_directories_are_private(self):
        os.umask(0)
        self.assertEqual(self.run_with(self.dir / "a" / "b").returncode, 0)
        for name in ("a", "a/b"):
            self.assertEqual((self.dir / name).stat().st_mode & 0o7777, 0o700)
        self.assertEqual(list((self.dir / "a" / "b").iterdir()), [])

    def test_a_umask_that_takes_rights_from_the_owner(self):
        self.addCleanup(os.umask, os.umask(0o177))
        self.assertEqual(self.run_with(self.dir / "a" / "b").returncode, 0)
        for name in ("a", "a/b"):
            self.assertEqual((self.dir / name).stat().st_mode & 0o7777, 0o700)

    @as_root
    def test_what_others_made_in_a_shared_directory(self):
        shared = self.dir / "shared"
        shared.mkdir()
        os.chmod(shared, 0o1777)
        (self.dir / "mine").mkdir()
        (shared / "theirs").mkdir()
        (shared / "theirs" / "below").mkdir()
        (shared / "link").symlink_to(self.dir / "mine")
        (shared / "root-link").symlink_to(shared / "theirs")
        os.chown(shared / "theirs", OTHER_USER, OTHER_USER)
        os.lchown(shared / "link", OTHER_USER, OTHER_USER)
        for name in ("theirs", "theirs/below", "link", "root-link", "root-link/below"):
            with self.subTest(name=name):
                why = "of another user" if "link" != name else "another user"
                self.fails(73, self.run_with(shared / name), why)
                self.fails(73, self.run_with(shared / name, "--cluster", "local:2"), why)
        self.assertEqual(self.run_with(shared).returncode, 0)
        self.assertEqual(list((self.dir / "mine").iterdir()), [])


class metrics_test(process_test):
    def serve(self, *arguments):
        self.write("job.yaml", SORT)
        running = self.start("job.yaml", "--progress", "none", "-p", f"rows={ENDLESS}", *arguments)
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        return running

    def address(self, running):
        line = running.stderr.readline()
        self.assertIn("metrics at http://127.0.0.1:", line)
        return "127.0.0.1", int(line.split(":")[-1].split("/")[0])

    def listening(self, pid):
        inodes = set()
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except FileNotFoundError:
                # The job goes on: what it had open when the folder was listed may be closed by now.
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
        found = []
        for table in ("tcp", "tcp6"):
            for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    found.append(fields[1].split(":")[0])
        return found

    def test_off_unless_asked_for_and_then_on_this_machine_only(self):
        quiet = self.serve("-v")
        quiet.stderr.readline()
        self.assertEqual(self.listening(quiet.pid), [])
        asked = self.serve("--metrics-listen", "0")
        self.address(asked)
        self.assertEqual(self.listening(asked.pid), ["0100007F"])

    def answer(self, address, request):
        with socket.create_connection(address, timeout=20) as connection:
            got = b""
            try:
                connection.sendall(request)
                while piece := connection.recv(65536):
                    got += piece
            except ConnectionError:
                pass
            return got.decode()

    def test_requests_are_bounded(self):
        address = self.address(self.serve("--metrics-listen", "0"))
        self.assertIn("200 OK", self.answer(address, b"GET /metrics HTTP/1.0\r\n\r\n"))
        long_line = b"GET /" + b"a" * 20000 + b" HTTP/1.0\r\n\r\n"
        self.assertNotIn("200 OK", self.answer(address, long_line))
        many = b"GET /metrics HTTP/1.0\r\n" + b"".join(b"x-%d: y\r\n" % i for i in range(2000)) + b"\r\n"
        self.assertNotIn("200 OK", self.answer(address, many))
        large = b"GET /metrics HTTP/1.0\r\n" + b"x: " + b"y" * 9000 + b"\r\n\r\n"
        self.assertNotIn("200 OK", self.answer(address, large))
        for path in ("/", "/../etc/passwd", "/etc/passwd", "/metrics/../../etc/passwd"):
            self.assertNotIn("root:", self.answer(address, f"GET {path} HTTP/1.0\r\n\r\n".encode()))
        self.assertIn("403", self.answer(address, b"GET /metrics HTTP/1.0\r\nHost: other.example\r\n\r\n").splitlines()[0])
        self.assertIn("200 OK", self.answer(address, b"GET /metrics HTTP/1.0\r\n\r\n"))

    def test_many_connections_that_say_nothing(self):
        running = self.serve("--metrics-listen", "0")
        address = self.address(running)
        before = len(os.listdir(f"/proc/{running.pid}/fd"))
        idle = []
        for _ in range(300):
            connection = socket.socket()
            connection.settimeout(0.02)
            try:
                connection.connect(address)
            except OSError:
                pass
            idle.append(connection)
        self.assertLess(len(os.listdir(f"/proc/{running.pid}/fd")), before + 80)
        for connection in idle:
            connection.close()
        self.assertIn("200 OK", self.answer(address, b"GET /metrics HTTP/1.0\r\n\r\n"))


    def test_the_job_ends_whatever_clients_do(self):
        """A hundred that say nothing, and some that leave in the middle of an answer."""
        os.mkfifo(self.dir / "in")
        self.write("job.yaml", """flowrun: 1
nodes:
  read: {op: file.read_lines, with: {path: in}}
  write: {op: file.write_lines, in: read, with: {path: out}}
""")
        job = self.start("job.yaml", "--progress", "none", "--metrics-listen", "0")
        address = self.address(job)
        with open(self.dir / "in", "w") as feeder:
            feeder.write("one\n")
            feeder.flush()
            for _ in range(20):
                leaving = socket.create_connection(address, timeout=20)
                leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() resets
                leaving.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                if _ % 2:
                    leaving.recv(1)
                leaving.close()
            self.assertIn("200 OK", self.answer(address, b"GET /metrics HTTP/1.0\r\n\r\n"))
            for _ in range(100):
                idle = socket.socket()
                self.addCleanup(idle.close)
                idle.setblocking(False)
                idle.connect_ex(address)
            feeder.write("two\n")
        begin = time.monotonic()
        _, messages = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0, messages)
        self.assertLess(time.monotonic() - begin, 15)  # an idle connection is waited for 2 s, and 16 are at a time
        self.assertEqual((self.dir / "out").read_text(), "one\ntwo\n")


class environment_test(process_test):
    JOB = """flowrun: 1
name: "job of ${env:TOKEN}"
params: {path: {type: string, default: "${env:TOKEN}"}}
nodes:
  rows: {op: generate, with: {kind: random, rows: 1000}}
  sorted: {op: sort, in: rows, with: {by: [value]}}
  out: {op: file.write_rows, in: sorted, with: {path: "dir-${env:TOKEN}/${path}.u64"}}
"""

    def setUp(self):
        super().setUp()
        self.environment["TOKEN"] = SECRET

    def expect_hidden(self, *texts):
        for text in texts:
            self.assertNotIn(SECRET, text)
            self.assertNotIn(SECRET[:8], text)

    def test_reports_and_plans(self):
        self.write("job.yaml", self.JOB)
        for format in ("text", "json", "dot"):
            done = self.flowrun("plan", "job.yaml", "-f", format)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.expect_hidden(done.stdout, done.stderr)
        for mode in ("plain", "json", "none"):
            done = self.flowrun("-v", "job.yaml", "--progress", mode, "--report", "report.json", "-T", self.dir / f"t-{SECRET}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((self.dir / f"dir-{SECRET}" / f"{SECRET}.u64").exists())
            report = (self.dir / "report.json").read_text()
            self.expect_hidden(done.stdout, done.stderr, report)
            self.assertEqual(json.loads(report)["job"], "job of ${env:TOKEN}")
            self.assertEqual(json.loads(report)["outputs"][0]["path"], "dir-${env:TOKEN}/${env:TOKEN}.u64")

    def test_errors(self):
        wrong = {
            "a file that isn't there": '{op: file.read_rows, with: {path: "/none/${env:TOKEN}", type: {a: u64}}}',
            "no number": '{op: generate, with: {kind: random, rows: "${env:TOKEN}"}}',
            "no kind": '{op: generate, with: {kind: "${env:TOKEN}", rows: 1}}',
            "no word": '{op: "${env:TOKEN}"}',
            "an expression": '{op: generate, with: {rows: 1, columns: {x: "${env:TOKEN} +"}}}',
        }
        for what, node in wrong.items():
            text = "flowrun: 1\nnodes:\n  rows: " + node
            text += "\n  out: {op: file.write_rows, in: rows, with: {path: out}}\n"
            self.write("job.yaml", text)
            for command in ("check", "run", "plan"):
                with self.subTest(what=what, command=command):
                    done = self.flowrun(command, "job.yaml", *(("--report", "-") if command == "run" else ()))
                    if what != "a file that isn't there" or command == "run":
                        self.assertNotEqual(done.returncode, 0)
                    self.expect_hidden(done.stdout, done.stderr)

    def test_a_failure_while_running(self):
        os.mkdir(self.dir / "full")
        self.write("job.yaml", self.JOB.replace("dir-${env:TOKEN}/${path}.u64", "/proc/${env:TOKEN}"))
        done = self.flowrun("job.yaml", "--report", "-")
        self.assertNotEqual(done.returncode, 0)
        self.expect_hidden(done.stdout, done.stderr)

    def test_a_long_value_that_a_message_cuts(self):
        self.environment["TOKEN"] = SECRET * 20
        self.write("job.yaml", self.JOB.replace("rows: 1000", 'rows: "${env:TOKEN}"'))
        done = self.flowrun("check", "job.yaml")
        self.assertEqual(done.returncode, 78)
        self.expect_hidden(done.stdout, done.stderr)
        self.assertIn("${env:TOKEN}", done.stderr)

    def test_values_that_are_data_of_a_message(self):
        """A row in a message shows texts in quotes, cut, and with escapes."""
        job = """flowrun: 1
params: {secret: {type: string, default: "${env:TOKEN}"}}
nodes:
  rows: {op: generate, with: {rows: 9, columns: {x: i, p: params.secret}}}
  checked: {op: check, in: rows, with: {where: "x > 5"}}
  most: {op: reduce, in: rows, with: {let: {p: max(p)}}}
  out: {op: file.write_csv, in: checked, with: {path: out.csv}}
"""
        self.write("job.yaml", job)
        for secret in ("token" * 24, "hun\tter22 zzyx", "-----BEGIN KEY-----\nMIIEvQ+/=\n-----END\n", "pass\u00a0word\"x\\", "abc"):
            self.environment["TOKEN"] = secret
            with self.subTest(secret=secret):
                done = self.flowrun("job.yaml", "--report", "report.json")
                self.assertEqual(done.returncode, 65, done.stderr)
                self.assertIn('p: "${env:TOKEN}"', done.stderr)
                for text in (done.stdout, done.stderr, (self.dir / "report.json").read_text()):
                    for piece in re.findall(r"[A-Za-z0-9+/=]{4,}", secret) or [f'"{secret}"']:
                        self.assertNotIn(piece, text)
                self.write("job.yaml", job.replace('x > 5', 'x >= 0'))
                done = self.flowrun("job.yaml", "--report", "report.json", "-v")
                self.assertEqual(done.returncode, 0, done.stderr)
                for text in (done.stdout, done.stderr, (self.dir / "report.json").read_text()):
                    for piece in re.findall(r"[A-Za-z0-9+/=]{4,}", secret) or [f'"{secret}"']:
                        self.assertNotIn(piece, text)
                self.write("job.yaml", job)

    def test_names_of_the_job_and_the_program_stay(self):
        for value in ("succeeded", "sort", "rows"):
            self.environment["TOKEN"] = value
            self.write("job.yaml", self.JOB)
            done = self.flowrun("job.yaml", "--report", "report.json", "--metrics-file", "metrics")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads((self.dir / "report.json").read_text())
            self.assertEqual((report["status"], report["job"]), ("succeeded", "job of ${env:TOKEN}"))
            self.assertEqual([n["id"] for n in report["nodes"]], ["rows", "sorted", "out"])
            self.assertEqual(report["nodes"][1]["op"], "sort")
            self.assertIn('node="rows"', (self.dir / "metrics").read_text())

    def test_a_short_value_is_hidden_where_it_is_quoted(self):
        self.environment["TOKEN"] = "zq"
        self.write("job.yaml", self.JOB.replace("rows: 1000", 'rows: "${env:TOKEN}"'))
        done = self.flowrun("check", "job.yaml")
        self.assertEqual(done.returncode, 78)
        self.assertNotIn("'zq'", done.stderr)

    def test_metrics(self):
        self.write("job.yaml", self.JOB.replace("rows: 1000", f"rows: {ENDLESS}"))
        running = self.start("job.yaml", "--progress", "none", "--metrics-listen", "0", "-T", self.dir / f"t-{SECRET}")
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        line = running.stderr.readline()
        page, end = "", time.monotonic() + 30
        while "flowrun_job_info" not in page and time.monotonic() < end:  # it serves before the job is there
            page = urllib.request.urlopen(line.split()[-1], timeout=20).read().decode()
        self.assertIn("flowrun_job_info", page)
        self.expect_hidden(line, page)

    def test_tests_that_fail(self):
        text = self.JOB.split("nodes:")[0] + f"""nodes:
  rows: {{op: file.read_csv, with: {{path: rows.csv, type: {{name: string}}}}}}
  named: {{op: map, in: rows, with: {{name: "'${{env:TOKEN}}'"}}}}
  out: {{op: file.write_csv, in: named, with: {{path: out}}}}
tests:
  - {{name: "of ${{env:TOKEN}}", given: {{rows: [a]}}, expect: {{out: [b]}}}}
"""
        self.write("job.yaml", text)
        done = self.flowrun("test", "job.yaml", "-v")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("${env:TOKEN}", done.stdout)
        self.expect_hidden(done.stdout, done.stderr)

    def test_values_that_are_written_otherwise(self):
        """As fields of CSV, in names of files, over several lines, and cut by what an expression is made of."""
        text = """flowrun: 1
params: {secret: {type: string, default: "${env:TOKEN}"}}
nodes:
  rows: {op: generate, with: {rows: 1, columns: {x: i}}}
  named: {op: map, in: rows, with: {x: x, name: params.secret}}
  out: {op: file.write_csv, in: named, with: {path: out}}
  parts: {op: file.write_csv, in: named, with: {path: "parts/{name}.csv", path_columns: leave_out}}
tests:
  - {expect: {out: []}}
  - {expect: {parts: {}}}
"""
        for secret in ('okapi"zebra%GIRAFFE/x', "first line\nsecond one", "a tab\tand more"):
            self.environment["TOKEN"] = secret
            self.write("job.yaml", text)
            done = self.flowrun("test", "job.yaml", "--update")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertEqual((self.dir / "job.yaml").read_text(), text)
            self.assertEqual(self.flowrun("job.yaml", "-q", "--report", "report.json").returncode, 0)
            report = (self.dir / "report.json").read_text()
            for piece in re.split(r"[^A-Za-z ]+", secret):
                if len(piece) > 3:
                    self.assertNotIn(piece, done.stdout + done.stderr + report)
        self.environment["TOKEN"] = "Xy7'Topsecret9"
        self.write("job.yaml", "flowrun: 1\nnodes:\n  rows: {op: generate, with: {rows: 1, columns: {x: \"hash64(1, '${env:TOKEN}')\"}}}\n"
                   "  out: {op: file.write_csv, in: rows, with: {path: out}}\n")
        done = self.flowrun("check", "job.yaml")
        self.assertEqual(done.returncode, 78)
        self.assertNotIn("Topsecret", done.stderr)

    def test_values_of_the_command_line_are_shown(self):
        self.write("job.yaml", self.JOB)
        self.environment["TOKEN"] = "elsewhere"
        done = self.flowrun("plan", "job.yaml", "-p", "path=/none/given", "-f", "json")
        self.assertNotIn("elsewhere", done.stdout)


class terminal_test(process_test):
    """What stands in jobs, files and arguments doesn't make the terminal do anything."""

    CONTROLS = ("\x1b[2J", "\x1b]0;title\a", "\x9b31m", "\x7f", "\b")
    JOB = """flowrun: 1
name: "job CONTROL"
nodes:
  rows: {op: file.read_csv, with: {path: "in CONTROL.csv", type: {x: u64}}}
  sorted: {op: sort, in: rows, with: {by: [x]}}
  out: {op: file.write_csv, in: sorted, with: {path: "out CONTROL.csv"}}
tests:
  - {name: "test CONTROL", given: {rows: [1]}, expect: {out: [2]}}
"""

    def expect_none(self, done, returncode):
        self.assertEqual(done.returncode, returncode, done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")

    def test_jobs_and_files(self):
        for control in self.CONTROLS:
            quoted = "".join(f"\\x{ord(c):02x}" if ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F else c for c in control)
            self.write("job.yaml", self.JOB.replace("CONTROL", quoted))
            self.write(f"in {control}.csv", "3\n1\n")
            for words in (["check"], ["plan"], ["run", "-v"], ["run", "--progress", "plain"]):
                self.expect_none(self.flowrun(*words, "job.yaml"), 0)
            self.assertEqual((self.dir / f"out {control}.csv").read_text(), "1\n3\n")
            self.expect_none(self.flowrun("test", "job.yaml"), 1)
            self.write(f"in {control}.csv", f"3\n{control}\n")
            self.expect_none(self.flowrun("job.yaml"), 65)
            self.write(f"in {control}.csv", f"3\n{control}\n")
            self.write("job.yaml", self.JOB.replace("CONTROL", quoted).replace("by: [x]", f'by: ["{quoted}"]'))
            self.expect_none(self.flowrun("check", "job.yaml"), 78)

    def test_arguments(self):
        for control in self.CONTROLS:
            for words, code in [
                (["check", control], 66),
                (["explain", control], 64),
                (["infer", f"none {control}"], 66),
                (["verify", f"none {control}"], 66),
                (["report", f"none {control}"], 66),
                (["sort", f"none {control}"], 2),
                ([f"word {control}"], 64),
                ([f"--{control}"], 64),
            ]:
                with self.subTest(words=words):
                    self.expect_none(self.flowrun(*words), code)

    def test_names_stay_readable(self):
        self.assertIn("'straße\t€?[2J'", self.flowrun("straße\t€\x1b[2J").stderr)


if __name__ == "__main__":
    main()
