"""Runs one command and measures it: wall and CPU seconds, peak resident set, bytes that reached the disks, and, in a
memory cgroup, whether the kernel had to kill it. Needs Linux; cgroups and cold caches need root."""
import contextlib
import dataclasses
import os
import pathlib
import subprocess
import time


@dataclasses.dataclass
class measurement:
    wall_seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    read_bytes: int       # from and to block devices, as the kernel accounts for them; 0 when it doesn't say
    written_bytes: int
    exit_code: int        # negative: the signal
    output: str           # stdout and stderr


def drop_caches():
    """Writes dirty pages back and empties the page cache; False when we may not."""
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        return True
    except OSError:
        return False


def io_of(pid):
    """(read, written) bytes of a process that has ended and isn't reaped yet."""
    try:
        fields = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
        return int(fields["read_bytes"]), int(fields["write_bytes"])
    except (OSError, KeyError, ValueError):
        return 0, 0


def run(command, cgroup=None):
    """Runs the command to its end. The child joins `cgroup` before it starts."""
    def join():
        if cgroup:
            cgroup.join()

    start = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             preexec_fn=join, text=True, errors="replace")
    output = child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    wall = time.monotonic() - start
    read_bytes, written_bytes = io_of(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return measurement(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, read_bytes, written_bytes,
                       child.returncode, output)


class memory_cgroup:
    """A memory cgroup of so many bytes, page cache included, v1 or v2. Raises OSError where none can be made."""

    def __init__(self, limit_bytes):
        name = f"flowrun-bench-{os.getpid()}"
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        v2 = pathlib.Path("/sys/fs/cgroup")
        if (v1 / "memory.limit_in_bytes").exists():
            self.path, limit, self.peak_file = v1 / name, "memory.limit_in_bytes", "memory.max_usage_in_bytes"
        elif "memory" in (v2 / "cgroup.controllers").read_text().split():
            (v2 / "cgroup.subtree_control").write_text("+memory")
            self.path, limit, self.peak_file = v2 / name, "memory.max", "memory.peak"
        else:
            raise OSError("no memory controller")
        self.path.mkdir(exist_ok=True)
        (self.path / limit).write_text(str(limit_bytes))
        with contextlib.suppress(OSError):  # no escape to swap, where there is swap
            swap = "memory.swap.max" if limit == "memory.max" else "memory.memsw.limit_in_bytes"
            (self.path / swap).write_text("0" if limit == "memory.max" else str(limit_bytes))

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def peak_bytes(self):
        try:
            return int((self.path / self.peak_file).read_text())
        except (OSError, ValueError):
            return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(50):  # the kernel may need a moment to see that the last process is gone
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)
