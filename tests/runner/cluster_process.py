"""Jobs on a cluster of this machine's processes, and their workers."""

import pathlib
import time

from flowrun_process import process_test


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return []


def subprocess_children(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


class cluster_process(process_test):
    def workers(self, driver):
        """Process numbers of the driver's workers."""
        out = subprocess_children(driver.pid)
        return [pid for pid in out if b"worker" in words_of(pid)]

    def until_workers(self, driver, stage):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.assertIsNone(driver.poll(), driver.stderr.read() if driver.poll() is not None else "")
            for pid in self.workers(driver):
                words = words_of(pid)
                if b"worker" in words and words[words.index(b"worker") + 2] == str(stage).encode():
                    return pid
            time.sleep(0.005)
        self.fail("no worker was met")

    def until_gone(self, pid):
        deadline = time.monotonic() + 30
        while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())
