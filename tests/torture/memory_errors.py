"""R12: all tests with the address and undefined-behaviour sanitizers. Builds them first, in a build of their own. In short:
those that CI runs."""

from own_build import build
from result import result, row
from sanitized_tests import NO_CLUSTERS, run_tests

WHAT = "tests with the address and undefined-behaviour sanitizers"


def run(options):
    short = ["--label-exclude", "^at_length$"] if options.short else []
    folder = build("asan")
    if not options.short:
        build("asan", "at_length")
    count, failed = run_tests(folder, [*NO_CLUSTERS, *short])
    problems = [f"{name} failed" for name in failed] + ([] if count else [f"{WHAT}: nothing was run"])
    for problem in problems:
        print(problem, flush=True)
    return result([row("R12", WHAT, f"{count}: {len(failed)} failed")], problems)
