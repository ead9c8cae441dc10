#!/usr/bin/env python3
"""What plan says of sorts, queues, vectors and partitions of wide rows is what the run does: as many merge passes, and no
more scratch. Rows near a block's length make blocks longer and leave much of them free."""

import json
import os
import random
import re

from flowrun_process import MIB, main, process_test

KIB = 1 << 10
READ = """flowrun: 1
nodes:
  read: {{op: file.read_rows, with: {{path: in.bin, type: {{{columns}}}}}}}
"""
SORT = READ + """  sorted: {{op: sort, in: read, with: {{by: [k]}}}}
  keys: {{op: map, in: sorted, with: {{k: k}}}}
  out: {{op: file.write_rows, in: keys, with: {{path: out.bin}}}}
"""
# A stream of which one branch waits for the other: all of it goes through a queue.
QUEUE = READ + """  sorted: {{op: sort, in: read, with: {{by: [k]}}}}
  both: {{op: concat, in: [sorted, read]}}
  keys: {{op: map, in: both, with: {{k: k}}}}
  out: {{op: file.write_rows, in: keys, with: {{path: out.bin}}}}
"""
REVERSE = READ + """  back: {{op: reverse, in: read}}
  keys: {{op: map, in: back, with: {{k: k}}}}
  out: {{op: file.write_rows, in: keys, with: {{path: out.bin}}}}
"""
PARTITION = READ + """  parts: {{op: partition, in: read, with: {{by: row_number % 7, buckets: 7}}}}
  keys: {{op: map, in: parts, with: {{k: k}}}}
  out: {{op: file.write_rows, in: keys, with: {{path: out.bin}}}}
"""
COMPUTED_KEY = """flowrun: 1
nodes:
  made: {{op: generate, with: {{rows: 2000000, columns: {{k: "i * 7919 % 1000003"}}}}}}
  sorted: {{op: sort, in: made, with: {{by: ["k * 31 % 65537"]}}}}
  out: {{op: file.write_rows, in: sorted, with: {{path: out.bin}}}}
"""
WIDTHS = (100, 4_000, 20_000, 40_000, 70_000, 300_000)


def columns_of(width):
    """A key, and columns of the widths that there are."""
    longest = 65_000
    rest = [min(longest, width - 8 - at) for at in range(0, width - 8, longest)]
    return ", ".join(["k: 'bytes[8]'", *(f"v{number}: 'bytes[{length}]'" for number, length in enumerate(rest))])


class wide_row_predictions(process_test):
    def make_input(self, width, num_bytes):
        """Rows with random keys; what follows these takes no space on the disk where rows are wide."""
        rng = random.Random(width)
        num_rows = num_bytes // width
        (self.dir / "in.bin").unlink(missing_ok=True)  # ext4 writes out at once what replaces a file's content
        with open(self.dir / "in.bin", "wb") as out:
            if width < 4096:
                out.write(b"".join(rng.randbytes(8) + bytes(width - 8) for _ in range(num_rows)))
                return num_rows
            for row in range(num_rows):
                os.pwrite(out.fileno(), rng.randbytes(8), row * width)
            out.truncate(num_rows * width)
        return num_rows

    def run_job(self, *options):
        backend = ["--backend", "memory", "--no-sync", "--no-direct"]
        done = self.flowrun("run", "job.yaml", "-q", "--report", "r.json", *backend, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.dir / "r.json").read_text())

    def plan_and_run(self, job, width, *options):
        """(the report, what plan said)."""
        self.write("job.yaml", job.format(columns=columns_of(width)))
        planned = self.flowrun("plan", "job.yaml", *options)
        self.assertEqual(planned.returncode, 0, planned.stderr)
        return self.run_job(*options), planned.stdout

    def expect_as_predicted(self, report, planned):
        for name in ("peak_scratch_bytes", "scratch_written_bytes"):
            predicted, actual = int(report["predicted"][name]), int(report["actual"][name])
            self.assertLessEqual(actual, predicted, f"{name}\n{planned}")
            self.assertLessEqual(predicted, actual * 5 // 4 + 2 * MIB, f"{name}\n{planned}")
        self.assertRegex(planned, r"peak scratch +at most")

    def test_sorts(self):
        for width in WIDTHS:
            for memory, num_bytes in ((16, 36 * MIB), (64, 48 * MIB)):
                num_rows = self.make_input(width, num_bytes)
                for blocks in (["--block-size", "64KiB"], []):
                    with self.subTest(width=width, memory=memory, blocks=blocks):
                        report, planned = self.plan_and_run(SORT, width, "-m", f"{memory}MiB", *blocks)
                        sort = report["sorts"][0]
                        said = int(re.search(r"in \d+ runs.*?, (\d+) merge pass", planned)[1])
                        self.assertEqual(int(sort["merge_passes"]), said, planned)
                        self.assertEqual(sort["runs"], sort["predicted_runs"], planned)
                        self.expect_as_predicted(report, planned)
                        self.assertEqual(os.path.getsize(self.dir / "out.bin"), 8 * num_rows)

    def test_queues_vectors_and_partitions(self):
        for width in (100, 40_000, 300_000):
            self.make_input(width, 24 * MIB)
            for job in (QUEUE, REVERSE, PARTITION):
                with self.subTest(width=width, job=job):
                    self.expect_as_predicted(*self.plan_and_run(job, width, "-m", "16MiB"))

    # It is a column of the rows that are sorted.
    def test_a_computed_key(self):
        report, planned = self.plan_and_run(COMPUTED_KEY, 8, "-m", "16MiB")
        self.assertEqual(report["sorts"][0]["runs"], report["sorts"][0]["predicted_runs"], planned)
        self.expect_as_predicted(report, planned)

    # What a row of fixed width needs is known beforehand.
    def test_the_least_memory_that_check_names_is_enough(self):
        for width in (70_000, 900_000):
            self.make_input(width, 9 * MIB)
            for job in (SORT, QUEUE, REVERSE, PARTITION):
                with self.subTest(width=width, job=job):
                    self.write("job.yaml", job.format(columns=columns_of(width)))
                    refused = self.flowrun("check", "job.yaml", "-m", "1KiB")
                    self.assertEqual(refused.returncode, 78, refused.stderr)
                    least = int(re.search(r"memory: (\d+)MiB or more", refused.stderr)[1])
                    self.run_job("-m", f"{least}MiB", "--force-spill")


if __name__ == "__main__":
    main()
