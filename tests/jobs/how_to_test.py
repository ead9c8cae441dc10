#!/usr/bin/env python3
"""The pages of docs/how-to and docs/language.md: each page's blocks of shell run one after another in an empty folder, and
print what the blocks of text behind them show.

    how_to_test.py --flowrun PROGRAM [PAGE...]
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
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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
        for kind, text in blocks:
            if kind == "text":
                if printed != text:
                    return f"shown:\n{text}printed:\n{printed}"
                printed = ""
                continue
            if printed:
                return f"what a block prints is not shown:\n{printed}"
            done = subprocess.run(
                ["bash", "-c", "set -euo pipefail\n" + text], cwd=work, env=environment, capture_output=True, text=True, timeout=60
            )  # fmt: skip
            if done.returncode != 0:
                return f"exit code {done.returncode} of\n{text}\n{done.stderr[-2000:]}"
            printed = done.stdout
        return f"what a block prints is not shown:\n{printed}" if printed else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    pages = options.pages or [*sorted((ROOT / "docs/how-to").glob("*.md")), ROOT / "docs/language.md"]
    failures = 0
    for page in pages:
        problem = problem_of(page, options.flowrun)
        print(f"{page.name}: {problem or 'ok'}")
        failures += problem is not None
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
