#!/usr/bin/env python3
"""flowrun sort: byte for byte what LC_ALL=C sort writes, and the right end for everything that is wrong."""

import os
import random
import signal
import subprocess
import unittest

from flowrun_process import FLOWRUN, ROOT, SANITIZED, main, process_test

# A sanitizer makes each process slow to start.
ROUNDS = int(os.environ.get("FLOWRUN_SORT_ROUNDS", "20" if SANITIZED else "300"))


def random_text(draw, end):
    """Lines that are alike: few words, numbers in all spellings, blanks and odd bytes. No NaN, whose order is GNU's chance."""
    words = ["a", "b", "B", "ab", "abc", "", "1", "2", "10", "01", "-1", "-0", "0", "1.5", "1.50", ".5", "-.5", "1e3", "2K", "1.5M",
             "3G", "-2K", "10k", "jan", "FEB", " mar", "Dec", "x1", "999999999999999999999", "0.00001", "+5", "inf", "-inf",
             "é", "\x7f", "~", "_", "-", "--1", "1.10", "1.9", "a.tar", "a~1", ".gz", ".", "..", "v1.02-3", "v1.2", "00", "a0", "a00b"]  # fmt: skip
    separators = [b" ", b"  ", b"\t", b",", b",,", b":", b"\r", b"\xff", b"."]
    if end == b"\0":
        separators.append(b"\n")
    else:
        separators.append(b"\0")
    common = draw.sample(separators, 2)
    lines = []
    for _ in range(draw.choice([0, 1, 2, 5, 20, 60])):
        parts = []
        for _ in range(draw.randrange(6)):
            parts.append(draw.choice(words).encode())
            parts.append(draw.choice(common if draw.random() < 0.8 else separators))
        lines.append(b"".join(parts))
    text = end.join(lines)
    if lines and draw.random() < 0.7:
        text += end
    return text


def random_position(draw, first):
    text = str(draw.choice([1, 1, 2, 2, 3, 4, 9]))
    if draw.random() < 0.4:
        text += "." + str(draw.choice([1, 2, 3, 7] if first else [0, 1, 2, 3, 7]))
    return text


WAYS = ["", "", "", "n", "n", "g", "h", "hf", "nf", "M", "V", "V", "f", "d", "i", "df", "di", "fi", "dV"]


def random_letters(draw, way, share):
    return "".join(letter for letter in way + "br" if letter in way or draw.random() < share)


def random_options(draw):
    out = []
    for _ in range(draw.choice([0, 0, 1, 1, 1, 2, 3])):
        way = draw.choice(WAYS)
        key = random_position(draw, True) + random_letters(draw, way if draw.random() < 0.5 else "", 0.15)
        if draw.random() < 0.7:
            # One way to compare for both ends: two different ones are refused.
            same = way if key[-1:] in way and way else ("" if key[-1:].isalpha() else draw.choice(WAYS[:5]))
            key += "," + random_position(draw, False) + random_letters(draw, same, 0.15)
        out.append(draw.choice([["-k", key], ["-k" + key], ["--key=" + key]]))
    if draw.random() < 0.5:
        out.append(["-t", draw.choice([",", ":", " ", "\t", ".", "a"])])
    way = draw.choice(WAYS)
    out += [["-" + letter] for letter in random_letters(draw, way, 0.2)]
    for option, share in (("-u", 0.25), ("-s", 0.25)):
        if draw.random() < share:
            out.append([option])
    draw.shuffle(out)
    return [word for option in out for word in option]


class sort_test(process_test):
    def setUp(self):
        super().setUp()
        self.environment["LC_ALL"] = "C"

    def process(self, program, *words, **more):
        return subprocess.run([*program, *words], cwd=self.dir, env=self.environment, capture_output=True, timeout=120, **more)

    def gnu(self, *words, **more):
        return self.process(["sort"], *words, **more)

    def ours(self, *words, **more):
        return self.process([FLOWRUN, "sort"], *words, **more)

    def same(self, *words, **more):
        """Both end alike, with the same output."""
        expected, got = self.gnu(*words, **more), self.ours(*words, **more)
        self.assertEqual(got.returncode, expected.returncode, (words, got.stderr, expected.stderr))
        self.assertEqual(got.stdout, expected.stdout, words)
        return got

    def refused(self, code, *words, says=(), **more):
        got = self.ours(*words, **more)
        self.assertEqual(got.returncode, code, got.stderr)
        self.assertEqual(got.stdout, b"")
        for part in says:
            self.assertIn(part.encode() if isinstance(part, str) else part, got.stderr)
        return got


