#!/usr/bin/env python3
"""Jobs as tasks, while workers, networks, disks and the driver fail (R14 of docs/reliability.md).

    cluster_torture.py --flowrun PROGRAM [--cluster spark|local:N] [--short] [--only TEXT] [--write PAGE]

`spark` starts a cluster of three workers in network namespaces (tools/cluster; root, and `make cluster-jar` before) and
ends it. Each job of cluster_jobs.py runs undisturbed and with each failure. It must end with 0 and with one machine's
bytes, and leave no hidden files, no scratch, and no process, also on workers that were away. Exits with 1 if anything
is wrong. A failure that came too late to meet the job is wrong, too.
"""

import argparse
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import cluster_jobs
from result import row
from torture import write_figures

ROOT = cluster_jobs.ROOT
PATIENCE = 600  # seconds for a job
AFTERWARDS = 60  # seconds for what ends by itself
ATTEMPTS = 5  # to meet a job while it runs, which on a fast machine takes half a second
PROMISE = "R14"
OWN_DISK = "/var/tmp/flowrun-worker-disk"


@dataclasses.dataclass(frozen=True)
class task:
    pid: int
    directory: str
    stage: int

    def is_there(self):
        return task_of(self.pid) == self


def task_of(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if words[1:2] != ["worker"] or len(words) < 5:
        return None
    return task(int(pid), words[2], int(words[3]))


class workplace:
    """A directory with the inputs, and the cluster."""

    def __init__(self, options, root):
        self.options, self.root = options, root
        self.on_spark = options.cluster == "spark"
        self.where, self.environment, self.workers = options.cluster, dict(os.environ), 0
        self.moment = 0.2  # seconds behind a stage's first task, within which things go wrong; less in short jobs
        (root / "scratch").mkdir()

    @contextlib.contextmanager
    def cluster(self):
        if not self.on_spark:
            yield
            return
        words = ["--scratch", OWN_DISK, "--scratch-size", self.options.scratch_size, "--port", str(self.options.port)]
        home = self.tool("up", "--workers", str(self.options.workers), *words).split()[1]
        try:
            state = self.state()
            self.where, self.workers = state["address"], len(state["workers"])
            self.environment["SPARK_HOME"] = home.split("=", 1)[1]
            self.environment["SPARK_LOCAL_IP"] = self.where.split("/")[2].split(":")[0]
            yield
        finally:
            self.tool("down")

    def tool(self, *words):
        done = subprocess.run([ROOT / "tools/cluster", *words, "--directory", self.root / "cluster"],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"tools/cluster {' '.join(words)} failed")
        return done.stdout

    def state(self):
        return json.loads(self.tool("state"))

    def tasks(self):
        """Those at work for jobs of this workplace."""
        found = (task_of(pid) for pid in os.listdir("/proc") if pid.isdigit())
        return [one for one in found if one and one.directory.startswith(str(self.root))]

    def worker_of(self, one):
        """Whose network namespace the task is in; None: it has ended."""
        try:
            inode = os.stat(f"/proc/{one.pid}/ns/net").st_ino
        except FileNotFoundError:
            return None
        for number in range(self.workers):
            if os.stat(f"/run/netns/flowrun-{self.options.port}-{number}").st_ino == inode:
                return number
        return None

    def start(self, job, resume):
        scratch = str(self.root / "scratch")
        disks = ["-T", scratch]
        at_once = 1  # what -m is divided by
        if self.on_spark:
            # What all share is for what all read: tasks spill to their machines' own disks.
            disks = ["-T", f"{scratch}:4MiB", "-T", OWN_DISK]
        else:
            at_once = int(self.where.split(":")[1])
        words = [self.options.flowrun, *job.words("out"), "-m", f"{job.mebibytes * at_once}MiB", *disks, "--cluster",
                 self.where, "--tasks", "6", *(["--resume"] if resume else [])]
        return subprocess.Popen(words, cwd=self.root, env=self.environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)


class disturbance:
    """A run of a job while one thing goes wrong."""

    def __init__(self, place, job, rng):
        self.place, self.job, self.rng = place, job, rng
        self.met = "nothing"

    def task_in(self, running, stage):
        """A task of the stage at work, drawn from those that are there a moment after the first one."""
        moment = None
        while running.poll() is None:
            found = [one for one in self.place.tasks() if one.stage == stage]
            if found and moment is None:
                moment = time.monotonic() + self.rng.random() * self.place.moment
            if found and time.monotonic() >= moment:
                return self.rng.choice(found)
            time.sleep(0.002)
        return None

    def signalled_task_in(self, running, stage, number):
        """As task_in(), and gets the signal; those that have ended in the meantime don't count."""
        while (one := self.task_in(running, stage)) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, number)
                return one
        return None

    # What goes wrong; each says what it met, or leaves that as it is.

    def undisturbed(self, running):
        self.met = "a job"

    def killed_in(self, running, stage):
        if not self.place.on_spark:
            if self.signalled_task_in(running, stage, signal.SIGKILL) is None:
                return
        else:
            one = self.task_in(running, stage)
            number = self.place.worker_of(one) if one else None
            if number is None:
                return
            self.place.tool("kill", str(number))
        self.met = f"a task of stage {stage}"

    def killed_in_map(self, running):
        self.killed_in(running, self.job.map_stage)

    def killed_in_reduce(self, running):
        self.killed_in(running, self.job.reduce_stage)

    def killed_between(self, running):
        """All tasks of the stage are done, and those of the next are about to start."""
        stage = self.job.last_of_map
        if self.task_in(running, stage) is None:
            return
        while running.poll() is None and any(one.stage == stage for one in self.place.tasks()):
            time.sleep(0.002)
        if running.poll() is None:
            self.place.tool("kill", str(self.rng.randrange(self.place.workers)))
            self.met = "a worker between two stages"

    def cut_in(self, running, stage):
        one = self.task_in(running, stage)
        number = self.place.worker_of(one) if one else None
        if number is not None:
            # The machine is lost, not its network alone: what it works on must not go on and be done.
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGSTOP)
            self.place.tool("cut", str(number))
            self.met = f"a task of stage {stage}"

    def cut_in_map(self, running):
        self.cut_in(running, self.job.map_stage)

    def cut_in_reduce(self, running):
        self.cut_in(running, self.job.reduce_stage)

    def frozen_task(self, running):
        one = self.signalled_task_in(running, self.job.reduce_stage, signal.SIGSTOP)
        if one is not None:
            self.met = f"a task of stage {one.stage}"

    def killed_driver(self, running):
        """Run again by `ends`."""
        if self.task_in(running, self.job.reduce_stage) is not None:
            running.kill()
            self.met = f"a driver in stage {self.job.reduce_stage}"

    def full_disk(self, running):
        """Since the job's start. A task must have noticed."""
        running.wait(timeout=PATIENCE)
        said = (log.read_text(errors="replace") for log in (self.place.root / "cluster/work").glob("app-*/*/stderr"))
        if any("no space left on device" in text.lower() for text in said):
            self.met = "a task"

    def run(self, how):
        begun = time.monotonic()
        resume = how == "killed_driver"
        if how == "full_disk":
            self.place.tool("fill", str(self.rng.randrange(self.place.workers)))
        running = self.place.start(self.job, resume)
        try:
            getattr(self, how)(running)
            if resume and self.met != "nothing":
                running.communicate()
                running = self.place.start(self.job, resume)
            _, said = running.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
            _, said = running.communicate()
            said = f"it ran longer than {PATIENCE} seconds; {said}"
        finally:
            running.kill()
        seconds = time.monotonic() - begun
        return seconds, running.returncode, said


