#!/usr/bin/env python3
"""Jobs on Spark. Skipped (exit code 77) where there is no Spark, or no jar beside the program: make cluster-jar.

    spark_test.py FLOWRUN [TEST…]
"""
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from engine_tests import FLOWRUN, ROOT, ROWS, can_mount, engine_tests, free_port, main


class spark_test(engine_tests, unittest.TestCase):
    engine = "spark"
    not_there = "is there a master at that address"

    @staticmethod
    def environment_of_engine():
        installed = map(str, (ROOT / "build/spark").glob("lib/python3*/site-packages/pyspark"))
        home = os.environ.get("SPARK_HOME") or next(installed, None)
        if home is None or not (FLOWRUN.parent / "flowrun-spark.jar").exists():
            return None
        return {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}

    def test_a_frozen_task(self):
        job = self.start()
        frozen = self.until_worker(job, 0)
        os.kill(frozen, signal.SIGSTOP)
        self.ends_well(job)

    def test_one_machine_that_does_not_see_the_storage(self):
        if not can_mount():
            self.skipTest("nothing can be mounted here")
        loader = importlib.machinery.SourceFileLoader("tools_cluster", str(ROOT / "tools/cluster"))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("tools_cluster", loader))
        sys.modules["tools_cluster"] = tool  # where dataclasses look for it
        loader.exec_module(tool)
        directory = self.place / "cluster"
        there = tool.cluster(**{**json.loads((directory / "cluster.json").read_text()), "directory": directory})
        words, environment = there.its.worker_command(there, "127.0.0.9")
        (self.place / "scratch").mkdir(exist_ok=True)
        with open(self.place / "other.log", "w") as log:
            other = subprocess.Popen(["unshare", "-m", "sh", "-c", 'mount -t tmpfs flowrun scratch && exec "$@"', "sh",
                                      *map(str, words)], cwd=self.place, env={**os.environ, **environment}, stdout=log,
                                     stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        self.addCleanup(other.wait)
        self.addCleanup(os.killpg, other.pid, signal.SIGKILL)
        there.wait_for("the worker", lambda: "Registering worker 127.0.0.9:" in there.said_by_scheduler())
        command = [word for word in self.command("job.yaml", "--tasks", "6", "-p", f"rows={ROWS}") if word != "-q"]
        done = subprocess.run(command, cwd=self.place, env=self.environment, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^flowrun: warning: a task failed on 127\.0\.0\.9, and was tried again: can't read "
                                      r".*/plan: No such file or directory$")
        self.nothing_left()

    def test_a_secret_that_the_master_does_not_take(self):
        """Spark itself would try for a minute."""
        def configured(name, secret):
            (self.place / name).mkdir()
            (self.place / name / "spark-defaults.conf").write_text(
                f"spark.authenticate true\nspark.authenticate.secret {secret}\nspark.network.crypto.enabled true\n"
                "spark.master.rest.enabled false\n")
            return {**self.environment, "SPARK_CONF_DIR": str(self.place / name)}

        guarded, stranger = configured("guarded", "0123456789abcdef"), configured("stranger", "fedcba9876543210")
        open_port, self.port = self.port, free_port()
        place = self.place / "guarded-cluster"
        tool = [ROOT / "tools/cluster", "--directory", place]
        self.addCleanup(subprocess.run, [*tool, "down"], env=guarded, stdout=subprocess.DEVNULL)
        subprocess.run([*tool, "up", "--loopback", "--workers", "1", "--port", str(self.port)], check=True, env=guarded,
                       stdout=subprocess.DEVNULL)
        without, guarded_port = self.environment, self.port
        for port, environment, said in ((guarded_port, without, "it asks for a secret, and this machine gives none"),
                                        (guarded_port, stranger, "it doesn't take the secret of this machine"),
                                        (open_port, guarded, "it doesn't take the secret of this machine")):
            with self.subTest(said, port=port):
                self.port, self.environment = port, environment
                start = time.monotonic()
                done = self.ended("-p", "rows=10")
                self.assertLess(time.monotonic() - start, 30)
                self.assertEqual(done.returncode, 75, done.stderr)
                self.assertIn(f"Spark at spark://127.0.0.1:{port} can't be used: {said}\n", done.stderr)
                self.assertIn("spark.authenticate.secret in conf/spark-defaults.conf", done.stderr)
                self.nothing_left()
        self.port, self.environment = guarded_port, guarded
        done = self.ended("-p", "rows=10")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main(spark_test, "make cluster-jar builds what this test needs")
