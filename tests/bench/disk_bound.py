"""What the disk can do, as `flowrun bench-disk` measures it, and fio beside it: sequential reads, writes, and both at once;
1 MiB blocks, 8 in flight, direct, from huge pages (fio: where root may have them)."""
import json
import pathlib
import subprocess

PATTERNS = ("read", "write", "mixed")


def output_of(command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} failed:\n{done.stderr}{done.stdout}")
    return done.stdout


def bench_disk(flowrun, place, seconds=1):
    """{pattern: bytes per second}; mixed counts what is read and what is written."""
    told = json.loads(output_of([flowrun, "bench-disk", place, "--format", "json", "--block-sizes", "1MiB", "--depths",
                                 "8", "--time", seconds]))
    return {pattern: told["together"][pattern]["bytes_per_second"] for pattern in PATTERNS}


def fio(place):
    """The same by fio."""
    found = {}
    for pattern in PATTERNS:
        rw = {"read": "read", "write": "write", "mixed": "rw"}[pattern]
        with huge_pages() as huge:
            told = json.loads(output_of([
                "fio", "--name=flowrun-bench", f"--directory={place}", f"--rw={rw}", "--bs=1M", "--iodepth=8",
                "--size=1G", f"--iomem={'shmhuge' if huge else 'malloc'}", "--ioengine=io_uring", "--direct=1",
                "--time_based", "--runtime=3", "--ramp_time=0.5", "--unlink=1",
                "--overwrite=1",  # a file that is filled, as bench-disk's is
                "--output-format=json"]))
        found[pattern] = sum(told["jobs"][0][way]["bw_bytes"] for way in ("read", "write"))
    return found


class huge_pages:
    """For fio's buffers: ours have huge pages, which some disks need to be fast. Root only; without, fio has small ones."""
    PATH = pathlib.Path("/proc/sys/vm/nr_hugepages")

    def __enter__(self):
        self.before = None
        try:
            self.before = self.PATH.read_text()
            self.PATH.write_text("64")
            return int(self.PATH.read_text()) >= 8
        except OSError:
            return False

    def __exit__(self, *_):
        if self.before is not None:
            try:
                self.PATH.write_text(self.before)
            except OSError:
                pass


def seconds_of_sort(num_bytes, memory_bytes, disk):
    """The least seconds that a sort from file to file can take: computation is free, reads and writes overlap, and the
    part of the input that half of the memory holds is never written to scratch."""
    spilled = max(0, num_bytes - memory_bytes / 2) if num_bytes > memory_bytes else 0
    return (2 * num_bytes + 2 * spilled) / disk["mixed"]


def seconds_of_copy(num_bytes, _memory_bytes, disk):
    return 2 * num_bytes / disk["mixed"]


def seconds_of_spill(written_bytes, read_bytes, disk):
    """Of a sort whose input is made on the fly and whose output is reduced: nothing is written while runs are read."""
    return written_bytes / disk["write"] + read_bytes / disk["read"]
