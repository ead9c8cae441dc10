"""Questions of one file, answered by flowrun and by peers in turn: each gives a number, which must be the same, and how
long it took. Of flowrun the time is that of the whole process; what a peer is asked with says what it counts."""
import json
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


def measured(question, contestants, runs):
    """{name: seconds of all runs}, of those that are installed. `contestants` are {name: a function that gives what
    flowrun() gives}."""
    times, totals = {name: [] for name in contestants}, []
    for _ in range(runs):
        for name, once in contestants.items():
            if (found := once()) is not None:
                times[name].append(found[0])
                totals.append(found[1])
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
