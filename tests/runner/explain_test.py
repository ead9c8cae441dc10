#!/usr/bin/env python3
"""flowrun explain, and that what it says about exit codes is what the help and docs/language.md say."""

import fcntl
import gzip
import os
import re
import signal

from flowrun_process import ENDLESS, ROOT, SORT, main, process_test

JOB = """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 3, columns: {x: i}}}
  out: {op: file.write_csv, in: rows, with: {path: "-"}}
"""
GENERATED = "generate, with: {rows: 3, columns: {x: i}}"

# Words of other languages: what is said about each, nodes that have this and do the work of the word, and the rows of
# the last one, `out`. They read `a` and `b`.
A = "a: {op: generate, with: {rows: 6, columns: {key: i / 3, time: 10 * i, x: f64(i)}}}"
B = "b: {op: generate, with: {rows: 2, columns: {key: 5 * i, time: 10 * i + 15}}}"
FOLLOWED = {
    "asof": ('{reset: [key], state: {last: 0.0}, set: {last: "if(kind == 0, x, last)"}, when: kind == 1, emit: {key: key, time: time, x: last}}', """
        am: {op: map, in: a, with: {key: u64(0), time: time, kind: u8(0), x: x}}
        bm: {op: map, in: b, with: {key: u64(0), time: time, kind: u8(1), x: 0.0}}
        both: {op: concat, in: [am, bm]}
        s: {op: sort, in: both, with: {by: [key, time, kind]}}
        out: {op: scan, in: s, with: {reset: [key], state: {last: 0.0}, set: {last: "if(kind == 0, x, last)"}, when: kind == 1, emit: {key: key, time: time, x: last}}}
        """, "0,15,1 0,25,2"),
    "range_join": ("{rows: [{piece: from / 100, from: from, to: to}, {piece: to / 100, from: from, to: to, when: to / 100 != from / 100}]}", """
        ranges: {op: map, in: a, with: {from: 70 * key, to: 70 * key + 80}}
        pieces: {op: flat_map, in: ranges, with: {rows: [{piece: from / 100, from: from, to: to}, {piece: to / 100, from: from, to: to, when: to / 100 != from / 100}]}}
        points: {op: map, in: b, with: {t: 100 * key / 5 + 5, piece: (100 * key / 5 + 5) / 100}}
        left: {op: sort, in: points, with: {by: [piece]}}
        right: {op: sort, in: pieces, with: {by: [piece, from], unique: true}}
        pairs: {op: join, in: {left: left, right: right}, with: {by: [piece]}}
        out: {op: filter, in: pairs, with: {where: t between from and to}}
        """, "5,0,0,80 105,1,70,150"),
    "moving_average": ('{before: 3, reset: [key], let: {mean: "(total - row[-3].total) / f64(min(n + 1, 3))"}}', """
        s: {op: sort, in: a, with: {by: [key, time]}}
        n: {op: scan, in: s, with: {number: n, prefix_sum: {total: x}, reset: [key]}}
        w: {op: window, in: n, with: {before: 3, reset: [key], let: {mean: "(total - row[-3].total) / f64(min(n + 1, 3))"}}}
        out: {op: map, in: w, with: {key: key, mean: mean}}
        """, "0,0 0,0.5 0,1 1,3 1,3.5 1,4"),
    "sessionize": ('{before: 1, let: {begins: "row[-1].user != user or t > row[-1].t + 1800"}}', """
        rows: {op: map, in: a, with: {user: string(key), t: 300 * time}}
        s: {op: sort, in: rows, with: {by: [user, t]}}
        w: {op: window, in: s, with: {before: 1, let: {begins: "row[-1].user != user or t > row[-1].t + 1800"}}}
        n: {op: scan, in: w, with: {prefix_sum: {session: u64(begins)}}}
        out: {op: map, in: n, with: {session: session}}
        """, "1 2 3 4 5 6"),
    "histogram": ('{by: [{from: "floor_div(x, 10) * 10"}], combine: {n: count()}}', """
        rows: {op: map, in: a, with: {x: 4 * u64(x)}}
        out: {op: sort, in: rows, with: {by: [{from: "floor_div(x, 10) * 10"}], combine: {n: count()}}}
        """, "0,3 10,2 20,1"),
    "ntile": ('scalars: all, with: {"*": all, share: "1 + n * 4 / all.total"}', """
        s: {op: sort, in: a, with: {by: [x]}}
        n: {op: scan, in: s, with: {number: n}}
        all: {op: reduce, in: n, with: {let: {total: count()}}}
        m: {op: map, in: n, scalars: all, with: {"*": all, share: "1 + n * 4 / all.total"}}
        out: {op: map, in: m, with: {share: share}}
        """, "1 1 2 3 3 4"),
    "semi_join": ("{by: [key], kind: semi}", """
        l: {op: sort, in: b, with: {by: [key]}}
        r: {op: sort, in: a, with: {by: [key]}}
        out: {op: join, in: {left: l, right: r}, with: {by: [key], kind: semi}}
        """, "0,15"),
    "anti_join": ("{by: [key], kind: anti}", """
        l: {op: sort, in: b, with: {by: [key]}}
        r: {op: sort, in: a, with: {by: [key]}}
        out: {op: join, in: {left: l, right: r}, with: {by: [key], kind: anti}}
        """, "5,25"),
    "minus": ("{by: [a, b], kind: anti}", """
        am: {op: map, in: a, with: {a: key, b: key}}
        bm: {op: map, in: b, with: {a: key, b: key}}
        l: {op: sort, in: am, with: {by: [a, b], unique: true}}
        r: {op: sort, in: bm, with: {by: [a, b]}}
        out: {op: join, in: {left: l, right: r}, with: {by: [a, b], kind: anti}}
        """, "1,1"),
    "intersect": ("{by: [a, b], kind: semi}", """
        am: {op: map, in: a, with: {a: key, b: key}}
        bm: {op: map, in: b, with: {a: key, b: key}}
        l: {op: sort, in: am, with: {by: [a, b], unique: true}}
        r: {op: sort, in: bm, with: {by: [a, b]}}
        out: {op: join, in: {left: l, right: r}, with: {by: [a, b], kind: semi}}
        """, "0,0"),
    "hash_join": ("with: {by: [key], missing: drop}", """
        ids: {op: map, in: a, with: {key: key}}
        out: {op: lookup, in: {stream: ids, table: b}, with: {by: [key], missing: drop}}
        """, "0,15 0,15 0,15"),
    "cross_join": ('{"*": all, one: u8(1)}', """
        al: {op: limit, in: a, with: {count: 3}}
        ax: {op: map, in: al, with: {x: x}}
        am: {op: map, in: ax, with: {"*": all, one: u8(1)}}
        bk: {op: map, in: b, with: {key: key}}
        bm: {op: map, in: bk, with: {"*": all, one: u8(1)}}
        ac: {op: check, in: am, with: {sorted: [one]}}
        bc: {op: check, in: bm, with: {sorted: [one]}}
        j: {op: join, in: {left: ac, right: bc}, with: {by: [one]}}
        out: {op: map, in: j, with: {x: x, key: key}}
        """, "0,0 0,5 1,0 1,5 2,0 2,5"),
    "tee": ("in: ", """
        one: {op: map, in: b, with: {key: key}}
        two: {op: map, in: b, with: {key: time}}
        out: {op: concat, in: [one, two]}
        """, "0 5 15 25"),
    "generate_series": ("{rows: 100, columns: {n: i}}", """
        rows: {op: generate, with: {rows: 100, columns: {n: i}}}
        out: {op: limit, in: rows, with: {count: 3}}
        """, "0 1 2"),
    "connected_components": ("{ends: [src, dst], nodes: 1000000}", """
        edges: {op: map, in: b, with: {src: key, dst: key + 2}}
        some: {op: union_find, in: edges, with: {ends: [src, dst], nodes: 1000000}}
        out: {op: limit, in: some.labels, with: {count: 3}}
        """, "0,0 1,1 2,0"),
    "rename": ('{"*": all but old, new: old}', """
        old: {op: map, in: b, with: {old: key, time: time}}
        new: {op: map, in: old, with: {"*": all but old, new: old}}
        out: {op: map, in: new, with: {new: new}}
        """, "0 5"),
    "char_length": ("length(regex_replace(text, '(?s).', 'x'))", """
        text: {op: map, in: b, with: {text: "'Grüße'"}}
        out: {op: map, in: text, with: {n: "length(regex_replace(text, '(?s).', 'x'))"}}
        """, "5 5"),
    "time_bucket": ("to_timestamp(floor_div(to_i64(t), 900000000) * 900000000)", """
        times: {op: map, in: b, with: {t: to_timestamp(i64(time) * 60000000 - 3600000000)}}
        out: {op: map, in: times, with: {t: "to_timestamp(floor_div(to_i64(t), 900000000) * 900000000)"}}
        """, "1969-12-31T23:15:00Z 1969-12-31T23:15:00Z"),
    "repeat": ("replace(pad_left('', n, '-'), '-', text)", """
        text: {op: map, in: b, with: {text: "'ab'", n: key - key / 5 * 3}}
        out: {op: map, in: text, with: {all: "replace(pad_left('', n, '-'), '-', text)"}}
        """, " abab"),
    "json_value": ("""regex_extract(text, r'"key": *"([^"]*)"', 1)""", r"""
        text: {op: map, in: b, with: {text: '''{"key": "v"}'''}}
        out: {op: map, in: text, with: {v: "regex_extract(text, r'\"key\": *\"([^\"]*)\"', 1)"}}
        """, "v v"),
    "md5": ("hash64(1, x)", """
        xs: {op: map, in: b, with: {x: key}}
        out: {op: map, in: xs, with: {same: "hash64(1, x) == hash64(1, u8(x))"}}
        """, "true true"),
    "pi": ("3.141592653589793", """
        out: {op: map, in: b, with: {pi: 3.141592653589793}}
        """, "3.141592653589793 3.141592653589793"),
}  # fmt: skip


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

    def test_words_of_other_languages(self):
        for word, kinds, parts in [
            ("pivot", ["operator"], ["Write sort, with: {by: [key], combine: "]),
            ("lag", ["operator", "function"], ["Write window, ", "Write row[-1].x, "]),
            ("Order By", ["operator"], ["Write sort, with: {by: [column, -column]}"]),
            ("string_agg", ["aggregate"], ["Write a scan behind a sort"]),
            ("LEN", ["function"], ["Write length(text)"]),
            ("collate", ["word"], ["Texts are compared byte by byte"]),
            ("null", ["word"], ["Nothing is null here"]),
            ("sin", ["function"], ["no trigonometry"]),
            ("parquet", ["operator"], ["arrow.read_parquet"]),
            ("current_date", ["function"], ["params: {today: {type: date}}"]),
        ]:
            with self.subTest(word=word):
                lines = self.explained(word).splitlines()
                self.assertEqual([line[: line.index(" of Flowrun. ")] for line in lines], [f"'{word}' is no {k}" for k in kinds])
                for part, line in zip(parts, lines, strict=True):
                    self.assertIn(part, line)
        # A word that is the name of a parameter, too.
        both = self.explained("rename")
        self.assertTrue(both.startswith("a parameter of "), both)
        self.assertIn("\n\n'rename' is no operator of Flowrun. Write map, ", both)

    def test_such_words_are_no_words_of_the_language(self):
        self.fails(64, self.flowrun("ops", "pivot"), "there is no operator 'pivot'", "help: write sort, with: {by: [key]")
        self.fails(64, self.flowrun("ops", "lag"), "there is no operator 'lag'", "write window, ", "; for the function, write row[-1].x")
        self.fails(64, self.flowrun("ops", "mean"), "there is no aggregate 'mean'", "help: write avg(x)")
        self.fails(64, self.flowrun("ops", "len"), "there is no function 'len'", "help: write length(text)")

    def test_what_is_said_about_them_works(self):
        for word, (said, nodes, rows) in FOLLOWED.items():
            with self.subTest(word=word):
                self.assertIn(said, self.explained(word))
                self.assertIn(said, nodes.replace('\\"', '"'))
                lines = [line.strip() for line in nodes.strip().splitlines()]
                sources = [source for source in (A, B) if re.search(rf"\b{source[0]}\b", nodes)]
                sink = '{op: file.write_csv, in: out, with: {path: "-"}}'
                self.write("job.yaml", "\n  ".join(["flowrun: 1\nnodes:", *sources, *lines, f"write: {sink}"]) + "\n")
                done = self.flowrun("-q", "job.yaml")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, rows.replace(" ", "\n") + "\n")

    def test_every_metric(self):
        for line in self.flowrun("metrics").stdout.splitlines():
            self.assertIn(line, self.explained(re.match(r"\w+", line).group()))

    def test_of_phrases_that_are_parts_of_each_other_the_longest_counts(self):
        header = self.explained('x.csv:1: the header has no columns "a", "b"; it has x')
        self.assertTrue(header.startswith("… the header has no column …\n"))
        self.assertNotIn("… has no column …", header)
        self.assertTrue(self.explained("has no column").startswith("… has no column …\n"))
        self.assertIn("… the header has no column …", self.explained("has no column"))
        array = self.explained("x.jsonl:1:1: expected an object, got an array")
        self.assertTrue(array.startswith("… expected an object …\n"), array)

    def test_phrases_with_gaps(self):
        self.assertIn("… the header has the column … twice …", self.explained('x.csv:1: the header has the column "a" twice, as'))
        self.assertIn("Convert one side", self.explained("'station' is string in 'r', 'id' is u64 in 'r2'"))
        self.fails(64, self.flowrun("explain", "'station' is string in r"), "nothing is known about")

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
                self.assertRegex(said.lower(), ".*".join(map(re.escape, phrase.lower().split("…"))))

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
        said = "".join(self.flowrun(*words).stderr for words in commands)
        held = os.open(next(self.dir.glob("flowrun-resume-*")), os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        said += self.flowrun(*kept).stderr
        os.close(held)
        return said + self.message_of_a_stopped_job()

    def message_of_a_stopped_job(self):
        self.write("sort.yaml", SORT)
        job = self.start("sort.yaml", "-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "scratch", "--progress", "json")
        self.until_rows_move(job)
        job.send_signal(signal.SIGINT)
        return job.communicate(timeout=60)[1]

    def messages_of_jobs(self):
        """Of jobs that fail on what files hold, in the order of the phrases they are for."""
        self.write("numbers.csv", "1\n2\nx\n")
        self.write("header.csv", "a,b\n1,2\n")
        self.write("missing.csv", "1,\n")
        self.write("array.jsonl", "[1]\n")
        self.write("keys.jsonl", '{"x":1,"y":2}\n')
        self.write("list.jsonl", '{"x":[1]}\n')
        self.write("twice.csv", "a,a\n1,2\n")
        self.write("open.csv", '1,"2\n')
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
            ("file.read_csv, with: {path: twice.csv, columns: header, type: {a: u8}}", "", []),
            ("file.read_csv, with: {path: open.csv, type: {a: u8, b: u8}}", "", []),
            ("file.read_csv, with: {path: '${env:IS_NOT_SET}', type: {a: u8}}", "", []),
            ('generate, with: {rows: 3, columns: {x: "i == “1”"}}', "", []),
            (csv, "", []),
            (csv + ", on_error: {to: skip, max_ratio: 0.1}", "", []),
            ("file.read_json_lines, with: {path: array.jsonl, type: {x: u8}}", "", []),
            ("file.read_json_lines, with: {path: keys.jsonl, type: {x: u8}}", "", []),
            ("file.read_json_lines, with: {path: list.jsonl, type: {x: u8}}", "", []),
            ("file.read_lines, with: {path: long.txt}", "", ["-m", "2MiB"]),
            ("file.read_rows, with: {path: numbers.csv, type: {x: u32}}", "", []),
            ("file.read_rows, with: {path: falling.rows, type: {x: u8}, sorted_by: [x]}", "", []),
            ("file.read_csv, with: {path: missing.csv, type: {x: u8, y: u8}}", "", []),
            (GENERATED, "check, in: rows, with: {where: 'x < 1'}", []),
            (GENERATED, "check, in: rows, with: {sorted: [-x]}", []),
            (GENERATED, lookup + "}\n  " + table.replace("KEY", "'5'")[:-1], []),
            (GENERATED, lookup + "}\n  " + table.replace("KEY", "i")[:-1], []),
            (GENERATED, "map, in: rows, with: {x: 'to_decimal(x, 2) * 9223372036854775807'}", []),
            (GENERATED, "loop, in: {s: rows}, with: {carry: {now: {from: s}}, max_iterations: 3, body: "
                        "{a: {op: map, in: now, with: {x: x}}}, next: {now: a}, until: 'rows(a) == 0'}", []),
            (many, "sort, in: rows, with: {by: [x]}", ["-m", "4MiB", "--scratch-limit", "1MiB"]),
            (many, "sort, in: rows, with: {by: [x]}", ["-m", "4MiB", "-T", "small:1MiB"]),
            (many + "}\n  kept: {op: filter, with: {where: x > 0}, in: rows", "sort, in: kept, with: {by: [x]}", ["-m", "4MiB", "-T", "small:1MiB"]),
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
