#!/usr/bin/env python3
"""Runs fuzzers (tests/fuzz/CMakeLists.txt) on their corpora.

    fuzz.py --programs FOLDER [--seconds N | --replay] [--keep FOLDER] TARGET…

--seconds: libFuzzer goes on from the corpus for so long. --replay: the inputs that are there, and no others. What breaks
a property, crashes, takes more than 10 seconds or too much memory is a finding: it is put into --keep (else into
build/findings), and the exit code is 1. --keep also gets the inputs that led somewhere new, in FOLDER/TARGET, and the
next run with it goes on from there.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CORPUS = HERE / "corpus"

# What serves as a corpus besides corpus/TARGET.
SEEDS = {
    "csv": ["tests/golden/jobs/*/*.csv"],
    "inferred_csv": ["tests/golden/jobs/*/*.csv"],
    "json_lines": ["tests/golden/jobs/*/*.jsonl"],
    "job_yaml": [
        "specs/examples/*.yaml", "specs/jobs/*.yaml", "tests/golden/jobs/*/job.yaml", "tests/wrong_specs/specs/*.yaml"
    ],
}
LONGEST = {"job_yaml": 6144, "csv": 2048, "inferred_csv": 2048, "json_lines": 2048, "expressions": 512, "blocks": 8192, "numbers": 256, "plan_bytes": 4096}
LONGEST_OTHERWISE = 1024
# Beside the sanitizer's own memory, which is several times that of the program.
MOST_MIB = 2048
INTERRUPTED = 72  # libFuzzer's exit code after Ctrl-C


@dataclasses.dataclass
class finding:
    what: str  # the lines that say what happened
    path: pathlib.Path  # the input, or None


@dataclasses.dataclass
class outcome:
    target: str
    runs: int
    findings: list
    minutes: int = 0  # of CPU time: on a busy machine less than passes


@dataclasses.dataclass
class ended:
    returncode: int
    said: str
    cpu_seconds: float


def targets():
    return sorted(path.stem for path in HERE.glob("*.cc") if path.stem not in ("entry", "replay"))


def seeds_of(target, folder):
    """Copies what the repository has for a target into a folder of its own."""
    seeds = folder / "seeds"
    seeds.mkdir()
    found = sorted((CORPUS / target).glob("*"))
    for pattern in SEEDS.get(target, ()):
        found += sorted(ROOT.glob(pattern))
    for i, path in enumerate(found):
        shutil.copy(path, seeds / f"{i:04}-{path.name}")
    return seeds


def command_of(program, target, seconds, seed, folder, keep):
    corpora = [seeds_of(target, folder), *([keep / target] if (keep / target).is_dir() else [])]
    new = folder / "new"
    new.mkdir()
    command = [program, f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=10", f"-rss_limit_mb={MOST_MIB}",
               f"-max_len={LONGEST.get(target, LONGEST_OTHERWISE)}", f"-artifact_prefix={folder}/found-",
               "-print_final_stats=1", "-reload=0", "-entropic=0"]  # weighing rare features takes most of the time
    if (HERE / f"{target}.dict").exists():
        command.append(f"-dict={HERE / target}.dict")
    return [str(word) for word in command + [new, *corpora]]


def what_happened(text):
    """The lines that matter of what a program wrote before it ended."""
    telling = re.compile(r"property broken|ERROR: |runtime error|SUMMARY|what\(\)|^ *#[0-9] |^/.*: ")
    lines = [line for line in text.splitlines() if telling.search(line)]
    return "\n".join(lines[:25]) or text[-1500:]


def fuzz(programs, target, seconds, seed, keep):
    """seconds None: replays."""
    program = pathlib.Path(programs).resolve() / f"fuzz_{target}"
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="flowrun-fuzz-", dir=memory) as name:
        folder = pathlib.Path(name)
        command = [str(program), str(seeds_of(target, folder))] if seconds is None else \
            command_of(program, target, seconds, seed, folder, keep)
        (folder / "tmp").mkdir()

        def run(command):
            """Its exit code, what it said, and its CPU time in seconds."""
            said = folder / "said"
            with open(said, "wb") as to:
                process = subprocess.Popen([str(word) for word in command], env={**os.environ, "TMPDIR": str(folder / "tmp")},
                                           stdout=to, stderr=to, cwd=folder)
                _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return ended(process.returncode, said.read_text(errors="replace"), used.ru_utime + used.ru_stime)

        done = run(command)
        minutes = round(done.cpu_seconds / 60)
        runs = re.search(r"stat::number_of_executed_units: *(\d+)|^(\d+) inputs", done.said, re.M)
        found = []
        if done.returncode == INTERRUPTED:
            return outcome(target, 0, [])
        inputs = sorted(folder.glob("found-*"))
        if done.returncode != 0 and inputs and all(path.name.startswith("found-timeout-") for path in inputs):
            # The clock goes on where the machine stands still: only what takes so long again is a finding.
            again = [run([program, "-timeout=10", path]) for path in inputs]
            done.returncode = next((one.returncode for one in again if one.returncode != 0), 0)
        if done.returncode != 0:
            keep.mkdir(parents=True, exist_ok=True)
            for path in inputs:
                shutil.copy(path, keep / f"{target}-{path.name.removeprefix('found-')}")
            kept = [keep / f"{target}-{path.name.removeprefix('found-')}" for path in inputs] or [None]
            found = [finding(what_happened(done.said), path) for path in kept]
        elif seconds is not None and keep != default_keep():
            shutil.copytree(folder / "new", keep / target, dirs_exist_ok=True)
        return outcome(target, int(runs[1] or runs[2]) if runs else 0, found, minutes)


def default_keep():
    return ROOT / "build" / "findings"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--seconds", type=int)
    how.add_argument("--replay", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--keep", type=pathlib.Path, default=default_keep())
    parser.add_argument("targets", nargs="+", choices=targets(), metavar="TARGET")
    options = parser.parse_args()
    code = 0
    for target in options.targets:
        one = fuzz(options.programs, target, None if options.replay else options.seconds, options.seed, options.keep)
        print(f"{target}: {one.runs:,} inputs, {len(one.findings)} findings", flush=True)
        for f in one.findings:
            print(f"{f.what}\nthe input: {f.path}")
            code = 1
        if one.runs == 0 and not one.findings:
            print("nothing was tried")
            code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
