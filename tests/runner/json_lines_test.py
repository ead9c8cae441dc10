#!/usr/bin/env python3
"""JSON lines through the command: files by wildcard and from a pipe, jobs that are resumed, tests inside of jobs, memory,
and bad input that leaves nothing behind."""

import json
import os
import random

from flowrun_process import ALLOWANCE, MIB, SANITIZED, main
from resuming_process import resuming_test

READ = """flowrun: 1
nodes:
  rows:
    op: file.read_json_lines
    with: {{path: {path}, type: {{k: u32, name: string, score: f64}}, default: {{score: nan}}, other_keys: skip{more}}}
  sorted: {{op: sort, in: rows, with: {{by: [name, k]}}}}
  out: {{op: file.write_json_lines, in: sorted, with: {{path: {out}}}}}
"""


def job(path="in.jsonl", out="out/out.jsonl", more=""):
    return READ.format(path=path, out=out, more=more)


def records(rng, count):
    letters = "ab\u00e9\U0001f600\"\\\n\t/"
    for _ in range(count):
        record = {"name": "".join(rng.choice(letters) for _ in range(rng.randrange(12))), "k": rng.randrange(10**6)}
        if rng.random() < 0.7:
            record["score"] = rng.choice([None, 0.1, -2.5e300, 7])
        if rng.random() < 0.3:
            record["more"] = {"deep": [record.copy()], "k": "no column"}
        yield dict(rng.sample(list(record.items()), len(record)))


def lines(some, ascii=True):
    return "".join(json.dumps(record, ensure_ascii=ascii) + "\n" for record in some)


def expected(some):
    rows = [(r["name"].encode(), r["k"], r.get("score")) for r in some]
    return [{"k": k, "name": name.decode(), "score": score} for name, k, score in sorted(rows, key=lambda row: row[:2])]


