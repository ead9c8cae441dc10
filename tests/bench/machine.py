"""What the benchmarks ran on and with: the machine and the versions, as the tables show them."""
import os
import pathlib
import platform
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def said(*command):
    """The first line of what a command says; empty when it can't."""
    try:
        done = subprocess.run([str(word) for word in command], text=True, capture_output=True, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def field(path, pattern):
    found = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    return found.group(1).strip().strip('"') if found else ""


def commit():
    changed = said("git", "status", "--porcelain", "--untracked-files=no")
    return said("git", "rev-parse", "--short", "HEAD") + (" and changes" if changed else "")


def describe(options):
    """{what: text}"""
    lines = subprocess.run(["df", "--output=fstype,source", options.dir], text=True, capture_output=True).stdout.splitlines()
    disk = " on ".join(lines[-1].split()) if len(lines) > 1 else "unknown"
    memory = int(field("/proc/meminfo", r"^MemTotal:\s+(\d+)")) * 1024
    return {"processor": f"{field('/proc/cpuinfo', r'^model name[^:]*:(.*)$') or platform.machine()}, {os.cpu_count()} cores",
            "memory": f"{memory / (1 << 30):.0f} GiB",
            "disk": disk,
            "system": f"{field('/etc/os-release', r'^PRETTY_NAME=(.*)$')}, Linux {platform.release()}"}


def module_version(options, name):
    return said(options.python, "-c", f"import {name}; print({name}.__version__)")


def versions(options):
    """{program: version}, of those that are there."""
    found = {"Flowrun": said(options.flowrun, "version").removeprefix("flowrun "),
             "STXXL": said("dpkg-query", "-W", "-f", "${Version}", "libstxxl-dev"),
             "GNU sort": said("sort", "--version").rsplit(" ", 1)[-1] if shutil.which("sort") else "",
             "DuckDB": module_version(options, "duckdb"),
             "Polars": module_version(options, "polars"),
             "Highway (vqsort)": said("dpkg-query", "-W", "-f", "${Version}", "libhwy-dev")}
    return {name: version for name, version in found.items() if version}
