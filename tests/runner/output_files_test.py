#!/usr/bin/env python3
"""Outputs: none is lost to another one, even where two names lead to one file, and nothing is left behind."""

import contextlib
import os
import pathlib
import signal
import time

from flowrun_process import job_with_sinks, main, process_test


class one_file_test(process_test):
    def refused(self, text, *parts, arguments=()):
        self.write("job.yaml", text)
        for command in ("check", "run"):
            more = arguments if command == "run" else ()
            if arguments and command == "check":
                continue
            with self.subTest(command=command):
                self.fails(78, self.flowrun(command, "job.yaml", *more), *parts)
        self.assertEqual([name for name in self.files() if name.startswith("out")], [])

    def test_relative_and_absolute(self):
        self.refused(job_with_sinks(("file.write_csv", "out"), ("file.write_rows", self.dir / "out")), "'out0' and 'out1' both write")

    def test_through_links(self):
        (self.dir / "real").mkdir()
        (self.dir / "link").symlink_to("real")
        self.refused(job_with_sinks(("file.write_csv", "real/x"), ("file.write_rows", "link/x")), "both write one file")
        (self.dir / "to-out").symlink_to("out")
        self.refused(job_with_sinks(("file.write_csv", "out"), ("file.write_rows", "to-out")), "both write one file")

    def test_standard_output_by_two_names(self):
        self.refused(job_with_sinks(("file.write_csv", "-"), ("file.write_rows", "/dev/stdout")), "both write one file")
        self.refused(job_with_sinks(("file.write_csv", "-"), ("file.write_csv", "/dev/fd/1")), "both write one file")

    def test_directories(self):
        for path in ("..", "../..", "sub/..", "/..", "new/"):
            self.write("job.yaml", job_with_sinks(("file.write_csv", path)))
            self.fails(73, self.flowrun("check", "job.yaml"), "directory")
            self.fails(73, self.flowrun("run", "job.yaml"), "directory")

    def test_what_lies_in_an_output(self):
        for second in ("out/b", "out/b/c", self.dir / "link/out/b", "out/{i}"):
            (self.dir / "link").unlink(missing_ok=True)
            (self.dir / "link").symlink_to(".")
            self.refused(job_with_sinks(("file.write_csv", "out"), ("file.write_csv", second)),
                         "'out1' writes", "lies in 'out', and that is a file, which 'out0' writes")
        self.refused(job_with_sinks(("file.write_csv", "out")), "--report writes", "which lies in 'out'",
                     arguments=("--report", "out/report"))
        self.write("job.yaml", job_with_sinks(("file.write_csv", "out/a"), ("file.write_csv", "out/{i}.csv")))
        self.assertEqual(self.flowrun("run", "job.yaml").returncode, 0)

    def test_names_that_can_not_be(self):
        (self.dir / "circle").symlink_to("ring")
        (self.dir / "ring").symlink_to("circle")
        for path, why in (("n" * 256, "File name too long"), ("new/" + "n" * 256, "File name too long"),
                          ("circle", "Too many levels of symbolic links")):
            self.write("job.yaml", job_with_sinks(("file.write_csv", path)))
            for command in ("check", "run"):
                self.fails(73, self.flowrun(command, "job.yaml"), "job.yaml:", path, why)
        self.assertTrue((self.dir / "circle").is_symlink())
        self.write("job.yaml", job_with_sinks(("file.write_csv", "n" * 255)))
        self.assertEqual(self.flowrun("run", "job.yaml").returncode, 0)

    def test_an_index_beside_no_file(self):
        text = "flowrun: 1\nnodes:\n  rows: {op: generate, with: {rows: 3, columns: {i: i}}}\n"
        text += "  out: {op: file.write_rows, in: rows, with: {path: /dev/stdout, index: true}}\n"
        self.refused(text, "what is no file has none beside it")

    def test_an_index(self):
        text = job_with_sinks(("file.write_csv", self.dir / "rows.index"))
        text += '  sorted: {op: sort, in: rows, with: {by: [i]}}\n'
        text += '  indexed: {op: file.write_rows, in: sorted, with: {path: rows, index: true}}\n'
        self.refused(text, "both write one file")

    def test_a_report_on_an_output(self):
        text = job_with_sinks(("file.write_csv", "out"))
        self.refused(text, "--report and 'out0' both write", arguments=("--report", self.dir / "out"))
        self.refused(job_with_sinks(("file.write_csv", "-")), "--report and 'out0' both write", arguments=("--report", "-"))

    def test_an_input_under_another_name(self):
        self.write("data.csv", "a\n1\n")
        source = "{op: file.read_csv, with: {path: data.csv, type: {a: u32}}}"
        self.refused(job_with_sinks(("file.write_csv", self.dir / "data.csv"), source=source), "'out0' writes", "which 'rows' reads")
        self.assertEqual((self.dir / "data.csv").read_text(), "a\n1\n")

    def test_the_job_itself(self):
        self.refused(job_with_sinks(("file.write_csv", "./job.yaml")), "'out0' writes 'job.yaml', which flowrun reads")
        self.refused(job_with_sinks(("file.write_csv", "out")), "--report writes", "which flowrun reads as 'job.yaml'",
                     arguments=("--report", self.dir / "job.yaml"))

    def test_standard_input_by_two_names(self):
        text = "flowrun: 1\nnodes:\n"
        for name, path in (("a", "-"), ("b", "/dev/stdin")):
            text += f'  {name}: {{op: file.read_lines, with: {{path: "{path}"}}}}\n'
            text += f"  out{name}: {{op: file.write_lines, in: {name}, with: {{path: out{name}}}}}\n"
        self.refused(text, "'a' and 'b' both read standard input")
        text = job_with_sinks(("file.write_csv", "out")).replace("nodes:", "nodes:\n  a: {op: file.read_lines, with: {path: [\"-\", \"-\"]}}"
                                                                 "\n  b: {op: file.write_lines, in: a, with: {path: b}}")
        self.refused(text, "'a' reads twice from standard input")

    def test_hard_links_are_two_files(self):
        self.write("one", "before")
        os.link(self.dir / "one", self.dir / "two")
        self.write("job.yaml", job_with_sinks(("file.write_csv", "one"), ("file.write_csv", "two")))
        done = self.flowrun("run", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "one").read_text(), (self.dir / "two").read_text())
        self.assertTrue((self.dir / "one").read_text().startswith("0\n"))

    def test_a_link_that_changes_after_the_check(self):
        """The second output is made in a later phase, when its name has become one for the first."""
        (self.dir / "other").symlink_to("elsewhere")
        os.mkfifo(self.dir / "pipe")
        self.write(
            "job.yaml",
            'flowrun: 1\nnodes:\n'
            '  lines: {op: file.read_lines, with: {path: pipe}}\n'
            '  first: {op: file.write_lines, in: lines, with: {path: out}}\n'
            '  sorted: {op: sort, in: lines, with: {by: [text]}}\n'
            '  second: {op: file.write_lines, in: sorted, with: {path: other}}\n',
        )
        running = self.start("run", "job.yaml")
        with open(self.dir / "pipe", "w") as pipe:
            (self.dir / "other").unlink()
            (self.dir / "other").symlink_to("out")
            pipe.write("b\na\n")
        _, said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 73, said)
        self.assertIn("two outputs are one file", said)
        self.assertNotIn("out", self.files())

    @staticmethod
    def thread_names(pid):
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            # A thread may end between the listing and the reading.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                yield (thread / "comm").read_text()

    def waiting_for_a_reader(self):
        running = self.start("run", "job.yaml")
        end = time.monotonic() + 60
        while "flowrun-write\n" not in self.thread_names(running.pid):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return running

    def test_a_pipe_whose_reader_comes_late(self):
        os.mkfifo(self.dir / "pipe")
        for rows, expected in ((3, "0\n1\n2\n"), (0, "")):
            self.write(
                "job.yaml",
                f"flowrun: 1\nnodes:\n  rows: {{op: generate, with: {{rows: {rows}, columns: {{x: i}}}}}}\n"
                "  out: {op: file.write_csv, in: rows, with: {path: pipe}}\n",
            )
            for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                running = self.waiting_for_a_reader()
                running.send_signal(number)
                _, said = running.communicate(timeout=60)
                self.assertEqual(running.returncode, code, said)
                self.assertNotIn("before the job had wound down", said)
            running = self.waiting_for_a_reader()
            self.assertEqual((self.dir / "pipe").read_text(), expected)
            _, said = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 0, said)

    def test_sort_may_replace_its_input(self):
        self.write("lines", "b\na\n")
        for output in ("lines", self.dir / "lines", "./lines"):
            self.write("lines", "b\na\n")
            done = self.flowrun("sort", "-o", output, "lines")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.dir / "lines").read_text(), "a\nb\n")


if __name__ == "__main__":
    main()
