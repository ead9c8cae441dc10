#!/usr/bin/env python3
"""Single files of text, read in pieces by the tasks of a cluster: rows, rejected lines and messages are those of one
machine, wherever the pieces are cut. And `range`, by which a task reads its piece."""

import gzip
import pathlib
import random
import re
import sys

from flowrun_process import SANITIZED, main, process_test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import parts  # noqa: E402

FILES_AT_ONCE = 12  # of one job
MARK = b"\xef\xbb\xbf"


def csv_text(r, quote, end, columns):
    """Lines of `columns` fields, some of which are quoted, and some lines that are no rows."""

    def field():
        kind = r.randrange(9)
        if kind < 4 or not quote:
            return b"".join(r.choice([b"a", b"bc", b'x"y', b" ", b"\xc3\xa9"]) for _ in range(r.randrange(4)))
        inner = b"".join(
            r.choice([b"\n", b"\r\n", b",", b"\n\n", quote * 2, b"text", b"\n" + quote * 2 + b"\n"])
            for _ in range(r.randrange(r.choice([3, 3, 60]))))
        return quote + inner + quote

    def line():
        if r.random() < 0.08:
            return r.choice([b"", b"one", b"x,1,2,3,4,5,6", b"no number"])
        return b",".join([b"%d" % r.randrange(10**6), *(field() for _ in range(columns - 1))])

    return end.join(line() for _ in range(r.randrange(r.choice([4, 30, 90]))))


def finished(r, text, end):
    """With a final line end or without, and now and then with a byte order mark."""
    return (MARK if r.random() < 0.2 else b"") + text + (end if text and r.random() < 0.6 else b"")


def draw_csv(r):
    """The content and the rest of the settings, of columns k and t, u."""
    quote = r.choice([b'"', b'"', b'"', b"'", b""])
    end = r.choice([b"\n", b"\n", b"\r\n"])
    settings = {"type": "{k: u64, t: string, u: string}"}
    if quote != b'"':
        settings["quote"] = '"\'"' if quote else '""'
    text = csv_text(r, quote, end, 3)
    head = r.choice(["", "", "header", "by name"])
    if head == "header":
        settings["header"] = "true"
        text = b"k,t,u" + end + text
    elif head == "by name":
        settings["columns"] = "header"
        settings["type"] = "{u: string, k: u64, t: string}"
        name = quote + b"a\nb" + quote if quote else b"other"
        text = b"k,t,u," + name + end + end.join(line + b",z" for line in text.split(end) if line)
    return "file.read_csv", finished(r, text, end), settings


def draw_json(r):
    lines = []
    for _ in range(r.randrange(60)):
        kind = r.randrange(12)
        if kind == 0:
            lines.append(r.choice([b"", b" ", b"{", b'{"k": "x"}', b"[]"]))
        else:
            lines.append(b'{"k": %d, "t": "%s"}' % (r.randrange(10**5), rb'\n"'[:2] * r.randrange(r.choice([3, 200]))))
    end = r.choice([b"\n", b"\r\n"])
    return "file.read_json_lines", finished(r, end.join(lines), end), {"type": "{k: u64, t: string}"}


def draw_lines(r):
    end = r.choice([b"\n", b"\n", b";", b"\0"])
    text = end.join(b"".join(r.choice([b"a", b"\r", b'"', b"bcd"]) for _ in range(r.randrange(r.choice([2, 9, 900]))))
                    for _ in range(r.randrange(50)))
    settings = {} if end == b"\n" else {"delimiter": '";"' if end == b";" else r'"\0"'}
    if text and r.random() < 0.6:
        text += end
    return "file.read_lines", text, settings


def source(op, path, settings, on_error=""):
    more = "".join(f", {name}: {value}" for name, value in settings.items())
    return f"{{op: {op}, with: {{path: {path}{more}}}{on_error}}}"


def of_one_machine(message):
    """A message without the task that it comes from."""
    return re.sub(r"task \d+ of stage \d+: ", "", message)


