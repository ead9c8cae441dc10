"""How the benchmarks call flowrun: the command line of a job, and a job run for its report."""
import json
import pathlib
import subprocess
import tempfile

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"
MIB = 1 << 20


def command(flowrun, job, parameters, memory_mib, scratch, report, options=()):
    """The words that run tests/bench/jobs/JOB.yaml; `scratch` is a list of directories."""
    words = [flowrun, "run", JOBS / f"{job}.yaml", "-m", f"{memory_mib}MiB", "--progress", "none", "--report", report]
    for place in scratch:
        words += ["-T", place]
    for name, value in parameters.items():
        words += ["-p", f"{name}={value}"]
    return [str(word) for word in [*words, *options]]


def run(flowrun, job, parameters, memory_mib, scratch, options=(), preexec_fn=None):
    """The report of a job that must succeed."""
    with tempfile.TemporaryDirectory() as place:
        report = pathlib.Path(place) / "report.json"
        words = command(flowrun, job, parameters, memory_mib, scratch, report, options)
        done = subprocess.run(words, text=True, capture_output=True, preexec_fn=preexec_fn)
        if done.returncode != 0:
            raise SystemExit(f"bench: {' '.join(words)} failed:\n{done.stderr}")
        return json.loads(report.read_text())


def results(report):
    """What the job computed: {name: value}."""
    return {f"{each['node']}.{each['name']}": each["value"] for each in report["results"]}


def scratch_bytes(report):
    """(written, read)"""
    return tuple(sum(int(disk[way]) for disk in report["disks"]) for way in ("written_bytes", "read_bytes"))


def waited_seconds(report):
    """How long computation stood still for scratch: (writing, reading)."""
    return tuple(sum(disk[way] for disk in report["disks"]) for way in ("write_wait_seconds", "read_wait_seconds"))


def node_seconds(report, node):
    """(busy, blocked on I/O or, in a sort, on its tasks)"""
    told = next(each for each in report["nodes"] if each["id"] == node)
    return told["busy_seconds"], told["blocked_seconds"]["io"]
