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

# Presses Tab behind the line $1 in an interactive zsh that has read the script, with a terminal of its own. What is
# offered goes to the file `offered`, one candidate a line, as it would be inserted.
ZSH = r"""zmodload zsh/zpty || exit 1
zpty z zsh -f -i
zpty -w z 'PS1=; unsetopt prompt_sp auto_list auto_menu beep; autoload -U compinit; compinit -D -u; source ./script'
zpty -w z 'compadd() { if [[ ${@[1,(i)(-|--)]} == *-[AOD]\ * ]]; then builtin compadd "$@"; return; fi; local -a got; builtin compadd -A got "$@"; print -rl -- $got >> offered; builtin compadd "$@" }'
zpty -w z 'tab() { zle complete-word; print -r -- E""ND }; zle -N tab; bindkey "^I" tab'
# Keys that come before the line editor has the terminal are the terminal's.
zpty -w z 'zle-line-init() { print -r -- REA""DY }; zle -N zle-line-init'
zpty -r z out '*READY*' || exit 1
zpty -w -n z "$1"$'\t'
zpty -r z out '*END*' || exit 1
print -r -- "$out"
zpty -d z
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

    # Lines, and what of the words that are offered must and must not be there; `fish` puts an option before its values.
    ASKED = [
        ("flowrun ru", {"run"}),
        ("flowrun -v ru", {"run"}),
        ("flowrun --color never ru", {"run"}),
        ("flowrun --color ", {"auto", "always", "never"}),
        ("flowrun --color=n", {"never"}),
        ("flowrun --col", {"--color"}),
        ("flowrun two\\ words.yaml --mem", {"--memory"}),
        ("flowrun job.yaml --progress ", {"auto", "bar", "plain", "json", "none"}),
        ("flowrun plan job.yaml --format ", {"text", "json", "dot"}),
        ("flowrun plan --format=", {"text", "json", "dot"}),
        ("flowrun run tw", {"two words.yaml"}),
        ("flowrun run --ui j", {"job.yaml"}),
        ("flowrun run --report tw", {"two words.yaml"}),
        ("flowrun run --report=tw", {"two words.yaml"}),
        ("flowrun run -T fo", {"folder"}),
        ("flowrun run --scratch=fo", {"folder"}),
        ("flowrun verify d", {"data.csv"}),
        ("flowrun gen ", {"ascii", "records", "u64"}),
        ("flowrun ops file.read_c", {"file.read_csv"}),
        ("flowrun sort d", {"data.csv"}),
        ("flowrun sort --sort=", {"general-numeric", "human-numeric", "month", "numeric", "version"}),
        ("flowrun sort --check=", {"quiet"}),
        ("flowrun sort --files0-from=d", {"data.csv"}),
        ("flowrun sort -T fo", {"folder"}),
    ]

    def write_files(self):
        self.write("job.yaml", SORT)
        self.write("two words.yaml", SORT)
        self.write("data.csv", "1\n")
        (self.dir / "folder").mkdir()

    def test_zsh_completes(self):
        if shutil.which("zsh") is None:
            self.skipTest("no zsh")
        self.script("zsh")
        self.write_files()
        offered = self.dir / "offered"

        def completed(line):
            offered.unlink(missing_ok=True)
            done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", line], cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), line)
            self.assertNotIn("_arguments:", done.stdout)
            return set(offered.read_text().replace("\\ ", " ").splitlines()) - {"offered"} if offered.exists() else set()

        self.assertEqual(set(self.commands()) - completed("flowrun "), set())
        for line, wanted in self.ASKED:
            self.assertEqual(completed(line), wanted, line)
        for command in self.commands():
            self.assertIn("--version" if command == "sort" else "--help", completed(f"flowrun {command} --"), command)

    def test_fish_completes_as_the_others_do(self):
        if shutil.which("fish") is None:
            self.skipTest("no fish")
        self.script("fish")
        self.write_files()
        ask = "source ./script; for line in $argv; complete -C $line; echo; end"
        lines = [line for line, _ in self.ASKED]
        done = subprocess.run(["fish", "--no-config", "-c", ask, *lines], cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        said = done.stdout.split("\n\n")
        for (line, wanted), words in zip(self.ASKED, said, strict=False):
            option = re.search(r"--[a-z0-9-]+=", line)
            offered = {word.split("\t")[0].removeprefix(option[0] if option else "").rstrip("/") for word in words.strip("\n").splitlines()}
            self.assertEqual(offered, wanted, line)

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
