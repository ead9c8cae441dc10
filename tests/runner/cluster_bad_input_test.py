#!/usr/bin/env python3
"""What is wrong around a job on a cluster: storage that isn't shared, programs of different versions, two drivers for
one output. Each is told with its path, and nothing is left."""

import ctypes
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess

from cluster_process import cluster_process
from flowrun_process import FLOWRUN, SANITIZED, main

JOB = """flowrun: 1
params: {rows: {type: int, default: 30000}}
nodes:
  drawn:  {op: generate, with: {rows: "${rows}", columns: {k: "rand(1, i) % 1000", n: i}}}
  sorted: {op: sort, in: drawn, with: {by: [k, n]}}
  all:    {op: file.write_csv, in: sorted, with: {path: out/all.csv}}
"""
TREE = JOB.replace("out/all.csv", '"out/{k}.csv"').replace("rand(1, i) % 1000", "i % 5")
LONG = "1000000" if SANITIZED else "3000000"
LOCAL = ("-q", "-T", "scratch", "--cluster", "local:2")


def with_checksum(path, message):
    """The message as the file has it (cluster/shared_directory.cc)."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    name = os.fsencode(path.name)
    seed = ctypes.c_uint64(library.XXH3_64bits(name, ctypes.c_size_t(len(name))))
    checksum = library.XXH3_64bits_withSeed(message, ctypes.c_size_t(len(message)), seed)
    return checksum.to_bytes(8, "little") + message


def merged_streams(number, indent, name):
    """Nodes that merge so many sorted streams."""
    streams = "".join(f"""{indent}drawn{i}:  {{op: generate, with: {{rows: 10, columns: {{k: "rand({i}, i)"}}}}}}
{indent}sorted{i}: {{op: sort, in: drawn{i}, with: {{by: [k]}}}}
""" for i in range(number))  # fmt: skip
    names = ", ".join(f"sorted{i}" for i in range(number))
    return f"{streams}{indent}{name}: {{op: merge, in: [{names}], with: {{by: [k]}}}}\n"


class cluster_bad_input_test(cluster_process):
    def setUp(self):
        super().setUp()
        self.write("job.yaml", JOB)

    def left_by_a_killed_driver(self, stage, job="job.yaml"):
        """The directory that it shared with its workers."""
        driver = self.start(job, *LOCAL, "--resume", "-p", f"rows={LONG}")
        worker = self.until_workers(driver, stage)
        driver.kill()
        driver.communicate()
        self.until_gone(worker)
        return next((self.dir / "scratch").glob("flowrun-cluster-resume-*/*/plan")).parent

    def work(self, directory, stage, *options):
        """A worker for the stage's first task, as an engine starts it: it would end with its standard input."""
        read, write = os.pipe()
        try:
            return subprocess.run([FLOWRUN, "worker", directory, str(stage), "0", "-T", "scratch", *options],
                                  cwd=self.dir, env=self.environment, stdin=read, capture_output=True, text=True,
                                  timeout=120)  # fmt: skip
        finally:
            os.close(read)
            os.close(write)

    def test_pipes_and_devices(self):
        os.mkfifo(self.dir / "pipe")
        copy = "flowrun: 1\nnodes:\n  rows: {op: file.read_lines, with: {path: FROM}}\n  all: {op: file.write_lines, in: rows, with: {path: TO}}\n"
        for source, sink, said in (
            ("pipe", "out/all", "'rows' reads from pipe, a pipe: a task of a cluster that is tried again can't read it again"),
            ("job.yaml", "pipe", "'all' writes to pipe, which is no file: several tasks of a cluster would write into it at once"),
            ("job.yaml", "/dev/full", "'all' writes to /dev/full, which is no file: several tasks"),
        ):
            self.write("copy.yaml", copy.replace("FROM", source).replace("TO", sink))
            done = self.flowrun("copy.yaml", *LOCAL)
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertIn("help: give a file, or run the job without --cluster", done.stderr)
        (self.dir / "in").symlink_to("/dev/stdin")
        (self.dir / "out.txt").symlink_to("/dev/stdout")
        for source, sink in (("in", "out/all"), ("job.yaml", "out.txt")):
            self.write("copy.yaml", copy.replace("FROM", source).replace("TO", sink))
            done = self.flowrun("copy.yaml", *LOCAL)
            self.assertEqual((done.returncode, done.stdout), (78, ""), done.stderr)
        self.write("copy.yaml", copy.replace("FROM", "job.yaml").replace("TO", "/dev/null"))
        done = self.flowrun("copy.yaml", *LOCAL)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_jobs_that_start_at_the_same_time(self):
        """A directory that isn't locked yet looks like one of a driver that was killed."""
        for i in range(6):
            self.write(f"job{i}.yaml", JOB.replace("out/all.csv", f"out/all{i}.csv"))
            self.write(f"tree{i}.yaml", TREE.replace("out/{k}.csv", f"tree/{i}-{{k}}.csv"))
        for kind in ("job", "tree"):
            for _ in range(1 if SANITIZED else 3):
                jobs = [self.start(f"{kind}{i}.yaml", *LOCAL, "-p", "rows=20", "--cluster", "local:1") for i in range(6)]
                said = [job.communicate()[1] for job in jobs]
                self.assertEqual([job.returncode for job in jobs], [0] * 6, said)
        self.assertEqual(self.files("scratch"), [])

    def test_more_files_than_may_be_open(self):
        words = (*LOCAL, "-p", "rows=1000", "--tasks", "60")
        def done_with(soft, hard):
            limits = (resource.RLIMIT_NOFILE, (soft, hard))
            return self.flowrun("job.yaml", *words, preexec_fn=lambda: resource.setrlimit(*limits))

        done = done_with(40, 4096)
        self.assertEqual(done.returncode, 0, done.stderr)
        if SANITIZED:  # they need descriptors themselves
            return
        done = done_with(40, 40)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertRegex(done.stderr, r"can't read \S+: Too many open files\n(.*\n)* +help: a task opens each file that it merges: raise")

    def test_more_to_merge_than_a_task_has_memory_for(self):
        self.write("job.yaml", f"""flowrun: 1
nodes:
{merged_streams(60, "  ", "merged")}  all:    {{op: file.write_csv, in: merged, with: {{path: out/all.csv}}}}
""")
        for words in (["run", "-q"], ["plan"]):
            done = self.flowrun(*words, "job.yaml", "-T", "scratch", "-m", "64MiB", "--cluster", "local:2", "--tasks", "2")
            self.assertEqual((done.returncode, done.stdout), (78, ""), done.stderr)
            self.assertRegex(done.stderr, "a task of stage 61, which merges 120 files, needs [0-9]+ MiB of memory, and has 32.0 MiB")
            enough = re.search("run with (-m [0-9]+MiB), or .* fewer tasks", done.stderr)
            self.assertTrue(enough, done.stderr)
        self.assertFalse((self.dir / "out").exists())
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", *enough[1].split(), "--cluster", "local:2", "--tasks", "2")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_memory_that_is_asked_for_is_enough_for_all_stages(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  a: {op: generate, with: {rows: 3000, columns: {k: "rand(1, i) % 50", n: i}}}
  b: {op: generate, with: {rows: 3000, columns: {k: "rand(2, i) % 50", m: i}}}
  sorted_a: {op: sort, in: a, with: {by: [k]}}
  sorted_b: {op: sort, in: b, with: {by: [k]}}
  both: {op: join, in: {left: sorted_a, right: sorted_b}, with: {by: [k]}}
  again: {op: sort, in: both, with: {by: [n, m]}}
  all:  {op: file.write_csv, in: again, with: {path: out/all.csv}}
