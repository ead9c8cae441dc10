"""Runs a job to its end, for tests that compare what it writes with what is right."""

import subprocess

# Options that change how a job works, and nothing of what it writes.
TINY = ["--block-size", "4096", "--batch-size", "512"]
SPILL = ["--force-spill", "-m", "24MiB"]


def run_job(flowrun, spec, params, scratch, options=(), seconds=120):
    """(exit code, what it said)."""
    command = [flowrun, "run", str(spec), "-q", "--no-sync", "-T", str(scratch), *options]
    for name, value in params.items():
        command += ["-p", f"{name}={value}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return -1, f"it did not end within {seconds} seconds"
    return done.returncode, done.stderr.strip()
