#!/usr/bin/env python3
"""The commands on the pages of docs/jobs and of specs/jobs/README.md, each page by itself: they make their input and run,
in the order in which they stand there. A page that names an input that nothing on it makes fails.

    pages_test.py --flowrun PROGRAM [PAGE...]

A page is run in an empty folder in which there are only links to specs and docs, with its numbers made small.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What each number of the pages becomes. Numbers of five digits and more have to stand here.
SMALL = {
    "16000000": "4000",  # edges
    "scale=20": "scale=10",
    "10000000": "9000",  # bytes of text, records
    "1000000": "1000",  # nodes, numbers
    "8000000": "8000",  # edges
    "999999": "999",  # the last of the nodes
    "2000000": "2000",  # values of a matrix, 1000 rows of 2000
    "-p rows=1000 -p columns=2000": "-p rows=20 -p columns=100",
    "16777216": "4096",  # nodes of a grid
    "width=4096": "width=64",
    "width=1000": "width=40",
    "1048576": "1024",  # values, 2^20
    "bits=20": "bits=10",
    "scale=22": "scale=8",
    "67108864": "4096",  # edges, 16 a node
}
STRICT = "set -euo pipefail\n"


def commands_of(page):
    """The text of all blocks of shell."""
    return "".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))


def made_small(commands):
    names = sorted(SMALL, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\d){re.escape(name)}(?!\d)" for name in names)
    return re.sub(pattern, lambda found: SMALL[found.group()], commands)


def problem_of(page, flowrun):
    commands = made_small(commands_of(page))
    if not commands:
        return None if page.stem == "checkers" else "there is nothing to run"
    large = re.findall(r"\b\d{5,}\b", commands)
    if large:
        return f"{large} would take long: say in SMALL what is to stand in their place"
    with tempfile.TemporaryDirectory(prefix="flowrun-pages-") as temporary:
        folder = pathlib.Path(temporary)
        programs = folder / "bin"
        programs.mkdir()
        (programs / "flowrun").symlink_to(flowrun)
        work = folder / "work"
        work.mkdir()
        for name in ("specs", "docs"):
            (work / name).symlink_to(ROOT / name)
        environment = {**os.environ, "HOME": str(folder), "PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", STRICT + commands], cwd=work, env=environment, capture_output=True, text=True, timeout=120
        )
        if done.returncode != 0:
            return f"exit code {done.returncode} of\n{commands}\n{done.stderr[-2000:]}"
        results = re.findall(r"-p out=(\S+)", commands)
        empty = [name for name in results if not (work / name).is_file() or (work / name).stat().st_size == 0]
        return f"{empty}: nothing was written" if empty or not results else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    pages = options.pages or [*sorted((ROOT / "docs/jobs").glob("*.md")), ROOT / "specs/jobs/README.md"]
    failures = 0
    for page in pages:
        problem = problem_of(page, options.flowrun)
        print(f"{page.name}: {problem or 'ok'}")
        failures += problem is not None
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