""")
        options = ("-T", "scratch", "--cluster", "local:2", "--tasks", "16", "-m")
        # Less than the whole job would need, too.
        for memory in ("1KiB", "2MiB", "9MiB"):
            for words in (["run", "-q"], ["plan"]):
                with self.subTest(memory=memory, words=words):
                    done = self.flowrun(*words, "job.yaml", *options, memory)
                    self.assertEqual((done.returncode, done.stdout), (78, ""), done.stderr)
                    self.assertRegex(done.stderr, r"a task of stage \d+, which merges \d+ files, needs \d+ MiB of memory, and has")
                    self.assertRegex(done.stderr, r"expected: phase \d+ wants at least\n")
                    enough = re.search(r"run with -m (\d+MiB), or divide the stages into fewer tasks", done.stderr)
                    self.assertTrue(enough, done.stderr)
        self.assertEqual(self.files("."), ["job.yaml"])
        done = self.flowrun("job.yaml", "-q", *options, enough[1])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_memory_of_loops_is_asked_for_before_the_run(self):
        """Of the whole, which one task runs, and of the stages inside, where these run."""
        self.write("job.yaml", """flowrun: 1
nodes:
  a: {op: generate, with: {rows: 2000, columns: {n: i, t: i * 3}}}
  x:
    op: loop
    in: {start: a}
    with:
      carry: {now: {from: start}, rounds: {value: 0}}
      body:
        half: {op: map, in: now, with: {n: n / 2, t: t}}
        so:   {op: sort, in: half, with: {by: [n]}}
      next:  {now: so, rounds: rounds + 1}
      until: "rounds > 2"
  all: {op: file.write_csv, in: x.now, with: {path: out/all.csv}}
