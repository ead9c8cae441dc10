#!/usr/bin/env python3
"""The jobs under specs/jobs against brute force in Python, which shares no code with flowrun.

    jobs_test.py --flowrun PROGRAM [--job NAME] [--seed N] [--cases N] [--variant NAME]
    jobs_test.py --list                                      the names of all jobs under test

Every case is a small random input (cases.py). It is run as it is, with tiny blocks, with everything spilled, or both, in
turn; what it writes must be what references.py says. The job's checker must accept it, and end with exit code 65 when
the result was corrupted in a way that makes it wrong. Further inputs that must be refused are in refusals.py.
"""

import argparse
import concurrent.futures
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import parts  # noqa: E402
from cases import JOBS  # noqa: E402
from refusals import REFUSALS  # noqa: E402
from rows import pack, unpack  # noqa: E402
from run_job import SPILL, TINY, run_job  # noqa: E402

SPECS = HERE.parents[1] / "specs/jobs"
VARIANTS = {
    "default": [],
    "tiny": [*TINY, "-j", "3"],
    "spill": SPILL,
    "tiny-spill": [*TINY, *SPILL],
    "plain": [*TINY, "--plain-executor"],
}
# Stages of tasks, those of loops, too: a process for each of many tasks, so it isn't tried in turn with the others.
STAGES = {"stages": ["--cluster", "local:2", "--divide-from", "1"]}
bad_data = 65


def run(flowrun, name, params, folder, options):
    """(exit code, what it said) of a job."""
    return run_job(flowrun, SPECS / f"{name}.yaml", params, folder / "scratch", options)


def written(case, folder):
    """The parameters of the job, with its input files in the folder."""
    params = dict(case.params)
    for param, data in case.files.items():
        params[param] = folder / param
        params[param].write_bytes(data)
    return params


def corrupted(rng, rows):
    """The rows with a mistake: one missing, one too many, two exchanged, a value changed."""
    rows = list(rows)
    how = rng.choice(["change", "change", "drop", "repeat", "exchange"])
    if not rows:
        return rows
    at = rng.randrange(len(rows))
    if how == "drop":
        del rows[at]
    elif how == "repeat":
        rows.insert(at, rows[at])
    elif how == "exchange":
        other = rng.randrange(len(rows))
        rows[at], rows[other] = rows[other], rows[at]
    else:
        row = list(rows[at])
        column = rng.randrange(len(row))
        row[column] = max(0, row[column] + rng.choice([-1, 1])) % 256
        rows[at] = tuple(row)
    return rows


def try_checker(flowrun, job, case, params, rows, rng, folder, options):
    """What is wrong with the checker's opinion of right and of corrupted rows."""
    params = {name: value for name, value in params.items() if name != "out" and name not in job.own}
    params["result"] = folder / "result"
    params["result"].write_bytes(pack(rows, job.widths))
    code, said = run(flowrun, job.checker, params, folder, options)
    if code != 0:
        return f"{job.checker} refuses what is right: {said}"
    wrong = corrupted(rng, rows)
    if wrong == rows or (case.judge and case.judge(wrong)):
        return None
    params["result"].write_bytes(pack(wrong, job.widths))
    code, said = run(flowrun, job.checker, params, folder, options)
    if code != bad_data:
        return f"{job.checker} ends with {code} instead of {bad_data} for corrupted rows\n  {wrong}\n  instead of {rows}: {said}"
    return None


def try_case(flowrun, name, seed, variant):
    """A problem, or None."""
    job = JOBS[name]
    rng = random.Random(f"{name} {seed}")
    case = job.make(rng)
    with tempfile.TemporaryDirectory(prefix="flowrun-jobs-") as temporary:
        folder = pathlib.Path(temporary)
        params = {**written(case, folder), "out": folder / "out"}
        variant_options = (VARIANTS | STAGES)[variant]
        code, said = run(flowrun, name, params, folder, variant_options)
        if code != 0:
            return f"exit code {code}: {said}"
        data = parts.joined(params["out"]) if params["out"].is_dir() else params["out"].read_bytes()
        rows = data if job.widths is None else unpack(data, job.widths)
        if case.expected is not None and rows != case.expected:
            return f"parameters {case.params}\n  it wrote {rows}\n  expected {case.expected}"
        if case.judge and not case.judge(rows):
            return f"parameters {case.params}\n  it wrote {rows}, which is wrong"
        if job.checker:
            problem = try_checker(flowrun, job, case, params, rows, rng, folder, variant_options)
            if problem:
                return problem
        left = [path for path in (folder / "scratch").rglob("*") if path.is_file()]
        return f"left behind in the scratch directory: {left}" if left else None


def try_refusal(flowrun, name, refusal):
    with tempfile.TemporaryDirectory(prefix="flowrun-jobs-") as temporary:
        folder = pathlib.Path(temporary)
        params = {**written(refusal, folder), "out": folder / "out"}
        code, said = run(flowrun, name, params, folder, [])
        if code != refusal.code:
            return f"{refusal.what}: exit code {code} instead of {refusal.code}: {said}"
        missing = [part for part in refusal.says if part not in said]
        if missing:
            return f"{refusal.what}: {missing} is not in the message: {said}"
        return f"{refusal.what}: there is an output" if (folder / "out").exists() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun")
    parser.add_argument("--job", choices=JOBS)
    parser.add_argument("--seed", type=int, help="only this case")
    parser.add_argument("--cases", type=int, help="how many, instead of the job's number")
    parser.add_argument("--variant", choices=VARIANTS | STAGES, help="only this one, instead of all in turn")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(JOBS))
        return 0
    if not options.flowrun:
        parser.error("--flowrun is missing")
    failures = 0
    for name in [options.job] if options.job else JOBS:
        seeds = range(options.cases or JOBS[name].num_cases) if options.seed is None else [options.seed]
        variants = [options.variant] if options.variant else list(VARIANTS)
        with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            tries = {}
            for seed in seeds:
                variant = variants[seed % len(variants)]
                tries[f"--seed {seed} --variant {variant}"] = pool.submit(try_case, options.flowrun, name, seed, variant)
            if options.seed is None and options.variant not in STAGES:
                for refusal in REFUSALS.get(name, []):
                    tries[refusal.what] = pool.submit(try_refusal, options.flowrun, name, refusal)
            problems = {what: found.result() for what, found in tries.items() if found.result()}
        for what, problem in list(problems.items())[:5]:
            print(f"{name}, {what}: {problem}")
        print(f"{name}: {len(tries)} cases, {len(problems)} failed")
        failures += len(problems)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
