"""The constants of the model that belong to Flowrun, measured on this machine: the sort benchmark as tasks, one on
each core, of two sizes and into several numbers of tasks; and, for comparison, a larger one. All cores are busy, since
two of them may be one that takes turns. What the tasks' processes have computed and what the driver has
taken between the stages are known by its directory and by /proc; least squares say what belongs to bytes, to tasks, and
to ranges."""
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

import cluster_constants
import cluster_model
import disk_bound
from cluster_constants import GB, KIB, MIB

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = ROOT / "specs/jobs/sort-benchmark.yaml"
WIDTH = os.cpu_count()
TASKS = (8, 16, 32, 64)
TASKS_OF_WHOLE = (4, 16, 64)


def solved(rows, values):
    """The x with the least sum of (row * x - value)^2: normal equations, by elimination."""
    n = len(rows[0])
    a = [[sum(r[i] * r[j] for r in rows) for j in range(n)] + [sum(r[i] * v for r, v in zip(rows, values))]
         for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(a[k][i]))
        a[i], a[pivot] = a[pivot], a[i]
        for k in range(n):
            if k != i:
                factor = a[k][i] / a[i][i]
                a[k] = [x - factor * y for x, y in zip(a[k], a[i])]
    return [a[i][n] / a[i][i] for i in range(n)]


def scaled(rows, values):
    """The same, where each equation counts by its relative error."""
    return solved([[x / v for x in row] for row, v in zip(rows, values)], [1] * len(values))


class watched_run:
    """A job as tasks, as many at once as there are cores, and what its driver was seen to do."""

    def __init__(self, flowrun, source, tasks, place):
        scratch, out = place / "scratch", place / "sorted"
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        self.clock = os.sysconf("SC_CLK_TCK")
        self.times, self.computed, self.memory = {}, {}, 0  # times: of stage-S, and the last done-S
        process = subprocess.Popen(
            [flowrun, "run", JOB, "-q", "-p", f"input={source}", "-p", f"out={out}", "-m", f"{2 * WIDTH}GiB",
             "-j", str(WIDTH), "-T", scratch, "--cluster", f"local:{WIDTH}", "--tasks", str(tasks), "--no-sync"])
        while process.poll() is None:
            try:
                self.look(process.pid, scratch)
            except (OSError, StopIteration):
                pass  # it has just ended, or a file has gone
            time.sleep(0.002)
        if process.returncode != 0:
            raise SystemExit(f"bench: the job failed with {process.returncode}")

    def look(self, pid, scratch):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        self.of_tasks = sum(map(int, fields[13:15])) / self.clock  # CPU of those that have ended
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        memory = re.search(r"VmHWM:\s+(\d+)", status)  # one that has ended has none
        self.memory = max(self.memory, int(memory.group(1)) * KIB if memory else 0)
        for entry in os.scandir(next(scratch.glob("flowrun-cluster-*"))):
            found = re.fullmatch(r"(stage-\d|done-\d)(-\d+)?", entry.name)
            if not found:
                continue
            name, at = found.group(1), entry.stat().st_mtime
            if name.startswith("stage") and name not in self.times:
                self.computed[name] = self.of_tasks
            self.times[name] = max(self.times.get(name, 0), at)

    @property
    def cpu(self):
        """Of the tasks of stage 1, and of stage 2."""
        first = self.computed["stage-1"] - self.computed["stage-0"]
        return first, self.of_tasks - self.computed["stage-0"] - first

    @property
    def wall(self):
        return self.times["done-0"] - self.times["stage-0"], self.times["done-1"] - self.times["stage-1"]

    @property
    def cut(self):
        return self.times["stage-1"] - self.times["done-0"]


