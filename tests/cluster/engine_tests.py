"""What holds on every engine for clusters: jobs on a scheduler and workers of this machine, started for the test.

A test derives from engine_tests, says what is its engine's, and ends with main().
"""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import parts  # noqa: E402

FLOWRUN = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
SKIPPED = 77
JOB = """flowrun: 1
params: {rows: {type: int}}
nodes:
  drawn:  {op: generate, with: {rows: "${rows}", columns: {k: "rand(1, i) % 1000", t: "concat('row ', i)"}}}
  sorted: {op: sort, in: drawn, with: {by: [k], stable: true}}
  groups: {op: group, in: sorted, with: {by: [k], let: {n: "count()", last: "last(t)"}}}
  all:    {op: file.write_csv, in: sorted, with: {path: all.csv, header: true}}
  some:   {op: file.write_csv, in: groups, with: {path: groups.csv}}
  total:  {op: reduce, in: groups, with: {let: {n: "sum(n)"}}}
"""
ROWS = "6000000"  # a task works for a second or more


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


class engine_tests:
    engine = ""  # as tools/cluster and --cluster have it
    not_there = ""  # said where no scheduler is at the address

    @staticmethod
    def environment_of_engine():
        """What a job needs in its environment; None where the engine isn't installed."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix=f"flowrun-{cls.engine}-"))
        cls.port = free_port()
        cls.environment = {**os.environ, **cls.environment_of_engine()}
        cls.cluster_up()
        (cls.place / "job.yaml").write_text(JOB)
        cls.expected = {}

    @classmethod
    def tearDownClass(cls):
        cls.cluster("down")
        shutil.rmtree(cls.place, ignore_errors=True)

    @classmethod
    def cluster_up(cls):
        cls.cluster("up", "--engine", cls.engine, "--loopback", "--workers", "2", "--port", str(cls.port))

    @classmethod
    def cluster(cls, action, *words):
        subprocess.run([ROOT / "tools/cluster", action, "--directory", cls.place / "cluster", *words], check=True,
                       env=cls.environment, stdout=subprocess.DEVNULL)

    def command(self, job, *options):
        return [str(FLOWRUN), str(job), "-q", "-T", "scratch", "-m", "64MiB", "--cluster",
                f"{self.engine}://127.0.0.1:{self.port}", "--tasks", "3", *options]

    def ended(self, *options, job="job.yaml"):
        return subprocess.run(self.command(job, *options), cwd=self.place, env=self.environment, capture_output=True,
                              text=True, timeout=240)

    def apart(self, folder, scratch="scratch", prepare="true", program=FLOWRUN):
        """A job whose command has a disk of its own at this folder, which no worker sees."""
        if not can_mount():
            self.skipTest("nothing can be mounted here")
        (self.place / folder).mkdir(exist_ok=True)
        script = f'mount -t tmpfs flowrun {folder} && {prepare} && exec "$@"'
        words = [str(program), *self.command("job.yaml", "-p", "rows=1000")[1:]]
        words[words.index("-T") + 1] = scratch
        return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *words], cwd=self.place, env=self.environment,
                              capture_output=True, text=True, timeout=240)

    def other_machine(self, host, mount):
        """A worker that sees other mounts than all others."""
        if not can_mount():
            self.skipTest("nothing can be mounted here")
        loader = importlib.machinery.SourceFileLoader("tools_cluster", str(ROOT / "tools/cluster"))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("tools_cluster", loader))
        sys.modules["tools_cluster"] = tool  # where dataclasses look for it
        loader.exec_module(tool)
        directory = self.place / "cluster"
        there = tool.cluster(**{**json.loads((directory / "cluster.json").read_text()), "directory": directory})
        words, environment = there.its.worker_command(there, host)
        with open(self.place / "other.log", "w") as log:
            mounted = f'mount {mount} && exec "$@"'
            other = subprocess.Popen(["unshare", "-m", "sh", "-c", mounted, "sh", *map(str, words)], cwd=self.place,
                                     env={**os.environ, **environment}, stdout=log, stderr=log,
                                     stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        self.addCleanup(other.wait)
        self.addCleanup(os.killpg, other.pid, signal.SIGKILL)
        there.wait_for("the worker", lambda: re.search(there.its.registration(host), there.said_by_scheduler()))

    def warned_of(self, host):
        """Why a job's tasks failed on this machine; the others have done them. On a busy machine it may be ready when they
        have done all; then the job runs again."""
        command = [word for word in self.command("job.yaml", "--tasks", "6", "-p", f"rows={ROWS}") if word != "-q"]
        begin = f"flowrun: warning: a task failed on {host}, and was tried again: "
        for _ in range(5):
            done = subprocess.run(command, cwd=self.place, env=self.environment, capture_output=True, text=True,
                                  timeout=240)
            self.assertEqual(done.returncode, 0, done.stderr)
            said = [line.removeprefix(begin) for line in done.stderr.splitlines() if line.startswith(begin)]
            self.nothing_left()
            if said:
                break
        self.assertEqual(len(said), 1, done.stderr)
        return said[0]

    def start(self, *options):
        job = subprocess.Popen(self.command("job.yaml", "-p", f"rows={ROWS}", *options), cwd=self.place,
                               env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.addCleanup(job.stderr.close)
        return job

    def ends_well(self, job):
        _, err = job.communicate(timeout=240)
        self.assertEqual(job.returncode, 0, err)
        if not self.expected:
            subprocess.run([FLOWRUN, "job.yaml", "-q", "-p", f"rows={ROWS}"], cwd=self.place / "alone", check=True)
            self.expected.update({n: (self.place / "alone" / n).read_bytes() for n in ("all.csv", "groups.csv")})
        got = {"all.csv": parts.joined(self.place / "all.csv", '"'), "groups.csv": parts.joined(self.place / "groups.csv")}
        self.assertEqual({n: hash(x) for n, x in got.items()}, {n: hash(x) for n, x in self.expected.items()})
        self.nothing_left()

    def nothing_left(self):
        left = [str(x) for x in self.place.glob(".*.tmp")] + [str(x) for x in (self.place / "scratch").iterdir()]
        self.assertEqual(left, [])

    def setUp(self):
        for name in ("alone", "scratch"):
            (self.place / name).mkdir(exist_ok=True)
        shutil.copy(self.place / "job.yaml", self.place / "alone")

    def until_worker(self, job, stage):
        """The number of a flowrun process that works on a task of this stage."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            self.assertIsNone(job.poll())
            for pid in filter(str.isdigit, os.listdir("/proc")):
                words = words_of(pid)
                if "worker" in words[1:2] and words[3:4] == [str(stage)] and str(self.place) in words[2]:
                    return int(pid)
            time.sleep(0.01)
        self.fail("no worker was met")

    def ends(self, pid, seconds=60):
        deadline = time.monotonic() + seconds
        while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_golden_jobs(self):
        for name in ("group", "joins", "sort-strings"):
            with self.subTest(name), tempfile.TemporaryDirectory() as out:
                folder = ROOT / "tests/golden/jobs" / name
                done = self.ended("-p", f"dir={folder}", "-p", f"out={out}", job=folder / "job.yaml")
                self.assertEqual(done.returncode, 0, done.stderr)
                headed = parts.headed_outputs((folder / "job.yaml").read_text())
                for file in (folder / "expected").iterdir():
                    got = parts.joined(pathlib.Path(out) / file.name, '"' if file.name in headed else None)
                    self.assertEqual(got, file.read_bytes(), file.name)
        self.nothing_left()

    def test_an_error_of_a_task_is_the_error_of_the_job(self):
        (self.place / "bad.yaml").write_text(JOB + "  bad: {op: check, in: sorted, with: {where: \"k < 900\"}}\n")
        done = self.ended("-p", "rows=1000", job="bad.yaml")
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertRegex(done.stderr, r"task 1 of stage \d on 127\.0\.0\.\d: .*breaks the rule k < 900")
        self.nothing_left()

    def test_a_scratch_directory_that_is_not_shared(self):
        done = self.apart("own", scratch="own/scratch")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertRegex(done.stderr, rf"task \d of stage 1 on 127\.0\.0\.\d: can't read {self.place}/own/scratch/"
                                      r"flowrun-cluster-\w+/plan: No such file or directory\n")
        self.assertIn("must be on storage that all machines share", done.stderr)
        self.nothing_left()

    def test_an_output_that_is_not_shared(self):
        shutil.copy(self.place / "job.yaml", self.place / "shared.yaml")
        self.addCleanup(shutil.move, self.place / "shared.yaml", self.place / "job.yaml")
        (self.place / "job.yaml").write_text(JOB.replace("all.csv", "own/all.csv"))
        done = self.apart("own")
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertRegex(done.stderr, r"task \d of stage 2 on 127\.0\.0\.\d: can't write own/all\.csv: there is no own/"
                                      r"\.all\.csv\.flowrun-\w+\.tmp here, which the driver of the job has made\n")
        self.assertIn("outputs must be on storage that all machines share", done.stderr)
        self.assertEqual(list((self.place / "own").iterdir()), [])
        self.nothing_left()

    def test_a_working_directory_that_is_not_there(self):
        done = self.apart("own", prepare="mkdir own/deep && cp job.yaml own/deep && cd own/deep")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertRegex(done.stderr, rf"task \d of stage 1 on 127\.0\.0\.\d: there is no directory {self.place}/own/deep, "
                                      r"in which the command was started\n")
        self.nothing_left()

    def test_a_program_that_is_not_there(self):
        beside = " ".join(str(FLOWRUN.parent / name) for name in ("flowrun", "flowrun-spark.jar", "flowrun-dask.py")
                          if (FLOWRUN.parent / name).exists())
        done = self.apart("own", prepare=f"cp {beside} own", program=self.place / "own/flowrun")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertRegex(done.stderr, r"task \d of stage 1 on 127\.0\.0\.\d: there is no program "
                                      rf"{self.place}/own/flowrun\n")
        self.nothing_left()

    def test_no_cluster_is_there(self):
        self.port = free_port()
        done = self.ended("-p", "rows=10")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn(self.not_there, done.stderr)

    def test_a_killed_task(self):
        for stage in (0, 1):
            job = self.start()
            os.kill(self.until_worker(job, stage), signal.SIGKILL)
            self.ends_well(job)

    def test_one_machine_that_does_not_see_the_storage(self):
        self.other_machine("127.0.0.9", "-t tmpfs flowrun scratch")
        self.assertRegex(self.warned_of("127.0.0.9"), r"^can't read .*/plan: No such file or directory$")

    def test_one_machine_with_another_version(self):
        other = self.place / "other-version"
        other.write_text("#!/bin/sh\necho \"flowrun: error: unknown option '--new'\" >&2\nexit 64\n")
        other.chmod(0o755)
        self.other_machine("127.0.0.8", f"--bind {other} {FLOWRUN}")
        self.assertEqual(self.warned_of("127.0.0.8"), "unknown option '--new'")

    def test_a_stopped_job(self):
        for stage in (0, 1):
            job = self.start()
            worker = self.until_worker(job, stage)
            job.send_signal(signal.SIGINT)
            _, err = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 130, err)
            self.assertIn("no output was written", err)
            self.assertFalse(pathlib.Path(f"/proc/{worker}").exists())
            self.nothing_left()

    def test_a_killed_driver_goes_on(self):
        job = self.start("--resume")
        worker = self.until_worker(job, 1)
        job.kill()
        job.communicate()
        self.ends(worker, 10)
        self.ends_well(self.start("--resume"))


def main(test, to_install):
    if test.environment_of_engine() is None:
        print(f"skipped: {to_install}")
        sys.exit(SKIPPED)
    unittest.main()
