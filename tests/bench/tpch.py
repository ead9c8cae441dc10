#!/usr/bin/env python3
"""The questions of TPC-H, answered by the jobs of tests/bench/jobs/tpch and by DuckDB: are the answers the same, and how
long did they take?

    tpch.py --flowrun PROGRAM [--python PYTHON] [--dir DIR] [--scale 1] [--runs 5] [--memory 1024] [--threads 2] [QUESTION...]

Both read the same CSV files, in the page cache, with the same memory and threads, in turn; a third column has DuckDB on a
database of its own, into which the files were loaded before. PYTHON has duckdb. Of flowrun the time is that of the whole
process; of DuckDB it counts from when Python has started, whose memory (30 MiB) is in
its peak. Medians. Ends with 1 where answers differ."""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402
import tpch_data  # noqa: E402
import tpch_questions as questions  # noqa: E402

PEER = pathlib.Path(__file__).resolve().parent / "peers/duckdb_tpch.py"
MIB = 1 << 20


@dataclasses.dataclass
class figures:
    seconds: float
    cpu_seconds: float
    peak_mib: float


class contestants:
    def __init__(self, options):
        self.options = options
        self.dir = options.dir / f"tpch-{options.scale:g}"
        self.data, self.scratch = self.dir / "data", self.dir / "scratch"
        self.database, self.tables = self.dir / "tables.duckdb", self.dir / "tables.json"
        self.values = {"q11": {"fraction": f"{0.0001 / options.scale:.10f}"}}  # so says the specification

    def prepare(self):
        self.scratch.mkdir(parents=True, exist_ok=True)
        columns = {table: questions.columns_of(table) for table in questions.TABLES}
        self.tables.write_text(json.dumps(columns))
        if not (self.dir / "complete").exists():
            tpch_data.make(self.data, self.options.scale)
            self.database.unlink(missing_ok=True)
            load = ["SET enable_progress_bar = false"]
            for table, types in columns.items():
                load.append(f"CREATE TABLE {table} AS FROM read_csv('{self.data}/{table}.csv', header = true, "
                            f"auto_detect = false, columns = {types})")
            subprocess.run([self.options.python, "-c", "import sys, duckdb; duckdb.connect(sys.argv[1]).execute(sys.argv[2])",
                            self.database, "; ".join(load)], check=True)
            (self.dir / "complete").touch()
        for file in self.data.iterdir():
            file.read_bytes()  # into the page cache

    def out(self, who, name):
        return self.dir / f"{name}.{who}.csv"

    def measured(self, words):
        done = measure.run(words)
        if done.exit_code != 0:
            raise SystemExit(f"tpch: {' '.join(map(str, words))} failed:\n{done.output}")
        return done

    def flowrun(self, name):
        options = self.options
        report = self.dir / "report.json"
        words = [options.flowrun, "run", questions.FOLDER / f"{name}.yaml", "-q", "-m", f"{options.memory}MiB", "-j",
                 options.threads, "-T", self.scratch, "--report", report, "-p", f"data={self.data}",
                 "-p", f"out={self.out('flowrun', name)}"]
        for parameter, value in self.values.get(name, {}).items():
            words += ["-p", f"{parameter}={value}"]
        done = self.measured(words)
        # The report's peak: what measure sees is at least what Python had when it started the process.
        peak = int(json.loads(report.read_text())["peak_memory_bytes"])
        return figures(done.wall_seconds, done.cpu_seconds, peak / MIB)

    def duckdb(self, who, source, name):
        query = self.dir / f"{name}.sql"
        query.write_text(questions.sql(name, self.values.get(name, {})))
        done = self.measured([self.options.python, PEER, query, self.out(who, name), self.options.memory, self.options.threads,
                              self.scratch, *source])
        seconds, cpu_seconds = map(float, done.output.split())
        return figures(seconds, cpu_seconds, done.peak_rss_bytes / MIB)

    def duckdb_csv(self, name):
        return self.duckdb("duckdb", ["csv", self.data, self.tables], name)

    def duckdb_tables(self, name):
        return self.duckdb("tables", ["database", self.database], name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--dir", type=lambda path: pathlib.Path(path).resolve(), default=pathlib.Path("build/bench-data"))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--memory", type=int, default=1024, help="MiB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("questions", nargs="*", default=questions.NAMES)
    options = parser.parse_args()
    options.dir = options.dir.resolve()
    told = contestants(options)
    told.prepare()

    print(f"Scale {options.scale:g}, {options.threads} threads, {options.memory} MiB, medians of {options.runs}, "
          f"{time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f} at the beginning\n")
    print("| | Flowrun, s | DuckDB, s | | CPU s | | peak MiB | | DuckDB's tables, s | rows | answers |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    ratios, failed = [], 0
    for name in options.questions:
        found = {told.flowrun: [], told.duckdb_csv: [], told.duckdb_tables: []}
        for _ in range(options.runs):
            for once, runs in found.items():
                runs.append(once(name))
        ours, theirs, tables = ({field.name: statistics.median(getattr(run, field.name) for run in runs)
                                 for field in dataclasses.fields(figures)} for runs in found.values())
        answer = questions.answer(told.out("duckdb", name).read_text())
        problem = questions.difference(questions.answer(told.out("flowrun", name).read_text()), answer)
        failed += problem is not None
        ratios.append(theirs["seconds"] / ours["seconds"])
        print(f"| {name} | {ours['seconds']:.2f} | {theirs['seconds']:.2f} | {ratios[-1]:.1f} × | {ours['cpu_seconds']:.2f} "
              f"| {theirs['cpu_seconds']:.2f} | {ours['peak_mib']:.0f} | {theirs['peak_mib']:.0f} | {tables['seconds']:.2f} "
              f"| {len(answer[1])} | {problem or 'equal'} |", flush=True)
    print(f"\nGeometric mean of DuckDB's time in ours: {statistics.geometric_mean(ratios):.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