def least_memory(flowrun, place, source, num_bytes):
    """The memory with which a sort of the file needs no scratch, by bytes of it: between 1 and 4 times, to a 16th."""
    low, high = 16, 64
    while high - low > 1:
        middle = (low + high) // 2
        report = subprocess.run(
            [flowrun, "run", JOB, "-q", "-p", f"input={source}", "-p", f"out={place / 'sorted.dat'}", "-j", "1",
             "-m", str(num_bytes * middle // 16), "-T", place / "scratch", "--no-sync", "--report", "-"],
            check=True, text=True, capture_output=True).stdout
        if re.search(r'"runs":\s*"0"', report):
            high = middle
        else:
            low = middle
    return high / 16


def run_memory(flowrun, place, source, tasks=128):
    """What a merging task says it needs at least, for each run."""
    shutil.rmtree(place / "sorted", ignore_errors=True)
    told = subprocess.run(
        [flowrun, "run", JOB, "-q", "-p", f"input={source}", "-p", f"out={place / 'sorted'}", "-m", "32MiB", "-j", "1",
         "-T", place / "scratch", "--cluster", "local:1", "--tasks", str(tasks), "--no-sync"],
        text=True, capture_output=True)
    found = re.search(r"run with -m (\d+)MiB", told.stderr)
    if not found:
        raise SystemExit(f"bench: 32 MiB were enough for {tasks} runs, or the job failed:\n{told.stderr}")
    return int(found.group(1)) * MIB / tasks


def fitted(runs):
    """{constant: value} of runs {(bytes, tasks): [watched_run, …]}."""
    def middle(of, key):
        return statistics.median(of(run) for run in runs[key])

    keys = list(runs)
    gbs = {key: key[0] / GB for key in keys}
    c = cluster_constants.constants()
    run, start = scaled([[gbs[k], k[1]] for k in keys], [middle(lambda r: r.cpu[0], k) for k in keys])
    merge, reads = scaled([[gbs[k], k[1] ** 2] for k in keys],
                          [middle(lambda r: r.cpu[1], k) - k[1] * start for k in keys])
    samples = {k: cluster_model.samples_of_driver(c, *k) for k in keys}
    # Where ranges are shorter than frames, the driver reads runs from end to end.
    apart = [k for k in keys if k[0] / k[1] ** 2 > 2 * cluster_constants.TABLE["frame_bytes"].value]
    frames = {k: cluster_model.frames_of_cuts(c, *k, k[1]) for k in keys}
    sample, frame = scaled([[samples[k] * math.log2(samples[k]), frames[k]] for k in apart],
                           [middle(lambda r: r.cut, k) for k in apart])
    _, wall_start = scaled([[gbs[k], k[1]] for k in keys], [middle(lambda r: r.wall[0], k) for k in keys])
    return {"run_seconds": run, "merge_seconds": merge, "read_seconds": reads,
            "start_seconds": max(start, wall_start * WIDTH), "sample_seconds": sample, "frame_seconds": frame}


def measure_whole(flowrun, place, num_bytes, rounds):
    """Stage 1, cuts, stage 2: medians, as cluster_constants.HERE has them."""
    source = place / f"{num_bytes}.dat"
    subprocess.run([flowrun, "gen", "records", "--rows", str(num_bytes // 100), "-o", source], check=True)
    runs = {tasks: [] for tasks in TASKS_OF_WHOLE}
    for _ in range(rounds):
        for tasks, found in runs.items():
            found.append(watched_run(flowrun, source, tasks, place))
    for tasks, found in runs.items():
        parts = [statistics.median(part) for part in zip(*((r.wall[0], r.cut, r.wall[1]) for r in found))]
        print(f"    measured_run({num_bytes / GB:g} * GB, {tasks}, ({', '.join(f'{part:.2f}' for part in parts)})),")


def measure(flowrun, place, num_bytes, rounds):
    place.mkdir(parents=True, exist_ok=True)
    sizes = (num_bytes // 4, num_bytes)
    runs = {}
    for size in sizes:
        subprocess.run([flowrun, "gen", "records", "--rows", str(size // 100), "-o", place / f"{size}.dat"], check=True)
    for _ in range(rounds):
        for size in sizes:
            for tasks in TASKS:
                run = watched_run(flowrun, place / f"{size}.dat", tasks, place)
                runs.setdefault((size, tasks), []).append(run)
                print(f"{size / GB:.2f} GB in {tasks} tasks: CPU {run.cpu[0]:.2f} and {run.cpu[1]:.2f} s, wall "
                      f"{run.wall[0]:.2f}, driver {run.cut:.2f}, {run.wall[1]:.2f} s; driver's memory "
                      f"{run.memory / MIB:.0f} MiB", flush=True)
    found = fitted(runs)
    found["run_memory"] = run_memory(flowrun, place, place / f"{sizes[0]}.dat")
    found["sort_memory"] = least_memory(flowrun, place, place / f"{sizes[1]}.dat", sizes[1])
    print("\n| constant | now | in the table | unit |\n|---|---|---|---|")
    for name, value in found.items():
        told = cluster_constants.TABLE[name]
        print(f"| {name} | {value:.3g} | {told.value:.3g} | {told.unit} |")
    for pattern, rate in disk_bound.bench_disk(flowrun, place).items():
        print(f"| this machine's disk, {pattern} | {rate / GB:.2f} | | GB/s |")
    measure_whole(flowrun, place, 2 * num_bytes, rounds)
    shutil.rmtree(place)
    return found