def healed(place):
    """All is as before: frozen tasks go on, workers that were away are back."""
    for one in place.tasks():
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGCONT)
    for number in range(place.workers):
        place.tool("heal", str(number))


def left_over(place):
    """What is still there after a while that suffices for everything that ends by itself."""
    def look():
        out = [f"process {one.pid} of stage {one.stage}" for one in place.tasks()]
        out += [f"scratch/{path.name}" for path in (place.root / "scratch").iterdir()]
        out += [str(path.relative_to(place.root)) for path in (place.root / "out").rglob(".*")]
        out += [str(path.relative_to(place.root)) for path in place.root.glob(".*")]
        for worker in place.state()["workers"] if place.on_spark else []:
            with contextlib.suppress(FileNotFoundError):
                out += [f"{path.name} on the disk of worker {worker['number']}" for path in
                        pathlib.Path(worker["disk"]).iterdir()]
        return out

    deadline = time.monotonic() + AFTERWARDS
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def tried_once(place, job, how, expected, rng):
    """Seconds, whether it met the job, and what is wrong."""
    shutil.rmtree(place.root / "out", ignore_errors=True)
    (place.root / "out").mkdir()
    run = disturbance(place, job, rng)
    seconds, code, said = run.run(how)
    problems = []
    if code != 0:
        problems.append(f"exit code {code}: {said.strip()}")
    else:
        try:
            if cluster_jobs.content_hashes(place.root / "out", job) != expected:
                problems.append("the output is not one machine's")
        except (OSError, ValueError) as problem:
            problems.append(f"the output is incomplete: {problem}")
    healed(place)
    left = left_over(place)
    problems += [f"left behind: {', '.join(left)}"] if left else []
    for path in (place.root / "scratch").iterdir():
        shutil.rmtree(path, ignore_errors=True)
    return seconds, run.met != "nothing", problems


