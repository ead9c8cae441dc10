"""One benchmark, run: contestants in turn, several times, with the memory cgroup and without; every output verified. What
comes of it is a record, plain data for results.json, the tables and the plots."""
import contextlib
import dataclasses
import datetime
import shutil
import statistics
import sys

import disk_bound
import measure
from measure import MIB

BESIDE_MIB = 2048   # that stay free beside the budget where memory is held: for the system, and what touches it
ALLOWANCE_MIB = 64  # beyond the budget: for the program itself and, in the cgroup, the page cache


@dataclasses.dataclass(frozen=True)
class mode:
    name: str
    title: str
    cgroup: bool
    cold: bool
    held: bool = False  # memory is held but for what is needed, which is touched before each run (measure.memory_holder)


BUDGET = mode("budget", "in a memory cgroup of the budget + 64 MiB, page cache included", True, True)
PAGE_CACHE = mode("page-cache", "with page cache: all of the machine's memory, input cold", False, True)
CACHED = mode("cached", "input in the page cache", False, False)
PLAIN = mode("plain", "no files", False, False, held=True)


def median(record, mode_name, contestant, field):
    """Of a field of the runs; None when there is none."""
    runs = record["modes"].get(mode_name, {}).get(contestant, {}).get("runs", [])
    values = [run[field] for run in runs if run.get(field) is not None]
    return statistics.median(values) if values else None


def median_disk(record):
    return {pattern: statistics.median(found[pattern] for found in record["disk"]) for pattern in disk_bound.PATTERNS}


def reason(m, limit_mib, killed):
    if m.timed_out:
        return "took too long, and was ended"
    if killed:
        return f"killed by the kernel: wanted more than {limit_mib} MiB"
    lines = [line.strip() for line in m.output.strip().splitlines() if line.strip()]
    named = [line for line in lines if "rror" in line] or lines[-1:] or ["said nothing"]
    return f"exit code {m.exit_code}: {named[0][:160]}"


