"""R12: all tests with the thread sanitizer, which they take hours for on two cores. Builds them first, in a build of their
own. Everything on one thread, where oneTBB has no part, runs once more and nothing is suppressed. In short: golden jobs."""

import os
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree

from result import result, row

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "tsan"
MOST_SHOWN = 10  # problems


def build():
    subprocess.run(["cmake", "--preset", "tsan"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--parallel", str(os.cpu_count())], check=True, stdout=subprocess.DEVNULL)


def tests(selection, sanitizer):
    """(number of tests, names of those that failed, reports of races)."""
    with tempfile.TemporaryDirectory() as folder:
        reports = pathlib.Path(folder) / "race"
        found = pathlib.Path(folder) / "found.xml"
        # Without a code of its own, a program with a race ends as one whose input is missing.
        options = [*sanitizer, f"log_path={reports}", "exitcode=86"]
        subprocess.run(
            ["ctest", "--test-dir", BUILD, "--parallel", str(os.cpu_count()), "--quiet", "--output-junit", found, *selection],
            env={**os.environ, "TSAN_OPTIONS": " ".join(options)},
        )
        suite = xml.etree.ElementTree.parse(found).getroot()
        failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
        count = int(suite.get("tests")) - int(suite.get("skipped")) - int(suite.get("disabled"))
        return count, failed, [path.read_text() for path in sorted(reports.parent.glob("race.*"))]


def run(options):
    build()
    rows, problems = [], []
    for what, selection, sanitizer in (
        (
            "tests with the thread sanitizer",
            ["--tests-regex", "^golden"] if options.short else ["--exclude-regex", "^cluster.(spark|dask)$"],
            [f"suppressions={ROOT / 'tests' / 'tsan.supp'}"],
        ),
        ("golden jobs on one thread with it, nothing suppressed", ["--tests-regex", r"^golden\.plain$"], []),
    ):
        count, failed, races = tests(selection, sanitizer)
        rows.append(row("R12", what, f"{count}: {len(races)} races, {len(failed)} failed"))
        if count == 0:
            problems.append(f"{what}: nothing was run")
        problems += [f"{name} failed" for name in failed] + races
    for problem in problems[:MOST_SHOWN]:
        print(problem, flush=True)
    return result(rows, problems)
