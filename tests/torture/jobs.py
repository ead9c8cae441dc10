"""The small jobs that are run while things go wrong, with what each must write."""

import dataclasses
import pathlib
import random
import struct

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "jobs"
# Small blocks and batches, and everything that can goes through scratch: many calls in little time.
TINY = ("-q", "-j", "2", "--force-spill", "--batch-size", "512", "-T", "scratch")
NOT_INPUTS = {"expected", "expect.py", "README.md", "__pycache__"}

# Several runs on scratch and a merge of them.
SORT = """flowrun: 1
name: several-runs
params:
  dir: {type: path}
  out: {type: path}
nodes:
  rows: {op: file.read_rows, with: {path: "${dir}/in.bin", type: {k: u64, v: u64}}}
  sorted: {op: sort, in: rows, with: {by: [k]}}
  out: {op: file.write_rows, in: sorted, with: {path: "${out}/sorted.bin"}}
"""


@dataclasses.dataclass(frozen=True)
class small_job:
    name: str
    inputs: dict  # path below "in": bytes; job.yaml among them
    outputs: dict  # path below "out": bytes
    options: tuple

    def words(self):
        """What comes after `flowrun`."""
        return ["run", "in/job.yaml", "-p", "dir=in", "-p", "out=out", *TINY, *self.options]


def files_of(folder, leave_out=()):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in leave_out
    }


def golden(name):
    folder = GOLDEN / name
    options = ("-m", "24MiB", "--block-size", "4096")
    return small_job(name, files_of(folder, NOT_INPUTS), files_of(folder / "expected"), options)


def several_runs():
    rng = random.Random(15)
    rows = [(rng.randrange(2**64), i) for i in range(120_000)]
    content = {order: b"".join(struct.pack("<QQ", *row) for row in rows) for order, rows in
               (("drawn", rows), ("sorted", sorted(rows)))}
    inputs = {"job.yaml": SORT.encode(), "in.bin": content["drawn"]}
    options = ("-m", "3MiB", "--block-size", "64KiB")
    return small_job("several-runs", inputs, {"sorted.bin": content["sorted"]}, options)


# A sort with a merge; CSV and groups; a join of two sorts; a loop with three outputs; sorted text.
FEW = ("group", "join-columns", "loop-search", "zip")
MANY = FEW + ("checks", "csv-rejects", "diamond", "group-pairs", "joins", "lines", "lookup", "merge-strings", "pq-scan",
              "records", "row-types", "scan-ranks", "sort-strings", "tokens", "union-find")


def small_jobs(short):
    """Five, or twenty."""
    return [several_runs(), *(golden(name) for name in (FEW if short else MANY))]
