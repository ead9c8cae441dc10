#!/usr/bin/env python3
"""Jobs on Spark. Skipped (exit code 77) where there is no Spark, or no jar beside the program: make cluster-jar.

    spark_test.py FLOWRUN [TEST…]
"""
import os
import signal
import subprocess
import time
import unittest

from engine_tests import FLOWRUN, ROOT, engine_tests, free_port, main


class spark_test(engine_tests, unittest.TestCase):
    engine = "spark"
    not_there = "no master answers\n  help: is there a master at that address"

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
