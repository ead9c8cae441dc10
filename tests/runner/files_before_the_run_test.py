#!/usr/bin/env python3
"""All files are looked at before the first phase, and in check: what is missing, can't be written, or is not what its
node reads is told at once, not when its phase begins."""

import os
import unittest

from flowrun_process import job_with_sinks, main, process_test

# Its first phase reads a pipe that no process writes to: it would wait there for ever.
LATE = """flowrun: 1
nodes:
  first:  {op: file.read_lines, with: {path: pipe}}
  sorted: {op: sort, in: first, with: {by: [text]}}
  known:  {op: file.read_csv, with: {path: known.csv, header: true, type: {text: string, n: u32}}}
  both:   {op: lookup, in: {stream: sorted, table: known}, with: {by: [text]}}
  write:  {op: file.write_lines, in: sorted, with: {path: out/lines.txt}}
  more:   {op: file.write_csv, in: both, with: {path: more.csv}}
"""

# The same, and behind it a node that reads KNOWN, which is given per test, and a sink.
BEHIND = """flowrun: 1
types: {pair: {k: u32, v: u64}}
graphs:
  reading:
    out: {out: read}
    nodes: {read: KNOWN}
nodes:
  first:  {op: file.read_lines, with: {path: pipe}}
  sorted: {op: sort, in: first, with: {by: [text]}}
  write:  {op: file.write_lines, in: sorted, with: {path: out/lines.txt}}
"""


