#!/usr/bin/env python3
"""The grammar of the command line, help, and the commands that run no job."""

import hashlib
import json
import os
import pty
import re
import subprocess

from flowrun_process import FLOWRUN, ROOT, SORT, main, process_test


class help_test(process_test):
    def test_help_teaches(self):
        done = self.flowrun("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("flowrun job.yaml", "check", "plan", "ops", "schema", "gen", "verify", "bench-disk", "metrics", "version"):
            self.assertIn(word, done.stdout)

    def test_each_command_has_help(self):
        for command in ("run", "check", "plan", "ops", "schema", "reference", "gen", "verify", "bench-disk", "metrics", "version"):
            with self.subTest(command=command):
                done = self.flowrun(command, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"flowrun {command}", done.stdout)

    def test_run_help_has_examples_experts_and_exit_codes(self):
        text = self.flowrun("run", "-h").stdout
        for part in (
            "Examples:",
            "For experts",
            "--block-size",
            "Exit codes:",
            "-p,--param NAME=VALUE",
            "-T,--scratch DIR[:LIMIT]",
        ):
            self.assertIn(part, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 130)

    def test_version(self):
        done = self.flowrun("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^flowrun \d+\.\d+\.\d+\n$")
        self.assertEqual(self.flowrun("sort", "--version").stdout, done.stdout)
        long = self.flowrun("version").stdout
        self.assertTrue(long.startswith(done.stdout))
        self.assertRegex(long, r"\nio_uring: (yes|no \(.+\); threads instead)\n")
        self.assertRegex(long, r"\nvector instructions: [A-Z][A-Z0-9_]+\nthreads: [1-9]\d*\nkernel: Linux \S+ \S+\n")
        self.assertRegex(long, r"\ncompiler: (GCC|Clang) \d+")
        told = json.loads(self.flowrun("version", "--json").stdout)
        self.assertEqual(f"flowrun {told['version']}\n", done.stdout)
        self.assertEqual(told["io_uring"], "io_uring: yes" in long)
        for name in ("oneTBB", "Protocol Buffers", "liburing", "RE2", "zstd", "Highway"):
            self.assertRegex(told["libraries"][name], r"^\d+\.\d+")
            self.assertRegex(long, rf"\n  {name} +{re.escape(told['libraries'][name])}\n")


class usage_test(process_test):
    def test_wrong_command_lines(self):
        self.write("job.yaml", SORT)
        for arguments, parts in [
            ([], ["nothing to do", "flowrun --help"]),
            (["chek", "job.yaml"], ["'chek' is neither a command nor a job", "did you mean 'check'?"]),
            (["frobnicate"], ["'frobnicate' is neither"]),
            (["job.yaml", "--memroy", "1GiB"], ["unknown option '--memroy'", "did you mean '--memory'?"]),
            (["job.yaml", "--memroy=1GiB"], ["unknown option '--memroy'"]),
            (["job.yaml", "other.yaml"], ["unexpected argument 'other.yaml'"]),
            (["run"], ["run needs a FILE"]),
            (["check"], ["check needs a FILE"]),
            (["job.yaml", "-m", "lots"], ["--memory 'lots' is no number of bytes", "64MiB"]),
            (["job.yaml", "-m", "0"], ["--memory"]),
            (["job.yaml", "-m", "200%"], ["no share of the memory"]),
            (["job.yaml", "-m", "x%"], ["no share of the memory"]),
            (["job.yaml", "-j", "0"], ["--threads is 0", "1 to 4096"]),
            (["job.yaml", "-j", "two"], ["--threads 'two' is no number", "1 to 4096"]),
            (["job.yaml", "-j", "99999999999999999999"], ["--threads is 99999999999999999999", "1 to 4096"]),
            (["job.yaml", "-m", "1EiB"], ["--memory '1EiB' is no number of bytes", "at most PiB"]),
            (["job.yaml", "--scratch-limit", "0"], ["--scratch-limit '0' is no number of bytes"]),
            (["job.yaml", "--depth", "0"], ["--depth is 0", "1 to 1024"]),
            (["job.yaml", "--depth", "1025"], ["--depth is 1025", "1 to 1024"]),
            (["job.yaml", "--allocation", "stripes"], ["--allocation can't be 'stripes'", "randomised_cycling"]),
            (["job.yaml", "--io-order", "arival"], ["--io-order can't be 'arival'", "did you mean 'arrival'?"]),
            (["job.yaml", "-p", "rows"], ["-p 'rows' lacks its '='"]),
            (["job.yaml", "-p", "rows=1", "-p", "rows=2"], ["-p gives 'rows' twice"]),
            (["job.yaml", "--set", "=1"], ["--set '=1' lacks its name"]),
            (["job.yaml", "--progress", "bars"], ["--progress can't be 'bars'", "did you mean 'bar'?"]),
            (["job.yaml", "--backend", "spdk"], ["--backend can't be 'spdk'", "io_uring"]),
            (["job.yaml", "--color", "blue"], ["--color can't be 'blue'"]),
            (["job.yaml", "-q", "-v"], ["exclude each other"]),
            (["job.yaml", "--verify", "--no-verify"], ["--verify and --no-verify exclude each other"]),
            (["plan", "job.yaml", "--no-verify", "--verify"], ["--verify and --no-verify exclude each other"]),
            (["job.yaml", "--metrics-listen", "everywhere"], ["'everywhere' is no address"]),
            (["job.yaml", "--metrics-listen", "9110-9100"], ["'9110-9100' is no address", "9464-9473"]),
            (["plan", "job.yaml", "--format", "xml"], ["--format can't be 'xml'"]),
            (["ops", "srot"], ["there is no operator 'srot'", "did you mean 'sort'?"]),
            (["gen", "records"], ["gen needs --rows"]),
            (["gen", "recrods", "--rows", "1"], ["did you mean 'records'?"]),
            (["verify", "x", "--type", "u63"], ["'u63' is no type of a fixed width"]),
            (["verify", "x", "--type", "string"], ["'string' is no type of a fixed width", "bytes[N] date"]),
            (["verify", "x", "--type", "a: u8", "--by", "b"], ["there is no column 'b'"]),
        ]:
            with self.subTest(arguments=arguments):
                done = self.flowrun(*arguments)
                self.fails(64, done, "flowrun: error:", *parts)

    def test_the_end_of_options(self):
        self.write("job.yaml", SORT)
        for words in (["check", "--", "job.yaml"], ["plan", "-q", "--", "job.yaml"], ["check", "job.yaml", "--"]):
            self.assertEqual(self.flowrun(*words).returncode, 0, words)

    def test_a_share_of_the_memory_with_a_fraction(self):
        self.write("job.yaml", SORT)
        self.assertEqual(self.flowrun("check", "job.yaml", "-m", "12.5%").returncode, 0)

    def test_printed_commands_can_be_pasted(self):
        done = self.flowrun("new", "file.read_csv/sort/file.write_csv", "-o", "my job.yaml")
        self.assertIn("flowrun check 'my job.yaml' looks", done.stderr + done.stdout)

    def test_jobs_behind_one_that_is_missing_are_checked(self):
        self.write("good.yaml", SORT)
        self.write("bad.yaml", SORT.replace("by: [value]", "by: [valeu]"))
        for names, code in ((["none.yaml", "bad.yaml", "good.yaml"], 78), (["bad.yaml", "none.yaml"], 78), (["none.yaml", "good.yaml"], 66)):
            done = self.flowrun("check", *names)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("there is no job none.yaml", done.stderr)
            self.assertEqual("valeu" in done.stderr, "bad.yaml" in names)
            self.assertEqual("good.yaml: no faults" in done.stderr + done.stdout, "good.yaml" in names)

    def test_an_empty_value_is_none(self):
        self.write("job.yaml", SORT)
        for option in ("--metrics-file", "--report", "--ui", "-T", "-m", "--metrics-listen", "-p", "--color", "--plugin"):
            for words in ([option, ""], [f"{option}="]) if option.startswith("--") else ([option, ""], ["-q" + option[1:], ""]):
                if words == ["--ui", ""]:
                    continue  # its address may be left out
                with self.subTest(words=words):
                    self.fails(64, self.flowrun("job.yaml", *words), f"{option} needs a value (", "and it is empty", f"leave out {option}")
        self.fails(64, self.flowrun("graph", "job.yaml", "-o", ""), "-o needs a value (FILE), and it is empty")
        self.fails(64, self.flowrun("--plugin", "", "check", "job.yaml"), "--plugin needs a value (PATH)")
        self.assertEqual(self.files(), ["job.yaml"])
        self.assertEqual(self.flowrun("test", "-k", "", "job.yaml").returncode, 0)

    def test_an_option_is_no_value(self):
        self.write("job.yaml", SORT)
        for words, parts in [
            (["job.yaml", "--report", "--ui"], ["--report needs a file; '--ui' is an option", "write ./--ui for a file of that name"]),
            (["job.yaml", "--report", "--ui=9465"], ["--report needs a file; '--ui' is an option"]),
            (["job.yaml", "-T", "--quiet"], ["-T needs a directory; '--quiet' is an option", "write ./--quiet for a directory"]),
            (["job.yaml", "-m", "--threads", "2"], ["-m needs a value (BYTES); '--threads' is an option"]),
            (["job.yaml", "-qm", "--threads", "2"], ["-m needs a value (BYTES); '--threads' is an option"]),
            (["--color", "--quiet", "check", "job.yaml"], ["--color needs a value (WHEN); '--quiet' is an option"]),
            (["test", "-k", "--update", "."], ["-k needs a value (TEXT); '--update' is an option"]),
            (["test", "--filter", "--update", "."], ["write --filter=--update if that is the value"]),
        ]:
            with self.subTest(words=words):
                self.fails(64, self.flowrun(*words), "flowrun: error: ", *parts)
        self.assertEqual(self.files(), ["job.yaml"])
        for report in ("./--ui", "--none", "-q"):
            self.assertEqual(self.flowrun("job.yaml", "-q", "--report", report).returncode, 0)
            self.assertTrue((self.dir / report).exists())
        self.assertEqual(self.flowrun("job.yaml", "-q", "--report=--verify").returncode, 0)
        self.assertTrue((self.dir / "--verify").exists())

    def test_what_is_no_address(self):
        self.write("job.yaml", SORT)
        for words in (["--ui", "foo", "job.yaml"], ["job.yaml", "--ui", "foo"], ["run", "--ui", "foo", "-q", "job.yaml"]):
            self.fails(64, self.flowrun(*words), "'foo' is no address to serve the page at", "give a port (9465: ")
        self.write("foo", SORT)
        self.fails(64, self.flowrun("--ui", "foo", "job.yaml"), "unexpected argument 'job.yaml'")
        for words in (["--ui", "foo"], ["foo", "--ui"], ["--ui", "--quiet", "foo"], ["foo", "--ui", "0"]):
            self.assertEqual(self.flowrun(*words).returncode, 0)

    def test_no_such_job(self):
        self.write("job.yaml", SORT)
        self.fails(66, self.flowrun("jbo.yaml"), "there is no job jbo.yaml", "did you mean 'job.yaml'?")
        self.fails(66, self.flowrun("check", "nowhere/job.yaml"), "there is no job nowhere/job.yaml")
        self.fails(66, self.flowrun("."), "can't read the job .")


class documents_test(process_test):
    def test_plan_in_each_format(self):
        self.write("job.yaml", SORT)
        text = self.flowrun("plan", "job.yaml")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertIn("sorted", text.stdout)
        self.assertTrue(self.flowrun("plan", "job.yaml", "-f", "dot").stdout.startswith("digraph"))
        self.assertIn("pipelines", json.loads(self.flowrun("plan", "job.yaml", "-f", "json").stdout))
        self.assertEqual(self.files("out"), [])

    def test_check_says_so_when_nothing_is_wrong(self):
        self.write("job.yaml", SORT)
        done = self.flowrun("check", "job.yaml")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no faults; 3 nodes, 2 phases", done.stderr)
        self.assertEqual(self.flowrun("check", "-q", "job.yaml").stderr, "")

    def test_check_reports_each_job(self):
        self.write("good.yaml", SORT)
        self.write("bad.yaml", SORT.replace("op: sort", "op: srot"))
        done = self.flowrun("check", "bad.yaml", "good.yaml")
        self.fails(78, done, "bad.yaml:6:16", "did you mean 'sort'?", "good.yaml: no faults")

    def test_check_goes_on_behind_what_is_no_fault_of_a_job(self):
        self.write("a file", "")
        self.write("first.yaml", SORT + "resources: {scratch: a file}\n")
        self.write("bad.yaml", SORT.replace("op: sort", "op: srot"))
        done = self.flowrun("check", "first.yaml", "bad.yaml")
        self.fails(78, done, "first.yaml: the scratch directory a file is no directory", "did you mean 'sort'?")

    def test_overrides(self):
        self.write("job.yaml", SORT)
        done = self.flowrun(
            "job.yaml",
            "-q",
            "-p",
            "rows=10",
            "--set",
            "nodes.out.with.path=elsewhere.u64",
            "--set",
            "nodes.sorted.with.limit=3",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "elsewhere.u64").stat().st_size, 24)

    def test_braces_of_a_parameter_name_no_columns(self):
        job = self.write(
            "job.yaml",
            "flowrun: 1\nparams: {dir: {type: string}}\nnodes:\n"
            "  e: {op: generate, with: {rows: 2, columns: {i: i}}}\n"
            '  w: {op: file.write_csv, in: e, with: {path: "${dir}/{i}.csv"}}\n',
        )
        for name in ("a{b}", "{i}", "{{", "}"):
            done = self.flowrun("run", job, "-p", f"dir={name}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(file.name for file in (self.dir / name).iterdir()), ["0.csv", "1.csv"])

    def test_ops_schema_metrics(self):
        self.assertIn("file.read_csv", self.flowrun("ops").stdout)
        self.assertIn("unique", self.flowrun("ops", "sort").stdout)
        self.assertIn("popcount(x)", self.flowrun("ops", "expressions").stdout)
        self.assertIn("sum(x)", self.flowrun("ops", "sum").stdout)
        self.assertIn("`flowrun ops expressions` lists", self.flowrun("ops", "date_trunc").stdout)
        for word, part in (
            ("in", "x in (a, b, …)"), ("like", "text like pattern"), ("between", "x between a and b"), (">=", "a < b"),
            ("params", "params.NAME"), ("scalars", "NODE.COLUMN"), ("and", "c and d"), ("row", "row[-1].x"),
        ):  # fmt: skip
            self.assertIn(part, self.flowrun("ops", word).stdout)
        self.assertIn("$schema", self.flowrun("schema").stdout)
        self.assertIn("flowrun_node_rows_total{job_name,node,op}", self.flowrun("metrics").stdout)

    def test_a_reader_that_goes_away_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [FLOWRUN, "ops"], stdout=full, stderr=subprocess.PIPE, text=True, env=self.environment
            )
        self.assertEqual(done.returncode, 73)
        self.assertIn("standard output: No space left on device", done.stderr)


