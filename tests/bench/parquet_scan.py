"""A Parquet file scanned, filtered and summed by the example plugin, beside DuckDB and Polars: the same file in the page
cache, in turn. Of the peers the time counts from when Python has started; of flowrun that of the whole process."""
import pathlib
import statistics
import subprocess
import sys

import side_by_side

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYARROW = ROOT / "build/pyarrow/bin/python"
PEERS = pathlib.Path(__file__).resolve().parent / "peers"
ROWS = 32_000_000
JOB = """flowrun: 1
plugins: [arrow]
nodes:
  items: {{op: arrow.read_parquet, with: {{path: "{path}", columns: [quantity, extendedprice, discount]}}}}
  few:   {{op: filter, in: items, with: {{where: "quantity < 25"}}}}
  total: {{op: reduce, in: few, with: {{let: {{revenue: "sum(extendedprice * (1 - discount))"}}}}}}
"""


class runner:
    def __init__(self, options):
        self.options = options
        self.dir = options.dir / "parquet"
        self.dir.mkdir(parents=True, exist_ok=True)
        self.rows = int(options.gib * ROWS) if options.gib else ROWS
        self.file = self.dir / f"items-{self.rows}.parquet"

    def prepare(self):
        """The plugin, as one is built outside, and the file."""
        prefix, build = self.dir / "prefix", self.dir / "build"
        steps = [["cmake", "--install", self.options.build, "--prefix", prefix],
                 ["cmake", "-G", "Ninja", "-S", ROOT / "plugin/examples/arrow", "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                  f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPYARROW_PYTHON={PYARROW}"],
                 ["cmake", "--build", build]]
        for step in steps:
            subprocess.run([str(word) for word in step], check=True, stdout=subprocess.DEVNULL)
        self.plugin = build / "arrow.so"
        if not self.file.exists():
            part = self.file.with_suffix(".part")
            subprocess.run([self.options.python, PEERS / "parquet_items.py", part, str(self.rows)], check=True)
            part.rename(self.file)
        self.file.read_bytes()  # into the page cache

    def flowrun(self, threads):
        return side_by_side.flowrun(self.options.flowrun, JOB.format(path=self.file), "total.revenue", self.dir, threads,
                                    self.options.memory, ["--plugin", self.plugin])

    def peer(self, name, threads):
        return side_by_side.peer([self.options.python, PEERS / "parquet_sum.py", name, self.file, threads])


def run(options):
    if not PYARROW.exists():
        print("bench: parquet is left out: tools/setup --parquet installs what it needs", file=sys.stderr)
        return
    told = runner(options)
    told.prepare()
    threads = options.threads
    contestants = {"Flowrun": told.flowrun, "DuckDB": lambda n: told.peer("duckdb", n), "Polars": lambda n: told.peer("polars", n)}
    once = {name: lambda run=run: run(threads) for name, run in contestants.items()}
    times = side_by_side.measured("parquet", once, max(options.runs, 7))
    medians = {name: statistics.median(all_) for name, all_ in times.items()}
    fastest = min((m for name, m in medians.items() if name != "Flowrun"), default=None)
    print(f"sum(extendedprice * (1 - discount)) where quantity < 25, of a Parquet file of {told.rows / 1e6:.0f} million rows, "
          f"{told.file.stat().st_size / 1e6:.0f} MB, on {threads} threads\n")
    print("| | seconds | fastest run | beside the faster peer | wanted |\n|---|---|---|---|---|")
    for name in contestants:
        if name not in medians:
            print(f"| {name} | not installed | | | |")
            continue
        ratio = f"{medians[name] / fastest:.2f}" if fastest else ""
        print(f"| {name} | {medians[name]:.3f} | {min(times[name]):.3f} | {ratio} | {'≤ 1.50' if name == 'Flowrun' else ''} |")
    if not options.keep:
        told.file.unlink()
