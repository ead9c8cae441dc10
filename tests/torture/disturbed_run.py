"""One run of a job while something goes wrong, and what is wrong with how it ended.

The library failing_calls is loaded in front of the C library and stops chosen calls (interposed/rules.h).
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

BACKENDS = ("io_uring", "threads", "mmap")
OLD = b"what was there before\n"
HANG = 10  # seconds; on a machine with more to do than it can, where a disk may keep a job waiting, LOADED
LOADED = 120


def patience():
    return HANG if os.getloadavg()[0] < 2 * os.cpu_count() else LOADED


# Beside the output; or, from the trial before the run, in the directory where a missing one would be made.
HIDDEN = re.compile(r"(out/(?P<directory>([^/]+/)*))?\.(?P<name>[^/]+)\.flowrun-\d+\.tmp")
# Of an output with several files: each is a part of the whole, until all of them get their names.
HIDDEN_PART = re.compile(r"(out/)?\.[^/]+\.flowrun-\d+\.tmp/\d+(\.\d+)?")
# In the message of a commit that could be neither done nor taken back.
OLD_CONTENT = re.compile(r"\(what it replaced is ([^)]+)\)")
RIGHT, OLD_ONE, ABSENT, WRONG = "right", "old", "absent", "wrong"


@dataclasses.dataclass
class ended:
    code: int  # negative: a signal
    said: str
    hung: bool = False


class workplace:
    """A directory in which one job after another runs."""

    def __init__(self, flowrun, library):
        self.flowrun, self.library = str(pathlib.Path(flowrun).resolve()), str(pathlib.Path(library).resolve())
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-torture-")).resolve()
        self.root = self.base / "job"
        self.beside = self.base / "beside"  # what the rig writes
        self.job = None
        self.with_old = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)

    def prepare(self, job, with_old):
        """As before the job: with outputs of an earlier one, or without even the directory for them."""
        self.with_old = with_old
        if self.job is not job:
            shutil.rmtree(self.root, ignore_errors=True)
            for name, content in job.inputs.items():
                path = self.root / "in" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            self.job = job
        for name in ("out", "scratch"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        shutil.rmtree(self.beside, ignore_errors=True)
        self.beside.mkdir()
        if with_old:
            for name in job.outputs:
                path = self.root / "out" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(OLD)

    def command(self, backend, more=()):
        return [self.flowrun, *self.job.words(), "--backend", backend, *more]

    def environment(self, rules="", **more):
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.root),
            "LC_ALL": "C.UTF-8",
            "LD_PRELOAD": self.library,
            "FAILING_CALLS": rules,
            "FAILING_ROOT": str(self.root),
            "FAILING_SCRATCH": str(self.root / "scratch"),
            **more,
        }

    def start(self, backend, rules="", more=(), **variables):
        return subprocess.Popen(
            self.command(backend, more),
            cwd=self.root,
            env=self.environment(rules, **variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def run(self, backend, rules="", more=(), **variables):
        started = self.start(backend, rules, more, **variables)
        try:
            said, _ = started.communicate(timeout=patience())
            return ended(started.returncode, said)
        except subprocess.TimeoutExpired:
            started.send_signal(signal.SIGABRT)
            said, _ = started.communicate()
            return ended(started.returncode, said, hung=True)

    def counts(self, backend, more=(), **variables):
        """How many calls of each kind the job makes when nothing fails."""
        self.prepare(self.job, False)
        path = self.beside / "counts"
        done = self.run(backend, "", more, FAILING_COUNTS=str(path), **variables)
        problems = self.wrong_with(done, "", only_success=True)
        if problems:
            raise RuntimeError(f"{self.job.name}, {backend}, undisturbed: {problems}")
        lines = (line.split() for line in path.read_text().splitlines())
        return {name: int(count) for name, count in lines}

    # --- what is there after the job ---

    def state_of(self, name):
        path = self.root / "out" / name
        if not path.exists():
            return ABSENT
        content = path.read_bytes()
        if content == self.job.outputs[name]:
            return RIGHT
        return OLD_ONE if content == OLD else WRONG

    def states(self):
        return {name: self.state_of(name) for name in self.job.outputs}

    def left_over(self):
        """Files that should not be there, hidden ones, too."""
        known = {f"in/{name}" for name in self.job.inputs} | {f"out/{name}" for name in self.job.outputs}
        below = (path for path in self.root.rglob("*") if not path.is_dir())
        return sorted(str(path.relative_to(self.root)) for path in below if str(path.relative_to(self.root)) not in known)

    def wrong_with(self, done, cause="", codes=(), only_success=False, may_leave=False):
        """Problems, in words. `cause`: what the message must say where the job fails; `codes`: how it may end then."""
        problems = []
        states = self.states()
        if done.hung:
            problems.append(f"it hung for more than {HANG} seconds")
        elif done.code < 0:
            problems.append(f"it died of {signal.Signals(-done.code).name}")
        elif done.code == 0:
            if set(states.values()) != {RIGHT}:
                problems.append(f"it claims success, but its outputs are {states}")
        elif only_success:
            problems.append(f"it ended with {done.code}")
        else:
            problems += self.wrong_with_message(done, cause, codes)
        problems += self.wrong_states(states)
        left = self.left_over()
        if done.code > 0 and self.with_old:
            left = self.not_told(left, done.said)
        if left and not may_leave:
            problems.append(f"left behind: {', '.join(left)}")
        if problems:
            problems.append("it said: " + done.said.strip()[:600])
        return problems

    def not_told(self, left, said):
        """Without the old content that can't be put back: it is kept, and the message says where."""
        kept = {path for path in OLD_CONTENT.findall(said) if path in left and (self.root / path).read_bytes() == OLD}
        return [path for path in left if path not in kept]

    def wrong_states(self, states):
        found = set(states.values())
        if WRONG in found:
            return [f"wrong or partial outputs: {states}"]
        return [f"what was there before is gone: {states}"] if self.with_old and ABSENT in found else []

    def wrong_with_message(self, done, cause, codes):
        problems = []
        if codes and done.code not in codes:
            problems.append(f"exit code {done.code}, not one of {sorted(codes)}")
        if "error: " not in done.said:
            problems.append("no error is told")
        if "bug" in done.said or "internal error" in done.said:
            problems.append("it takes this for a bug of its own")
        if cause and not re.search(cause, done.said):
            problems.append(f"the message doesn't say '{cause}'")
        return problems


def on_all_cores(options, work, items):
    """work(workplace, item) for each item, each thread with a workplace of its own; yields what it returns."""
    own = threading.local()
    places = []

    def one(item):
        if not hasattr(own, "place"):
            own.place = workplace(options.flowrun, options.library)
            places.append(own.place)
        return work(own.place, item)

    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from threads.map(one, items)
    finally:
        for place in places:
            place.__exit__()