class text_pieces_test(process_test):
    def outputs_of(self, *arguments):
        done = self.flowrun("job.yaml", "-q", "--no-sync", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        out = {}
        for path in sorted((self.dir / "out").iterdir()):
            out[path.name] = parts.joined(path) if path.is_dir() else path.read_bytes()
        return out

    def test_the_rows_of_one_machine(self):
        r = random.Random("text pieces")
        divided = 0
        rounds = 2 if SANITIZED else 6
        for _ in range(rounds):
            nodes = []
            for number in range(FILES_AT_ONCE):
                op, content, settings = r.choice([draw_csv, draw_csv, draw_json, draw_lines])(r)
                self.write(f"in{number}", content)
                rejects = "" if op == "file.read_lines" else ", on_error: {to: bad}"
                nodes.append(f"  a{number}: {source(op, f'in{number}', settings, rejects)}")
                nodes.append(f"  w{number}: {{op: file.write_json_lines, in: a{number}, with: {{path: out/{number}}}}}")
                if rejects:
                    nodes.append(f"  b{number}: {{op: file.write_json_lines, in: a{number}.bad, "
                                 f"with: {{path: out/{number}.bad}}}}")
            self.write("job.yaml", "flowrun: 1\nnodes:\n" + "\n".join(nodes) + "\n")
            expected = self.outputs_of()
            for name in expected:
                (self.dir / "out" / name).unlink()
            self.assertEqual(self.outputs_of("--cluster", "local:3", "--tasks", "7"), expected)
            plan = self.flowrun("plan", "job.yaml", "--cluster", "local:3").stdout
            divided += len(re.findall(r"tasks, pieces of 'a\d+'", plan))
            self.flowrun("clean")
            for path in list((self.dir / "out").iterdir()):
                for part in path.iterdir():
                    part.unlink()
                path.rmdir()
        self.assertGreater(divided, (rounds - 1) * FILES_AT_ONCE)  # all but files without a byte

    def test_messages_count_lines_from_the_beginning_of_the_file(self):
        lines = [b'%d,"a\nb"' % i for i in range(300)]
        lines[251] = b"x,y"
        self.write("in.csv", b"k,t\n" + b"\n".join(lines))
        self.write("in.json", b"\n".join(b'{"k": %d}' % i if i != 700 else b"{}" for i in range(800)))
        for op, path, settings, at in (
                ("file.read_csv", "in.csv", {"type": "{k: u64, t: string}", "header": "true"}, 2 * 251 + 2),
                ("file.read_csv", "in.csv", {"type": "{t: string, k: u64}", "columns": "header"}, 2 * 251 + 2),
                ("file.read_json_lines", "in.json", {"type": "{k: u64}"}, 701)):
            self.write("job.yaml", f"flowrun: 1\nnodes:\n  a: {source(op, path, settings)}\n"
                                   "  w: {op: file.write_json_lines, in: a, with: {path: out/x}}\n")
            alone = self.flowrun("job.yaml", "-q")
            tasks = self.flowrun("job.yaml", "-q", "--cluster", "local:2", "--tasks", "5")
            self.assertIn(f"{path}:{at}:", alone.stderr)
            self.assertEqual((tasks.returncode, of_one_machine(tasks.stderr)), (alone.returncode, alone.stderr))

    def test_the_first_of_several_faults_is_told(self):
        """Though a task further behind meets one sooner."""
        lines = [b"%d" % i for i in range(200000)]
        lines[190000] = b"late"
        lines[199990] = b"later"
        lines[60000] = b"first"
        self.write("in.csv", b"\n".join(lines))
        self.write("job.yaml", f"flowrun: 1\nnodes:\n  a: {source('file.read_csv', 'in.csv', {'type': '{k: u64}'})}\n"
                               "  w: {op: file.write_json_lines, in: a, with: {path: out/x}}\n")
        for tasks in (2, 3, 5):
            done = self.flowrun("job.yaml", "-q", "--cluster", "local:5", "--tasks", tasks)
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertIn("in.csv:60001:1:", done.stderr)

    def test_a_quoted_field_that_never_ends(self):
        self.write("in.csv", b"1,a\n" * 300 + b'2,"' + b"x\n" * 300)
        self.write("job.yaml", "flowrun: 1\nnodes:\n"
                               f"  a: {source('file.read_csv', 'in.csv', {'type': '{k: u64, t: string}'})}\n"
                               "  w: {op: file.write_json_lines, in: a, with: {path: out/x}}\n")
        alone = self.flowrun("job.yaml", "-q")
        tasks = self.flowrun("job.yaml", "-q", "--cluster", "local:2", "--tasks", "5")
        self.assertIn("in.csv:301:", alone.stderr)
        self.assertEqual((tasks.returncode, of_one_machine(tasks.stderr)), (alone.returncode, alone.stderr))

    def test_what_is_compressed_is_read_by_one_task(self):
        self.write("in.csv", gzip.compress(b"1\n" * 1000))
        self.write("job.yaml", f"flowrun: 1\nnodes:\n  a: {source('file.read_csv', 'in.csv', {'type': '{k: u64}'})}\n"
                               "  w: {op: file.write_json_lines, in: a, with: {path: out/x}}\n")
        self.assertIn("stage 1: one task", self.flowrun("plan", "job.yaml", "--cluster", "local:3").stdout)
        self.write("in.csv", b"1\n" * 1000)
        self.assertIn("stage 1: 3 tasks, pieces of 'a'", self.flowrun("plan", "job.yaml", "--cluster", "local:3").stdout)

    def lines_in(self, given, path="in.txt"):
        self.write("job.yaml", f"flowrun: 1\nnodes:\n  a: {source('file.read_lines', path, {'range': given})}\n"
                               "  n: {op: map, in: a, with: {n: row_number, text: text}}\n"
                               "  w: {op: file.write_csv, in: n, with: {path: out/x}}\n")
        return self.flowrun("job.yaml", "-q")

    def test_range(self):
        self.write("in.txt", b"ab\ncd\nef\ngh")
        for given, expected in (("0:", b"0,ab\n1,cd\n2,ef\n3,gh\n"), ("3:9", b"0,cd\n1,ef\n"), (":3", b"0,ab\n"),
                                ("9:", b"0,gh\n"), ("9:11", b"0,gh\n"), ("9:50", b"0,gh\n"), ("3:3", b""), ("40:50", b"")):
            done = self.lines_in(f'"{given}"')
            self.assertEqual((done.returncode, done.stderr), (0, ""), given)
            self.assertEqual((self.dir / "out/x").read_bytes(), expected, given)
        for given, at in (("4:9", 4), ("3:8", 8), ("1:", 1)):
            done = self.lines_in(f'"{given}"')
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertIn(f"in.txt: byte {at} of the range is within a line", done.stderr)

    def test_range_in_tasks(self):
        self.write("in.txt", b"".join(b"line %d\n" % i for i in range(100)))
        self.write("job.yaml", f"flowrun: 1\nnodes:\n  a: {source('file.read_lines', 'in.txt', {'range': '70:630'})}\n"
                               "  w: {op: file.write_lines, in: a, with: {path: out/x}}\n")
        expected = self.outputs_of()
        self.assertEqual(expected["x"], (self.dir / "in.txt").read_bytes()[70:630])
        (self.dir / "out/x").unlink()
        self.assertEqual(self.outputs_of("--cluster", "local:2", "--tasks", "6"), expected)

    def test_a_header_that_is_longer_than_lines_may_be(self):
        """A piece behind it looks at the header, too, to know its columns."""
        header = b"k," + b"x" * (3 << 20) + b"\n"
        self.write("in.csv", header + b"1,2\n" * 500000)
        settings = {"columns": "header", "type": "{k: u32}"}
        for more, options in ((f"{len(header)}:", ("-m", "8MiB")), (f"{len(header)}:", ("-m", "16MiB", "--cluster", "local:2")),
                              ("0:", ("-m", "32MiB", "--cluster", "local:4"))):
            self.write("job.yaml", f"flowrun: 1\nnodes:\n  a: {source('file.read_csv', 'in.csv', {**settings, 'range': repr(more)})}\n"
                                   "  w: {op: file.write_csv, in: a, with: {path: out/x}}\n")
            done = self.flowrun("job.yaml", "-q", *options)
            self.assertEqual(done.returncode, 75, done.stderr)
            self.assertIn("in.csv:1: a line is longer than ", done.stderr)
        done = self.flowrun("job.yaml", "-q", "-m", "512MiB", "--cluster", "local:2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(parts.joined(self.dir / "out/x"), b"1\n" * 500000)

    def test_what_has_no_range(self):
        self.write("in.txt", gzip.compress(b"1\n" * 1000))
        self.assertIn("in.txt is compressed", self.lines_in('"2:4"').stderr)
        self.write("in.txt", b"a\n")
        self.assertIn("a range needs a single file", self.lines_in('"2:4"', "[in.txt, in.txt]").stderr)
        self.assertIn("'4:2' is no range of bytes", self.lines_in('"4:2"').stderr)


if __name__ == "__main__":
    main()
