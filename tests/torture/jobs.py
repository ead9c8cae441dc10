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


# Many files, which are closed and opened again.
PARTS = """flowrun: 1
name: parts
params:
  dir: {type: path}
  out: {type: path}
nodes:
  rows: {op: file.read_rows, with: {path: "${dir}/in.bin", type: {k: u64, v: u64}}}
  part: {op: map, in: rows, with: {k: "k % 3", v: v}}
  rows_of: {op: file.write_rows, in: part, with: {path: "${out}/{k}.bin"}}
  text_of: {op: file.write_csv, in: part, with: {path: "${out}/k={k}/v.csv", path_columns: leave_out}}
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


def rows_as_bytes(rows):
    return b"".join(struct.pack("<QQ", *row) for row in rows)


def several_runs(num_rows=120_000):
    rng = random.Random(15)
    rows = [(rng.randrange(2**64), i) for i in range(num_rows)]
    inputs = {"job.yaml": SORT.encode(), "in.bin": rows_as_bytes(rows)}
    options = ("-m", "3MiB", "--block-size", "64KiB")
    return small_job("several-runs", inputs, {"sorted.bin": rows_as_bytes(sorted(rows))}, options)


def parts(num_rows=100_000):
    rng = random.Random(17)
    rows = [(rng.randrange(3), i) for i in range(num_rows)]
    outputs = {}
    for k in range(3):
        own = [row for row in rows if row[0] == k]
        outputs[f"{k}.bin"] = rows_as_bytes(own)
        outputs[f"k={k}/v.csv"] = "".join(f"{v}\n" for _, v in own).encode()
    return small_job("parts", {"job.yaml": PARTS.encode(), "in.bin": rows_as_bytes(rows)}, outputs, ("-m", "5MiB"))


# A loop whose streams change in every iteration.
WALK = """flowrun: 1
name: walk
params:
  dir: {type: path}
  out: {type: path}
nodes:
  rows: {op: file.read_rows, with: {path: "${dir}/in.bin", type: {k: u64, v: u64}}}
  walk:
    op: loop
    in: {base: rows}
    with:
      carry: {cur: {from: base}, t: {value: 1}}
      body:
        moved: {op: map, in: cur, with: {k: "(k * 7 + t) % 20011", v: v}}
        ordered: {op: sort, in: moved, with: {by: [k, v]}}
        some: {op: filter, in: ordered, with: {where: "(k + t) % 17 == 0"}}
      next: {cur: ordered, t: "t + rows(some)"}
      times: 40
      collect: {seen: some}
  seen: {op: file.write_rows, in: walk.seen, with: {path: "${out}/seen.bin"}}
  end: {op: file.write_rows, in: walk.cur, with: {path: "${out}/end.bin"}}
"""


def walk():
    rng = random.Random(16)
    rows = [(rng.randrange(20011), i) for i in range(3000)]
    inputs = {"job.yaml": WALK.encode(), "in.bin": rows_as_bytes(rows)}
    seen, t = [], 1
    for _ in range(40):
        rows = sorted(((k * 7 + t) % 20011, v) for k, v in rows)
        some = [row for row in rows if (row[0] + t) % 17 == 0]
        seen += some
        t += len(some)
    outputs = {"seen.bin": rows_as_bytes(seen), "end.bin": rows_as_bytes(rows)}
    return small_job("walk", inputs, outputs, ("-m", "24MiB", "--block-size", "4096"))


# A sort with a merge; CSV and groups; a join of two sorts; a loop with three outputs; sorted text.
FEW = ("group", "join-columns", "loop-search", "zip")
MANY = FEW + ("checks", "csv-rejects", "diamond", "group-pairs", "joins", "lines", "lookup", "merge-strings", "pq-scan",
              "records", "row-types", "scan-ranks", "sort-strings", "tokens", "union-find")


def jobs_to_resume(short):
    """What goes on in a last merge and in a loop, and the small jobs."""
    return [several_runs(400_000), walk(), *small_jobs(short)]


def small_jobs(short):
    """Six, or twenty-one."""
    return [several_runs(), parts(), *(golden(name) for name in (FEW if short else MANY))]
