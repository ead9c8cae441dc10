"""Runs one command and measures it: wall and CPU seconds, peak resident set, bytes that reached the disks, and, in a
memory cgroup, its peak with page cache and whether the kernel had to kill it. Needs Linux; cgroups and cold caches need
root."""
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

MIB = 1 << 20


@dataclasses.dataclass
class measurement:
    wall_seconds: float   # until the command has ended and its output file, if one is named, is on the disk
    sync_seconds: float   # the last part of it: what the command itself hadn't forced to the disk
    cpu_seconds: float
    peak_rss_bytes: int
    read_bytes: int       # from and to block devices, as the kernel accounts for them; 0 when it doesn't say
    written_bytes: int
    exit_code: int        # negative: the signal
    timed_out: bool
    output: str           # stdout and stderr


def drop_caches():
    """Writes dirty pages back and empties the page cache; False when we may not."""
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        return True
    except OSError:
        return False


def touch_memory(num_bytes):
    """Writes to so much memory in a process that ends at once: see memory_holder."""
    subprocess.run([sys.executable, "-c", f"b'x' * {num_bytes}"], check=True)


class memory_holder:
    """Holds all available memory but so many bytes, while it is entered. A virtual machine gives free pages back to its
    host within seconds. The process that first touches them again waits for the host, sometimes up to a second for each
    GiB. Where few pages are free, those can be touched just before they are needed (touch_memory)."""

    def __init__(self, free_bytes):
        self.free_bytes = free_bytes

    def __enter__(self):
        drop_caches()
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
        held = max(0, available - self.free_bytes)
        program = f"held = [b'x' * {MIB} for _ in range({held // MIB})]; print(flush=True); input()"
        self.process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if not self.process.stdout.readline():
            self.process.wait()
        self.check()
        return self

    def __exit__(self, failure, *_):
        if failure is None:
            self.check()
        self.process.kill()
        self.process.wait()

    def check(self):
        """Out of memory, the kernel may have killed it."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the process that holds memory has ended ({self.process.returncode}), so what was measured "
                               "may include waits for the host: end what else takes memory, and measure again")


def io_of(pid):
    """(read, written) bytes of a process that has ended and isn't reaped yet."""
    try:
        fields = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
        return int(fields["read_bytes"]), int(fields["write_bytes"])
    except (OSError, KeyError, ValueError):
        return 0, 0


def sync_file(path):
    start = time.monotonic()
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
    return time.monotonic() - start


def run(command, cgroup=None, environment=None, output_file=None, limit_seconds=None):
    """Runs the command to its end, or kills it after limit_seconds. The child joins `cgroup` before it starts."""
    def prepare():
        if cgroup:
            cgroup.join()

    start = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             preexec_fn=prepare, start_new_session=True, text=True, errors="replace",
                             env={**os.environ, **(environment or {})})
    expired = threading.Event()

    def end():
        expired.set()
        os.killpg(child.pid, signal.SIGKILL)

    timer = threading.Timer(limit_seconds, end) if limit_seconds else None
    if timer:
        timer.start()
    try:
        output = child.stdout.read()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        raise
    finally:
        if timer:
            timer.cancel()
    wall = time.monotonic() - start
    read_bytes, written_bytes = io_of(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    synced = sync_file(output_file) if output_file and child.returncode == 0 else 0.0
    return measurement(wall + synced, synced, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, read_bytes,
                       written_bytes, child.returncode, expired.is_set(), output)


class memory_cgroup:
    """A memory cgroup of so many bytes, page cache included, v1 or v2. Raises OSError where none can be made."""

    def __init__(self, limit_bytes):
        name = f"flowrun-bench-{os.getpid()}"
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        v2 = pathlib.Path("/sys/fs/cgroup")
        self.limit_bytes = limit_bytes
        self.is_v1 = (v1 / "memory.limit_in_bytes").exists()
        if self.is_v1:
            self.path, limit, swap = v1 / name, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
        elif "memory" in (v2 / "cgroup.controllers").read_text().split():
            (v2 / "cgroup.subtree_control").write_text("+memory")
            self.path, limit, swap = v2 / name, "memory.max", "memory.swap.max"
        else:
            raise OSError("no memory controller")
        self.path.mkdir(exist_ok=True)
        (self.path / limit).write_text(str(limit_bytes))
        with contextlib.suppress(OSError):  # no escape to swap, where there is swap
            (self.path / swap).write_text(str(limit_bytes) if self.is_v1 else "0")

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def peak_bytes(self):
        try:
            return int((self.path / ("memory.max_usage_in_bytes" if self.is_v1 else "memory.peak")).read_text())
        except (OSError, ValueError):
            return 0

    def killed(self):
        """Whether the kernel killed a process of this group because it wanted more than the limit."""
        try:
            lines = (self.path / ("memory.oom_control" if self.is_v1 else "memory.events")).read_text().splitlines()
        except OSError:
            return False
        return any(line.split()[0] == "oom_kill" and int(line.split()[1]) > 0 for line in lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(50):  # the kernel may need a moment to see that the last process is gone
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)
