#!/usr/bin/env python3
"""A CSV file of items, whose rows come in no order, written to a file for each of their countries: beside writing it to
one file, and beside DuckDB's COPY … (PARTITION_BY). The same file in the page cache, in turn; nobody syncs what was
written. Of the peer the time counts from when Python has started; of flowrun that of the whole process.

    partitioned_files.py --flowrun PROGRAM [--python PYTHON] [--dir DIR] [--mib N] [--countries N] [--threads N] [--runs N]

What was written is compared: as many files, and as many bytes in all of them."""
import argparse
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PEER = pathlib.Path(__file__).resolve().parent / "peers" / "partition_by.py"
MIB = 1 << 20
JOB = """flowrun: 1
nodes:
  items: {{op: file.read_csv, with: {{path: "{path}", type: {{id: u64, country: string, name: string, amount: u32}}}}}}
  out:   {{op: file.write_csv, in: items, with: {{path: "{out}"{more}}}}}
"""


def make(path, num_bytes, countries):
    rng = random.Random(1)
    block = "".join(f"{rng.randrange(10**12)},c{rng.randrange(countries)},name {rng.randrange(10**9)},{rng.randrange(10**6)}\n"
                    for _ in range(200_000))
    with path.open("w") as file:
        for _ in range(max(1, num_bytes // len(block))):
            file.write(block)


def flowrun(options, file, dir, how):
    job, out = dir / "job.yaml", dir / "out"
    many = how == "many"
    job.write_text(JOB.format(path=file, out=out / ("country={country}/data.csv" if many else "all.csv"),
                              more=", path_columns: leave_out" if many else ""))
    began = time.perf_counter()
    subprocess.run([options.flowrun, "run", job, "-q", "--no-sync", "-j", str(options.threads), "-m", f"{options.memory}MiB"],
                   check=True)
    return time.perf_counter() - began


def duckdb(options, file, dir, how):
    (dir / "out").mkdir()
    done = subprocess.run([options.python, str(PEER), str(file), str(options.threads), str(options.memory), str(dir / "out"), how],
                          check=True, capture_output=True, text=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--python", default=sys.executable, help="a Python with duckdb")
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--countries", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", type=int, default=512, metavar="MIB")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    times, written = {}, {}
    with tempfile.TemporaryDirectory(dir=options.dir) as place:
        dir = pathlib.Path(place)
        file = dir / "items.csv"
        make(file, options.mib * MIB, options.countries)
        file.read_bytes()  # into the page cache
        for _ in range(options.runs):
            for how in ("one", "many"):
                for once in (flowrun, duckdb):
                    times.setdefault((once.__name__, how), []).append(once(options, file, dir, how))
                    sizes = [path.stat().st_size for path in (dir / "out").rglob("*.csv")]
                    written.setdefault(how, set()).add(sum(sizes))
                    folders = len([path for path in (dir / "out").iterdir() if path.is_dir()])
                    if how == "many" and folders != options.countries:
                        raise SystemExit(f"{once.__name__} wrote {folders} directories")
                    shutil.rmtree(dir / "out")
        if any(len(sizes) != 1 for sizes in written.values()):
            raise SystemExit(f"what was written differs: {written}")
        print(f"{file.stat().st_size / 1e6:.0f} MB of CSV on {options.threads} threads, {options.memory} MiB\n")
    print("| written to | | seconds | fastest run | beside DuckDB |\n|---|---|---|---|---|")
    for (name, how), all_ in times.items():
        ratio = statistics.median(all_) / statistics.median(times["duckdb", how])
        files = "one file" if how == "one" else f"{options.countries} files"
        print(f"| {files} | {name} | {statistics.median(all_):.2f} | {min(all_):.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