class data_test(process_test):
    def test_gen_is_the_same_everywhere(self):
        done = self.flowrun("gen", "records", "-n", "1000", "-o", "a.dat")
        self.assertEqual(done.returncode, 0, done.stderr)
        verified = self.flowrun("verify", "a.dat", "--any-order")
        self.assertEqual(verified.stdout.splitlines()[0], "Records: 1000")
        self.flowrun("gen", "records", "-n", "400", "-o", "b.dat")
        self.flowrun("gen", "records", "-n", "600", "--first", "400", "-o", "c.dat")
        whole = (self.dir / "a.dat").read_bytes()
        self.assertEqual(whole, (self.dir / "b.dat").read_bytes() + (self.dir / "c.dat").read_bytes())
        self.assertEqual(len(whole), 100_000)
        self.assertNotEqual(hashlib.sha256(whole[:50000]).digest(), hashlib.sha256(whole[50000:]).digest())

    def test_gen_skews_keys(self):
        for kind in ("records", "ascii"):
            self.flowrun("gen", kind, "-n", "5000", "-o", "even.dat")
            self.assertEqual(self.flowrun("gen", kind, "-n", "5000", "--skew", "-o", "skewed.dat").returncode, 0)
            self.flowrun("gen", kind, "-n", "1000", "--first", "4000", "--skew", "-o", "end.dat")
            even, skewed = (self.dir / "even.dat").read_bytes(), (self.dir / "skewed.dat").read_bytes()
            self.assertEqual(skewed[400_000:], (self.dir / "end.dat").read_bytes())
            records = [skewed[at:at + 100] for at in range(0, 500_000, 100)]
            begins = [record[:6] for record in records]
            self.assertLessEqual(len(set(begins)), 15)
            self.assertGreater(max(map(begins.count, set(begins))), 300)
            self.assertGreater(len({record[:10] for record in records}), 4_900)
            self.assertEqual([record[6:] for record in records], [even[at + 6:at + 100] for at in range(0, 500_000, 100)])
            if kind == "ascii":
                self.assertTrue(all(32 <= byte < 127 for begin in begins for byte in begin))
        self.assertEqual(self.flowrun("gen", "u64", "-n", "5", "--skew").returncode, 64)

    def test_the_sort_benchmark(self):
        self.flowrun("gen", "records", "-n", "20000", "--skew", "-o", "in.dat")
        job = ROOT / "specs/examples/terasort.yaml"
        done = self.flowrun(job, "-q", "-p", "input=in.dat", "-p", "out=out.dat", "-p", "memory=16MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        sums = [self.flowrun("verify", *words).stdout.splitlines()[:2] for words in (["in.dat", "--any-order"], ["out.dat"])]
        self.assertEqual(sums[0], sums[1])
        self.assertEqual(sums[0][0], "Records: 20000")
        self.assertEqual(self.flowrun("verify", "in.dat").returncode, 65)

    def test_gen_u64_is_rand_of_the_job_language(self):
        self.flowrun("gen", "u64", "-n", "1000", "--seed", "1", "-o", "a.u64")
        self.write(
            "job.yaml",
            SORT.replace("in: sorted", "in: drawn").replace(
                "  sorted: {op: sort, in: drawn, with: {by: [value]}}\n", ""
            ),
        )
        done = self.flowrun("job.yaml", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "a.u64").read_bytes(), (self.dir / "out/sorted.u64").read_bytes())

    def test_verify(self):
        self.write("sorted.bin", bytes([1, 0, 2, 0, 2, 0, 3, 0]))
        done = self.flowrun("verify", "sorted.bin", "--type", "u16")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Records: 4\n", done.stdout)
        self.assertIn("Duplicate keys: 1\nSUCCESS", done.stdout)
        self.assertEqual(self.flowrun("verify", "sorted.bin", "--type", "{a: u8, b: u8}", "--by=-a").returncode, 65)
        done = self.flowrun("verify", "sorted.bin", "--type", "u16", "--by=-value")
        self.assertEqual(done.returncode, 65)
        self.assertIn(
            "sorted.bin is not sorted: 2 of its rows are smaller than the row before, first row 1 (from 0)", done.stderr
        )
        self.assertNotIn("SUCCESS", done.stdout)
        self.fails(
            65, self.flowrun("verify", "sorted.bin", "--type", "u24"), "ends within a row: 2 of 3 bytes behind 2 rows"
        )
        self.write("short.bin", b"12345")
        self.fails(
            65, self.flowrun("verify", "short.bin", "--type", "u24"), "ends within a row: 2 of 3 bytes behind 1 row\n"
        )
        done = self.shell("gzip -c sorted.bin | \"$0\" verify - --type 'bytes[40]'")
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertRegex(done.stderr, b"standard input ends within a row.*\n.*decompress it first")
        self.fails(66, self.flowrun("verify", "none.bin"), "can't open none.bin: No such file or directory")
        self.fails(66, self.flowrun("verify", "."), "can't read .: Is a directory")

    def test_the_checksum_does_not_depend_on_the_order(self):
        self.write("a.bin", bytes(range(200)))
        self.write("b.bin", bytes(reversed(range(200))))
        first, second = (
            self.flowrun("verify", name, "--type", "u8", "--any-order").stdout for name in ("a.bin", "b.bin")
        )
        self.assertEqual(first, second)
        self.assertRegex(first, r"^Records: 200\nChecksum: [0-9a-f]+\n$")


