#!/usr/bin/env python3
"""Jobs on Dask. Skipped (exit code 77) where tools/setup --cluster has not installed it.

    dask_test.py FLOWRUN [TEST…]
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from engine_tests import ROOT, engine_tests, free_port, main

PYTHON = ROOT / "build/dask/bin/python3"


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


class dask_test(engine_tests, unittest.TestCase):
    engine = "dask"
    not_there = "is there a scheduler at that address"

    @staticmethod
    def environment_of_engine():
        return {"PATH": f"{PYTHON.parent}:{os.environ['PATH']}"} if PYTHON.exists() else None

    def test_a_killed_worker_of_dask(self):
        job = self.start()
        worker = self.until_worker(job, 1)
        os.kill(parent_of(worker), signal.SIGKILL)
        self.ends(worker)
        self.ends_well(job)

    def test_a_frozen_worker_of_dask(self):
        """Its machine is lost, as far as the scheduler can see, which gives its task to another one."""
        job = self.start()
        worker = self.until_worker(job, 0)
        os.kill(parent_of(worker), signal.SIGSTOP)
        os.kill(worker, signal.SIGSTOP)
        self.addCleanup(os.kill, worker, signal.SIGKILL)
        self.ends_well(job)

    def test_the_scheduler_is_lost(self):
        job = self.start()
        worker = self.until_worker(job, 0)
        os.kill(int((self.place / "cluster/scheduler.pid").read_text()), signal.SIGKILL)
        _, err = job.communicate(timeout=60)
        self.cluster("down")
        self.cluster_up()
        self.assertEqual(job.returncode, 75, err)
        self.assertIn(f"Dask at dask://127.0.0.1:{self.port} has ended", err)
        self.ends(worker)

    def test_a_cluster_without_workers(self):
        port, place = free_port(), self.place / "no-workers"
        tool = [ROOT / "tools/cluster", "--directory", place]
        self.addCleanup(subprocess.run, [*tool, "down"], env=self.environment, stdout=subprocess.DEVNULL)
        subprocess.run([*tool, "up", "--engine", "dask", "--loopback", "--workers", "0", "--port", str(port)],
                       check=True, env=self.environment, stdout=subprocess.DEVNULL)
        self.port = port
        job = subprocess.Popen([word for word in self.command("job.yaml", "-p", "rows=10") if word != "-q"],
                               cwd=self.place, env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.kill)
        said = job.stderr.readline()
        self.assertEqual(said, f"flowrun: warning: Dask at dask://127.0.0.1:{port} has begun no task for 20 s: has it a "
                               "machine with a free core?\n")
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130)
        self.nothing_left()

    def test_a_python_without_dask(self):
        with tempfile.TemporaryDirectory() as directory:
            # -S: without the packages that an environment has beside Python itself.
            (pathlib.Path(directory) / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
            (pathlib.Path(directory) / "python3").chmod(0o755)
            self.environment = {**self.environment, "PATH": directory}
            done = self.ended("-p", "rows=10")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("can't load Dask: No module named 'distributed'", done.stderr)
        self.assertIn("pip install distributed", done.stderr)
        self.nothing_left()


if __name__ == "__main__":
    main(dask_test, "tools/setup --cluster installs what this test needs")
