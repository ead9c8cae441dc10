"""R12: all tests with the thread sanitizer, which takes hours on two cores. Builds them first, in a build of their own. What
runs on one thread, where oneTBB has no part, runs once more and nothing is suppressed. In short: golden jobs alone."""

import pathlib
import re
import tempfile

from own_build import ROOT, build
from result import result, row
from sanitized_tests import NO_CLUSTERS, run_tests

MOST_SHOWN = 10  # problems
# What tests do on purpose: a plugin that races, and one that ends the process before the thread that would stop it is joined.
RACES = "../../tests/plugin/faulty_operators.cc:"
LEAVES_A_THREAD = re.compile(r"thread leak .*\.\./\.\./runner/plugin_trial\.cc:", re.S)


def own_races(text):
    """The reports in the sanitizer's text, but for what tests do on purpose, and for those of accesses that are all the
    system's oneTBB's own: the memory that it allocates and frees, or compares, by functions that the sanitizer stands in
    for. tests/tsan.supp can't say that."""
    out = []
    for report in text.split("WARNING: ThreadSanitizer: ")[1:]:
        accesses = re.findall(r"^  (?:Previous )?(?:atomic )?(?:read|write) of size .*:\n((?:    #.*\n)+)", report, re.I | re.M)

        def innermost(of_interest):
            return [next((f for f in frames.splitlines() if of_interest(f)), "") for frames in accesses]

        callers = innermost(lambda frame: "libtsan.so" not in frame)
        is_onetbb = len(callers) == 2 and all("(libtbb.so" in frame for frame in callers)
        on_purpose = any(RACES in frame for frame in innermost(lambda frame: " ../../" in frame))
        if not is_onetbb and not on_purpose and not LEAVES_A_THREAD.match(report):
            out.append(report)
    return out


def tests(folder, selection, sanitizer):
    """(number of tests, names of those that failed, reports of races)."""
    with tempfile.TemporaryDirectory() as place:
        reports = pathlib.Path(place) / "race"
        # The reports count, also of processes of processes. None waits a second for more when it ends. Stacks of earlier
        # accesses are kept for as long as can be.
        options = [*sanitizer, f"log_path={reports}", "exitcode=0", "atexit_sleep_ms=0", "history_size=7"]
        count, failed = run_tests(folder, selection, TSAN_OPTIONS=" ".join(options))
        races = [race for path in sorted(reports.parent.glob("race.*")) for race in own_races(path.read_text())]
    return count, failed, races


def run(options):
    folder = build("tsan")
    rows, problems = [], []
    for what, selection, sanitizer in (
        (
            "tests with the thread sanitizer",
            ["--tests-regex", "^golden"] if options.short else NO_CLUSTERS,
            [f"suppressions={ROOT / 'tests' / 'tsan.supp'}"],
        ),
        ("golden jobs on one thread with it, nothing suppressed", ["--tests-regex", r"^golden\.plain$"], []),
    ):
        count, failed, races = tests(folder, selection, sanitizer)
        rows.append(row("R12", what, f"{count}: {len(races)} races, {len(failed)} failed"))
        if count == 0:
            problems.append(f"{what}: nothing was run")
        problems += [f"{name} failed" for name in failed] + races
    for problem in problems[:MOST_SHOWN]:
        print(problem, flush=True)
    return result(rows, problems)