class random_jobs(sort_test):
    def test_sorted_alike(self):
        draw = random.Random(1)
        for number in range(ROUNDS):
            zero = draw.random() < 0.2
            end = b"\0" if zero else b"\n"
            for name in "abc":
                self.write(name, random_text(draw, end))
            words = random_options(draw) + (["-z"] if zero else []) + draw.choice([["a"], ["a", "b"], ["a", "-", "b"], []])
            with self.subTest(number=number, words=words):
                self.same(*words, input=(self.dir / "c").read_bytes())

    def test_letters_together(self):
        self.write("a", "1g\n2\n1M\n1m\n900\n3k\n1e400\nb 2\na 10\n")
        for words in ("-hf", "-k1hf", "-h", "-hfr", "-k1,1hf -s", "-n -g -k1,1r", "-d -n -k1i,1", "-h -V -k2n"):
            with self.subTest(words=words):
                self.same(*words.split(), "a")

    def test_checked_and_merged_alike(self):
        draw = random.Random(2)
        for number in range(ROUNDS // 2):
            zero = draw.random() < 0.2
            end = b"\0" if zero else b"\n"
            options = random_options(draw) + (["-z"] if zero else [])
            for name in "ab":
                self.write(name, random_text(draw, end))
            with self.subTest(number=number, options=options):
                expected, got = self.gnu("-c", "a", *options), self.ours("-c", "a", *options)
                self.assertEqual((got.returncode, got.stdout), (expected.returncode, b""))
                self.assertEqual(got.stderr, expected.stderr)
                self.assertEqual(self.ours("-C", *options, "a").returncode, expected.returncode)
                for name in "ab":
                    self.gnu("-o", name, name, *options)
                self.same("-c", "a", *options)
                self.same("-m", *options, "a", "b")


class larger_inputs(sort_test):
    def lines(self, count):
        draw = random.Random(3)
        return b"".join(
            b"%s,%d,%s\n" % (draw.choice([b"x", b"yy", b"Zz"]), draw.randrange(10**6), b"w" * draw.randrange(60))
            for _ in range(count)
        )

    def test_real_files(self):
        names = [path for path in sorted(ROOT.glob("engine/*/*.cc"))[: 20 if SANITIZED else 60]]
        self.write("text", b"".join(path.read_bytes() for path in names))
        for options in ([], ["-r"], ["-u"], ["-f"], ["-b"], ["-d", "-u"], ["-k2"], ["-k2,2", "-u"], ["-s", "-k1.3,1.5"], ["-t(", "-k2"]):
            with self.subTest(options=options):
                self.same(*options, "text")
        with open(FLOWRUN, "rb") as binary:  # a binary: NUL bytes, anything, and hardly a line end
            self.write("binary", binary.read(4 << 20))
        self.same("binary")
        self.same("-z", "binary")

    def test_with_spilling(self):
        self.write("text", self.lines(300_000 if SANITIZED else 600_000))
        for options in ([], ["-t,", "-k2,2n"], ["-t,", "-k2,2nr", "-u"]):
            with self.subTest(options=options):
                self.same(*options, "-S", "10M" if SANITIZED else "20M", "-T", ".", "text")
        self.assertEqual(self.files(), ["text"])

    def test_scratch_in_tmpdir(self):
        self.write("text", self.lines(300_000))
        (self.dir / "scratch").mkdir()
        self.environment["TMPDIR"] = str(self.dir / "scratch")
        spec = self.ours("--print-spec", "text").stdout.decode()
        self.assertIn('scratch: ["' + self.environment["TMPDIR"], spec)
        self.same("-S", "16M", "text")
        self.environment["TMPDIR"] = str(self.dir / "missing")
        self.assertNotIn("scratch", self.ours("--print-spec", "text").stdout.decode())
        self.same("text")

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_scratch_of_a_user_without_a_home(self):
        self.write("text", self.lines(300_000))
        self.environment["HOME"] = "/nowhere"
        os.chmod(self.dir, 0o755)
        done = self.ours("-S", "16M", "text", user=4711, group=4711, extra_groups=[])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.gnu("text").stdout)
        self.environment["XDG_CACHE_HOME"] = str(self.dir / "cache")  # can be made by root alone
        self.assertIn(b'scratch: ["/tmp"]', self.ours("--print-spec", "text", user=4711, group=4711, extra_groups=[]).stdout)
        self.assertNotIn(b"scratch", self.ours("--print-spec", "text").stdout)

    def test_one_thread_or_several(self):
        self.write("text", self.lines(50_000))
        for threads in ("1", "3"):
            self.same("--parallel=" + threads, "-t,", "-k3,3", "-s", "text")

    def test_long_lines(self):
        self.write("long", b"b" * (10 << 20) + b"\n" + b"a" * (10 << 20) + b"2\n" + b"\n" + b"a" * (10 << 20) + b"1")
        self.same("long")
        self.same("-k1,1", "-s", "long")
        self.same("-n", "long")


