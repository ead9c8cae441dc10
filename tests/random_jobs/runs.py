"""Runs drawn jobs with flowrun, under options that must not change what they write, and compares the files."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import parts  # noqa: E402
from files import any_order
from job_yaml import yaml
from stored import stored, written

# What a run may say, and what each word may be followed by. None of it changes a byte of the output.
OPTIONS = {
    "-j": ["1", "2", "3"],
    "-m": ["1KiB", "24MiB", "64MiB", "200MiB"],  # what is too little becomes the least that flowrun asks for
    "--batch-size": ["512", "700", "4096", "65536"],
    "--block-size": ["4096", "16384", "65536"],
    "--backend": ["auto", "io_uring", "threads", "mmap", "memory"],
    "--allocation": ["randomised_cycling", "fully_randomised", "simple_randomised", "striping"],
    "--io-order": ["alternating", "writes_first", "arrival"],
    "--depth": ["1", "3", "16"],
    "--force-spill": [],
    "--no-direct": [],
    "--plain-executor": [],
    "--verify": [],
    "--resume": [],
    "--cluster": ["local:1", "local:2", "local:3"],  # outputs are folders of parts
    "--divide-from": ["1", "64KiB"],  # which loops are divided, too
    "--two-disks": [],  # a second scratch directory
}
# The options of which there is not one without a meaning for results are tried most. Each task of --cluster is a
# process, and ten jobs as one have more than a hundred of them: such a run takes as long as forty others.
OFTEN = ["--force-spill", "--batch-size", "--block-size", "-j", "--divide-from"]
SELDOM = ["--cluster"]
REFUSED_MEMORY = re.compile(r"memory: (\d+)MiB or more")
ENOUGH_MEMORY = "200MiB"
SHORT_OF_MEMORY = 75  # what the rows need, which nobody knows before
BAD_DATA = 65
# Errors of bad data with other exit codes, 75 and 73. Of several errors any may come first.
OTHER_ERRORS = ["the rows would go to more than", "are the most that a name may have"]


def draw_options(r, known):
    out = []
    for word, values in known.items():
        if r.random() < (0.5 if word in OFTEN else 0.05 if word in SELDOM else 0.2):
            out += [word, r.choice(values)] if values else [word]
    if "--resume" in out and ("memory" in out or "--cluster" in out):  # scratch in memory can't be gone on with
        out.remove("--resume")
    if "--divide-from" in out and "--cluster" not in out:
        del out[out.index("--divide-from") : out.index("--divide-from") + 2]
    if "--cluster" in out:  # tasks share the disk and the memory
        for word in ("memory", "--backend") if "memory" in out else ():
            out.remove(word)
        if "-m" in out:
            out[out.index("-m") + 1] = "600MiB"
    return out


# What a run may say beside these, and why it stands in no drawn set.
OTHER_OPTIONS = {
    "--help": "no run",
    "--param": "each run has two",
    "--set": "another job; tests/runner/command_line_test.py",
    "--scratch": "each run has one or two",
    "--scratch-limit": "ends jobs; tests/runner/failing_disks_test.py",
    "--no-sync": "each run has it",
    "--no-verify": "the same as nothing, for jobs that don't say verify",
    "--progress": "what is said beside the files; tests/runner/progress_and_report_test.py",
    "--report": "the same",
    "--metrics-listen": "the same",
    "--metrics-file": "the same; tests/runner/metrics_file_test.py",
    "--ui": "the same; tests/runner/live_page_test.py",
    "--tasks": "of --cluster; tests/runner/cluster_test.py",
    "--threads": "-j",
    "--memory": "-m",
}


def help_page(flowrun):
    return subprocess.run([flowrun, "run", "--help"], capture_output=True, text=True).stdout


def here(flowrun):
    """The options, without those that this flowrun doesn't have and without a backend that this machine hasn't."""
    page = help_page(flowrun)
    own = {w: v for w, v in OPTIONS.items() if w == "--two-disks" or re.search(rf"^  .*{w}\b", page, re.M)}
    said = subprocess.run([flowrun, "version"], capture_output=True, text=True).stdout
    without = re.search(r"io_uring.*(not|no )", said)
    return {**own, "--backend": [b for b in OPTIONS["--backend"] if b != "io_uring" or not without]}


class workplace:
    """A folder for runs, in memory where the machine has such a file system."""

    def __init__(self):
        fast = pathlib.Path("/dev/shm")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-random-", dir=fast if fast.is_dir() else None))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def command(flowrun, folder, options):
    return [
        flowrun,
        "run",
        str(folder / "job.yaml"),
        "-q",
        "--no-sync",
        "-T",
        str(folder / "scratch"),
        "-p",
        f"in={folder / 'in'}",
        "-p",
        f"out={folder / 'out'}",
        *(word for o in options for word in (["-T", str(folder / "scratch2")] if o == "--two-disks" else [o])),
    ]


def put(jobs, folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    (folder / "job.yaml").write_text(yaml(jobs))
    for j in jobs:
        for path, data in j.files.items():
            (folder / "in" / path).write_bytes(stored(path, data))


def sinks_of(job):
    """{path below the outputs: parameters} of a job's sinks."""
    nodes = json.loads(job.read_text())["nodes"].values()
    return {n["with"]["path"].removeprefix("${out}/"): n["with"] for n in nodes if n["op"].startswith("file.write_")}


