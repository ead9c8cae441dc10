#!/usr/bin/env python3
"""Standard input, output and error as a shell hands them over: closed, private, half read, with a reader that leaves."""

import os
import signal
import subprocess

from flowrun_process import FLOWRUN, main, process_test

COPY = """flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: "-"}}
  out: {op: file.write_lines, in: lines, with: {path: out.txt}}
"""
NUMBERS = """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 2000000, columns: {x: i}}}
  out: {op: file.write_csv, in: rows, with: {path: "-"}}
"""
NOBODY = 65534


class standard_streams(process_test):
    def test_a_closed_standard_input_replaces_nothing(self):
        self.write("job.yaml", COPY)
        self.write("out.txt", "before\n")
        done = self.shell('exec "$0" -q job.yaml <&-')
        self.assertEqual((done.returncode, done.stdout), (66, b""))
        self.assertIn(b"can't read standard input: it is not open for reading", done.stderr)
        self.assertEqual((self.dir / "out.txt").read_text(), "before\n")
        done = self.shell('exec "$0" -q job.yaml 0>sink')  # open, but for writing
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertEqual((self.dir / "out.txt").read_text(), "before\n")
        self.assertEqual(self.shell('exec "$0" verify - <&-').returncode, 74)

    def test_a_closed_output_harms_no_file(self):
        self.write("job.yaml", COPY)
        self.write("numbers.yaml", NUMBERS)
        for closed in (">&-", "2>&-", ">&- 2>&-"):
            with self.subTest(closed=closed):
                done = self.shell(f'exec "$0" job.yaml --report report.json -v {closed}', input=b"b\na\n")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((self.dir / "out.txt").read_text(), "b\na\n")
                self.assertTrue((self.dir / "report.json").read_text().startswith("{"))
        done = self.shell('exec "$0" -q numbers.yaml >&-')
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertIn(b"can't write standard output: it is not open for writing", done.stderr)
        self.assertEqual(self.files(), ["job.yaml", "numbers.yaml", "out.txt", "report.json"])

    def as_nobody(self, words, path):
        """Runs with a standard input that only root may open."""
        descriptor = os.open(path, os.O_RDONLY)
        os.chmod(self.dir, 0o777)
        try:
            return subprocess.run(
                [FLOWRUN, *words], cwd=self.dir, env=self.environment, stdin=descriptor, capture_output=True, timeout=120,
                user=NOBODY, group=NOBODY, extra_groups=[],
            )  # fmt: skip
        finally:
            os.close(descriptor)

    def test_a_standard_input_that_may_not_be_opened(self):
        if os.geteuid() != 0 or not os.access(FLOWRUN, os.X_OK):
            self.skipTest("only root can become another user")
        if subprocess.run([FLOWRUN, "version"], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True).returncode != 0:
            self.skipTest("the program can't be run by another user")
        small, large = b"b\na\n", b"".join(b"%07d\n" % (i * 7919 % 1_000_003) for i in range(400_000))
        for text in (small, large):
            path = self.write("private", text)
            path.chmod(0o600)
            done = self.as_nobody(["sort"], path)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(done.stdout, b"".join(sorted(text.splitlines(True))))
            self.write("job.yaml", COPY.replace("out.txt", '"-"'))
            self.assertEqual(self.as_nobody(["-q", "job.yaml"], path).stdout, text)

    def test_the_next_program_finds_the_end(self):
        self.write("job.yaml", COPY)
        self.write("in", "header\nb\na\n")
        done = self.shell('(read -r line; "$0" -q job.yaml; cat) < in')
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertEqual((self.dir / "out.txt").read_text(), "b\na\n")

    def test_rows_from_where_standard_input_stands(self):
        self.write("in", bytes(range(1, 9)))
        for more in ("", ", compression: none"):
            self.write("job.yaml", "flowrun: 1\nnodes:\n"
                       f"  rows: {{op: file.read_rows, with: {{path: '-', type: {{x: u8}}{more}}}}}\n"
                       "  out: {op: file.write_csv, in: rows, with: {path: '-'}}\n")
            done = self.shell('(dd bs=3 count=1 of=/dev/null 2>/dev/null; "$0" -q job.yaml) < in')
            self.assertEqual((done.returncode, done.stdout), (0, b"4\n5\n6\n7\n8\n"), more)

    def test_a_reader_that_goes_away(self):
        self.write("job.yaml", NUMBERS)
        default = lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for words in (["-q", "job.yaml"], ["gen", "u64", "--rows", "1000000"]):
            with self.subTest(words=words):
                self.assertEqual(self.piped_away(*words), (-signal.SIGPIPE, b""))
        done = self.shell('("$0" -q job.yaml; echo $? >&2) | head -n 1', preexec_fn=default)
        self.assertEqual((done.stdout, done.stderr), (b"0\n", b"141\n"))

    def test_a_reader_that_goes_away_with_sigpipe_ignored(self):
        self.write("job.yaml", NUMBERS)
        code, err = self.piped_away("-q", "job.yaml", ignoring=True)
        self.assertEqual(code, 74)
        self.assertIn(b"Broken pipe", err)


if __name__ == "__main__":
    main()
