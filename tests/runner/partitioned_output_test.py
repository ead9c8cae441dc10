#!/usr/bin/env python3
"""Outputs of several files (path: "out/{column}.csv"): few descriptors, little memory, kills, full disks, reports."""

import json
import resource
import signal
import subprocess
import time

from flowrun_process import FLOWRUN, main, process_test

HEAD = "flowrun: 1\nname: parts\nnodes:\n"


def job(path, rows=100_000, column="i % 10", more=""):
    return (
        HEAD
        + f'  rows: {{op: generate, with: {{rows: {rows}, columns: {{k: "{column}", i: i}}}}}}\n'
        + f'  out: {{op: file.write_csv, in: rows, with: {{path: "{path}"{more}}}}}\n'
    )


class partitioned_output_test(process_test):
    def names(self):
        """All files and directories, hidden ones, too."""
        below = self.dir.rglob("*")
        return sorted(str(p.relative_to(self.dir)) for p in below if "home" not in p.parts and p.name != "job.yaml")

    def ok(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)

    def expect_parts(self, rows, parts, place="out/{}.csv"):
        expected = {k: [] for k in range(parts)}
        for i in range(rows):
            expected[i * 7919 % parts].append(f"{i * 7919 % parts},{i}\n")
        for k, lines in expected.items():
            self.assertEqual((self.dir / place.format(k)).read_text(), "".join(lines))

    def test_compressed_files_whose_rows_lie_together_have_the_same_bytes(self):
        self.write("job.yaml", HEAD + """  rows: {op: generate, with: {rows: 600000, columns: {g: "u32(rand(2, i) % 3)", k: "rand(1, i)"}}}
  sorted: {op: sort, in: rows, with: {by: [g, k]}}
  out: {op: file.write_csv, in: sorted, with: {path: "out/{g}.csv.gz"}}
""")
        made = []
        for options in (("-j", "1", "-m", "64MiB"), ("-j", "2", "-m", "32MiB"), ("-j", "3", "-m", "16MiB", "--batch-size", "10000")):
            self.ok(self.flowrun("job.yaml", "-q", *options))
            made.append([(self.dir / f"out/{g}.csv.gz").read_bytes() for g in range(3)])
        self.assertGreater(min(map(len, made[0])), 1 << 20)
        for other in made[1:]:
            self.assertTrue(other == made[0])

    def test_thousands_of_files_with_few_descriptors_and_little_memory(self):
        self.write("job.yaml", job("out/{k}.csv", 60_000, "i * 7919 % 3000"))
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))  # noqa: E731
        done = subprocess.run(
            [FLOWRUN, "run", "job.yaml", "-q", "-m", "24MiB", "-j", "2", "--no-sync"],
            cwd=self.dir,
            env=self.environment,
            capture_output=True,
            text=True,
            preexec_fn=few,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_parts(60_000, 3000)
        self.assertEqual(len(self.names()), 3001)

    def test_the_report_has_the_files(self):
        self.write("job.yaml", job("out/{k}.csv", 10, "i % 2", ", path_columns: leave_out"))
        self.ok(self.flowrun("run", "job.yaml", "-q", "--report", "report.json"))
        output = json.loads((self.dir / "report.json").read_text())["outputs"][0]
        self.assertEqual((output["path"], output["state"], output["num_files"]), ("out/{k}.csv", "in place", "2"))
        self.assertEqual(output["path_columns"], ["k"])
        self.assertEqual([c["name"] for c in output["columns"]], ["i"])
        expected = [{"path": f"out/{k}.csv", "rows": "5", "bytes": "10"} for k in (0, 1)]
        self.assertEqual(output["files"], expected)

    def test_the_report_stays_short(self):
        self.write("job.yaml", job("out/{k}.csv", 1500, "i"))
        self.ok(self.flowrun("run", "job.yaml", "-q", "--no-sync", "--report", "report.json"))
        output = json.loads((self.dir / "report.json").read_text())["outputs"][0]
        self.assertEqual((output["num_files"], len(output["files"])), ("1500", 1000))

    def test_plan(self):
        self.write("job.yaml", job("out/{k}.csv", more=", max_files: 77"))
        said = self.flowrun("plan", "job.yaml")
        self.assertIn("'out' writes a file for each k, 77 at most\n", said.stdout)

    def test_files_of_an_earlier_run_stay(self):
        self.write("out/0.csv", "old")
        self.write("out/99.csv", "old")
        self.write("job.yaml", job("out/{k}.csv", 4, "i % 2"))
        self.ok(self.flowrun("run", "job.yaml", "-q"))
        self.assertEqual(self.names(), ["out", "out/0.csv", "out/1.csv", "out/99.csv"])
        self.assertEqual((self.dir / "out/0.csv").read_text(), "0,0\n0,2\n")
        self.assertEqual((self.dir / "out/99.csv").read_text(), "old")

    def test_another_output_that_fails_takes_all_back(self):
        text = job("new/{k}.csv", 1000) + "  checked: {op: check, in: rows, with: {require: {small: i < 900}}}\n"
        self.write("job.yaml", text)
        self.assertNotEqual(self.flowrun("run", "job.yaml", "-q").returncode, 0)
        self.assertEqual(self.names(), [])

    def test_too_many_files(self):
        self.write("job.yaml", job("new/{k}.csv", 1000, "i", ", max_files: 10"))
        self.fails(75, self.flowrun("run", "job.yaml", "-q"), "more than 10 files", "max_files")
        self.assertEqual(self.names(), [])

    def test_a_file_that_becomes_too_large(self):
        """As on a full disk."""
        self.write("job.yaml", job("new/{k}.csv", 1_000_000))
        small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))  # noqa: E731
        done = subprocess.run(
            [FLOWRUN, "run", "job.yaml", "-q"], cwd=self.dir, env=self.environment, capture_output=True, text=True,
            preexec_fn=small,
        )  # fmt: skip
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertRegex(done.stderr, r"can't write .* of new/\d\.csv: File too large")
        self.assertEqual(self.names(), [])

    def test_killed_in_the_middle(self):
        self.write("job.yaml", job("out/{k}.csv", 2 * 10**9))
        started = subprocess.Popen([FLOWRUN, "run", "job.yaml", "-q", "-m", "64MiB"], cwd=self.dir, env=self.environment)
        end = time.monotonic() + 60
        while not any(name.endswith("tmp/3") for name in self.names()) and time.monotonic() < end:
            time.sleep(0.01)
        started.send_signal(signal.SIGKILL)
        started.wait()
        left = self.names()
        self.assertIn("out/.{k}.csv.flowrun-0.tmp/3", left)
        self.assertFalse([name for name in left if name.endswith(".csv")])
        self.write("job.yaml", job("out/{k}.csv", 20, "i % 2"))
        self.ok(self.flowrun("run", "job.yaml", "-q"))
        self.assertEqual(self.names(), ["out", "out/0.csv", "out/1.csv"])

    def test_interrupted(self):
        self.write("job.yaml", job("new/{k}.csv", 2 * 10**9))
        started = subprocess.Popen([FLOWRUN, "run", "job.yaml", "-q", "-m", "64MiB"], cwd=self.dir, env=self.environment)
        end = time.monotonic() + 60
        while not any(name.endswith("tmp/3") for name in self.names()) and time.monotonic() < end:
            time.sleep(0.01)
        started.send_signal(signal.SIGINT)
        started.wait(60)
        self.assertEqual(self.names(), [])

    def test_resumed(self):
        """The sort goes on where it was, and its last merge begins at the beginning."""
        rows = 3_000_000
        text = (
            HEAD
            + f"  rows: {{op: generate, with: {{rows: {rows}, columns: {{i: i, k: i * 7919 % 10}}}}}}\n"
            + "  sorted: {op: sort, in: rows, with: {by: [-i]}}\n"
            + '  out: {op: file.write_csv, in: sorted, with: {path: "out/{k}.csv"}}\n'
        )
        self.write("job.yaml", text)
        words = ["run", "job.yaml", "-q", "--resume", "-T", "scratch", "-m", "16MiB", "-j", "2"]
        started = subprocess.Popen([FLOWRUN, *words], cwd=self.dir, env=self.environment)
        end = time.monotonic() + 60
        while started.poll() is None and not any(n.endswith("tmp/9") for n in self.names()) and time.monotonic() < end:
            time.sleep(0.002)
        started.send_signal(signal.SIGKILL)
        started.wait()
        self.assertFalse([name for name in self.names() if name.endswith(".csv")])
        self.assertTrue([name for name in self.names() if "flowrun-resume" in name])
        self.ok(self.flowrun(*words))
        for k in range(10):
            lines = (f"{i},{k}" for i in range(rows - 1, -1, -1) if i * 7919 % 10 == k)
            self.assertEqual((self.dir / f"out/{k}.csv").read_text().splitlines(), list(lines))
        self.assertEqual([name for name in self.names() if name.startswith(("scratch/", "out/."))], [])

    def test_an_input_under_another_name(self):
        self.write("data/1.txt", "1\n")
        (self.dir / "link").symlink_to("data")
        node = '{op: file.read_csv, with: {path: data/1.txt, type: {k: u8}}}'
        self.write(
            "job.yaml",
            HEAD + f"  rows: {node}\n" + '  out: {op: file.write_csv, in: rows, with: {path: "link/{k}.txt"}}\n',
        )
        self.fails(78, self.flowrun("run", "job.yaml", "-q"), "which may be 'data/1.txt', which 'rows' reads")
        self.assertEqual((self.dir / "data/1.txt").read_text(), "1\n")

    def test_an_input_behind_a_link_among_the_files(self):
        """Only the rows tell that a file has this name."""
        self.write("in.csv", "1\n2\n")
        (self.dir / "out").mkdir()
        (self.dir / "out/2.txt").symlink_to("../in.csv")
        node = '{op: file.read_csv, with: {path: in.csv, type: {k: u8}}}'
        self.write(
            "job.yaml",
            HEAD + f"  rows: {node}\n" + '  out: {op: file.write_csv, in: rows, with: {path: "out/{k}.txt"}}\n',
        )
        self.fails(73, self.flowrun("run", "job.yaml", "-q"), "out/2.txt is in.csv, which the job reads", "a link leads there")
        self.assertEqual((self.dir / "in.csv").read_text(), "1\n2\n")
        self.assertEqual(self.names(), ["in.csv", "out", "out/2.txt"])

    def test_two_jobs_at_once(self):
        for a in ("a", "b"):
            self.write(f"{a}.yaml", job("out/" + a + "-{k}.csv", 300_000))
        started = [
            subprocess.Popen([FLOWRUN, "run", f"{a}.yaml", "-q"], cwd=self.dir, env=self.environment) for a in "ab" for _ in (1, 2)
        ]
        self.assertEqual([one.wait(60) for one in started], [0] * 4)
        self.assertEqual(len([name for name in self.names() if "csv" in name]), 20)

    def test_a_test_that_fails(self):
        text = job("out/{k}.csv", 4, "i % 2")
        text += "tests:\n  - expect: {out: {out/0.csv: ['0,0'], out/7.csv: []}}\n"
        text += "  - expect: {out: ['0,0']}\n  - expect: {out: {elsewhere/0.csv: []}}\n"
        self.write("job.yaml", text)
        done = self.flowrun("test", "job.yaml")
        said = done.stdout + done.stderr
        for part in (
            "out: out/0.csv: expected 1 row (-), found 2 (+)",
            "out wrote no file out/7.csv",
            "out wrote out/1.csv, which is not expected",
            "'out' writes files called out/{k}.csv",
            "no file of 'out' is called elsewhere/0.csv",
        ):
            self.assertIn(part, said)

    def test_a_test_of_compressed_files(self):
        text = job("out/{k}.csv.gz", 4, "i % 2") + "  one: {op: file.write_csv, in: rows, with: {path: x, compression: zstd}}\n"
        text += "tests:\n  - expect: {out: {out/0.csv.gz: ['0,0', '0,2'], out/1.csv.gz: ['1,1', '1,3']}}\n"
        text += "  - expect: {one: ['0,0', '1,1', '0,2', '1,3']}\n"
        self.write("job.yaml", text)
        self.ok(self.flowrun("test", "job.yaml"))

    def test_values_of_parameters_beside_the_home_directory_and_in_tests(self):
        """The braces of the path are columns, wherever the text around them comes from; those of a value are not."""
        text = job("~/${top}/{k}/${name}{k}.csv", 4, "i % 2").replace(
            "nodes:", "params: {top: {type: string}, name: {type: string}}\nnodes:"
        )
        text += "tests:\n  - params: {top: elsewhere, name: of}\n    expect: {out: {elsewhere/0/of0.csv: ['0,0', '0,2'], elsewhere/1/of1.csv: ['1,1', '1,3']}}\n"
        self.write("job.yaml", text)
        self.ok(self.flowrun("run", "job.yaml", "-q", "-p", "top=a-{k}-long", "-p", "name=a-name-{i}-"))
        place = self.dir / "home" / "a-{k}-long"
        self.assertEqual(sorted(str(p.relative_to(place)) for p in place.rglob("*.csv")), ["0/a-name-{i}-0.csv", "1/a-name-{i}-1.csv"])
        self.write("job.yaml", text.replace("~/", ""))
        self.ok(self.flowrun("test", "job.yaml"))

    def test_braces_in_the_output_of_sort(self):
        self.write("in", "b\na\n")
        self.ok(self.flowrun("sort", "in", "-o", "o{x}"))
        self.assertEqual((self.dir / "o{x}").read_text(), "a\nb\n")


if __name__ == "__main__":
    main()
