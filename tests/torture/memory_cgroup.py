#!/usr/bin/env python3
"""Jobs in a memory cgroup of their budget and 64 MiB more, page cache included, without swap (R7): none is killed, and
all write what they must. Some of them with a quota of the processors, some with 64 open files. Needs root.

    memory_cgroup.py --flowrun PROGRAM [--short] [--only NAME] [--seed N]
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import budget_jobs  # noqa: E402
import measure  # noqa: E402
from result import result, row  # noqa: E402

MIB = 1 << 20
ALLOWANCE = 64 * MIB
PERIOD_US = 100_000


class cpu_quota:
    """So much of a processor, v1 or v2. Raises OSError where no such cgroup can be made."""

    def __init__(self, processors):
        v1, v2 = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
        name, quota = f"flowrun-quota-{os.getpid()}", int(processors * PERIOD_US)
        if (v1 / "cgroup.procs").exists():
            self.path = v1 / name
            self.path.mkdir(exist_ok=True)
            (self.path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.path / "cpu.cfs_quota_us").write_text(str(quota))
        elif "cpu" in (v2 / "cgroup.controllers").read_text().split():
            # A process is in one group only; that of the memory has the quota, too.
            (v2 / "cgroup.subtree_control").write_text("+cpu")
            self.path, self.maximum = None, f"{quota} {PERIOD_US}"
        else:
            raise OSError("no cpu controller")

    def limit(self, group):
        if self.path is None:
            (group.path / "cpu.max").write_text(self.maximum)

    def join(self):
        if self.path is not None:
            (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(50 if self.path is not None else 0):
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.1)


class limits:
    """What the process joins before it becomes flowrun."""

    def __init__(self, group, quota, open_files):
        self.group, self.quota, self.open_files = group, quota, open_files

    def join(self):
        self.group.join()
        if self.quota:
            self.quota.join()
        if self.open_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.open_files, self.open_files))


def bytes_of(memory):
    return int(memory.removesuffix("MiB")) * MIB


def peak_of(report):
    """The peak resident set, which includes no page cache. What the kernel says of the process began with Python's."""
    try:
        return int(json.loads(report.read_text())["peak_memory_bytes"])
    except (OSError, ValueError, KeyError):
        return 0


def wrong_output(job, path):
    if not path.exists():
        return "no output"
    with open(path, "rb") as written:
        at = 0
        for chunk in job.content():
            found = written.read(len(chunk))
            if found != chunk:
                differs = next((i for i, (a, b) in enumerate(zip(found, chunk)) if a != b), min(len(found), len(chunk)))
                return f"other output: different from byte {at + differs} on"
            at += len(chunk)
        return "other output: more than there should be" if written.read(1) else ""


def trial(flowrun, job, processors=0, open_files=0, seconds=600):
    """What is wrong with how the job runs in its cgroup, and its peak resident set beside the budget."""
    budget = bytes_of(job.memory)
    place = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-cgroup-", dir="/var/tmp"))
    try:
        for name, content in job.inputs.items():
            (place / name).write_bytes(content)
        (place / "job.yaml").write_text("flowrun: 1\nnodes:\n" + job.nodes)
        for name in job.inputs:  # the cache that the inputs left is nobody's
            with open(place / name, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with contextlib.ExitStack() as stack:
            group = stack.enter_context(measure.memory_cgroup(budget + ALLOWANCE))
            quota = stack.enter_context(cpu_quota(processors)) if processors else None
            if quota:
                quota.limit(group)
            command = [flowrun, place / "job.yaml", "-q", "-m", job.memory, "-T", place / "scratch", "--report",
                       place / "report.json", *job.options]
            home = os.getcwd()
            os.chdir(place)
            try:
                done = measure.run(command, limits(group, quota, open_files), limit_seconds=seconds)
            finally:
                os.chdir(home)
            beside = max(peak_of(place / "report.json") - budget, 0)
            if group.killed():
                return f"killed by the kernel, with {job.memory} and 64 MiB", beside
            if done.timed_out:
                return f"not done after {seconds} s", beside
            if done.exit_code != 0:
                return f"exit code {done.exit_code}: {done.output.strip()[:500]}", beside
            return wrong_output(job, place / "out.bin"), beside
    finally:
        shutil.rmtree(place, ignore_errors=True)


def may_limit():
    """Why this machine can't do it; empty when it can."""
    try:
        with measure.memory_cgroup(256 * MIB), cpu_quota(1):
            return ""
    except OSError as cause:
        return f"no memory and cpu cgroups can be made here ({cause})"


# Processors by quota and open files, in turn.
WAYS = ((0, 0), (0.5, 0), (1, 0), (2, 64), (0, 64))


def trials(short, seed):
    """(job, processors, open files), each job made when it is its turn."""
    for round_ in range(1 if short else 10):
        for number, make in enumerate(budget_jobs.JOBS):
            rng = random.Random(f"{seed} {round_} {make.__name__}")
            yield make(rng, 1 if short else 1 + round_ / 3), *WAYS[(number + round_) % len(WAYS)]
    yield budget_jobs.forced_down(32 if short else 4096), 0, 0


def run(options):
    """A result (result.py)."""
    cause = may_limit()
    if cause:
        print(f"memory_cgroup: skipped: {cause}")
        return result([], [])
    counts, failures, most_beside = {}, [], 0
    only = getattr(options, "only", None)
    for job, processors, open_files in trials(options.short, options.seed):
        if only and only not in job.name:
            continue
        started = time.monotonic()
        wrong, beside = trial(options.flowrun, job, processors, open_files)
        most_beside = max(most_beside, beside)
        way = ", ".join(filter(None, (processors and f"{processors} processors", open_files and f"{open_files} files")))
        named = f"{job.name} in {job.memory}" + (f" ({way})" if way else "")
        print(f"{named}: {wrong or 'right'}, {beside / MIB:.0f} MiB beside the budget, "
              f"{time.monotonic() - started:.1f} s", flush=True)
        kind = "a sort's share forced down" if job.name.startswith("N/M") else "jobs in a memory cgroup of budget + 64 MiB"
        counts[kind] = counts.get(kind, 0) + 1
        if wrong:
            failures.append((kind, f"{named}: {wrong}"))
    print(f"at most {most_beside / MIB:.0f} MiB beside the budget")
    wrong_of = {kind: sum(of == kind for of, _ in failures) for kind in counts}
    rows = [row("R7", kind, f"{count} jobs: {wrong_of[kind]} wrong") for kind, count in counts.items()]
    return result(rows, [text for _, text in failures])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--short", action="store_true", help="as in CI")
    parser.add_argument("--only", metavar="NAME", help="jobs with this in their name")
    parser.add_argument("--seed", type=int, default=1)
    found = run(parser.parse_args())
    for one in found.rows:
        print(f"{one.what}: {one.figure}")
    sys.exit(1 if found.problems else 0)


if __name__ == "__main__":
    main()
