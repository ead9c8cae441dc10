#!/usr/bin/env python3
"""When compressed runs pay: sorting over scratch with `compress: none` beside the codecs, alternating, on disks of several
speeds (throttled, see throttled_disks.py; root) and on the disk of --dir.

    compression.py [--dir DIR] [--runs N] [--gib G] [--memory MIB] [--rates 100,200,400,800] [--text FILE]

Numbers are random ones made on the fly; text is the first G GiB of FILE, read from RAM. Medians; `none / codec` above 1
means that the codec is faster."""
import argparse
import contextlib
import json
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import flowrun_job  # noqa: E402
from throttled_disks import throttled_disks  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODECS = {"u64": ["none", "delta", "lz4", "zstd"], "text": ["none", "lz4", "zstd"]}


@contextlib.contextmanager
def scratch(options, rate):
    """(directories, what a process does to be throttled)."""
    if rate == 0:
        options.dir.mkdir(parents=True, exist_ok=True)
        yield [options.dir], None
    else:
        with throttled_disks([rate * 1_000_000], [options.gib * 1.5 + 0.5]) as disks:
            yield disks.paths, disks.group.join


def cut_text(options):
    """The first G GiB of the text, as whole lines, in RAM."""
    path = pathlib.Path("/dev/shm/flowrun-text")
    with open(options.text, "rb") as source, open(path, "wb") as out:
        left = int(options.gib * (1 << 30))
        while left > 0 and (piece := source.read(min(left, 1 << 24))):
            out.write(piece)
            left -= len(piece)
        out.write(source.readline())
    return path


def sort(options, kind, codec, paths, join, text):
    given = {"compress": codec}
    given |= {"input": text} if kind == "text" else {"rows": int(options.gib * (1 << 27))}
    return flowrun_job.run(options.build / "bin/flowrun", f"spill_{kind}", given, options.memory, paths, preexec_fn=join)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build/bench-data/scratch")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--memory", type=int, default=256, help="MiB")
    parser.add_argument("--rates", type=lambda text: [int(word) for word in text.split(",")], default=[100, 200, 400, 800, 0],
                        help="MB/s of the disk; 0: the disk of --dir as it is")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "data/text/lines.txt")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    text = cut_text(options) if options.text.exists() else None
    kinds = [kind for kind in CODECS if kind != "text" or text]
    print("| rows | disk | codec | GB written | s | s of CPU | none / codec |\n|---|---|---|---|---|---|---|")
    try:
        for rate in options.rates:
            found = {(kind, codec): [] for kind in kinds for codec in CODECS[kind]}
            for _ in range(options.runs):
                with scratch(options, rate) as (paths, join):
                    for (kind, codec), reports in found.items():
                        reports.append(sort(options, kind, codec, paths, join, text))
            for (kind, codec), reports in found.items():
                def median(value, of=reports):
                    return statistics.median(value(report) for report in of)
                if len({json.dumps(flowrun_job.results(r)) for c in CODECS[kind] for r in found[kind, c]}) != 1:
                    raise SystemExit(f"compression: {kind}: results differ")
                seconds = median(lambda r: r["wall_seconds"])
                plain = statistics.median(r["wall_seconds"] for r in found[kind, "none"])
                print(f"| {kind} | {f'{rate} MB/s' if rate else 'as it is'} | {codec} | "
                      f"{median(lambda r: flowrun_job.scratch_bytes(r)[0]) / 1e9:.2f} | {seconds:.1f} | "
                      f"{median(lambda r: r['cpu_seconds']):.1f} | {plain / seconds:.2f} |", flush=True)
    finally:
        if text:
            text.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