""")
        for more in ((), ("--divide-from", "1")):
            with self.subTest(more):
                options = ("-q", "-T", "scratch", "--cluster", "local:2", *more, "-m")
                done = self.flowrun("job.yaml", *options, "4MiB")
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertRegex(done.stderr, r"error: (x: )?a task of stage \d+ needs \d+ MiB of memory, and has 2.00 MiB")
                self.assertFalse((self.dir / "out").exists())
                done = self.flowrun("job.yaml", *options, re.search(r"run with -m (\d+MiB)", done.stderr)[1])
                self.assertEqual(done.returncode, 0, done.stderr)
                subprocess.run(["rm", "-r", self.dir / "out"], check=True)

    def test_what_may_never_run_needs_no_memory(self):
        """The branch that isn't taken would merge 24 streams."""
        self.write("job.yaml", f"""flowrun: 1
nodes:
  a: {{op: generate, with: {{rows: 2000, columns: {{k: i}}}}}}
  c:
    op: if
    in: {{rows: a}}
    with:
      condition: "rows(rows) > 3000"
      then:
{merged_streams(24, "        ", "made")}      else:
        made: {{op: map, in: rows, with: {{k: k + 1}}}}
      out: {{made: made}}
  all: {{op: file.write_csv, in: c.made, with: {{path: out/all.csv}}}}
""")
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:2", "--divide-from", "1", "-m", "16MiB")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_directory_that_this_machine_does_not_see(self):
        done = self.work("nowhere", 0, "--host", "there")
        self.assertEqual(done.returncode, 75, done.stderr)  # another machine may see it
        self.assertIn("can't read nowhere/plan: No such file or directory", done.stderr)
        self.assertIn("must be on storage that all machines share", done.stderr)

    def test_a_worker_of_another_version(self):
        directory = self.left_by_a_killed_driver(0)
        mine = subprocess.run([FLOWRUN, "version", "--only-number"], capture_output=True, text=True).stdout.split()[1]
        other = mine[:-1] + chr(ord(mine[-1]) ^ 1)
        plan = directory / "plan"
        self.assertEqual(plan.read_bytes().count(mine.encode()), 1)
        plan.write_bytes(with_checksum(plan, plan.read_bytes()[8:].replace(mine.encode(), other.encode())))
        done = self.work(directory, 0, "--host", "there")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn(f"{FLOWRUN} is flowrun {mine}, and the driver of the job is flowrun {other}", done.stderr)
        self.assertIn("install the same version on all machines", done.stderr)
        self.assertIn(b"there", (directory / "failed-0-0").read_bytes())

    def kept(self, pattern, job="job.yaml", stage=1):
        """A file that a killed driver and its tasks have left."""
        shutil.rmtree(self.dir / "scratch", ignore_errors=True)
        return sorted(self.left_by_a_killed_driver(stage, job).glob(pattern))[0]

    def goes_on(self, *more, job="job.yaml", code=0):
        done = self.flowrun(job, *LOCAL[1:], "--resume", "-p", f"rows={LONG}", *more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def nothing_left(self):
        self.assertEqual(self.files("scratch"), [])
        self.assertEqual([name for name in self.files("out") if ".flowrun-" in name], [])

    def output(self):
        parts = sorted((self.dir / "out/all.csv").glob("part-*"))
        return b"".join(path.read_bytes() for path in parts)

    def test_what_is_damaged_in_what_was_kept_is_named_and_done_again(self):
        self.goes_on()
        expected = self.output()
        for pattern in ("done-0-0", "stage-1", "plan"):
            for damage in (lambda content: b"", lambda content: content[:-1],
                           lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:]):
                with self.subTest(pattern):
                    path = self.kept(pattern)
                    path.write_bytes(damage(path.read_bytes()))
                    self.assertIn(f"starts over: {path} is damaged", self.goes_on())
                    self.assertEqual(self.output(), expected)
                    self.nothing_left()

    def test_rows_of_tasks_that_are_damaged_end_the_job_once(self):
        """Each file has checksums, and is read when the rows are needed."""
        self.goes_on()
        expected = self.output()
        for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-100]),
                       lambda path: path.write_bytes(b"x" + path.read_bytes()[1:])):
            rows = self.kept("0-*/rows-*")
            damage(rows)
            said = self.goes_on(code=65)
            self.assertIn(str(rows), said)
            self.assertNotIn("what is finished stays", said)
            self.nothing_left()
            self.goes_on()
            self.assertEqual(self.output(), expected)

    def test_parts_that_are_gone_are_made_again(self):
        """As after a run without --resume: to it they are left over, and it removes them."""
        for tree, hidden in ((False, ".all.csv.flowrun-*.tmp"), (True, ".flowrun-*.tmp")):
            with self.subTest(hidden):
                self.write("job.yaml", TREE if tree else JOB)
                self.left_by_a_killed_driver(2 if tree else 1)
                self.assertEqual(len(list((self.dir / "out").glob(hidden))), 1)
                self.assertEqual(self.flowrun("job.yaml", *LOCAL, "-p", f"rows={LONG}").returncode, 0)
                self.assertEqual(list((self.dir / "out").glob(hidden)), [])
                self.goes_on()
                self.nothing_left()
                shutil.rmtree(self.dir / "out")

    def test_outputs_get_their_names_together(self):
        """Where one can't have its name, those before have what they had, and what is new goes."""
        self.write("job.yaml", """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 3000, columns: {k: i % 5, n: i}}}
  new:  {op: file.write_csv, in: rows, with: {path: out/new}}
  old:  {op: file.write_csv, in: rows, with: {path: out/old}}
  tree: {op: file.write_csv, in: rows, with: {path: "out/tree/{k}.csv"}}
  z:    {op: file.write_csv, in: rows, with: {path: "out/z/{k}.csv"}}
  same: {op: file.write_csv, in: rows, with: {path: "out/./z/{k}.more"}}
""")
        self.assertEqual(self.flowrun("job.yaml", *LOCAL).returncode, 0)
        shutil.rmtree(self.dir / "out/new")
        (self.dir / "out/tree/1.csv").unlink()
        for name in self.files("out"):
            if "manifest" not in name and "part" not in name:
                (self.dir / "out" / name).write_text(f"old {name}")
        (self.dir / "out/z/3.csv").unlink()
        (self.dir / "out/z/3.csv").mkdir()

        def content():
            return {name: (self.dir / "out" / name).read_bytes() for name in self.files("out") if ".flowrun-" not in name}

        before = content()
        for more in ((), ("--resume",), ("--resume",)):
            done = self.flowrun("job.yaml", *LOCAL, *more)
            self.assertEqual(done.returncode, 73, done.stderr)
            self.assertIn("can't write out/z/3.csv: Is a directory", done.stderr)
            self.assertNotIn("in place are", done.stderr)
            self.assertEqual(content(), before)
        (self.dir / "out/z/3.csv").rmdir()
        done = self.flowrun("job.yaml", *LOCAL, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.nothing_left()
        self.assertEqual(len(content()), 21)
        for name, text in content().items():
            self.assertNotIn(b"old", text, name)

    def test_outputs_that_are_not_shared(self):
        """What the driver has made beside them isn't there, as on another machine's disk."""
        for job, stage, hidden in ((JOB, 1, "out/.all.csv.flowrun-*.tmp"), (TREE, 2, "out/.flowrun-*.tmp")):
            with self.subTest(hidden):
                self.write("job.yaml", job)
                directory = self.left_by_a_killed_driver(stage)
                made, = self.dir.glob(hidden)
                for path in made.rglob("*"):
                    if path.is_file():
                        path.unlink()
                moved = made.rename(self.dir / "elsewhere")
                done = self.work(directory, stage)
                self.assertEqual(done.returncode, 75, done.stderr)
                self.assertRegex(done.stderr, rf"can't write out.*: there is no .*{made.name} here, which the driver "
                                              "of the job has made\n  help: outputs must be on storage")
                self.assertFalse(made.exists())
                moved.rename(made)
                self.assertEqual(self.flowrun("clean", "scratch").returncode, 0)
                subprocess.run(["rm", "-r", self.dir / "out"], check=True)

    def test_two_drivers_of_one_output(self):
        first = self.start("job.yaml", *LOCAL, "-p", f"rows={LONG}")
        self.until_workers(first, 0)
        for number in range(2):
            done = self.flowrun("job.yaml", "-q", "-T", f"scratch{number}", "--cluster", "local:2")
            self.assertEqual(done.returncode, 73, done.stderr)
            self.assertRegex(done.stderr, r"can't write out/all.csv: another job writes it now, in out/\.all\.csv\."
                                          rf"flowrun-\w+\.tmp: process {first.pid} of {socket.gethostname()}\n")
            self.assertEqual(list((self.dir / f"scratch{number}").iterdir()), [])
        _, err = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 0, err)
        self.assertEqual([path.name for path in (self.dir / "out").iterdir()], ["all.csv"])
        self.assertNotIn("driver", [path.name for path in (self.dir / "out/all.csv").iterdir()])

    def test_of_drivers_that_begin_together_at_most_one_writes(self):
        drivers = [self.start("job.yaml", "-q", "-T", f"scratch{n}", "--cluster", "local:1") for n in range(4)]
        ended = [(driver.communicate(timeout=120)[1], driver.returncode) for driver in drivers]
        for said, code in ended:
            self.assertIn(code, (0, 73), said)
            self.assertEqual("another job writes it now" in said, code == 73, said)
        self.assertEqual([path.name for path in (self.dir / "out").iterdir() if path.name.startswith(".")], [])
        done = self.flowrun("job.yaml", "-q", "-T", "scratch", "--cluster", "local:1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_program_that_is_replaced_while_the_job_runs(self):
        program = self.dir / "program"
        program.write_bytes(pathlib.Path(FLOWRUN).read_bytes())
        program.chmod(0o755)
        driver = subprocess.Popen([program, "job.yaml", *LOCAL, "-p", f"rows={LONG}"], cwd=self.dir,
                                  env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(driver.stderr.close)
        self.addCleanup(driver.kill)
        self.until_workers(driver, 0)
        program.unlink()
        _, err = driver.communicate(timeout=120)
        self.assertEqual(driver.returncode, 66, err)
        self.assertIn(f"can't start {program}: No such file or directory", err)
        self.assertEqual(list((self.dir / "scratch").iterdir()), [])


if __name__ == "__main__":
    main()
