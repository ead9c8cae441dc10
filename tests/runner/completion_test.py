#!/usr/bin/env python3
"""What shells complete, asked of the shells themselves, and that the words offered are those that the command takes."""

import re
import shutil
import subprocess

from flowrun_process import SORT, main, process_test

# Completes the last of the words as a bash with the script would, one candidate a line.
BASH = """source ./script
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { :; }
_flowrun
printf '%s\\n' "${COMPREPLY[@]}"
"""


class completion_test(process_test):
    def script(self, shell):
        done = self.flowrun("completion", shell)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.write("script", done.stdout)
        return done.stdout

    def commands(self):
        text = self.flowrun("--help").stdout.split("Subcommands:")[1]
        return re.findall(r"^  ([a-z][a-z-]*)", text, re.MULTILINE)


class bash_test(completion_test):
    def setUp(self):
        super().setUp()
        if shutil.which("bash") is None:
            self.skipTest("no bash")
        self.script("bash")
        self.write("job.yaml", SORT)
        self.write("two words.yaml", SORT)
        self.write("data.csv", "1\n")
        (self.dir / "folder").mkdir()

    def completed(self, *words):
        done = subprocess.run(
            ["bash", "--norc", "-c", BASH, "bash", "flowrun", *words],
            cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split("\n")[:-1]) if done.stdout.strip() else []

    def test_commands_and_jobs_come_first(self):
        self.assertEqual(set(self.completed("")) - set(self.commands()), {"job.yaml", "two words.yaml", "folder"})
        self.assertEqual(self.completed("pl"), ["plan", "plugins"])
        self.assertEqual(self.completed("-v", "ru"), ["run"])
        self.assertEqual(self.completed("--color", "never", "ru"), ["run"])

    def test_every_command_and_option_of_the_help(self):
        self.assertEqual(set(self.commands()) - set(self.completed("")), set())
        for command in self.commands():
            offered = self.completed(command, "-")
            wanted = set(re.findall(r"^  (?:-., ?)?(--[a-z][a-z0-9-]*)", self.flowrun(command, "--help").stdout.split("Examples:")[0], re.MULTILINE))
            if command == "sort":
                wanted -= {"--batch-size", "--compress-program"}
                wanted = {option for option in wanted if f"  {option}" in self.flowrun("sort", "--help").stdout}
            self.assertEqual(wanted - set(offered), set(), command)

    def test_values(self):
        self.assertEqual(self.completed("plan", "job.yaml", "--format", ""), ["dot", "json", "text"])
        self.assertEqual(self.completed("plan", "job.yaml", "--format", "=", "j"), ["json"])
        self.assertEqual(self.completed("plan", "--format", "="), ["dot", "json", "text"])
        self.assertEqual(self.completed("job.yaml", "--progress", "p"), ["plain"])
        self.assertEqual(self.completed("gen", ""), ["ascii", "records", "u64"])
        self.assertEqual(self.completed("infer", "data.csv", "--as", ""), ["csv", "json_lines", "lines", "npy", "protobuf"])
        self.assertEqual(self.completed("sort", "--sort", "v"), ["version"])
        self.assertIn("file.read_csv", self.completed("ops", "file."))
        self.assertEqual(self.completed("-p", "job.yaml", "--memory", ""), [])

    def test_files(self):
        self.assertEqual(self.completed("run", ""), ["folder", "job.yaml", "two words.yaml"])
        self.assertEqual(self.completed("run", "j"), ["job.yaml"])
        self.assertEqual(self.completed("job.yaml", "-T", ""), ["folder"])
        self.assertEqual(self.completed("run", "--ui", "j"), ["job.yaml"])
        self.assertIn("data.csv", self.completed("run", "--metrics-file", ""))
        self.assertIn("data.csv", self.completed("verify", ""))
        self.assertEqual(self.completed("sort", "-k", ""), [])
        self.assertIn("--reverse", self.completed("sort", "--rev"))

    def test_words_of_options_are_those_that_the_command_takes(self):
        script = (self.dir / "script").read_text()
        found = re.findall(r"^    (\S+:--[a-z-]+(?: \| \S+)*|\S+:-\S+ \| .*)\)\n      _flowrun_words '([^']*)'", script, re.MULTILINE)
        self.assertGreater(len(found), 20)
        for patterns, offered in found:
            command, option = patterns.split(" | ")[-1].split(":", 1)
            if command in ("''", "plugin", "plugins", "sort"):
                continue
            words = [command] if command else []
            done = self.flowrun(*words, *(["job.yaml"] if command in ("run", "plan", "graph", "check") else []),
                                *(["data.csv"] if command == "infer" else ["."] if command == "bench-disk" else []), option, "zzzzzz")  # fmt: skip
            if not command:
                continue
            self.assertEqual(done.returncode, 64, (command, option, done.stdout))
            for word in offered.split():
                self.assertIn(word, done.stderr, (command, option))


