#!/usr/bin/env python3
"""Golden jobs: jobs/NAME/ has job.yaml, its input files, and expected/ with the files it must write, byte for byte.

    golden.py --flowrun PROGRAM [--variant NAME] [--job NAME]   runs every job in one variant (default: all variants)
    golden.py --recompute                                       computes inputs and expected files anew, in Python

To add a job: make the folder. job.yaml has the parameters `dir` (its folder) and `out` (where to write). Expected
files are written by hand, or by expect.py in the folder: it is given a directory, writes the inputs there and the
outputs into expected/, in plain Python that shares nothing with flowrun; a test checks that what is in the folder is
what it writes.
"""

import argparse
import filecmp
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import parts  # noqa: E402
from run_job import SPILL, TINY, run_job  # noqa: E402

JOBS = HERE / "jobs"
VARIANTS = {
    "default": [],
    "tiny": TINY,
    "spill": SPILL,
    "tiny-spill": [*TINY, *SPILL],
    "one-thread": ["-j", "1", *TINY],
    "three-threads": ["-j", "3", *TINY],
    "plain": ["--plain-executor", *TINY, "--force-spill"],
    "io_uring": ["--backend", "io_uring", "--force-spill"],
    "threads": ["--backend", "threads", "--force-spill"],
    "memory": ["--backend", "memory", "--force-spill"],
    "buffered": ["--no-direct", "--force-spill", "--block-size", "8192"],
    "cluster": ["--cluster", "local:3", *TINY],
    "loops-as-stages": ["--cluster", "local:3", "--divide-from", "1", *TINY],
    "stages-of-loops": ["--cluster", "local:3", "--divide-from", "1", *TINY],
    "compressed": [*SPILL, "--block-size", "16384"],  # and see compressing()
}
KEPT = {"job.yaml", "expect.py", "README.md", "README", "__pycache__"}


def files_below(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )


def differences(expected, got):
    out = []
    for name in sorted(set(files_below(expected)) | set(files_below(got))):
        if not (expected / name).exists():
            out.append(f"{name} should not be there")
        elif not (got / name).exists():
            out.append(f"{name} is missing")
        elif not filecmp.cmp(expected / name, got / name, shallow=False):
            a, b = (expected / name).read_bytes(), (got / name).read_bytes()
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            out.append(
                f"{name} differs at byte {at} ({len(a)} bytes expected, {len(b)} written):\n"
                f"    expected …{a[max(0, at - 40):at + 40]!r}…\n    got      …{b[max(0, at - 40):at + 40]!r}…"
            )
    return out


def differences_of_parts(job, expected, got):
    """The same where each output is a folder of parts: laid one behind the other they are the file."""
    headed = parts.headed_outputs((job / "job.yaml").read_text())
    out = []
    for name in files_below(expected):
        folder = got / name
        if folder.is_file():  # of an output that is no folder
            out += [] if filecmp.cmp(expected / name, folder, shallow=False) else [f"{name} differs"]
        elif not folder.is_dir():
            out.append(f"{name} is missing")
        else:
            text_of = gzip.decompress if name.endswith(".gz") else bytes
            got_text = parts.joined(folder, '"' if folder.name in headed else None, text_of)
            if got_text != text_of((expected / name).read_bytes()):
                out.append(f"{name} differs")
    return out


def compressing(job, variant):
    """Options that compress the runs of every sort that doesn't say how itself: by lz4 and zstd in turn."""
    if variant != "compressed":
        return []
    text = (job / "job.yaml").read_text()
    sorts = re.findall(r"^  (\w+):(?: \{|\n    )op: sort\b(.*(?:\n    .*)*)", text, re.MULTILINE)
    sorts = [name for name, rest in sorts if "compress:" not in rest]
    return [f"--set=nodes.{name}.with.compress={('lz4', 'zstd')[i % 2]}" for i, name in enumerate(sorts)]


def compute(folder, into):
    (into / "expected").mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-B", str(folder / "expect.py"), str(into)],
        check=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )


def run(flowrun, folder, variant):
    with tempfile.TemporaryDirectory(prefix="flowrun-golden-") as temporary:
        work = pathlib.Path(temporary)
        out = work / "out"
        out.mkdir()
        options = [*VARIANTS[variant], *compressing(folder, variant)]
        code, said = run_job(flowrun, folder / "job.yaml", {"dir": folder, "out": out}, work / "scratch", options)
        if code != 0:
            return [f"exit code {code}: {said}"]
        if "--cluster" in options:
            found = differences_of_parts(folder, folder / "expected", out)
        else:
            found = differences(folder / "expected", out)
        left = files_below(work / "scratch") if (work / "scratch").exists() else []
        return found + [f"left behind in the scratch directory: {name}" for name in left]


def recomputed(folder):
    """What of a folder isn't what its expect.py computes."""
    with tempfile.TemporaryDirectory(prefix="flowrun-golden-") as temporary:
        into = pathlib.Path(temporary)
        compute(folder, into)
        return [
            f"not what expect.py computes: {name}"
            for name in files_below(into)
            if not (folder / name).exists() or not filecmp.cmp(into / name, folder / name, shallow=False)
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun")
    parser.add_argument("--variant", choices=VARIANTS)
    parser.add_argument("--job")
    parser.add_argument("--recompute", action="store_true")
    options = parser.parse_args()
    folders = sorted(path.parent for path in JOBS.glob("*/job.yaml"))
    if options.job:
        folders = [folder for folder in folders if folder.name == options.job]
    if not folders:
        sys.exit("there are no such golden jobs")
    if options.recompute:
        for folder in folders:
            if (folder / "expect.py").exists():
                shutil.rmtree(folder / "expected", ignore_errors=True)
                compute(folder, folder)
        return
    if not options.flowrun:
        parser.error("--flowrun is missing")
    variants = [options.variant] if options.variant else list(VARIANTS)
    version = subprocess.run([options.flowrun, "version"], capture_output=True, text=True, check=True).stdout
    if "io_uring" in variants and "io_uring: yes" not in version:
        print(f"io_uring can't be used here, so that variant is left out: {version.splitlines()[1]}")
        variants.remove("io_uring")
    failures = 0
    for folder in folders:
        problems = (
            [("expect.py", problem) for problem in recomputed(folder)]
            if (folder / "expect.py").exists() and "default" in variants
            else []
        )
        for variant in variants:
            problems += [(variant, problem) for problem in run(options.flowrun, folder, variant)]
        for variant, problem in problems:
            print(f"{folder.name}, {variant}: {problem}")
        failures += bool(problems)
    print(f"{len(folders)} jobs in {len(variants)} variants ({', '.join(variants)}): {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
