"""R9: schedules of small jobs drawn from seeds, on one thread (tests/engine/exec/seeded_schedule_test.cc)."""

import os
import pathlib
import subprocess

from result import result, row

SHORT, LONG = 1000, 100_000


def run(options):
    count = SHORT if options.short else LONG
    program = pathlib.Path(options.flowrun).resolve().parent.parent / "tests" / "tests_exec"
    done = subprocess.run(
        [str(program), "--gtest_filter=seeded_schedule.all_give_the_same_bytes", "--gtest_brief=1"],
        env={**os.environ, "FLOWRUN_SEEDS": f"{options.seed}:{count}"},
        capture_output=True,
        text=True,
    )
    problems = [] if done.returncode == 0 else [done.stdout[-2000:] + done.stderr[-500:]]
    figure = f"{count:,}: {'all give the same bytes' if not problems else 'not all give the same bytes'}"
    return result([row("R9", "schedules on one thread, drawn from seeds", figure)], problems)
