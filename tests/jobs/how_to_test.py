#!/usr/bin/env python3
"""The pages for those who write jobs, each in an empty folder: its blocks of shell run one after another, and print what
the blocks of text behind them show.

    how_to_test.py --flowrun PROGRAM [PAGE...]

A block that begins with ```sh runs to its end. One that begins with ```sh exits 78 ends with that exit code, and what it
says on standard error is shown, too. In a block of text, … stands for what differs from run to run: a part of a line, or,
as a line of its own, any number of lines.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN_PYTHON = pathlib.Path("/usr/bin/python3")
PAGES = ["README.md", "docs/language.md", "docs/tutorial.md"]
FOLDERS = ["docs/how-to", "docs/coming-from"]
BLOCK = re.compile(r"^```(sh|text)(?: exits (\d+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shows(text, printed):
    pattern = re.escape(text).replace(re.escape("…\n"), "…\n")
    pattern = re.sub(r"^…\n", r"(?:.*\n)*?", pattern, flags=re.MULTILINE)
    return re.fullmatch(pattern.replace("…", ".*"), printed) is not None


def problem_of(page, flowrun):
    blocks = BLOCK.findall(page.read_text())
    with tempfile.TemporaryDirectory(prefix="flowrun-how-to-") as temporary:
        folder = pathlib.Path(temporary)
        (folder / "bin").mkdir()
        (folder / "bin/flowrun").symlink_to(flowrun)
        if DEBIAN_PYTHON.exists():  # NumPy is Debian's, so the interpreter has to be, too
            (folder / "bin/python3").symlink_to(DEBIAN_PYTHON)
        work = folder / "work"
        work.mkdir()
        environment = {**os.environ, "HOME": temporary, "PATH": f"{folder}/bin:{os.environ['PATH']}", "LC_ALL": "C"}
        printed = ""
        for kind, code, text in blocks:
            if kind == "text":
                if not shows(text, printed):
                    return f"shown:\n{text}printed:\n{printed}"
                printed = ""
                continue
            if printed:
                return f"what a block prints is not shown:\n{printed}"
            done = subprocess.run(
                ["bash", "-c", "set -euo pipefail\n" + text], cwd=work, env=environment, capture_output=True, text=True, timeout=60
            )  # fmt: skip
            if done.returncode != int(code or 0):
                return f"exit code {done.returncode} of\n{text}\n{done.stderr[-2000:]}"
            printed = done.stdout + (done.stderr if code else "")
        return f"what a block prints is not shown:\n{printed}" if printed else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    pages = options.pages or [ROOT / page for page in PAGES] + [
        page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))
    ]
    failures = 0
    for page in pages:
        problem = problem_of(page, options.flowrun)
        print(f"{page.name}: {problem or 'ok'}")
        failures += problem is not None
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