class trial:
    def __init__(self, options, benchmark, contestants, expected, failures):
        self.options = options
        self.benchmark = benchmark
        self.contestants = contestants
        self.expected = expected  # what every result must be; None: no result
        self.failures = failures  # ours are faults of the benchmark; a peer's are shown
        self.scratch = options.dir / "scratch"

    def run_once(self, c, how, told_mib):
        """(a run as plain data, "") or (None, reason)."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        if c.output:
            c.output.unlink(missing_ok=True)
        if how.cold:
            measure.drop_caches()
        if how.held:
            measure.touch_memory((self.benchmark.memory_mib + BESIDE_MIB // 4) * MIB)
        limit_mib = self.benchmark.memory_mib + ALLOWANCE_MIB
        try:
            with contextlib.ExitStack() as stack:
                group = stack.enter_context(measure.memory_cgroup(limit_mib * MIB)) if how.cgroup else None
                m = measure.run(c.command(told_mib), group, c.environment(told_mib) if c.environment else None, c.output,
                                None if c.name.startswith("flowrun") else self.options.limit)
                peak = group.peak_bytes() if group else None
                killed = group.killed() if group else False
            if m.exit_code != 0 or killed:
                return None, reason(m, limit_mib, killed)
            found = {key: value for key, value in dataclasses.asdict(m).items() if key != "output"}
            found["cgroup_peak_bytes"] = peak
            if c.extras:
                found |= c.extras(m)
            if c.result:
                got = c.result(m)
                if got != self.expected:
                    return None, f"WRONG RESULT: {got}, expected {self.expected}"
            return found, ""
        except (OSError, ValueError) as cause:
            return None, f"WRONG RESULT: {cause}"
        finally:
            if c.output:
                c.output.unlink(missing_ok=True)

    def next_run(self, c, how, mine):
        """One more run of c, whose results so far are `mine`. When it fails in the memory cgroup, it is told less and less
        memory until it survives, and what it did with more counts no longer."""
        first_why = ""
        rungs = [mib for mib in c.told_mib if mine["told_mib"] is None or mib <= mine["told_mib"]]
        if how.cgroup and len(c.told_mib) > 1:
            rungs = [mib for mib in rungs if mib < self.benchmark.memory_mib]
        for mib in rungs if how.cgroup else rungs[:1]:
            if mib != mine["told_mib"]:
                mine["told_mib"], mine["runs"] = mib, []
            run, why = self.run_once(c, how, mib)
            if run:
                mine["runs"].append(run)
                return run, ""
            first_why = first_why or why
            if why.startswith("WRONG"):
                first_why = why
                break
        if how.cgroup and len(rungs) > 1:
            first_why += f"; told less, down to {mine['told_mib']} MiB, it fared no better"
        mine["failure"] = first_why
        return None, first_why

    def run_mode(self, how):
        found = {c.name: {"told_mib": None, "runs": [], "failure": c.unable} for c in self.contestants}
        able = [c for c in self.contestants if not c.unable]
        if not how.cold:  # fills the page cache
            for c in able:
                self.run_once(c, how, c.told_mib[0])
        for turn in range(self.options.runs):
            # The program that goes first meets another state of the disk, so they take turns.
            for c in able if turn % 2 == 0 else able[::-1]:
                mine = found[c.name]
                if mine["failure"]:
                    continue
                run, why = self.next_run(c, how, mine)
                self.tell(how, turn, c, run, why)
                self.judge(c, how, run, why)
        return found

    def tell(self, how, turn, c, run, failure):
        said = f"{run['wall_seconds']:.2f} s, {run['peak_rss_bytes'] / MIB:.0f} MiB" if run else failure
        print(f"{self.benchmark.name}, {how.name}, run {turn + 1}: {c.name}: {said}", file=sys.stderr, flush=True)

    def judge(self, c, how, run, failure):
        """What makes the benchmark fail: our faults, and anyone's wrong results."""
        where = f"{self.benchmark.name}, {c.name}, {how.name}"
        ours = c.name.startswith("flowrun")
        if failure and (ours or failure.startswith("WRONG")):
            self.failures.append(f"{where}: {failure}")
        limit = (self.benchmark.memory_mib + ALLOWANCE_MIB) * MIB
        if run and ours and run["peak_rss_bytes"] > limit:
            self.failures.append(f"{where}: resident set {run['peak_rss_bytes'] / MIB:.0f} MiB exceeds the budget + 64 MiB")

    def run(self):
        """The record."""
        record = {"title": self.benchmark.title, "num_bytes": self.benchmark.num_bytes,
                  "memory_mib": self.benchmark.memory_mib, "date": datetime.datetime.now().isoformat(timespec="minutes"),
                  "disk": [], "modes": {}, "mode_titles": {}}
        for how in self.benchmark.modes:
            if self.options.modes and how.name in ("budget", "page-cache") and how.name not in self.options.modes:
                continue
            if how.cgroup:
                try:
                    with measure.memory_cgroup((self.benchmark.memory_mib + ALLOWANCE_MIB) * MIB):
                        pass
                except OSError as cause:
                    print(f"bench: no memory cgroup here ({cause}): {how.name} is left out", file=sys.stderr)
                    continue
            if self.benchmark.bound:
                record["disk"].append(disk_bound.bench_disk(self.options.flowrun, self.options.dir))
            free_bytes = (self.benchmark.memory_mib + BESIDE_MIB) * MIB
            with measure.memory_holder(free_bytes) if how.held else contextlib.nullcontext():
                record["modes"][how.name] = self.run_mode(how)
            record["mode_titles"][how.name] = how.title
        if self.benchmark.bound:
            record["disk"].append(disk_bound.bench_disk(self.options.flowrun, self.options.dir))
            record["bound_seconds"] = self.benchmark.bound(record, median_disk(record))
        record["figures"] = self.benchmark.figures(record) if self.benchmark.figures else []
        return record
