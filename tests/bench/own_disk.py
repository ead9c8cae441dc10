#!/usr/bin/env python3
"""How close sorting comes to the disk of this machine: the bound that `flowrun bench-disk` measures, the sort beside it,
and fio beside bench-disk, alternating in one run.

    own_disk.py [--dir DIR] [--runs N] [--gib G] [--memory MIB] [--json FILE]

  bench-disk / fio   sequential reads, writes, and both at once, 1 MiB blocks, 8 in flight, direct, both from huge
                     pages (fio: with root)
  scratch only       u64 and 100-byte records made on the fly, sorted, reduced: bound = written / write bandwidth +
                     read / read bandwidth, as nothing else is written while runs are read
  file to file       a file of u64 sorted into another one: bound = all bytes / mixed bandwidth

`waited` is the time that computation stood still for scratch transfers, writing and reading. Medians of N runs."""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MB = 1_000_000
PATTERNS = ("read", "write", "mixed")


def output_of(command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"own_disk: {' '.join(map(str, command))} failed:\n{done.stderr}{done.stdout}")
    return done.stdout


def bench_disk(options):
    told = json.loads(output_of([options.flowrun, "bench-disk", options.dir, "--format", "json", "--block-sizes", "1MiB",
                                 "--depths", "8", "--time", "1"]))
    return {pattern: told["together"][pattern]["bytes_per_second"] for pattern in PATTERNS}


def fio(options, pattern):
    rw = {"read": "read", "write": "write", "mixed": "rw"}[pattern]
    with huge_pages() as huge:
        told = json.loads(output_of([
            "fio", "--name=flowrun-bench", f"--directory={options.dir}", f"--rw={rw}", "--bs=1M", "--iodepth=8",
            "--size=1G", f"--iomem={'shmhuge' if huge else 'malloc'}",
            "--ioengine=io_uring", "--direct=1", "--time_based", "--runtime=3", "--ramp_time=0.5", "--unlink=1",
            "--overwrite=1",  # a file that is filled, as bench-disk's is
            "--output-format=json"]))
    return sum(told["jobs"][0][way]["bw_bytes"] for way in ("read", "write"))


class huge_pages:
    """For fio's buffers: ours have huge pages, which some disks need to be fast. Root only; without, fio has small ones."""
    PATH = pathlib.Path("/proc/sys/vm/nr_hugepages")

    def __enter__(self):
        self.before = None
        try:
            self.before = self.PATH.read_text()
            self.PATH.write_text("64")
            return int(self.PATH.read_text()) >= 8
        except OSError:
            return False

    def __exit__(self, *_):
        if self.before is not None:
            try:
                self.PATH.write_text(self.before)
            except OSError:
                pass


def sort(options, job, parameters):
    with tempfile.TemporaryDirectory() as place:
        report = pathlib.Path(place) / "report.json"
        command = [options.flowrun, "run", ROOT / f"tests/bench/jobs/{job}.yaml", "-m", f"{options.memory}MiB", "-T",
                   options.dir / "scratch", "--progress", "none", "--report", report]
        for name, value in parameters.items():
            command += ["-p", f"{name}={value}"]
        measure.drop_caches()
        output_of(command)
        return json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build/bench-data")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--memory", type=int, default=512, help="MiB")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.flowrun = options.build / "bin/flowrun"
    options.dir.mkdir(parents=True, exist_ok=True)
    has_fio = shutil.which("fio") is not None
    if not has_fio:
        print("own_disk: fio is not installed, so nothing stands beside bench-disk", file=sys.stderr)
    num_bytes = int(options.gib * (1 << 30))
    source, sorted_file = options.dir / "random.u64", options.dir / "sorted.u64"
    if not source.exists() or source.stat().st_size != num_bytes // 8 * 8:
        output_of([options.flowrun, "gen", "u64", "--rows", num_bytes // 8, "-o", source])
    jobs = {
        "u64, scratch only": ("spill_u64", {"rows": num_bytes // 8}),
        "records, scratch only": ("spill_records", {"rows": num_bytes // 100}),
        "u64, file to file": ("sort_u64", {"input": source, "out": sorted_file}),
    }
    ours = {pattern: [] for pattern in PATTERNS}
    theirs = {pattern: [] for pattern in PATTERNS}
    sorts = {name: [] for name in jobs}
    for number in range(options.runs):
        now = bench_disk(options)
        for pattern in PATTERNS:
            ours[pattern].append(now[pattern])
            if has_fio:
                theirs[pattern].append(fio(options, pattern))
        for name, (job, parameters) in jobs.items():
            report = sort(options, job, parameters)
            written = sum(int(disk["written_bytes"]) for disk in report["disks"])
            read = sum(int(disk["read_bytes"]) for disk in report["disks"])
            if name.endswith("file to file"):
                bound = (written + read + 2 * num_bytes) / now["mixed"]
                sorted_file.unlink()
            else:
                bound = written / now["write"] + read / now["read"]
            sorts[name].append({"seconds": report["wall_seconds"], "bound": bound, "cpu": report["cpu_seconds"],
                                "write_wait": sum(disk["write_wait_seconds"] for disk in report["disks"]),
                                "read_wait": sum(disk["read_wait_seconds"] for disk in report["disks"])})
            print(f"run {number + 1}: {name}: {report['wall_seconds']:.1f} s, bound {bound:.1f} s", file=sys.stderr)

    print("| pattern | bench-disk MB/s | fio MB/s | ratio |\n|---|---|---|---|")
    for pattern in PATTERNS:
        mine = statistics.median(ours[pattern])
        line = f"| {pattern} | {mine / MB:.0f} "
        if has_fio:
            other = statistics.median(theirs[pattern])
            line += f"| {other / MB:.0f} | {mine / other:.3f} |"
        else:
            line += "| | |"
        print(line)
    print("\n| sort | s | bound s | bound / time | s of CPU | waited s: writing, reading |\n|---|---|---|---|---|---|")
    for name, runs in sorts.items():
        def middle(key, of=runs):
            return statistics.median(run[key] for run in of)
        ratio = statistics.median(run["bound"] / run["seconds"] for run in runs)
        print(f"| {name} | {middle('seconds'):.1f} | {middle('bound'):.1f} | {ratio:.2f} | {middle('cpu'):.1f} | "
              f"{middle('write_wait'):.1f}, {middle('read_wait'):.1f} |")
    if options.json:
        options.json.write_text(json.dumps({"bench_disk": ours, "fio": theirs, "sorts": sorts}, indent=1))


if __name__ == "__main__":
    main()