class files_and_options(sort_test):
    def test_output_is_an_input(self):
        for spelled in ("a", "./a", str(self.dir / "a")):
            self.write("a", "c\nb\na\n")
            self.assertEqual(self.ours("-o", spelled, "a").returncode, 0)
            self.assertEqual((self.dir / "a").read_text(), "a\nb\nc\n")
        self.write("b", "b\nz\n")
        self.assertEqual(self.ours("-m", "a", "b", "-o", "b").returncode, 0)
        self.assertEqual((self.dir / "b").read_text(), "a\nb\nb\nc\nz\n")
        self.assertEqual(self.files(), ["a", "b"])

    def test_options_are_written_as_for_gnu(self):
        self.write("a", "b,2\na,10\nc,1\na,9\n")
        for words in (
            ["-nrt,", "-k2,2", "a"],
            ["-t", ",", "-k", "1,1", "-k", "2nr", "a"],
            ["a", "-r"],
            ["--field-separator=,", "--key=2,2", "--numeric-sort", "--reverse", "a"],
            ["--sort=numeric", "-t,", "-k2", "a"],
            ["--rev", "--uniq", "a"],
            ["-S", "1M", "--parallel=2", "--batch-size=16", "--compress-program=gzip", "a"],
            ["--random-source=/dev/zero", "a"],
            ["-S", "50%", "a"],
            ["-S1000000b", "a"],
            ["--", "a"],
            ["-t\\0", "-k2", "a"],
            ["-k1,1", "-k1,1r", "-k2", "a"],
            ["-k1.1,999999999999999999999999", "a"],
            ["-k4", "-r", "a"],
            ["-k+1,+1", "a"],
            ["-t,", "-k", " 2n", "a"],
            ["-t,", "-k+2.+1n", "a"],
            ["-t,", "+1", "-2", "a"],
            ["-t,", "+1n", "a"],
            ["-t,", "+0.1", "-1.1", "-r", "a"],
            ["+0", "-1b", "a"],
            ["+1x", "a"],
            ["-t,", "+1", "-2x", "a"],
            ["a", "--", "+1"],
            ["-y", "a"],
            ["-y", "12", "a"],
            ["-y0", "a"],
            ["-t,", "--sort=num", "-k2", "a"],
            ["--check=sil", "a"],
            ["--sort=size", "a"],
            ["--sort=", "a"],
            ["--check=x", "a"],
            ["--check=", "a"],
            ["--batch-size=x", "a"],
            ["--batch-size=1", "a"],
        ):
            with self.subTest(words=words):
                self.same(*words)

    def test_names_from_a_file(self):
        self.write("a", "b\n")
        self.write("b c", "a\n")
        self.write("names", b"a\0b c\0")
        self.same("--files0-from=names")
        self.same("--files0-from=-", input=b"a\0b c")
        self.refused(2, "--files0-from=names", "a", says=["extra operand"])
        self.refused(2, "--files0-from=", says=["--files0-from names no file"])
        self.write("empty", "")
        self.refused(2, "--files0-from=empty", says=["no input from 'empty'"])
        self.refused(2, "--files0-from=-", input=b"a\0\0", says=["-:2: invalid zero-length file name"])
        self.refused(2, "--files0-from=/dev/zero", says=["/dev/zero:1: invalid zero-length file name"])
        self.refused(2, "--files0-from=-", input=b"a\0" + b"x" * 5000, says=["-:2: the file name is too long"])
        self.write("names", b"a\0-\0")
        self.same("--files0-from=names", input=b"x\n")

    def test_an_output_that_is_called_as_standard_output(self):
        self.write("a", "b\na\n")
        self.assertEqual(self.same("a", "-o", "-").stdout, b"")
        self.assertEqual((self.dir / "-").read_text(), "a\nb\n")

    def test_an_output_through_a_link(self):
        self.write("a", "b\na\n")
        self.write("there", "before\n")
        for target in ("there", "nowhere"):
            (self.dir / "link").symlink_to(target)
            done = self.ours("a", "-o", "link")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertTrue((self.dir / "link").is_symlink())
            self.assertEqual((self.dir / target).read_text(), "a\nb\n")
            (self.dir / "link").unlink()

    def test_odd_names(self):
        for name in (b"${HOME}", b'quo"te', b"back\\slash", b"new\nline", b"- dash", b"not-utf8-\xff"):
            with self.subTest(name=name):
                path = os.fsencode(self.dir) + b"/" + name
                with open(path, "wb") as file:
                    file.write(b"b\na\n")
                self.assertEqual(self.ours(b"./" + name).stdout, b"a\nb\n")

    def test_names_go_from_the_command_line_to_the_file_untouched(self):
        draw = random.Random(4)
        telling = [b"$", b"$$", b"${", b"}", b"${HOME}", b'"', b"'", b"\\", b"\n", b"\t", b" ", b": ", b"#", b"-", b"%", b"~", b"a", b"\xff", b"\xc3"]
        base = os.fsencode(self.dir)
        names = [b"a$$b", b"$$$$", b"~", b"a:5", b"x$${HOME}y", b" ", b"\n"]
        while len(names) < (20 if SANITIZED else 60):
            name = b"".join(draw.choice(telling) if draw.random() < 0.7 else bytes([draw.randrange(1, 256)]) for _ in range(draw.randrange(1, 9)))
            if b"/" not in name and name not in (b".", b".."):
                names.append(name)
        big = b"".join(b"%06d\n" % (i * 7919 % 1_000_003) for i in range(300_000))
        for number, name in enumerate(names):
            with self.subTest(name=name):
                folder = base + b"/%d" % number
                os.makedirs(folder + b"/scratch" + name)
                # What the name would be if it were a text with parameters, as it was.
                for decoy in (name.replace(b"$$", b"$"), name.replace(b"$$", b"$") + b"o"):
                    with open(folder + b"/" + decoy, "wb") as file:
                        file.write(b"decoy\n")
                with open(folder + b"/" + name, "wb") as file:
                    file.write(big if number % 20 == 0 else b"c\nb\na\n")
                before = sorted(os.listdir(folder))
                if not name.startswith((b"-", b"+")):
                    plain = subprocess.run([FLOWRUN, "sort", name], cwd=folder, env=self.environment, capture_output=True, timeout=60)
                    self.assertEqual((plain.returncode, plain.stderr), (0, b""))
                done = subprocess.run([FLOWRUN, "sort", b"./" + name, b"-o", b"./" + name + b"o", b"-T", b"scratch" + name, "-S", "16M"],
                                      cwd=folder, env=self.environment, capture_output=True, timeout=60)  # fmt: skip
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                with open(folder + b"/" + name + b"o", "rb") as file:
                    self.assertEqual(file.read(), b"".join(sorted(big.splitlines(True))) if number % 20 == 0 else b"a\nb\nc\n")
                self.assertEqual(sorted(os.listdir(folder)), sorted({*before, name + b"o"}))
                if name.replace(b"$$", b"$") != name:
                    with open(folder + b"/" + name.replace(b"$$", b"$"), "rb") as file:
                        self.assertEqual(file.read(), b"decoy\n")
                # The job that is printed reads and writes the same files, or says that YAML can't name them.
                printed = subprocess.run([FLOWRUN, "sort", "--print-spec", b"./" + name, b"-o", b"./" + name + b"p", b"-T", b"scratch" + name],
                                         cwd=folder, env=self.environment, capture_output=True, timeout=60)  # fmt: skip
                try:
                    name.decode()
                except UnicodeDecodeError:
                    self.assertEqual((printed.returncode, printed.stdout), (2, b""))
                    self.assertIn(b"is not UTF-8", printed.stderr)
                    continue
                self.assertEqual(printed.returncode, 0, printed.stderr)
                with open(folder + b"/job", "wb") as file:
                    file.write(printed.stdout)
                ran = subprocess.run([FLOWRUN, "run", "-q", "./job"], cwd=folder, env=self.environment, capture_output=True, timeout=60)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                with open(folder + b"/" + name + b"p", "rb") as one, open(folder + b"/" + name + b"o", "rb") as other:
                    self.assertEqual(one.read(), other.read())

    def test_the_job_of_an_output_that_is_an_input_is_refused(self):
        self.write("a", "b\na\n")
        self.refused(2, "--print-spec", "./a", "-o", "a", says=["a job may not write what it reads"])

    def test_standard_input_goes_on_where_it_stands(self):
        self.write("a", "header\nb\na\n")
        with open(self.dir / "a", "rb") as file:
            os.lseek(file.fileno(), len("header\n"), os.SEEK_SET)
            self.assertEqual(self.ours(stdin=file).stdout, b"a\nb\n")

    def test_the_job_underneath(self):
        self.write("a", "b,2\na,10\nc,1\na,9\n")
        words = ["-t,", "-k2,2n", "-u", "-S", "64M", "a"]
        spec = self.ours("--print-spec", *words)
        self.assertEqual(spec.returncode, 0, spec.stderr)
        self.write("job.yaml", spec.stdout)
        done = self.flowrun("run", "-q", "job.yaml")
        self.assertEqual(done.stdout.encode(), self.gnu(*words).stdout)

    def test_help_and_version(self):
        self.assertIn(b"--print-spec", self.ours("--help").stdout)
        self.assertEqual(self.ours("--version").returncode, 0)
        self.assertIn("sort", self.flowrun("--help").stdout)

    def test_nothing_is_said(self):
        self.write("a", "b\na\n")
        self.assertEqual(self.same("a").stderr, b"")
        self.assertIn(b"file.read_lines", self.ours("--debug", "a").stderr)


