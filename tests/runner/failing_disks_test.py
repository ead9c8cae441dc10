#!/usr/bin/env python3
"""Disks and systems that refuse: the job carries on another way with the same bytes, or it ends with the cause and
what to do, and leaves nothing behind.

Usage: failing_disks_test.py FLOWRUN REFUSING_LAUNCHER [test…]
The launcher makes the kernel refuse system calls; small file systems are mounted in a mount namespace of their own.
"""

import os
import pathlib
import resource
import signal
import subprocess
import sys

LAUNCHER = str(pathlib.Path(sys.argv.pop(2)).resolve()) if len(sys.argv) > 2 else ""

import flowrun_process  # noqa: E402 (takes its own argument)
from flowrun_process import ENDLESS, FLOWRUN, SORT, filtered, main, process_test  # noqa: E402

# 800,000 rows of 8 bytes in 3 MiB: several runs, a few MiB on scratch.
SPILLING = ("-p", "rows=800000", "-m", "3MiB", "--block-size", "16KiB", "--progress", "none")
BACKENDS = ("auto", "io_uring", "threads", "mmap")

# Runs the command after the first argument with a tmpfs of 8 MiB at that argument, and lists what is left there.
WITH_SMALL_DISK = """
set -e
mount -t tmpfs -o size=8m,mode=0755 tmpfs "$1"
shift
set +e
"$@"
code=$?
find "$small" -mindepth 1 ! -type d > left
exit $code
"""


