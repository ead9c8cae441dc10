#!/usr/bin/env python3
"""flowrun explain, and that what it says about exit codes is what the help and docs/language.md say."""

import re

from flowrun_process import ROOT, main, process_test

JOB = """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 3, columns: {x: i}}}
  out: {op: file.write_csv, in: rows, with: {path: "-"}}
"""
GENERATED = "generate, with: {rows: 3, columns: {x: i}}"


class explain_test(process_test):
    def explained(self, *words):
        done = self.flowrun("explain", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def codes(self):
        return re.findall(r"^ *(\d+)  (.+)$", self.explained(), re.MULTILINE)

    def test_every_exit_code_of_the_engine_is_declared(self):
        kinds = re.search(r"enum class error_kind \{(.*?)\};", (ROOT / "engine/base/error.h").read_text(), re.DOTALL)
        numbers = set(re.findall(r"= (\d+),", kinds.group(1)))
        self.assertGreater(len(numbers), 8)
        self.assertEqual(numbers - {number for number, _ in self.codes()}, set())

    def test_the_page_of_the_language_has_the_same_table(self):
        section = (ROOT / "docs/language.md").read_text().split("## Exit codes")[1].split("\n## ")[0]
        self.assertEqual(re.findall(r"^\| (\d+) \| (.+) \|$", section, re.MULTILINE), self.codes())

    def test_help_has_the_same_words(self):
        text = " ".join(self.flowrun("run", "--help").stdout.split())
        for number, meaning in self.codes():
            self.assertIn(f"{number} {meaning}", text)

    def test_a_code_has_causes_and_a_remedy(self):
        for number, meaning in self.codes():
            text = self.explained(number)
            self.assertRegex(text, rf"^exit code {number}: {re.escape(meaning)}\n\ncauses   \w.*\nto do    \w")

    def test_words(self):
        self.assertEqual(self.explained("sort"), self.flowrun("ops", "sort").stdout)
        self.assertEqual(self.explained("sqrt"), self.flowrun("ops", "sqrt").stdout)

    def test_every_metric(self):
        for line in self.flowrun("metrics").stdout.splitlines():
            self.assertIn(line, self.explained(re.match(r"\w+", line).group()))

    def test_pieces_of_messages(self):
        self.assertIn("cause    An expression or a key names", self.explained("unknown column 'x'"))
        self.assertIn("YAML is indented with blanks", self.explained("a", "tab", "in", "the", "indentation"))

    def test_every_known_phrase_is_one_of_a_message(self):
        phrases = re.findall(r'^      \{"([^"]+)"', (ROOT / "runner/known_messages.cc").read_text(), re.MULTILINE)
        self.assertGreater(len(phrases), 20)
        said = "".join(path.read_text() for path in (ROOT / "tests/wrong_specs/specs").glob("*.expected"))
        said += self.flowrun("there-is-none.yaml").stderr
        self.write("job.yaml", JOB.replace(GENERATED, "file.read_csv, with: {path: in.csv, type: {a: u8, b: u8}}"))
        said += self.flowrun("job.yaml").stderr
        self.write("in.csv", "1\n")
        said += self.flowrun("job.yaml").stderr
        for phrase in phrases:
            with self.subTest(phrase=phrase):
                self.assertIn(phrase.lower(), said.lower())
                self.assertIn(f"… {phrase} …", self.explained(phrase))

    def test_what_there_is_not(self):
        self.fails(64, self.flowrun("explain", "99"), "flowrun has no exit code 99", "flowrun explain lists them")
        self.fails(64, self.flowrun("explain", "137"), "no exit code 137", "signal N ended a process: 9")
        self.fails(64, self.flowrun("explain", "99999999999999999999"), "flowrun has no exit code")
        self.fails(64, self.flowrun("explain", "srot"), "did you mean 'sort'?")


class job_from_standard_input_test(process_test):
    def test_run_check_and_plan(self):
        done = self.flowrun("-q", "run", "-", input=JOB)
        self.assertEqual((done.returncode, done.stdout), (0, "0\n1\n2\n"), done.stderr)
        self.assertEqual(self.flowrun("-q", "-", input=JOB).stdout, "0\n1\n2\n")
        self.assertIn("<stdin>: no faults", self.flowrun("check", "-", input=JOB).stderr)
        self.assertIn("plan: 1 phase", self.flowrun("plan", "-", input=JOB).stdout)

    def test_faults_have_their_place(self):
        done = self.flowrun("check", "-", input=JOB.replace("generate", "genrate"))
        self.fails(78, done, "<stdin>:3:14: error: unknown operator 'genrate'", "did you mean 'generate'?")

    def test_rows_can_not_come_from_there_as_well(self):
        job = JOB.replace(GENERATED, 'file.read_csv, with: {path: "-", type: {x: u8}}')
        self.fails(78, self.flowrun("run", "-", input=job), "flowrun (for the job) and 'rows' both read standard input")

    def test_what_can_not_be(self):
        self.fails(64, self.flowrun("check", "-", "-", input=JOB), "standard input is named twice")
        self.fails(64, self.flowrun("run", "-", "--resume", input=JOB), "--resume", "can't be read again")
        self.fails(78, self.flowrun("run", "-", input=""), "<stdin>")
        done = self.shell('exec "$0" run - <&-')
        self.assertEqual(done.returncode, 66)
        self.assertIn(b"can't read the job from standard input", done.stderr)


if __name__ == "__main__":
    main()