def tried(place, job, how, expected, rng):
    """Seconds, and what is wrong. A job that ended before it could be disturbed runs again."""
    for _ in range(ATTEMPTS):
        seconds, met, problems = tried_once(place, job, how, expected, rng)
        if met or problems:
            return seconds, problems
    return seconds, [f"the job had ended before it could be disturbed, {ATTEMPTS} times"]


FAILURES = {
    "undisturbed": "nothing",
    "killed_in_map": "a worker killed in map",
    "killed_between": "a worker killed between map and reduce",
    "killed_in_reduce": "a worker killed in reduce",
    "cut_in_map": "a worker cut off silently in map",
    "cut_in_reduce": "a worker cut off silently in reduce",
    "frozen_task": "a task frozen, and healed when the job has ended",
    "killed_driver": "the driver killed, and the same command given again",
    "full_disk": "a worker's scratch disk full",
}
OF_TASKS = ("undisturbed", "killed_in_map", "killed_in_reduce", "frozen_task", "killed_driver")  # on one machine


def figure_of(times, problems):
    return f"{len(times)} jobs: {len(problems)} wrong; {min(times):.0f} to {max(times):.0f} s, median " \
           f"{statistics.median(times):.0f} s"


def run_all(options):
    failures = FAILURES if options.cluster == "spark" else OF_TASKS
    wanted = [(job, how) for job in cluster_jobs.all_jobs(options) for how in failures
              if re.search(options.only or "", f"{job.name} {how}")]
    jobs = [job for job in cluster_jobs.all_jobs(options) if any(job is one or job == one for one, _ in wanted)]
    rows, problems, times = [], [], {}
    with tempfile.TemporaryDirectory(prefix="flowrun-torture-", dir=options.directory) as root:
        place = workplace(options, pathlib.Path(root))
        cluster_jobs.prepare(options, jobs, place.root)
        expected = {job.name: cluster_jobs.alone(options, job, place.root) for job in jobs}
        with place.cluster():
            for job, how in wanted:
                rng = random.Random(f"{options.seed} {job.name} {how}")
                seconds, wrong = tried(place, job, how, expected[job.name], rng)
                if how == "undisturbed":
                    place.moment = min(0.2, seconds / 10)
                print(f"{job.name}, {how}: {seconds:.1f} s{': WRONG: ' if wrong else ''}{'; '.join(wrong)}", flush=True)
                times.setdefault(how, []).append(seconds)
                problems += [(how, text) for text in wrong]
    kind = "Spark, three workers in namespaces" if options.cluster == "spark" else f"--cluster {options.cluster}"
    for how, taken in times.items():
        wrong = [text for which, text in problems if which == how]
        rows.append(row(PROMISE, f"{kind}: {FAILURES[how]}", figure_of(taken, wrong)))
    return rows, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--cluster", default="spark", help="spark (the default), or local:N")
    parser.add_argument("--short", action="store_true", help="as in CI: small inputs")
    parser.add_argument("--gigabytes", type=float, help="of terasort; 1, and 0.1 with --short")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--port", type=int, default=7177)
    parser.add_argument("--scratch-size", help="of each worker's own disk; half of terasort's records, and at least 1g")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="TEXT", help="a regular expression that 'JOB FAILURE' must match")
    parser.add_argument("--directory", type=pathlib.Path, help="where the inputs lie, and what all machines share")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE")
    options = parser.parse_args()
    options.gigabytes = options.gigabytes or (0.1 if options.short else 1)
    options.scratch_size = options.scratch_size or f"{math.ceil(max(options.gigabytes / 2, 1))}g"
    rows, problems = run_all(options)
    if not rows:
        parser.error("--only matches nothing")
    for one in rows:
        print(f"{one.promise}: {one.what}: {one.figure}")
    if options.write and not problems:
        write_figures(options.write, rows)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