class bad_input(sort_test):
    def test_files(self):
        self.write("a", "b\na\n")
        (self.dir / "folder").mkdir()
        self.refused(2, "missing", says=["flowrun sort: missing: No such file or directory"])
        self.refused(2, "a", "folder", says=["folder: Is a directory"])
        self.refused(2, "a", "-o", "folder", says=["folder: Is a directory"])
        self.refused(2, "a", "-o", "nowhere/out", says=["nowhere/out: No such file or directory"])
        self.refused(2, "a", "-o", "", says=["No such file or directory"])
        self.assertEqual(self.files(), ["a"])

    def test_options(self):
        for words, part in (
            (["-k0"], "field number is zero: invalid field specification '0'"),
            (["-k1.0"], "character offset is zero"),
            (["-k1,0"], "field number is zero"),
            (["-kx"], "invalid number at field start"),
            (["-k1,"], "invalid number after ','"),
            (["-k1."], "invalid number after '.'"),
            (["-k1x"], "stray character in field spec"),
            (["-k1nM"], "options '-nM' are incompatible"),
            (["-n", "-g"], "incompatible"),
            (["-nd"], "incompatible"),
            (["-t", "ab"], "multi-character tab 'ab'"),
            (["-t", ""], "empty tab"),
            (["-t,", "-t:"], "incompatible tabs"),
            (["-S", "x"], "invalid -S argument 'x'"),
            (["-S", "1Q2"], "invalid -S argument"),
            (["-S", "99999999999999999999999"], "-S argument '99999999999999999999999' too large"),
            (["-S", "1Z"], "too large"),
            (["-S", "16e"], "invalid -S argument '16e'"),
            (["--parallel=0"], "parallel must be nonzero"),
            (["--parallel=x"], "invalid --parallel argument 'x'\n  help: a whole number from 1 on"),
            (["--parallel="], "invalid --parallel argument ''"),
            (["-T", ""], "flowrun sort: -T names no directory"),
            (["-oa", "-ob"], "multiple output files specified"),
            (["-cC"], "options '-cC' are incompatible"),
            (["-co", "x"], "options '-co' are incompatible"),
            (["-c", "a", "b"], "extra operand 'b' not allowed with -c"),
            (["-R"], "-R is not supported"),
            (["-k1nV"], "options '-nV' are incompatible"),
            (["--nonsense"], "unrecognized option '--nonsense'"),
            (["-Q"], "invalid option -- 'Q'"),
            (["-k"], "requires an argument"),
        ):
            with self.subTest(words=words):
                self.write("a", "b\na\n")
                self.refused(2, *words, says=[part], input=b"")

    def test_words_and_sizes_as_gnu_has_them(self):
        self.write("a", "b\na\n")
        for words in (["-S16m"], ["-S20000k"], ["-S1g"], ["-S1t"], ["-S0Z"], ["--parallel= +2"]):
            with self.subTest(words=words):
                self.same(*words, "a")
        self.assertEqual(self.ours("--parallel=99999999999999999999", "a").stdout, b"a\nb\n")
        # What is refused is not named among the words.
        self.assertTrue(self.refused(1, "--sort=x", "a").stderr.endswith(b"human-numeric, month, numeric, version\n"))
        self.refused(2, "--sort=random", "a", says=["-R is not supported"])

    @unittest.skipIf(SANITIZED, "a sanitizer reserves more")
    def test_limits_are_told_in_its_own_words(self):
        self.write("a", "b\na\n")
        done = self.shell('ulimit -v 50000; exec "$0" sort --parallel=2 a')
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, rb"^flowrun sort: (can't start a thread|out of memory|memory exhausted)")
        self.assertNotRegex(done.stderr, rb" -[jm]\b")

    def test_disorder(self):
        self.write("a", "a\nb\nab\n")
        self.assertEqual(self.refused(1, "-c", "a").stderr, b"sort: a:3: disorder: ab\n")
        for words in (["-C"], ["--check=quiet"], ["--check=silent"]):
            self.assertEqual(self.refused(1, *words, "a").stderr, b"")
        self.assertEqual(self.refused(1, "--check", "a").stderr, b"sort: a:3: disorder: ab\n")
        self.assertEqual(self.refused(1, "-c", input=b"b\na\n").stderr, b"sort: -:2: disorder: a\n")
        self.assertEqual(self.refused(1, "-cu", input=b"a\na\n").stderr, b"sort: -:2: disorder: a\n")
        self.same("-c", "/dev/null")
        self.write("b", "a\n")
        self.refused(2, "-m", "b", "a", "-o", "out", says=["a:3: disorder: ab"])
        self.assertEqual(self.files(), ["a", "b"])

    def test_a_line_beyond_the_memory(self):
        self.write("a", b"x\n" + b"y" * (40 << 20) + b"\n")
        done = self.refused(2, "-S", "16M", "a", "-o", "out", says=["a:2: a line is longer than"])
        self.assertTrue(done.stderr.endswith(b"  help: give it more memory (-S)\n"), done.stderr)
        self.assertEqual(self.files(), ["a"])

    def test_closed_descriptors(self):
        self.write("a", "b\na\n")
        for line in ('exec "$0" sort a >&-', 'exec "$0" sort <&-'):
            done = self.shell(line)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(b"Bad file descriptor", done.stderr)
        self.assertEqual(self.shell('exec "$0" sort a 2>&- <&-').stdout, b"a\nb\n")
        self.assertEqual(self.files(), ["a"])

    def test_a_full_device(self):
        self.write("a", "b\na\n")
        self.refused(2, "a", "-o", "/dev/full", says=["No space left on device"])
        with open("/dev/full", "wb") as full:
            done = subprocess.run([FLOWRUN, "sort", "a"], cwd=self.dir, env=self.environment, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"No space left on device", done.stderr)


