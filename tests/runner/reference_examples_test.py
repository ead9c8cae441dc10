#!/usr/bin/env python3
"""Every whole job in the reference has tests, and they pass."""

import re

from flowrun_process import main, process_test


class reference_examples_test(process_test):
    def test_jobs_of_the_reference(self):
        text = self.flowrun("reference").stdout
        jobs = re.findall(r"^```yaml\n(flowrun: 1\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(jobs), 3)
        for number, job in enumerate(jobs):
            with self.subTest(job=job.splitlines()[1]):
                self.assertIn("\ntests:\n", job)
                self.write(f"{number}.yaml", job)
                done = self.flowrun("test", f"{number}.yaml")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_structure_of_a_job_is_complete(self):
        """The keys that the tables name are those that the reader knows."""
        text = self.flowrun("reference").stdout
        self.write("job.yaml", "flowrun: 1\nnothing: 1\nparams: {p: {nothing: 1, type: int, default: 1}}\nnodes: {}\n")
        said = self.flowrun("check", "job.yaml").stderr
        for line in re.findall(r"expected: (?:one of )?(.*)", said):
            for key in line.split(", "):
                if re.fullmatch(r"[a-z_]+", key):
                    self.assertIn(f"`{key}`", text)


if __name__ == "__main__":
    main()
