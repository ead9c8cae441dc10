#!/usr/bin/env python3
"""When longer runs pay: `runs: halves` (half the memory long) beside `runs: long` (replacement selection, twice the memory
on average), alternating, for shrinking memory and for input that is nearly sorted.

    run_lengths.py [--dir DIR] [--runs N] [--gib G]

Numbers are made on the fly, sorted over scratch in DIR, checked and reduced. Medians of N runs."""
import argparse
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import flowrun_job  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = {
    "random": "rand(1, i)",
    # Each row is at most two million rows (16 MiB) from its place.
    "nearly sorted": "1000 * i + rand(1, i) % 2000000000",
}
MEMORY = {"random": [8, 12, 16, 64, 256], "nearly sorted": [24, 64]}


def sort(options, memory, value, runs):
    return flowrun_job.run(options.build / "bin/flowrun", "spill_u64",
                           {"value": value, "rows": int(options.gib * (1 << 27)), "runs": runs}, memory,
                           [options.dir / "scratch"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build/bench-data")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    print("| input | memory | runs: halves, long | passes | scratch GiB written | s | s of CPU | long / halves |")
    print("|---|---|---|---|---|---|---|---|")
    for name, value in INPUTS.items():
        for memory in MEMORY[name]:
            reports = {"halves": [], "long": []}
            for _ in range(options.runs):
                for runs, found in reports.items():
                    found.append(sort(options, memory, value, runs))

            def both(of, form):
                return ", ".join(form.format(statistics.median(of(r) for r in found)) for found in reports.values())
            seconds = [statistics.median(r["wall_seconds"] for r in found) for found in reports.values()]
            print(f"| {name} | {memory} MiB | {both(lambda r: int(r['sorts'][0]['runs']), '{:.0f}')} | "
                  f"{both(lambda r: int(r['sorts'][0]['merge_passes']), '{:.0f}')} | "
                  f"{both(lambda r: flowrun_job.scratch_bytes(r)[0] / (1 << 30), '{:.2f}')} | "
                  f"{both(lambda r: r['wall_seconds'], '{:.1f}')} | {both(lambda r: r['cpu_seconds'], '{:.1f}')} | "
                  f"{seconds[1] / seconds[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
