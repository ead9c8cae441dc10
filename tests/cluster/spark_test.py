#!/usr/bin/env python3
"""Jobs on Spark. Skipped (exit code 77) where there is no Spark, or no jar beside the program: make cluster-jar.

    spark_test.py FLOWRUN [TEST…]
"""
import os
import signal
import unittest

from engine_tests import FLOWRUN, ROOT, engine_tests, main


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


if __name__ == "__main__":
    main(spark_test, "make cluster-jar builds what this test needs")
