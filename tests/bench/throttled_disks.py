"""Several real, separately throttled disks on one machine: loop devices over files in RAM, ext4 on each, each limited
to so many bytes per second by a cgroup (v1 blkio.throttle or v2 io.max). Only direct requests are throttled one by one.
Needs Linux, root and loop devices."""
import contextlib
import os
import pathlib
import subprocess

V1 = pathlib.Path("/sys/fs/cgroup/blkio")
V2 = pathlib.Path("/sys/fs/cgroup")


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True).stdout.strip()


class group:
    """A cgroup that limits block devices."""
    def __init__(self, name="flowrun-disks"):
        self.is_v1 = (V1 / "cgroup.procs").exists()
        if not self.is_v1 and "io" not in (V2 / "cgroup.controllers").read_text().split():
            raise RuntimeError("no cgroup controller that limits disks (blkio of v1, or io of v2)")
        if not self.is_v1:
            (V2 / "cgroup.subtree_control").write_text("+io")
        self.path = (V1 if self.is_v1 else V2) / name
        self.path.mkdir(exist_ok=True)

    def limit(self, device, bytes_per_second):
        number = run("lsblk", "-ndo", "MAJ:MIN", device)
        if self.is_v1:
            for way in ("read", "write"):
                (self.path / f"blkio.throttle.{way}_bps_device").write_text(f"{number} {bytes_per_second}")
        else:
            (self.path / "io.max").write_text(f"{number} rbps={bytes_per_second} wbps={bytes_per_second}")

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        with contextlib.suppress(OSError):
            self.path.rmdir()


class throttled_disks:
    """`with throttled_disks([100e6, 50e6], [4, 2]) as disks:` mounts disks.paths; a child process joins with
    disks.group.join (preexec_fn)."""
    def __init__(self, bytes_per_second, gib, where="/dev/shm", mount_at="/run/flowrun-disks"):
        self.rates = [int(rate) for rate in bytes_per_second]
        self.gib = list(gib)
        self.where = pathlib.Path(where)
        self.mount_at = pathlib.Path(mount_at)
        self.paths = []
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as undo:  # of what was done until something fails
            self.group = group()
            undo.callback(self.group.remove)
            for number, (rate, gib) in enumerate(zip(self.rates, self.gib, strict=True)):
                image = self.where / f"flowrun-disk-{number}.img"
                undo.callback(image.unlink, missing_ok=True)
                with open(image, "wb") as file:
                    file.truncate(int(gib * (1 << 30)))
                device = run("losetup", "--find", "--show", "--direct-io=on", image)
                undo.callback(run, "losetup", "-d", device)
                run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0", device)
                path = self.mount_at / str(number)
                path.mkdir(parents=True, exist_ok=True)
                undo.callback(path.rmdir)
                run("mount", device, path)
                undo.callback(run, "umount", path)
                self.group.limit(device, rate)
                self.paths.append(path)
            self.stack = undo.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()