class ends(sort_test):
    def big(self):
        self.write("big", b"".join(b"%d\n" % (i * 7919 % 1_000_003) for i in range(600_000)))
        return "big"

    def test_a_reader_that_goes_away(self):
        self.assertEqual(self.piped_away("sort", self.big()), (-signal.SIGPIPE, b""))
        self.assertEqual(self.files(), ["big"])

    def test_a_reader_that_goes_away_with_sigpipe_ignored(self):
        code, err = self.piped_away("sort", self.big(), ignoring=True)
        self.assertEqual(code, 2)
        self.assertIn(b"Broken pipe", err)

    def test_stopped(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                (self.dir / "scratch").mkdir(exist_ok=True)
                job = subprocess.Popen(
                    [FLOWRUN, "sort", "-S", "16M", "-T", "scratch", "-o", "out"],
                    cwd=self.dir, env=self.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip
                for i in range(40):  # 40 MB: more than the memory; then it waits for more
                    job.stdin.write(b"".join(b"%d\n" % (i * j % 1_000_003) for j in range(150_000)))
                job.stdin.flush()
                job.send_signal(number)
                err = job.stderr.read()
                job.wait(timeout=60)
                job.stdin.close()
                job.stderr.close()
                self.assertEqual(job.returncode, 128 + number, err)
                self.assertEqual(self.files(), [])


if __name__ == "__main__":
    main()