class other_shells_test(completion_test):
    def test_zsh_reads_its_script(self):
        if shutil.which("zsh") is None:
            self.skipTest("no zsh")
        self.script("zsh")
        done = subprocess.run(
            ["zsh", "-f", "-c", "autoload -U compinit; compinit -D -u; source ./script; echo $_comps[flowrun]"],
            cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual((done.stdout, done.stderr), ("_flowrun\n", ""))

    def test_fish_completes(self):
        if shutil.which("fish") is None:
            self.skipTest("no fish")
        self.script("fish")
        self.write("job.yaml", SORT)

        def completed(line):
            done = subprocess.run(
                ["fish", "--no-config", "-c", f"source ./script; complete -C '{line}'"],
                cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            self.assertEqual(done.stderr, "")
            return {word.split("\t")[0] for word in done.stdout.splitlines()}

        self.assertEqual(set(self.commands()) - completed("flowrun "), set())
        self.assertLessEqual({"--memory", "--report", "--color"}, completed("flowrun run --"))
        self.assertEqual(completed("flowrun plan --format "), {"text", "json", "dot"})
        for option in ("--metrics-file", "--report"):
            self.assertIn("job.yaml", completed(f"flowrun run {option} "))
        self.assertIn("job.yaml", completed("flowrun run --ui "))

    def test_another_shell(self):
        done = self.flowrun("completion", "csh")
        self.assertEqual(done.returncode, 64)
        self.assertIn("bash, zsh, fish", done.stderr)
        self.assertEqual(self.flowrun("completion").returncode, 64)


class manual_test(completion_test):
    def pages(self):
        self.assertEqual(self.flowrun("man", "--all", "man1").returncode, 0)
        return sorted((self.dir / "man1").iterdir())

    def test_a_page_for_each_command(self):
        names = [page.name for page in self.pages()]
        self.assertEqual(names, sorted(["flowrun.1", *(f"flowrun-{command}.1" for command in self.commands())]))
        self.assertEqual(self.flowrun("man", "plan").stdout, (self.dir / "man1/flowrun-plan.1").read_text())
        self.assertEqual(self.flowrun("man", "plugin").stdout, (self.dir / "man1/flowrun-plugins.1").read_text())

    def test_man_finds_nothing_wrong(self):
        if shutil.which("man") is None:
            self.skipTest("no man")
        for page in self.pages():
            done = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)],
                env=self.environment | {"MANWIDTH": "160", "MANROFFSEQ": ""}, capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_mandoc_finds_no_error(self):
        if shutil.which("mandoc") is None:
            self.skipTest("no mandoc")
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *map(str, self.pages())], capture_output=True, text=True, timeout=60)
        said = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertEqual(said, [])

    def test_every_option_is_on_its_page(self):
        for command in self.commands():
            page = self.flowrun("man", command).stdout.replace("\\-", "-")
            for option in re.findall(r"^  .*?(--[a-z][a-z-]+)", self.flowrun(command, "--help").stdout.split("\nExamples:")[0], re.MULTILINE):
                self.assertIn(option, page + "--help", command)

    def test_unknown_command(self):
        done = self.flowrun("man", "plna")
        self.assertEqual(done.returncode, 64)
        self.assertIn("did you mean 'plan'?", done.stderr)
        self.assertEqual(self.flowrun("man", "plan", "--all", "x").returncode, 64)


if __name__ == "__main__":
    main()