class json_lines_test(resuming_test):
    def output_of(self, text, *more, **others):
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", *more, **others)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in (self.dir / "out/out.jsonl").read_text().split("\n")[:-1]]

    def refusal_of(self, text, code, *more, **others):
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", *more, **others)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertFalse((self.dir / "out/out.jsonl").exists())
        return done.stderr

    def test_what_lies_before_a_range_is_not_looked_at(self):
        self.write("in.jsonl", 'garbage\n{"name": "a", "k": 1, "score": 2}\n')
        self.assertEqual(self.output_of(job(more=", range: '8:'")), [{"k": 1, "name": "a", "score": 2}])
        (self.dir / "out/out.jsonl").unlink()
        self.assertIn("in.jsonl:1", self.refusal_of(job(), 65))

    def test_several_files_and_pipes(self):
        some = list(records(random.Random(1), 3000))
        self.write("a.jsonl", b"\xef\xbb\xbf" + lines(some[:1000]).encode())
        self.write("b.jsonl", lines(some[1000:], ascii=False).replace("\n", "\r\n\r\n").rstrip())
        for more in ((), ("-j", "1", "-m", "8MiB"), ("--plain-executor",)):
            self.assertEqual(self.output_of(job('"*.jsonl"'), *more), expected(some))
        named = self.output_of(job('"*.jsonl"', more=", file_column: file"))
        self.assertEqual(sorted({row["file"] for row in named}), ["a.jsonl", "b.jsonl"])
        self.write("job.yaml", job('"-"'))
        done = self.shell('cat a.jsonl | "$0" -q job.yaml')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len((self.dir / "out/out.jsonl").read_bytes().splitlines()), 1000)

    def test_what_was_written_is_the_same_when_it_is_read_again(self):
        self.write("in.jsonl", lines(records(random.Random(2), 2000)))
        first = self.output_of(job())
        (self.dir / "out/out.jsonl").rename(self.dir / "again.jsonl")
        self.assertEqual(self.output_of(job("again.jsonl")), first)
        self.output_of(job("again.jsonl", out="out/out.gz"), "--set", "nodes.out.with.path=out/out.jsonl")
        self.assertEqual((self.dir / "again.jsonl").read_bytes(), (self.dir / "out/out.jsonl").read_bytes())

    def test_tests_inside_of_jobs(self):
        self.write("job.yaml", job() + """tests:
  - name: texts as the file has them
    given: {rows: ['{"name": "b", "k": 1, "x": []}', '', '{"k": 2, "name": "a", "score": 0.5}']}
    expect: {out: ['{"k":2,"name":"a","score":0.5}', '{"k":1,"name":"b","score":null}']}
  - name: one that fails
    given: {rows: ['{"name": "b", "k": 1}']}
    expect: {out: ['{"k":2}']}
""")
        done = self.flowrun("test", "job.yaml")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 of 2 tests", done.stdout)
        self.assertIn("FAILED  one that fails", done.stdout)
        self.assertIn('{"k":1,"name":"b","score":null}', done.stdout)

    def test_resume(self):
        rng = random.Random(3)
        some = ['{"t":"%s","n":%d,"z":[1]}\n' % ("y" * rng.randrange(20), rng.randrange(10**9)) for _ in range(500_000)]
        self.write_inputs("jsonl", some)
        self.write("job.yaml", """flowrun: 1
nodes:
  rows: {op: file.read_json_lines, with: {path: [a.jsonl, b.jsonl], type: {n: u64, t: string}, other_keys: skip}}
  sorted: {op: sort, in: rows, with: {by: [n, t]}}
  out: {op: file.write_json_lines, in: sorted, with: {path: out/sorted}}
""")
        _, rows = self.killed_again_and_again()
        self.assertLess(rows["rows"], 2 * len(some))

    def test_long_lines_stay_within_the_memory(self):
        long = {"name": "x\u00e9" * (2 * MIB), "k": 1, "more": [[1, 2]] * (MIB // 4)}
        self.write("in.jsonl", lines([long, {"name": "", "k": 0}], ascii=False))
        text = job().replace("  sorted: {op: sort, in: rows, with: {by: [name, k]}}\n", "").replace("in: sorted", "in: rows")
        report = self.dir / "report.json"
        out = self.output_of(text, "-m", "256MiB", "--report", report)
        self.assertEqual([len(row["name"]) for row in out], [4 * MIB, 0])
        if not SANITIZED:
            peak = int(json.loads(report.read_text())["peak_memory_bytes"])
            self.assertLess(peak, 256 * MIB + ALLOWANCE)
        os.remove(self.dir / "out/out.jsonl")
        self.assertIn("a line is longer than", self.refusal_of(text, 75, "-m", "16MiB"))

    def test_bad_input_leaves_nothing(self):
        good = '{"k": 1, "name": "a"}\n'
        cases = {
            '{"k": 1, "nam': "in.jsonl:5001:14: this is no JSON",
            '{"k": -1, "name": "a"}\n': "in.jsonl:5001:7: expected u32 (0 to 4294967295), got the number -1",
            '{"k": 1}\n': "in.jsonl:5001:1: there is no \"name\"",
            '{"k": 1, "name": "\\udead"}\n': "in.jsonl:5001:",
        }
        for last, said in cases.items():
            self.write("in.jsonl", good * 5000 + last)
            self.assertIn(said, self.refusal_of(job(), 65))
        self.write("in.jsonl", good + '{"k": 1, "name": "a", "other": 1}\n')
        self.assertIn("`other_keys: skip`", self.refusal_of(job(more="").replace(", other_keys: skip", ""), 65))
        # What is no JSON lines at all is told before the run, and by check.
        self.write("in.jsonl", "[\n" + good)
        self.assertIn("got an array", self.refusal_of(job(), 65))
        checked = self.flowrun("check", "job.yaml")
        self.assertNotEqual(checked.returncode, 0)
        self.assertIn("in.jsonl:1:1: expected an object, got an array", checked.stderr)


if __name__ == "__main__":
    main()
