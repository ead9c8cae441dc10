#!/usr/bin/env python3
"""Jobs as tasks, beside one process: what an engine costs, and whether tasks come out even.

    cluster_runs.py --flowrun PROGRAM [--where local:2] [--where spark] [--gigabytes G …] [--memory MIB] [--runs N]
                    [--skew] [--directory DIR]

Without --skew: the sort benchmark of each size, in turn in one process with two threads and as tasks, two at once, each
with half of the memory. With it: the sort of records with skewed keys, and the join of rows whose keys follow Zipf's law
with one row for each key; of each stage, its slowest task beside the median. `spark` starts two workers of one core
(tools/cluster; `make cluster-jar` before).
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
SORT = ROOT / "specs/jobs/sort-benchmark.yaml"
WIDTH = 2
# The k-th most frequent key has the k-th part of the first one's rows; that one has 7.5 % of all.
JOIN = """flowrun: 1
name: zipf-join
params: {rows: {type: int, required: true}, out: {type: path, required: true}}
nodes:
  visits:
    op: generate
    with: {rows: "${rows}", columns: {page: "u64(exp(f64(rand(1, i) % 1000000) / 1e6 * log(1e4)))", time: "rand(2, i)"}}
  pages: {op: generate, with: {rows: 10001, columns: {page: "i", site: "rand(3, i) % 100"}}}
  by_page: {op: sort, in: visits, with: {by: [page]}}
  sorted_pages: {op: sort, in: pages, with: {by: [page]}}
  both: {op: join, in: {left: by_page, right: sorted_pages}, with: {by: [page]}}
  write: {op: file.write_rows, in: both, with: {path: "${out}"}}
"""


class place:
    def __init__(self, options, root):
        self.options, self.root, self.environment = options, root, dict(os.environ)
        self.spark = None

    @contextlib.contextmanager
    def engines(self):
        if "spark" not in self.options.where:
            yield
            return
        tool = [ROOT / "tools/cluster"]
        there = ["--directory", self.root / "cluster"]
        said = subprocess.run([*tool, "up", "--workers", str(WIDTH), "--port", "7187", *there], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        try:
            state = json.loads(subprocess.run([*tool, "state", *there], check=True, stdout=subprocess.PIPE).stdout)
            self.spark = state["address"]
            self.environment["SPARK_HOME"] = said.split()[1].split("=", 1)[1]
            self.environment["SPARK_LOCAL_IP"] = self.spark.split("/")[2].split(":")[0]
            yield
        finally:
            subprocess.run([*tool, "down", *there], check=True, stdout=subprocess.DEVNULL)

    def run(self, where, words, tasks):
        """(seconds, the report)"""
        for name in ("out", "scratch"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        (self.root / "out").unlink(missing_ok=True)
        (self.root / "scratch").mkdir()
        report = self.root / "report.json"
        memory = self.options.memory
        more = ["-j", str(WIDTH)]
        if where == "spark":  # -m and -j are a task's
            more, memory = [], memory // WIDTH
        if where != "alone":
            more += ["--cluster", self.spark if where == "spark" else where, *(["--tasks", str(tasks)] if tasks else [])]
        done = measure.run([self.options.flowrun, "run", *words, "-q", "-m", f"{memory}MiB", "-T", self.root / "scratch",
                            "--no-sync", "--report", report, *more], environment=self.environment)
        if done.exit_code != 0:
            raise SystemExit(f"bench: exit code {done.exit_code}: {done.output}")
        return done.wall_seconds, json.loads(report.read_text())


def overhead(there):
    options = there.options
    print("| records | memory | where | tasks | seconds | CPU of flowrun | rate | CPU ratio |\n" + "|---" * 8 + "|")
    for gigabytes in options.gigabytes:
        source = there.root / "records.dat"
        subprocess.run([options.flowrun, "gen", "records", "--rows", str(round(gigabytes * 1e7)), "-o", source],
                       check=True)
        found = {}
        for _ in range(options.runs):
            for where in ["alone", *options.where]:
                found.setdefault(where, []).append(
                    there.run(where, [SORT, "-p", f"input={source}", "-p", f"out={there.root}/out"], options.tasks))
        alone = None
        for where, runs in found.items():
            seconds = statistics.median(s for s, _ in runs)
            cpu = statistics.median(r["cpu_seconds"] for _, r in runs)
            alone = alone or (seconds, cpu)
            tasks = ", then ".join(str(s["tasks"]) for s in runs[0][1].get("stages", [])) or "none"
            print(f"| {gigabytes:g} GB | {options.memory} MiB | {where} | {tasks} | {seconds:.1f} | {cpu:.1f} "
                  f"| {alone[0] / seconds:.2f} | {cpu / alone[1]:.2f} |", flush=True)
        source.unlink()


def skew(there):
    options = there.options
    gigabytes = options.gigabytes[0]
    source, join = there.root / "records.dat", there.root / "join.yaml"
    subprocess.run([options.flowrun, "gen", "records", "--skew", "--rows", str(round(gigabytes * 1e7)), "-o", source],
                   check=True)
    join.write_text(JOIN)
    jobs = {"skewed records": [SORT, "-p", f"input={source}", "-p", f"out={there.root}/out"],
            "Zipf join": [join, "-p", f"rows={round(gigabytes * 5e7)}", "-p", f"out={there.root}/out"]}
    print("| job | where | stage | tasks | median task | slowest | ratio |\n" + "|---" * 7 + "|")
    for name, words in jobs.items():
        for where in options.where:
            for number, stage in enumerate(there.run(where, words, options.tasks or 16)[1]["stages"]):
                median, slowest = stage["median_seconds"], stage["slowest_seconds"]
                print(f"| {name} | {where} | {number + 1} | {stage['tasks']} | {median:.2f} s | {slowest:.2f} s "
                      f"| {slowest / median:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--where", action="append", help="local:2 (the default), spark")
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1.0])
    parser.add_argument("--memory", type=int, default=512, metavar="MIB", help="of all that runs at once")
    parser.add_argument("--tasks", type=int, default=0, help="of a stage; as flowrun decides, and 16 with --skew")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--skew", action="store_true")
    parser.add_argument("--directory", type=pathlib.Path, help="with room for four times the records")
    options = parser.parse_args()
    options.where = options.where or ["local:2"]
    with tempfile.TemporaryDirectory(prefix="flowrun-bench-", dir=options.directory) as root:
        there = place(options, pathlib.Path(root))
        with there.engines():
            (skew if options.skew else overhead)(there)


if __name__ == "__main__":
    main()