class files_before_the_run_test(process_test):
    def both(self, code, *parts, arguments=()):
        """check and run say the same, and leave nothing behind."""
        before = sorted(self.dir.rglob("*"))
        for command in ("check", "run"):
            with self.subTest(command=command):
                self.fails(code, self.flowrun(command, "job.yaml", *arguments), *parts)
        self.assertEqual(sorted(self.dir.rglob("*")), before)

    def late(self):
        os.mkfifo(self.dir / "pipe")
        self.write("job.yaml", LATE)

    def test_an_input_of_a_later_phase(self):
        self.late()
        self.both(66, "job.yaml:5:44: error: can't open known.csv: No such file or directory", "help: check the path")

    def test_an_input_that_is_a_directory(self):
        self.late()
        (self.dir / "known.csv").mkdir()
        self.both(66, "job.yaml:5:44: error: can't open known.csv: Is a directory")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_an_input_that_may_not_be_read(self):
        self.late()
        self.write("known.csv", "text,n\n").chmod(0)
        self.both(66, "can't open known.csv: Permission denied")

    def test_wildcards(self):
        for name in ("logs/b.csv", "logs/a.csv", "logs/d/c.csv", "logs/[a].txt"):
            self.write(name, f"{name}\n")
        self.write("logs/a.txt", "wrong\n")
        source = '{op: file.read_lines, with: {path: ["logs/*.csv", "logs/[a].txt", "**/c.*"], file_column: file}}'
        self.write("job.yaml", job_with_sinks("out", source=source))
        self.assertEqual(self.flowrun("-q", "job.yaml").returncode, 0)
        names = ["logs/a.csv", "logs/b.csv", "logs/[a].txt", "logs/d/c.csv"]
        self.assertEqual((self.dir / "out").read_text(), "".join(f"{name},{name}\n" for name in names))
        csv = '{op: file.read_csv, with: {path: "logs/*.txt", type: {x: string}, file_column: from}}'
        self.write("job.yaml", job_with_sinks("out", source=csv))
        self.assertEqual(self.flowrun("-q", "job.yaml").returncode, 0)
        self.assertEqual((self.dir / "out").read_text(), "logs/[a].txt,logs/[a].txt\nwrong,logs/a.txt\n")

    def test_wildcards_that_match_nothing(self):
        self.write("logs/a.csv", "a\n")
        self.write("job.yaml", job_with_sinks("out", source='{op: file.read_lines, with: {path: ["logs/*.cvs"]}}'))
        self.both(66, "job.yaml:3:45: error: no file matches 'logs/*.cvs'; the directory 'logs' has a.csv")
        self.write("job.yaml", job_with_sinks("out", source='{op: file.read_lines, with: {path: "nowhere/**/x"}}'))
        self.both(66, "no file matches 'nowhere/**/x': there is no directory 'nowhere'")
        # What is wrong elsewhere is told beside them.
        source = """{op: file.read_lines, with: {path: "*.none"}}
  made: {op: generate, with: {rows: 3, columns: {x: i}}}
  few: {op: filter, in: made, with: {where: y > 1}}
  kept: {op: file.write_csv, in: few, with: {path: kept}}"""
        self.write("job.yaml", job_with_sinks("out", source=source))
        self.both(78, "job.yaml:3:44: error: no file matches '*.none'", "job.yaml:5:45: error: ", "'y'", "2 faults in job.yaml")
        twice = '{op: file.read_csv, with: {path: "logs/*", type: {x: string}, file_column: x}}'
        self.write("job.yaml", job_with_sinks("out", source=twice))
        self.both(78, "the rows have a column 'x' already")

    def test_all_at_once(self):
        self.write("a-file", "")
        (self.dir / "folder").mkdir()
        (self.dir / "link").symlink_to("/proc/nowhere")
        source = "{op: file.read_lines, with: {path: [missing-1, missing-2]}}"
        self.write("job.yaml", job_with_sinks("a-file/out", "folder", "link", "new/deeper/out", source=source))
        self.both(
            66,
            "job.yaml:3:45: error: can't open missing-1",
            "job.yaml:3:56: error: can't open missing-2",
            "job.yaml:4:53: error: can't create the directory a-file: Not a directory",
            "job.yaml:5:53: error: can't write folder: it is a directory",
            "job.yaml:6:53: error: can't write /proc/nowhere",
            "5 faults in job.yaml",
        )

    def test_an_output_alone_is_73(self):
        self.write("job.yaml", job_with_sinks("/proc/out"))
        self.both(73, "can't write /proc/out")

    def test_no_files(self):
        self.late()
        done = self.flowrun("check", "--no-files", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_index(self):
        self.write("job.yaml", job_with_sinks("folder").replace("write_csv", "write_rows").replace('"}}', '", index: true}}').replace("in: rows", "in: sorted") + "  sorted: {op: sort, in: rows, with: {by: [i]}}\n")
        (self.dir / "folder.index").mkdir()
        self.both(73, "job.yaml:4:56: error: can't write folder.index: it is a directory")

    def behind(self, known, *nodes):
        """A job that waits for a pipe, and has these nodes behind that; KNOWN stands for `known`."""
        if not (self.dir / "pipe").exists():
            os.mkfifo(self.dir / "pipe")
        text = BEHIND if any("graph: reading" in node for node in nodes) else BEHIND.replace(
            "graphs:\n  reading:\n    out: {out: read}\n    nodes: {read: KNOWN}\n", "")
        text += "".join(f"  {node}\n" for node in nodes)
        self.write("job.yaml", text.replace("KNOWN", known))

    def read_csv(self, *more):
        options = ", ".join(("path: known.csv", "header: true", "type: {a: u32, b: string}", *more))
        self.behind(f"{{op: file.read_csv, with: {{{options}}}}}", "known: KNOWN",
                    "more: {op: file.write_csv, in: known, with: {path: more.csv}}")

    def test_a_header_with_other_columns(self):
        self.read_csv()
        for text in ("b,a\n1,2\n", "a\n", "a,b,c\r\n", "a,b\"\n", "\ufeff\"a\",b \n", "\"a,b\n" + "x\n" * 100_000):
            with self.subTest(text=text[:20]):
                self.write("known.csv", text)
                self.both(65, "job.yaml:7:43: error: known.csv:1: the header says ", "; the type has a, b", "give `type`")

    def test_headers_that_are_right(self):
        for more, texts in (
            ((), ("a,b\n", "a,b", "\"a\",\"b\"\r\n1,2\n", "", "a,b\n" + "1,2\n" * 100_000, b"\xef\xbb\xbfa,b\n")),
            (('delimiter: ";"',), ("a;b\n",)),
            (('quote: ""',), ("a,b\n\"",)),
        ):
            self.read_csv(*more)
            for text in texts:
                with self.subTest(text=text[:20]):
                    self.write("known.csv", text)
                    done = self.flowrun("check", "job.yaml")
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_header_that_is_as_long_as_what_is_read_of_it(self):
        # The line's end, or a quote, is the last byte of what is read at once.
        for num_bytes in (65535, 65536, 65537):
            for quote in ("", '"'):
                lengths = [808] * 80
                lengths.append(num_bytes - len(quote) * 2 - sum(lengths) - len(lengths) - 1)
                names = [f"c{i}".ljust(length, "_") for i, length in enumerate(lengths)]
                self.behind(f"{{op: file.read_csv, with: {{path: known.csv, header: true, type: {{{': u32, '.join(names)}: u32}}}}}}",
                            "known: KNOWN", "more: {op: file.write_csv, in: known, with: {path: more.csv}}")
                header = ",".join(names[:-1] + [quote + names[-1] + quote]) + "\n"
                self.assertEqual(len(header), num_bytes)
                self.write("known.csv", header + "1,2\n")
                done = self.flowrun("check", "job.yaml")
                self.assertEqual(done.returncode, 0, done.stderr[:300])
                self.write("known.csv", header[:-1 - len(quote)] + "x" + quote + "\n1,2\n")
                self.fails(65, self.flowrun("check", "job.yaml"), "known.csv:1: field 81 of the header is ")

    def test_a_first_row_that_is_none(self):
        more = "more: {op: file.write_csv, in: known, with: {path: more.csv}}"
        self.behind("{op: file.read_csv, with: {path: known.csv, type: {a: u32}}}", "known: KNOWN", more)
        self.write("known.csv", "7\nx\n")  # no header is asked for, and only the first row is looked at
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)
        self.write("known.csv", "a\n7\n")
        self.both(65, "known.csv:1:1: expected u32, got \"a\"", "columns: header", "`flowrun infer known.csv` shows the file's own")
        self.behind("{op: file.read_csv, with: {path: known.csv, type: {a: u32}}, on_error: skip}", "known: KNOWN", more)
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)

    def read_rows(self, *more):
        self.behind(f"{{op: file.read_rows, with: {{{', '.join(('path: known', 'type: pair', *more))}}}}}", "known: KNOWN",
                    "more: {op: file.write_rows, in: known, with: {path: more}}")

    def test_rows_that_are_cut_short(self):
        self.write("known", bytes(10 * 12 + 5))
        self.read_rows()
        self.both(65, "job.yaml:7:44: error: known: 125 bytes are 10 rows of 12 bytes and 5 bytes more", "help: was the file cut short")
        self.read_rows('range: "2:"')
        self.both(65, "known: 101 bytes are 8 rows of 12 bytes and 5 bytes more")
        self.read_rows('range: "2:10"')  # what is cut short isn't read
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)

    def make_indexed(self, num_rows=50_000):
        self.write("make.yaml", "flowrun: 1\nnodes:\n"
                   f"  made: {{op: generate, with: {{rows: {num_rows}, columns: {{k: u32(i), v: i}}}}}}\n"
                   "  write: {op: file.write_rows, in: made, with: {path: known, index: true}}\n")
        done = self.flowrun("make.yaml", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_index_of_other_rows(self):
        self.make_indexed()
        rows, index = (self.dir / "known").read_bytes(), (self.dir / "known.index").read_bytes()
        self.read_rows("sorted_by: [k]", "index: true")
        self.assertEqual(self.flowrun("check", "job.yaml").returncode, 0)
        for what, content in (
            ("this is no index of rows", b"?" + index[1:]),
            ("the index has version 2, and this program reads version 1", index[:8] + b"\2" + index[9:]),
            ("the index is cut short", index[:20]),
            ("the index is damaged: its numbers don't fit together", index[:-40]),
            ("this is no index of rows", b""),
        ):
            with self.subTest(what=what):
                self.write("known.index", content)
                self.both(65, f"job.yaml:7:44: error: known.index: {what}", "help: write the rows anew")
        self.write("known.index", index)
        self.write("known", rows[: 12 * 3000])  # the index says more than the file holds
        self.both(65, "known.index: the index is of 50000 rows of 12 bytes, but known has 36000 bytes")
        self.write("known", rows)
        os.utime(self.dir / "known.index", ns=(0, os.stat(self.dir / "known").st_mtime_ns - 10**9))
        self.both(65, "known.index: the index is older than the rows in known")
        self.write("known.index", index)
        self.read_rows("sorted_by: [v]", "index: true")
        self.both(65, "known.index: the rows are sorted by the columns +0 (counted from 0), not by +1")

    LOOP = ("loop: {op: loop, with: {carry: {n: {rows: [{k: 0}], type: {k: u32}}}, body: {read: KNOWN}, collect: {all: read}, BOUND}}",
            "more: {op: file.write_rows, in: loop.all, with: {path: more}}")
    CALL = ("call: {op: call, with: {graph: readingWHEN}}", "more: {op: file.write_rows, in: call.out, with: {path: more}}")
    IF = ('if: {op: if, in: {n: sorted}, with: {condition: "rows(n) > 0", then: {read: KNOWN}, else: {read: KNOWN}, out: {out: read}}}',
          "more: {op: file.write_rows, in: if.out, with: {path: more}}")
    KNOWN = "{op: file.read_rows, with: {path: known, type: pair}}"

    def test_in_a_graph_that_is_sure_to_run(self):
        for nodes in ([node.replace("BOUND", "times: 2") for node in self.LOOP],
                      [node.replace("BOUND", 'until: "iteration > 2"') for node in self.LOOP],
                      [node.replace("WHEN", "") for node in self.CALL]):
            with self.subTest(nodes=nodes):
                self.behind(self.KNOWN, *nodes)
                (self.dir / "known").unlink(missing_ok=True)
                self.both(66, "error: can't open known: No such file or directory")
                self.write("known", bytes(13))
                self.both(65, "error: known: 13 bytes are 1 rows of 12 bytes and 1 bytes more")
                self.write("known", bytes(12))
                done = self.flowrun("check", "job.yaml")
                self.assertEqual((done.returncode, "warning" in done.stderr), (0, False), done.stderr)

    def test_a_file_that_two_calls_read_is_told_of_once(self):
        calls = [node.replace("WHEN", "") for node in self.CALL]
        self.behind(self.KNOWN, *calls, *(node.replace("call", "again").replace("op: again", "op: call").replace("more", "other") for node in calls))
        done = self.flowrun("check", "job.yaml")
        self.fails(66, done)
        self.assertEqual(done.stderr.count("can't open known"), 1)

    def test_in_a_graph_that_may_not_run(self):
        for nodes, graph in (([node.replace("BOUND", "times: 0") for node in self.LOOP], "loop"),
                             ([node.replace("WHEN", ', when: "1 > 2"') for node in self.CALL], "call"),
                             (self.IF, "if.then")):
            with self.subTest(nodes=nodes):
                self.behind(self.KNOWN, *nodes)
                done = self.flowrun("check", "job.yaml")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, "flowrun: warning: job.yaml:[0-9]+:[0-9]+: can't open known: No such file or "
                                 f"directory; the job will fail if '{graph}' runs\n")
                self.assertNotIn("warning", self.flowrun("check", "--no-files", "job.yaml").stderr)

    def test_a_branch_that_may_not_run(self):
        self.write(
            "job.yaml",
            "flowrun: 1\nnodes:\n"
            "  rows: {op: generate, with: {kind: counter, rows: 10}}\n"
            "  chosen:\n    op: if\n    in: {rows: rows}\n    with:\n"
            '      condition: "rows(rows) > 100"\n'
            "      then: {read: {op: file.read_rows, with: {path: missing, type: {value: u64}}}}\n"
            "      else: {read: {op: file.read_rows, with: {path: found, type: {value: u64}}}}\n"
            "      out: {out: read}\n"
            "  write: {op: file.write_rows, in: chosen.out, with: {path: out}}\n",
        )
        self.write("found", bytes(16))
        done = self.flowrun("run", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out").read_bytes(), bytes(16))

    def test_standard_input_that_is_closed(self):
        self.write("job.yaml", job_with_sinks("out", source='{op: file.read_lines, with: {path: "-"}}'))
        self.write("out", "before")
        done = self.shell('exec "$0" run job.yaml <&-')
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn(b"standard input", done.stderr)
        self.assertEqual((self.dir / "out").read_text(), "before")


if __name__ == "__main__":
    main()