def everything(folder):
    """All that is no directory, hidden names, too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


class faulty_system_test(process_test):
    def refused(self, rules, *arguments, **more):
        command = [LAUNCHER]
        for rule in rules:
            command += ["--refuse", rule]
        return subprocess.run(
            [*command, "--", FLOWRUN, *map(str, arguments)],
            cwd=self.dir,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            **more,
        )

    def with_own_mounts(self, folder):
        """The command that gives another one mounts that end with it. Skips the test where none can be made."""
        for unshare in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
            allowed = subprocess.run(
                [*unshare, "mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True, text=True
            )
            if allowed.returncode == 0:
                return unshare
        return self.skipTest("no file system can be mounted here: " + allowed.stderr.strip())

    def setUp(self):
        super().setUp()
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", *SPILLING, "--backend", "memory", "-T", "unused")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.sorted = (self.dir / "out/sorted.u64").read_bytes()
        self.assertEqual(len(self.sorted), 8 * 800000)
        (self.dir / "out/sorted.u64").unlink()

    def succeeds(self, done):
        """Spilled, the right bytes, and nothing else anywhere."""
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("merge pass", done.stdout + done.stderr)
        self.assertTrue((self.dir / "out/sorted.u64").read_bytes() == self.sorted, "other bytes")
        (self.dir / "out/sorted.u64").unlink()
        self.nothing_is_left()

    def nothing_is_left(self):
        for name in ("out", "one", "two"):
            self.assertEqual(everything(self.dir / name), [], name)

    def ends(self, code, done, *parts):
        self.assertEqual(done.returncode, code, done.stderr)
        for part in (*parts, "help:"):
            self.assertIn(part, done.stderr)
        self.nothing_is_left()


class refused_calls_test(faulty_system_test):
    def test_io_uring_forbidden(self):
        for rule in ("io_uring_setup=EPERM", "io_uring_setup=ENOSYS", "io_uring_enter=EPERM"):
            with self.subTest(rule=rule):
                done = self.refused([rule], "-v", "job.yaml", *SPILLING, "-T", "one", "-T", "two")
                self.succeeds(done)
                why = "Function not implemented" if "ENOSYS" in rule else "Operation not permitted"
                said = [line for line in done.stderr.splitlines() if "I/O backend" in line]
                self.assertEqual(len(said), 1, done.stderr)
                self.assertIn("I/O backend threads (io_uring can't be used here: ", said[0])
                self.assertIn(why, said[0])
                done = self.refused([rule], "job.yaml", *SPILLING, "-T", "one", "--backend", "io_uring")
                self.ends(74, done, "the I/O backend io_uring can't be used", why, "threads")

    def test_the_backend_is_named(self):
        for backend in ("threads", "mmap"):
            done = self.flowrun("-v", "job.yaml", *SPILLING, "-T", "one", "--backend", backend)
            self.succeeds(done)
            self.assertIn(f"I/O backend {backend} (command line)", done.stderr)

    def test_file_systems_that_can_do_less(self):
        lacks = {
            "no O_DIRECT": ["openat:O_DIRECT=EINVAL"],
            "no O_TMPFILE": ["openat:O_TMPFILE=EOPNOTSUPP"],
            "no fallocate": ["fallocate=EOPNOTSUPP"],
            "none of them": ["openat:O_TMPFILE=EOPNOTSUPP", "openat:O_DIRECT=EINVAL", "fallocate=EOPNOTSUPP"],
        }
        for lack, rules in lacks.items():
            for backend in BACKENDS:
                with self.subTest(lack=lack, backend=backend):
                    if backend == "io_uring" and "io_uring: yes" not in self.flowrun("version").stdout:
                        continue
                    done = self.refused(rules, "job.yaml", *SPILLING, "-T", "one", "-T", "two", "--backend", backend)
                    self.succeeds(done)

    def test_no_shared_mappings(self):
        done = self.refused(
            ["mmap:MAP_SHARED=ENODEV"], "job.yaml", *SPILLING, "-T", "one", "-T", "two", "--backend", "mmap"
        )
        self.succeeds(done)

    def test_no_disk_can_be_written(self):
        for cause, code, text in (
            ("EIO", 74, "Input/output error"),
            ("EROFS", 74, "Read-only file system"),
            ("ENOSPC", 75, "No space left on device"),
            ("EDQUOT", 75, "Disk quota exceeded"),
        ):
            with self.subTest(cause=cause):
                done = self.refused(
                    [f"pwrite64={cause}"], "job.yaml", *SPILLING, "-T", "one", "-T", "two", "--backend", "threads"
                )
                self.ends(code, done, "can't write 16.0 KiB at offset ", text)
                self.assertRegex(done.stderr, r"error: can't write .* of (one|two): ")

    def test_no_disk_can_be_reserved(self):
        for cause, code, text in (("EIO", 74, "Input/output error"), ("ENOSPC", 75, "No space left on device")):
            with self.subTest(cause=cause):
                done = self.refused([f"fallocate={cause}"], "job.yaml", *SPILLING, "-T", "one", "-T", "two")
                self.ends(code, done, "one: 0 B used", "two: 0 B used", "free on its file system", text)

    def test_an_output_that_can_not_be_made_durable(self):
        for rules in (["fsync=EIO"], ["fsync=EIO", "openat:O_TMPFILE=EOPNOTSUPP"]):
            with self.subTest(rules=rules):
                done = self.refused(rules, "job.yaml", *SPILLING, "-T", "one")
                self.ends(74, done, "can't make out/sorted.u64 durable (fsync): Input/output error")
        done = self.refused(["fsync=EIO"], "job.yaml", *SPILLING, "-T", "one", "--no-sync")
        self.succeeds(done)

    def test_a_killed_jobs_leftovers_go_with_the_next(self):
        """Between the new file's hidden name and its final one, and without unnamed files at any time."""
        self.write("job.yaml", SORT)
        self.write("out/sorted.u64", "before")
        for rules in (["rename=KILL"], ["openat:O_TMPFILE=EOPNOTSUPP", "rename=KILL"]):
            with self.subTest(rules=rules):
                done = self.refused(rules, "job.yaml")
                self.assertEqual(done.returncode, -signal.SIGSYS, done.stderr)
                self.assertEqual(everything(self.dir / "out"), [".sorted.u64.flowrun-0.tmp", "sorted.u64"])
                self.assertEqual(self.flowrun("job.yaml").returncode, 0)
                self.assertEqual(everything(self.dir / "out"), ["sorted.u64"])

    def test_a_killed_jobs_report_leaves_nothing(self):
        """The report is an unnamed file until it is whole."""
        self.write("job.yaml", SORT)
        done = self.refused(["rename=KILL"], "job.yaml", "--report", "report.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.refused(["fsync=KILL"], "job.yaml", "--report", "new.json")
        self.assertEqual(done.returncode, -signal.SIGSYS, done.stderr)
        self.assertEqual([name for name in everything(self.dir) if "json" in name], ["report.json"])

    def test_a_temporary_output_goes_with_the_job(self):
        """Without O_TMPFILE an output has a hidden name while it is written."""
        sort = "  sorted: {op: sort, in: drawn, with: {by: [value]}}\n"
        self.write("job.yaml", SORT.replace(sort, "").replace("in: sorted", "in: drawn"))
        command = [LAUNCHER, "--refuse", "openat:O_TMPFILE=EOPNOTSUPP", "--"]
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            job = subprocess.Popen(
                [*command, FLOWRUN, "job.yaml", "-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "one", "--progress", "json"],
                cwd=self.dir,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            self.addCleanup(job.communicate)
            self.addCleanup(job.kill)
            self.until_rows_move(job)
            hidden = everything(self.dir / "out")
            self.assertEqual(len(hidden), 1, hidden)
            self.assertRegex(hidden[0], r"^\.sorted\.u64\.flowrun-\d+\.tmp$")
            job.send_signal(number)
            _, told = job.communicate(timeout=60)
            self.assertEqual(job.returncode, code, told)
            self.nothing_is_left()


class full_disk_test(faulty_system_test):
    def small_disk(self, *arguments):
        """The job with a tmpfs of 8 MiB at "small", in a mount namespace that ends with it."""
        small = self.dir / "small"
        small.mkdir(exist_ok=True)
        return subprocess.run(
            [*self.with_own_mounts(small), "sh", "-c", WITH_SMALL_DISK, "sh", str(small), *map(str, arguments)],
            cwd=self.dir,
            env={**self.environment, "small": str(small)},
            capture_output=True,
            text=True,
            timeout=120,
        )

    LARGE = ("-p", "rows=4000000", "-m", "12MiB", "--progress", "none", "--backend", "threads")

    def large_result(self):
        done = self.flowrun("job.yaml", *self.LARGE, "-T", "one")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.take_result()

    def take_result(self):
        path = self.dir / "out/sorted.u64"
        content = path.read_bytes()
        path.unlink()
        return content

    def test_the_other_disk_takes_over(self):
        expected = self.large_result()
        # Space can be reserved there; and it can't, so that writes find the disk full.
        for rules in ([], ["--refuse", "fallocate=EOPNOTSUPP"]):
            with self.subTest(rules=rules):
                done = self.small_disk(LAUNCHER, *rules, "--", FLOWRUN, "job.yaml", *self.LARGE, "-T", "small", "-T", "one")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(self.take_result() == expected, "other bytes")
                self.assertEqual(done.stderr.count("the scratch directory small is full"), 1, done.stderr)
                self.assertIn("No space left on device", done.stderr)
                self.assertEqual((self.dir / "left").read_text(), "")
                self.nothing_is_left()

    def test_there_is_no_other_disk(self):
        # How many rows are left by a filter isn't known before the run: a job that can't fit for certain is refused.
        self.write("filtered.yaml", filtered(SORT, "value % 7 < 6"))
        for rules in ([], ["--refuse", "fallocate=EOPNOTSUPP"]):
            with self.subTest(rules=rules):
                done = self.small_disk(LAUNCHER, *rules, "--", FLOWRUN, "filtered.yaml", *self.LARGE, "-T", "small")
                self.ends(75, done, "small", "No space left on device")
                if not rules:
                    self.assertRegex(done.stderr, r"small: [78]\.\d+ MiB used, .* free on its file system")
                self.assertEqual((self.dir / "left").read_text(), "")

    def test_files_may_not_grow(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        for backend in ("auto", "threads", "mmap"):
            for rules in ([], ["fallocate=EOPNOTSUPP"]):
                with self.subTest(backend=backend, rules=rules):
                    done = self.refused(
                        rules, "job.yaml", *SPILLING, "-T", "one", "-T", "two", "--backend", backend, preexec_fn=limit
                    )
                    self.ends(75, done, "File too large", "ulimit -f")
                    self.assertRegex(done.stderr, r"\b(one|two)\b")


class unusable_directory_test(faulty_system_test):
    def refused_at_once(self, directory, *parts):
        done = self.flowrun(
            "job.yaml", "-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "one", "-T", directory, "--report", "report.json"
        )
        self.ends(73, done, f"can't use the scratch directory {directory}: ", *parts, "(-T)")
        self.assertEqual(self.report()["phases"], [])  # the run has not begun
        for command in ("check", "plan"):
            self.ends(73, self.flowrun(command, "job.yaml", "-T", "one", "-T", directory), directory, *parts, "(-T)")
        self.assertEqual(self.flowrun("check", "job.yaml", "-T", "one").returncode, 0)
        self.assertFalse((self.dir / "one").exists())

    def test_a_file(self):
        self.write("a-file", "x")
        done = self.flowrun("job.yaml", "-m", "32MiB", "-T", "one", "-T", "a-file")
        self.ends(64, done, "the scratch directory a-file is no directory")
        self.refused_at_once("a-file/deeper", "a-file is not a directory")

    def test_a_link_that_leads_nowhere(self):
        (self.dir / "link").symlink_to("nowhere")
        self.refused_at_once("link", "link is a symbolic link that leads nowhere")

    def test_one_that_can_not_be_made(self):
        self.refused_at_once("/proc/flowrun", "in /proc: No such file")

    def test_one_that_may_not_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        (self.dir / "closed").mkdir(mode=0o500)
        self.refused_at_once("closed", "Permission denied")

    def test_a_read_only_file_system(self):
        closed = self.dir / "closed"
        closed.mkdir()
        script = 'mount -t tmpfs -o ro tmpfs closed && exec "$@"'
        done = subprocess.run(
            [*self.with_own_mounts(closed), "sh", "-c", script, "sh", FLOWRUN, "job.yaml", "-p", f"rows={ENDLESS}"]
            + ["-m", "32MiB", "-T", "one", "-T", "closed"],
            cwd=self.dir,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.ends(73, done, "can't use the scratch directory closed: Read-only file system")

    def test_the_default_one_for_data_of_unknown_size(self):
        """Small data goes through where there is no place for a home; large data says what to do."""
        self.write(
            "lines.yaml",
            """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: /dev/stdin}}
  sorted: {op: sort, in: lines, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: out/sorted.txt, column: text}}
""",
        )
        self.environment["HOME"] = "/proc/nobody"
        done = self.flowrun("lines.yaml", "--progress", "none", input="b\na\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: can't use the scratch directory /proc/nobody/.cache/flowrun", done.stderr)
        self.assertIn("-T DIR", done.stderr)
        self.assertEqual((self.dir / "out/sorted.txt").read_text(), "a\nb\n")
        (self.dir / "out/sorted.txt").unlink()
        text = "".join(f"line {number * 7919 % 1000003}\n" for number in range(400000))
        done = self.flowrun("lines.yaml", "-m", "3MiB", "--progress", "none", input=text)
        self.ends(73, done, "error: can't use the scratch directory /proc/nobody/.cache/flowrun")
        done = self.flowrun("lines.yaml", "-T", "/proc/nobody", input="b\na\n")
        self.ends(73, done, "error: can't use the scratch directory /proc/nobody")

    def test_what_stays_in_memory_needs_none(self):
        """But a path that was typed just now is a slip, and the data of the next day may need it."""
        small = ("-p", "rows=1000")
        done = self.flowrun("job.yaml", *small, "-T", "/proc/nowhere")
        self.ends(73, done, "can't use the scratch directory /proc/nowhere", "(-T)")
        scratch = ("--set", "resources={scratch: /proc/nowhere}")
        for words in (["job.yaml"], ["check", "job.yaml"]):
            done = self.flowrun(*words, "-p", "rows=1000000000", "-m", "32MiB", *scratch)
            self.ends(73, done, "can't use the scratch directory /proc/nowhere", "(job)")
        for words in (["check", "job.yaml"], ["job.yaml"]):
            done = self.flowrun(*words, *small, *scratch)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    if not LAUNCHER or not flowrun_process.FLOWRUN:
        sys.exit("usage: failing_disks_test.py FLOWRUN REFUSING_LAUNCHER [test…]")
    main()