class configuration_test(process_test):
    def test_the_machines_configuration(self):
        self.write("job.yaml", SORT)
        self.write(
            "home/.config/flowrun/config.yaml", "resources: {memory: 100MiB, threads: 1, scratch: /nowhere/scratch}\n"
        )
        told = self.flowrun("job.yaml", "-v").stderr
        self.assertIn("memory 100 MiB (" + str(self.dir / "home/.config/flowrun/config.yaml") + ")", told)
        self.assertIn("scratch /nowhere/scratch (", told)

    def test_the_job_comes_before_it_and_the_command_line_before_both(self):
        self.write("home/.config/flowrun/config.yaml", "resources: {memory: 100MiB, threads: 1}\n")
        self.write("job.yaml", SORT.replace("nodes:", "resources: {memory: 50MiB}\nnodes:"))
        self.assertIn("memory 50.0 MiB (job)", self.flowrun("job.yaml", "-v").stderr)
        self.assertIn(
            "memory 80.0 MiB (command line), 1 thread (", self.flowrun("job.yaml", "-v", "-m", "80MiB").stderr
        )

    def test_nothing_is_replaced_in_the_machines_configuration(self):
        self.write("job.yaml", SORT)
        self.write("home/.config/flowrun/config.yaml", "resources:\n  memory: ${env:M}\n  scratch: ['${env:HOME}/s']\n")
        done = self.flowrun("job.yaml")
        self.fails(78, done, "config.yaml:2:11", "config.yaml:3:13", "can't use variables of the environment", "~/ begins")
        self.assertNotIn("number of bytes", done.stderr)
        self.assertFalse((self.dir / "${env:HOME}").exists())

    def test_disks_each_by_itself(self):
        """Command line, job, configuration, default: for each setting the first that says something."""
        self.write("job.yaml", SORT)

        def disks(*arguments):
            done = self.flowrun("job.yaml", "-v", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            return next(line for line in done.stderr.splitlines() if "disks: " in line).partition("disks: ")[2]

        self.assertEqual(disks(), "randomised_cycling, alternating")
        self.write(
            "home/.config/flowrun/config.yaml",
            "resources: {scratch: [{path: sa, weight: 250.5, limit: 1GiB}, sb], scratch_limit: 3GiB, depth: 3,"
            " allocation: striping, io_order: arrival}\n",
        )
        self.assertEqual(disks(), "at most 3.00 GiB in all, depth 3, striping, arrival")
        told = self.flowrun("job.yaml", "-v").stderr
        self.assertIn("scratch sa, at most 1.00 GiB, weight 250.5 (", told)
        self.assertIn("scratch sb (", told)
        self.write("job.yaml", SORT.replace("nodes:", "resources: {depth: 5, allocation: fully_randomised}\nnodes:"))
        self.assertEqual(disks(), "at most 3.00 GiB in all, depth 5, fully_randomised, arrival")
        self.assertEqual(
            disks("--depth", "7", "--scratch-limit", "1GiB", "--allocation", "simple_randomised"),
            "at most 1.00 GiB in all, depth 7, simple_randomised, arrival",
        )
        self.assertTrue(disks("--io-order", "writes_first").endswith(", writes_first"))

    def test_a_wrong_configuration_is_shown(self):
        self.write("job.yaml", SORT)
        self.write("home/.config/flowrun/config.yaml", "resources: {memroy: 1GiB}\nnodes: {}\n")
        self.fails(78, self.flowrun("job.yaml"), "config.yaml:1:13", "did you mean 'memory'?", "config.yaml:2:1")

    def test_a_scratch_limit_that_is_none(self):
        self.write("job.yaml", SORT)
        for limit in ("500GBB", "5 parsecs", "1e9", "0"):
            self.fails(64, self.flowrun("job.yaml", "-T", f"scratch:{limit}"), limit, "-T DIR:500GiB")
        self.assertEqual(self.files(), ["job.yaml"])
        done = self.flowrun("job.yaml", "-T", "scratch:500GBB/", "-v")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("scratch:500GBB", done.stderr)

    def test_a_plan_tells_which_inputs_are_missing(self):
        self.write(
            "job.yaml",
            """flowrun: 1
nodes:
  rows: {op: file.read_lines, with: {path: [there.txt, nowhere.txt, nor-here.txt]}}
  out: {op: file.write_lines, in: rows, with: {path: out.txt}}
""",
        )
        self.write("there.txt", "x")
        done = self.flowrun("plan", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("nowhere.txt", "nor-here.txt"):
            self.assertIn(f"input {name}: no such file", done.stderr)
        self.assertNotIn("there.txt:", done.stderr)
        self.assertNotIn("at most 0 B for what is known", done.stdout)

    def test_without_a_home_directory(self):
        self.write("job.yaml", SORT)
        del self.environment["HOME"]
        self.assertEqual(self.flowrun("job.yaml", "-q").returncode, 0)
        (self.dir / "tmp").mkdir()
        for temporary, expected in ((str(self.dir / "tmp"), self.dir / "tmp"), ("", "/var/tmp"), ("relative", "/var/tmp")):
            self.environment["TMPDIR"] = temporary
            done = self.flowrun("job.yaml", "-v", "-p", "rows=300000", "-m", "16MiB", "--force-spill")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"scratch {expected} (default)", done.stderr)

    def test_more_memory_than_there_is(self):
        self.write("job.yaml", SORT)
        for words in (["run", "job.yaml"], ["check", "job.yaml"], ["plan", "job.yaml"]):
            self.assertIn("warning: the memory budget of 1.00 PiB (command line) is more than", self.flowrun(*words, "-m", "1048576GiB").stderr)
            self.assertNotIn("is more than", self.flowrun(*words, "-m", "64MiB").stderr)

    def test_a_file_is_no_scratch_directory(self):
        self.write("job.yaml", SORT)
        self.write("file", "x")
        self.fails(64, self.flowrun("job.yaml", "-T", "file"), "the scratch directory file is no directory")
        self.fails(64, self.flowrun("plan", "job.yaml", "-T", "file"), "the scratch directory file is no directory")
        self.fails(78, self.flowrun("job.yaml", "--set", "resources={scratch: file}"), "file is no directory (job)")
        self.assertEqual((self.dir / "file").read_text(), "x")

    def test_the_home_directory_in_paths(self):
        home = self.dir / "home"
        self.write("home/in.txt", "b\na\n")
        job = """flowrun: 1
params: {input: {type: path, default: ~/in.txt}}
resources: {scratch: [~/scratch, {path: "~/more"}]}
nodes:
  lines: {op: file.read_lines, with: {path: ["${input}", ~/in.txt]}}
  sorted: {op: sort, in: lines, with: {by: [text]}}
  out: {op: file.write_lines, in: sorted, with: {path: "~/out/sorted.txt"}}
"""
        self.write("job.yaml", job)
        done = self.flowrun("job.yaml", "-v", "--force-spill")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"scratch {home}/scratch (job)", done.stderr)
        self.assertIn(f"scratch {home}/more (job)", done.stderr)
        self.assertEqual((home / "out/sorted.txt").read_text(), "a\na\nb\nb\n")
        self.assertEqual(self.flowrun("job.yaml", "-q", "-p", "input=~/in.txt").returncode, 0)
        self.assertIn(f"scratch {home}/x (command line)", self.flowrun("job.yaml", "-v", "--scratch=~/x").stderr)
        self.assertFalse((self.dir / "~").exists())
        # Asked for by its name, a directory that is called ~ is one.
        self.write("job.yaml", job.replace("~/out", "./~/out"))
        self.assertEqual(self.flowrun("job.yaml", "-q").returncode, 0)
        self.assertTrue((self.dir / "~/out/sorted.txt").exists())
        del self.environment["HOME"]
        self.fails(78, self.flowrun("job.yaml"), "HOME is not set", "~/scratch")

    def test_default_scratch_is_the_users_cache(self):
        self.write("job.yaml", SORT)
        self.assertIn(f"scratch {self.dir}/home/.cache/flowrun (default)", self.flowrun("job.yaml", "-v").stderr)
        self.environment["XDG_CACHE_HOME"] = "/var/cache/x"
        self.assertIn("scratch /var/cache/x/flowrun (default)", self.flowrun("job.yaml", "-v").stderr)


class color_test(process_test):
    def test_colors(self):
        red = "\033["
        self.assertNotIn(red, self.flowrun("none.yaml").stderr)  # no terminal
        self.assertIn(red, self.flowrun("--color", "always", "none.yaml").stderr)
        self.assertIn(red, self.flowrun("none.yaml", "--color=always").stderr)
        self.environment["NO_COLOR"] = "1"
        self.assertIn(red, self.flowrun("--color", "always", "none.yaml").stderr)

    def test_no_color_on_a_terminal(self):
        self.assertIn("\033[1;31m", self.on_a_terminal())
        self.environment["NO_COLOR"] = "1"
        self.assertNotIn("\033[1;31m", self.on_a_terminal())

    def on_a_terminal(self):
        ours, theirs = pty.openpty()
        subprocess.run([FLOWRUN, "none.yaml"], stderr=theirs, cwd=self.dir, env=self.environment)
        os.close(theirs)
        text = os.read(ours, 65536).decode()
        os.close(ours)
        return text


if __name__ == "__main__":
    main()
