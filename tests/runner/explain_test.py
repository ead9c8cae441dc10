#!/usr/bin/env python3
"""flowrun explain, and that what it says about exit codes is what the help and docs/language.md say."""

import gzip
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

    def test_parameters_and_keys(self):
        self.assertRegex(self.explained("by"), r"(?m)^a parameter of (.+, )?sort\b.* \(under with:\): a list of keys.*; required\n  \w")
        for word in ("carry", "body", "next", "until", "times"):
            self.assertIn("a parameter of loop (under with:): ", self.explained(word))
        for word in ("op", "in", "with", "on_error", "scalars"):
            self.assertIn("a key of a node: ", self.explained(word))
        self.assertIn("a key of a job: a list\n  Tests, which flowrun test runs.\n", self.explained("tests"))
        self.assertIn("a key of resources: bytes, or a share such as 50%; default: 50%\n  The memory budget", self.explained("memory"))
        for word in ("threads", "scratch", "scratch_limit", "block_size", "depth", "allocation", "io_order"):
            self.assertIn("a key of resources: ", self.explained(word))
        # One word, three meanings.
        self.assertEqual(re.findall(r"^a key of (.+?):", self.explained("name"), re.MULTILINE), ["a job", "a test"])
        # A word may be an operator or a function, too.
        both = self.explained("first")
        self.assertTrue(both.startswith(self.flowrun("ops", "first").stdout))
        self.fails(64, self.flowrun("explain", "carri"), "did you mean 'carry'?")

    def test_every_parameter_of_the_reference(self):
        reference = (ROOT / "specs/REFERENCE.md").read_text().split("## Resources")[0]
        tables = re.findall(r"^\| (?:key|parameter) \|.*\n\|-.*\n((?:\|.*\n)+)", reference, re.MULTILINE)
        names = {name for table in tables for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}
        self.assertGreater(len(names), 60)
        unknown = [name for name in sorted(names) if self.flowrun("explain", name).returncode != 0]
        self.assertEqual(unknown, [])

    def test_every_metric(self):
        for line in self.flowrun("metrics").stdout.splitlines():
            self.assertIn(line, self.explained(re.match(r"\w+", line).group()))

    def test_pieces_of_messages(self):
        self.assertIn("cause    An expression or a key names", self.explained("unknown column 'x'"))
        self.assertIn("YAML is indented with blanks", self.explained("a", "tab", "in", "the", "indentation"))

    def known(self):
        """{phrase: (cause, remedy)}, as docs/troubleshooting.md has them and flowrun explain says them."""
        page = (ROOT / "docs/troubleshooting.md").read_text()
        return {
            phrase: (cause, remedy)
            for phrase, cause, remedy in re.findall(r"^### `(.+)`\n\n(.+)\n\n\*\*To do:\*\* (.+)$", page, re.MULTILINE)
        }

    def test_the_page_of_messages_has_what_explain_says(self):
        known = self.known()
        page = (ROOT / "docs/troubleshooting.md").read_text()
        self.assertEqual(len(known), len(re.findall(r"^### ", page, re.MULTILINE)))
        declared = re.findall(r'^      \{"((?:[^"\\]|\\.)+)",', (ROOT / "runner/known_messages.cc").read_text(), re.MULTILINE)
        self.assertEqual({phrase.replace('\\"', '"') for phrase in declared}, set(known))
        for phrase, (cause, remedy) in known.items():
            self.assertIn(f"… {phrase} …\n\ncause    {cause}\nto do    {remedy}\n", self.explained(phrase))

    def test_every_known_phrase_is_one_of_a_message(self):
        said = "".join(path.read_text() for path in (ROOT / "tests/wrong_specs/specs").glob("*.expected"))
        said += self.messages_of_commands() + self.messages_of_jobs()
        phrases = self.known()
        self.assertGreater(len(phrases), 50)
        for phrase in phrases:
            with self.subTest(phrase=phrase):
                self.assertIn(phrase.lower(), said.lower())

    def messages_of_commands(self):
        self.write("job.yaml", JOB)
        self.write("a file", "")
        self.write("sorted.yaml", """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 1000, columns: {x: i}}}
  sorted: {op: sort, in: rows, with: {by: [-x]}}
  small: {op: check, in: sorted, with: {where: "x < 1"}}
  out: {op: file.write_csv, in: small, with: {path: "-"}}
""")
        kept = ("sorted.yaml", "--resume", "--force-spill", "-T", ".")
        commands = [("there-is-none.yaml",), ("valdate", "job.yaml"), ("job.yaml", "--nope"), ("job.yaml", "-T", "a file"),
                    ("job.yaml", "--plugin", "none"), ("job.yaml", "--plugin", "a file"), ("run", "-", "--resume"), kept,
                    (*kept, "--verify")]  # fmt: skip
        return "".join(self.flowrun(*words).stderr for words in commands)

    def messages_of_jobs(self):
        """Of jobs that fail on what files hold, in the order of the phrases they are for."""
        self.write("numbers.csv", "1\n2\nx\n")
        self.write("header.csv", "a,b\n1,2\n")
        self.write("array.jsonl", "[1]\n")
        self.write("keys.jsonl", '{"x":1,"y":2}\n')
        self.write("long.txt", "a" * 3000000)
        self.write("falling.rows", b"\2\1")
        self.write("cut.csv.gz", gzip.compress(b"a,b\n1,2\n")[:15])
        csv = "file.read_csv, with: {path: numbers.csv, type: {x: u8}}"
        table = "t: {op: generate, with: {rows: 2, columns: {k: KEY, v: i}}}"
        lookup = "lookup, in: {stream: rows, table: t}, with: {by: {x: k}}"
        many = GENERATED.replace("3", "3000000").replace("x: i", 'x: "rand(1, i)"')
        jobs = [  # the source; what is behind it; other options
            ("file.read_csv, with: {path: none.csv, type: {a: u8}}", "", []),
            ("file.read_csv, with: {path: 'x*.csv', type: {a: u8}}", "", []),
            ("file.read_csv, with: {path: ., type: {a: u8}}", "", []),
            ("file.read_csv, with: {path: numbers.csv, type: {a: u8, b: u8}}", "", []),
            ("file.read_csv, with: {path: header.csv, columns: header, type: {c: u8}}", "", []),
            ("file.read_csv, with: {path: cut.csv.gz, type: {x: string, y: string}}", "", []),
            (csv, "", []),
            (csv + ", on_error: {to: skip, max_ratio: 0.1}", "", []),
            ("file.read_json_lines, with: {path: array.jsonl, type: {x: u8}}", "", []),
            ("file.read_json_lines, with: {path: keys.jsonl, type: {x: u8}}", "", []),
            ("file.read_lines, with: {path: long.txt}", "", ["-m", "2MiB"]),
            ("file.read_rows, with: {path: numbers.csv, type: {x: u32}}", "", []),
            ("file.read_rows, with: {path: falling.rows, type: {x: u8}, sorted_by: [x]}", "", []),
            (GENERATED, "check, in: rows, with: {where: 'x < 1'}", []),
            (GENERATED, lookup + "}\n  " + table.replace("KEY", "'5'")[:-1], []),
            (GENERATED, lookup + "}\n  " + table.replace("KEY", "i")[:-1], []),
            (GENERATED, "map, in: rows, with: {x: 'to_decimal(x, 2) * 9223372036854775807'}", []),
            (GENERATED, "loop, in: {s: rows}, with: {carry: {now: {from: s}}, max_iterations: 3, body: "
                        "{a: {op: map, in: now, with: {x: x}}}, next: {now: a}, until: 'rows(a) == 0'}", []),
            (many, "sort, in: rows, with: {by: [x]}", ["-m", "4MiB", "--scratch-limit", "1MiB"]),
        ]  # fmt: skip
        said = ""
        for source, behind, options in jobs:
            job = JOB.replace(GENERATED, source)
            if behind:
                last = "behind.now" if "op: map, in: now" in behind else "behind"
                job = job.replace("in: rows,", f"in: {last},") + f"  behind: {{op: {behind}}}\n"
            self.write("job.yaml", job)
            done = self.flowrun("-q", "job.yaml", *options)
            self.assertNotEqual(done.returncode, 0, job)
            said += done.stderr
        for out in ("directory/", ".", "numbers.csv/out.csv", "/dev/full", "'many/{x}.csv', max_files: 2"):
            self.write("job.yaml", JOB.replace('"-"', out))
            said += self.flowrun("-q", "job.yaml").stderr
        return said

    def test_what_a_shell_shows_of_a_process_that_was_killed(self):
        done = self.flowrun("explain", "137")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("exit code 137: killed", done.stdout)
        self.assertIn("--resume", done.stdout)

    def test_what_a_shell_shows_of_a_process_that_crashed(self):
        for number in (132, 134, 135, 136, 139):
            said = self.explained(str(number))
            self.assertIn(f"exit code {number}: crashed (128 + {number - 128}", said)
            self.assertIn("flowrun plugins check PLUGIN", said)

    def test_nothing_asked_is_the_list(self):
        self.assertEqual(self.flowrun("explain", "").stdout, self.flowrun("explain").stdout)

    def test_the_exit_code_of_sort(self):
        self.assertIn("exit code 2: flowrun sort has failed", self.flowrun("explain", "2").stdout)

    def test_what_there_is_not(self):
        self.fails(64, self.flowrun("explain", "99"), "flowrun has no exit code 99", "flowrun explain lists them")
        self.fails(64, self.flowrun("explain", "140"), "no exit code 140", "signal N ended a process: 12")
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
