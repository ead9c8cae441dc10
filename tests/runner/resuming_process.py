"""What the tests of --resume share: jobs, kills at a chosen state, and the last run, which must give the same bytes."""

import json
import signal
import time

from flowrun_process import SANITIZED, process_test

MEMORY = ("-m", "16MiB", "-j", "2")
NUM_ROWS = 4_000_000 if SANITIZED else 6_000_000  # slower there, so it is killed as early

SORT = f"""flowrun: 1
params: {{rows: {{type: int, default: {NUM_ROWS}}}}}
nodes:
  drawn: {{op: generate, with: {{rows: "${{rows}}", columns: {{k: "rand(1, i) % 1000000", i: "i"}}}}}}
  sorted: {{op: sort, in: drawn, with: {{by: [k], stable: true}}}}
  out: {{op: file.write_rows, in: sorted, with: {{path: out/sorted}}}}
"""
# What comes from a file, in parts and with rows that fall away, and has strings.
LINES = """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: [a.txt, empty.txt, b.txt]}}
  some: {op: filter, in: lines, with: {where: "length(text) > 3"}}
  numbered: {op: map, in: some, with: {text: text, copy: "concat(text, '.')"}}
  sorted: {op: sort, in: numbered, with: {by: [text]}}
  out: {op: file.write_csv, in: sorted, with: {path: out/sorted}}
"""


class resuming_test(process_test):
    def run_job(self, *more):
        return self.flowrun("job.yaml", *MEMORY, "-T", "scratch", *more)

    def expected(self):
        """The bytes of a run that nobody disturbs."""
        done = self.run_job()
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.dir / "out/sorted"
        content = path.read_bytes()
        path.unlink()
        return content

    def kept(self):
        return sorted((self.dir / "scratch").glob("flowrun-resume-*"))

    def manifest_bytes(self):
        return sum((d / "manifest").stat().st_size for d in self.kept() if (d / "manifest").exists())

    def is_hidden_part(self, name):
        return name.startswith(".sorted.flowrun-resume-")

    def part_of_output(self):
        """What lies beside the output while it is written; empty: nothing is noted of it yet."""
        return [name for name in self.files("out") if self.is_hidden_part(name)]

    def kill_after(self, num_bytes, *more):
        """Kills a run with --resume once its manifest has grown to so much. False: it was done before."""
        return self.kill_when(lambda: self.manifest_bytes() >= num_bytes, *more)

    def kill_while_writing(self, *more):
        """Kills a run with --resume once two marks of its output are noted. On a busy machine a run may be over before
        that is seen: then another one is killed."""

        def is_far():
            said = self.flowrun("plan", "job.yaml", *MEMORY, "-T", "scratch", "--resume", *more).stdout
            return "'out' has written" in said

        return any(self.kill_when(lambda: self.part_of_output() and is_far(), *more) for _ in range(3))

    def kill_when(self, is_time, *more, patience=60):
        job = self.start("job.yaml", *MEMORY, "-T", "scratch", "--resume", "--progress", "none", *more)
        end = time.monotonic() + patience
        while job.poll() is None and time.monotonic() < end and not is_time():
            time.sleep(0.002)
        killed = job.poll() is None
        job.send_signal(signal.SIGKILL)
        out, err = job.communicate()
        if not killed:
            self.assertEqual(job.returncode, 0, err)
        return killed

    def goes_on(self, expected, *more):
        done = self.run_job("--resume", "--report", "report.json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        # No row was lost between the processes.
        for sort in json.loads((self.dir / "report.json").read_text())["sorts"]:
            compared = sort.get("verified", {}).get("compared")
            self.assertIn(compared, (None, "order, rows, content", "order, at most as many rows"), sort)
        self.assertEqual((self.dir / "out/sorted").read_bytes(), expected)
        self.assertEqual(self.kept(), [])
        return done, {n["id"]: int(n["rows"]) for n in json.loads((self.dir / "report.json").read_text())["nodes"]}

    def killed_again_and_again(self, num_kills=3):
        """Kills after each few records; returns the rows of the last run."""
        expected = self.expected()
        (self.dir / "out/sorted").unlink(missing_ok=True)
        kills = 0
        for _ in range(num_kills):
            self.assertEqual([name for name in self.files("out") if not self.is_hidden_part(name)], [])
            kills += self.kill_after(self.manifest_bytes() + 1500)
        self.assertGreater(kills, 0)
        return self.goes_on(expected)

    def write_inputs(self, name, lines, header=""):
        middle = len(lines) // 3
        self.write(f"a.{name}", header + "".join(lines[:middle]))
        self.write(f"b.{name}", header + "".join(lines[middle:]))
