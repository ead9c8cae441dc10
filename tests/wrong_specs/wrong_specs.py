#!/usr/bin/env python3
"""Wrong jobs and what flowrun says about them: specs/NAME.yaml and, beside it, NAME.expected, the whole of standard
error of `flowrun check`, which must end with exit code 78. A first line `# check: -p n=x` gives further arguments.

    wrong_specs.py --flowrun PROGRAM             compares all of them
    wrong_specs.py --flowrun PROGRAM --accept    writes the .expected files; read every one of them before you commit it

The messages are for people: the line, a caret under the place, what was expected, what to do.
"""

import argparse
import difflib
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MARK = "# check:"


def said(flowrun, spec):
    """(exit code, standard output, standard error) of a check."""
    first = spec.read_text(errors="replace").split("\n", 1)[0]
    more = shlex.split(first[len(MARK) :]) if first.startswith(MARK) else []
    done = subprocess.run(
        [flowrun, "check", "--no-files", f"specs/{spec.name}", "-m", "256MiB", "-j", "2", *more],
        cwd=HERE,
        capture_output=True,
        timeout=60,
        env={"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"},
    )
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--accept", action="store_true")
    options = parser.parse_args()
    flowrun = str(pathlib.Path(options.flowrun).resolve())
    specs = sorted((HERE / "specs").glob("*.yaml"))
    failures = []
    for spec in specs:
        code, out, err = said(flowrun, spec)
        if code != 78 or out:
            failures.append(f"{spec.name}: exit code {code} instead of 78\n{out}{err}")
            continue
        expected = spec.with_suffix(".expected")
        if options.accept:
            expected.write_text(err)
            continue
        wanted = expected.read_text() if expected.exists() else ""
        if err != wanted:
            failures.append(
                f"{spec.name}:\n"
                + "".join(difflib.unified_diff(wanted.splitlines(True), err.splitlines(True), "expected", "said"))
            )
    for expected in (HERE / "specs").glob("*.expected"):
        if not expected.with_suffix(".yaml").exists():
            failures.append(f"{expected.name} has no job")
    if len(specs) < 40:
        failures.append(f"only {len(specs)} wrong jobs: some got lost")
    print("\n".join(failures + [f"{len(specs)} wrong jobs: {len(failures)} failed"]))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