def joined(out, folder, sinks):
    """A folder of parts as the file that one machine writes."""
    sink = sinks[str(folder.relative_to(out))]
    return parts.joined(folder, sink.get("quote", '"') if sink.get("header") else None,
                        lambda content: written(folder.name, content))


def files_below(out):
    folders = [path.parent for path in out.rglob("manifest.json")]
    sinks = sinks_of(out.parent / "job.yaml") if folders else {}
    found = {str(folder.relative_to(out)): joined(out, folder, sinks) for folder in folders}
    for path in out.rglob("*"):
        if path.is_file() and path.parent not in folders:
            found[str(path.relative_to(out))] = written(path.name, path.read_bytes())
    return found


def run(flowrun, folder, options, seconds=60):
    """(exit code, what it said, {file: bytes})."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    words = [*options] if "-m" in options else [*options, "-m", "600MiB" if "--cluster" in options else ENOUGH_MEMORY]
    for _ in range(3):
        try:
            done = subprocess.run(command(flowrun, folder, words), capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return -1, f"it did not end within {seconds} seconds", {}
        said = done.stderr.decode(errors="replace").strip()
        least = REFUSED_MEMORY.search(said) if done.returncode == 78 else None
        if least is not None:
            words[words.index("-m") + 1] = f"{least[1]}MiB"
        elif done.returncode == SHORT_OF_MEMORY and "give the job more memory" in said:
            words[words.index("-m") + 1] = ENOUGH_MEMORY
        else:
            break
    out = folder / "out"
    return done.returncode, said, files_below(out)


def first_difference(expected, got):
    a, b = expected.split(b"\n"), got.split(b"\n")
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f"line {i + 1}: expected {x[:120]!r}, got {y[:120]!r}"
    return f"{len(expected)} bytes expected, {len(got)} written"


def problem_of(ended, expected, earlier):
    """(kind, words) of what is wrong with a run; None: nothing. `expected`: files, or why the job has to fail. Files
    whose order nobody promises have to be as in `earlier`, which gets the first ones."""
    code, said, files = ended
    if isinstance(expected, str):
        if code == 0:
            return "no error", f"it ends well, and has to fail: {expected}"
        if code != BAD_DATA and not any(error in said for error in OTHER_ERRORS):
            return f"exit {code}", said
        return ("files", f"it failed and left {sorted(files)}") if files else None
    if code != 0:
        line = next((x for x in said.splitlines() if "error" in x), said.splitlines()[0] if said else "")
        return f"exit {code} " + re.sub(r"'[^']*'|[0-9]+|/\S+", "", line), said
    for file, data in expected.items():
        if isinstance(data, any_order) and file in files and data.same_rows(files[file]):
            if earlier.setdefault(file, files[file]) != files[file]:
                return "another order", f"{file}: {first_difference(earlier[file], files[file])}"
        elif files.get(file) != data:
            return "bytes", f"{file}: {first_difference(data, files[file]) if file in files else 'is not there'}"
    return (
        ("files", f"more files than expected: {sorted(set(files) - set(expected))}")
        if set(files) - set(expected)
        else None
    )


def try_jobs(flowrun, jobs, expected, options, folder, earlier=None):
    """What is wrong with a run of some jobs as one."""
    put(jobs, folder)
    if earlier is None:
        earlier = {}
        if options and not isinstance(expected, str) and any(isinstance(x, any_order) for x in expected.values()):
            problem_of(run(flowrun, folder, []), expected, earlier)
    return problem_of(run(flowrun, folder, options), expected, earlier)
