"""The jobs that run as tasks while things go wrong: what each reads, where its stages are, and what it must write."""

import dataclasses
import hashlib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import parts  # noqa: E402

# Each customer has about ten orders.
JOIN = """flowrun: 1
name: join-group
params: {orders: {type: int, required: true}, customers: {type: int, required: true}, out: {type: path, required: true}}
nodes:
  orders:
    op: generate
    with: {rows: "${orders}", columns: {customer: "rand(1, i) % ${customers}", cents: "rand(2, i) % 10000"}}
  customers: {op: generate, with: {rows: "${customers}", columns: {customer: "i", town: "rand(3, i) % 1000"}}}
  by_order:  {op: sort, in: orders, with: {by: [customer]}}
  by_number: {op: sort, in: customers, with: {by: [customer]}}
  both:      {op: join, in: {left: by_order, right: by_number}, with: {by: [customer]}}
  by_town:   {op: sort, in: both, with: {by: [town, customer, cents]}}
  towns:
    op: group
    in: by_town
    with: {by: [town], let: {orders: "count()", cents: "sum(cents)", last: "last(customer)"}}
  write:     {op: file.write_csv, in: towns, with: {path: "${out}/towns.csv"}}
"""


@dataclasses.dataclass(frozen=True)
class cluster_job:
    name: str
    spec: str  # a path, absolute or of the workplace
    params: tuple  # without the outputs' place
    out: str  # what the parameter `out` gets behind the folder
    outputs: tuple  # of the folder
    mebibytes: int  # of memory, for a task
    map_stage: int
    reduce_stage: int  # the last one whose tasks take long
    last_of_map: int  # the one behind which a worker is killed between two stages; its tasks take long enough to be seen

    def words(self, folder):
        return [self.spec, "-q", *(w for p in (*self.params, f"out={folder}{self.out}") for w in ("-p", p))]


def sorted_records(options):
    """Terasort: the sort benchmark's records, as many gigabytes as were asked for."""
    return cluster_job("terasort", f"{ROOT}/specs/jobs/sort-benchmark.yaml", ("input=records.dat",), "/sorted.dat",
                       ("sorted.dat",), 64, 0, 1, 0)


def all_jobs(options):
    # The loop of a short search is a task, of stage 4. That of a long one is three stages in each iteration, from there on,
    # of which the second reads all arcs.
    rows = 1_000_000 if options.short else 6_000_000
    return [
        sorted_records(options),
        cluster_job("debian-depends", f"{ROOT}/specs/examples/debian-depends.yaml",
                    (f"input={ROOT}/specs/examples/data/debian-depends.csv",), "", ("top.csv", "pairs.csv"), 24, 0, 4,
                    3),
        cluster_job("join-group", "join.yaml", (f"orders={rows}", f"customers={rows // 10}"), "", ("towns.csv",), 32,
                    0, 2, 1),
        cluster_job("bfs", f"{ROOT}/specs/jobs/bfs.yaml", ("edges=graph.bin", f"nodes={rows // 2}", "source=0"),
                    "/bfs.bin", ("bfs.bin",), 64, 0, *((4, 3) if options.short else (17, 17))),
    ]


def prepare(options, jobs, place):
    """The inputs, in the workplace."""
    names = {job.name for job in jobs}

    def flowrun(*words):
        subprocess.run([options.flowrun, *words], cwd=place, check=True)

    if "terasort" in names:
        flowrun("gen", "records", "--rows", str(round(options.gigabytes * 10_000_000)), "-o", "records.dat")
    if "join-group" in names:
        (place / "join.yaml").write_text(JOIN)
    for job in jobs:
        if job.name == "bfs":
            nodes = int(job.params[1].split("=")[1])
            flowrun(f"{ROOT}/specs/jobs/random-graph.yaml", "-q", "-p", f"nodes={nodes}", "-p", f"edges={nodes * 6}",
                    "-p", "out=graph.bin")


def content_hashes(folder, job):
    """What lies under the outputs' names, parts one behind the other."""
    out = {}
    for name in job.outputs:
        digest = hashlib.sha256()
        for file in parts.parts_of(folder / name) if (folder / name).is_dir() else [folder / name]:
            with open(file, "rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
        out[name] = digest.hexdigest()
    return out


def alone(options, job, place):
    """One machine's outputs' hashes. Where rows are records, they are also seen to be sorted, and to be the input's."""
    folder = place / "alone"
    folder.mkdir(exist_ok=True)
    memory = ["-m", "256MiB", "-T", "scratch"]
    subprocess.run([options.flowrun, *job.words("alone"), *memory], cwd=place, check=True)
    out = content_hashes(folder, job)
    if job.name == "terasort":
        sums = []
        for file, more in (("records.dat", ["--any-order"]), ("alone/sorted.dat", [])):
            said = subprocess.run([options.flowrun, "verify", file, *more], cwd=place, check=True, capture_output=True,
                                  text=True).stdout
            sums.append([line for line in said.splitlines() if line.startswith(("Records:", "Checksum:"))])
        if len(sums[0]) != 2 or sums[0] != sums[1]:
            raise SystemExit(f"one machine's output is wrong: {sums}")
    for name in job.outputs:
        (folder / name).unlink()
    return out
