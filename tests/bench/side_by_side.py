"""Contestants that do the same work in turn. Each gives how long it took and what it found, which must be the same.

Questions of one file are answered by flowrun and by peers. Of flowrun the time is that of the whole process; what a
peer is asked with says what it counts.

Where a few per cent matter, two are compared in many short pairs. A machine that others use too changes its speed by
more than that within seconds, but hardly within most pairs. So the ratio is taken pair by pair, and its median comes
with an interval that says how well the pairs know it."""
import dataclasses
import json
import math
import statistics
import subprocess
import time

import flowrun_job

MIB = 1 << 20


def flowrun(program, text, result, dir, threads, memory_mib, options=()):
    """(seconds, what the job `text` found as NODE.NAME); `options` are more words of the command."""
    job, report = dir / "job.yaml", dir / "report.json"
    job.write_text(text)
    start = time.perf_counter()
    subprocess.run([str(program), "run", str(job), "-q", "-j", str(threads), "-m", f"{memory_mib}MiB", "--report", str(report),
                    *map(str, options)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    return seconds, float(flowrun_job.results(json.loads(report.read_text()))[result])


def peer(words):
    """What a program of peers/ prints, seconds and a number; None where what it needs is not installed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if "No module named" in done.stderr:
        return None
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, words))} failed:\n{done.stderr}")
    seconds, found = done.stdout.split()
    return float(seconds), float(found)


def print_head():
    print("| question of | | seconds | fastest run | MB/s | beside DuckDB | wanted |\n|---|---|---|---|---|---|---|")


def in_turn(contestants, rounds):
    """{name: what its function gave, of each round}. Every second round goes backwards, so that none gains by its
    place: the one behind another finds the caches and the clock of the processor as that one left them."""
    found = {name: [] for name in contestants}
    for number in range(rounds):
        for name in list(contestants)[::-1 if number % 2 else 1]:
            found[name].append(contestants[name]())
    return found


@dataclasses.dataclass
class middle:
    """The median of many values, and an interval that holds the median of all that could be measured, with 95 %."""
    median: float
    low: float
    high: float


def middle_of(values):
    """The interval lies between two of the values, whatever their distribution. Each value is above the true median as
    often as a coin shows heads, so that the coin says how many of the smallest and of the largest can be left out.
    Fewer than six values are too few for 95 %; then it reaches from the smallest to the largest."""
    values = sorted(values)
    left_out, chance = 0, 1 / 2 ** len(values)  # that all of them lie above
    while (more := chance + math.comb(len(values), left_out + 1) / 2 ** len(values)) <= 0.025:
        left_out, chance = left_out + 1, more
    return middle(statistics.median(values), values[left_out], values[-1 - left_out])


@dataclasses.dataclass
class comparison:
    first: float        # median seconds
    second: float
    ratio: middle       # second / first, pair by pair
    difference: middle  # second - first, pair by pair, in seconds

    def cells(self):
        """Of a table: the ratio and its interval."""
        return f"{self.ratio.median:.2f} | {self.ratio.low:.2f} to {self.ratio.high:.2f}"


def compare(what, first, second, pairs):
    """Functions that give (seconds, what was found), beside each other."""
    found = in_turn({"first": first, "second": second}, pairs)
    if len({result for all_ in found.values() for _, result in all_}) != 1:
        raise SystemExit(f"bench: {what}: the results differ")
    ours, theirs = ([seconds for seconds, _ in all_] for all_ in found.values())
    return comparison(statistics.median(ours), statistics.median(theirs),
                      middle_of([b / a for a, b in zip(ours, theirs)]),
                      middle_of([b - a for a, b in zip(ours, theirs)]))


def measured(question, contestants, runs):
    """{name: seconds of all runs}, of those that are installed. `contestants` are {name: a function that gives what
    flowrun() gives}."""
    found = {name: [one for one in all_ if one is not None] for name, all_ in in_turn(contestants, runs).items()}
    times = {name: [seconds for seconds, _ in all_] for name, all_ in found.items()}
    totals = [total for all_ in found.values() for _, total in all_]
    if max(totals) - min(totals) > 1e-9 * abs(max(totals)):
        raise SystemExit(f"bench: {question}: the results differ: {sorted(set(totals))}")
    return {name: all_ for name, all_ in times.items() if all_}


def answer(question, contestants, num_bytes, runs, wanted):
    """Lines of the table; Flowrun is one of the contestants."""
    times = measured(question, contestants, runs)
    medians = {name: statistics.median(all_) for name, all_ in times.items()}
    for name in contestants:
        if name not in medians:
            print(f"| {question} | {name} | not installed | | | | |")
            continue
        ratio = f"{medians[name] / medians['DuckDB']:.2f}" if "DuckDB" in medians else ""
        print(f"| {question} | {name} | {medians[name]:.3f} | {min(times[name]):.3f} | {num_bytes / 1e6 / medians[name]:.0f} | "
              f"{ratio} | {wanted if name == 'Flowrun' else ''} |", flush=True)
