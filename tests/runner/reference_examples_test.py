#!/usr/bin/env python3
"""Every example of the reference runs: whole jobs have tests, which pass; the nodes under each operator run on a few rows
that are given here, and what comes out is compared with what was worked out by hand."""

import re
import struct

from flowrun_process import main, process_test


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


class rows:
    """Rows that a node of the example reads: a node that reads them from a file, sorted by `by` if that is given."""

    def __init__(self, columns, *lines, by=None):
        self.columns, self.lines, self.by = columns, lines, by

    def nodes(self, name):
        given = name if self.by is None else f"{name}_given"
        read = f"{given}: {{op: file.read_csv, with: {{path: {given}.csv, type: {{{self.columns}}}}}}}"
        return [read] + ([] if self.by is None else [f"{name}: {{op: sort, in: {given}, with: {{by: [{self.by}]}}}}"])

    def file(self, name):
        return f"{name if self.by is None else name + '_given'}.csv", "".join(line + "\n" for line in self.lines)


class example:
    """`given`: rows, or a node as it stands in a job, by the name that the example has for it. `expect`: of outputs, the
    lines, a pattern for them, or a function that looks at them. `written`: the content of files that the example writes.
    `files`: those that it reads. `change`: values that are too large for a test (--set). `around`: other parts of the job.
    `before`: a job that makes a file."""

    def __init__(self, given, expect=(), files=(), written=(), change=(), around="", before=None):
        self.given, self.expect, self.files, self.written = given, dict(expect), dict(files), dict(written)
        self.change, self.around, self.before = change, around, before


EDGES = "src: u32, dst: u32"
FEW_EDGES = rows(EDGES, "1,2", "3,3", "4,1")


def is_shuffled(lines):
    return sorted(map(int, (line.split(",")[0] for line in lines))) == list(range(100)) and lines != [f"{i},0" for i in range(100)]


EXAMPLES = {
    "call": [example(
        {"names": rows("name: string", "b", "a")}, {"suffixes.sorted": ["a", "b"]},
        around="graphs:\n  dc3:\n    in: {text: any}\n    out: {sorted: ranked}\n"
               "    nodes: {ranked: {op: sort, in: text, with: {by: [name]}}}\n")],
    "check": [example({"edges": rows(EDGES, "1,2", "1,3", "2,1")}, {"sure": ["1,2", "1,3", "2,1"]})],
    "concat": [example({"old": rows("k: u32", "1", "2"), "new": rows("k: u32", "0")}, {"all": ["1", "2", "0"]})],
    "file.read_csv": [example({}, {"edges": ["1,2", "3,4"]}, {"edges.txt": "1 2\n5;6\n3 4\n"},
                              {"out/rejected.txt": b"5;6\n"})],
    "file.read_json_lines": [example(
        {}, {"events": ["1,buy", "2,view"]},
        {"events.jsonl": '{"user":{"id":1},"action":"buy","tags":[]}\n{"user":1}\n{"action":"view","user":{"id":2,"name":"x"}}\n'},
        {"out/rejected.jsonl": b'{"user":1}\n'})],
    "file.read_lines": [example({}, {"log": ["first", "second", "third"],
                                     "all": ["third,access.log", "first,access.log.1", "second,access.log.1"]},
                                {"access.log.1": "first\nsecond\n", "access.log": "third"})],
    "file.read_rows": [example(
        {}, {"edges": ["1,2", "1,3"], "known": ["0", "1", "2"]}, {"edges.u32x2": u32(1, 2, 1, 3)},
        before="flowrun: 1\nnodes:\n  made: {op: generate, with: {rows: 3, columns: {key: i}}}\n"
               "  write: {op: file.write_rows, in: made, with: {path: known.u64, index: true}}\n")],
    "file.write_csv": [example({"top": rows("node: u32, degree: u32", "7,3", "1,2")},
                               written={"out/degree.csv": b"node,degree\n7,3\n1,2\n"})],
    "file.write_json_lines": [example({"top": rows("node: u32, degree: u32", "7,3", "1,2")},
                                      written={"out/degree.jsonl": b'{"node":7,"stats":{"degree":3}}\n{"node":1,"stats":{"degree":2}}\n'})],
    "file.write_lines": [example(
        {"edges": f"{{op: file.read_csv, with: {{path: edges.csv, type: {{{EDGES}}}}}, on_error: {{to: bad}}}}"},
        {"edges": ["1,2"]}, {"edges.csv": "x\n1,2\n\n"}, {"out/rejected.txt": b"x\n\n"})],
    "file.write_rows": [example(
        {"sorted": rows(EDGES, "3,1", "1,2", by="src, dst")},
        written={"out/edges.u32x2": u32(1, 2, 3, 1), "out/sorted.u32x2": u32(1, 2, 3, 1)})],
    "filter": [example({"edges": FEW_EDGES}, {"proper": ["1,2", "4,1"]})],
    "flat_map": [example({"edges": FEW_EDGES}, {"both": ["1,2", "2,1", "3,3", "4,1", "1,4"]})],
    "generate": [example(
        {}, {"drawn": lambda lines: len(lines) == 1000 and len(set(lines)) > 990
                      and all(0 <= int(value) < 4096 for line in lines for value in line.split(",")),
             "input": lambda lines: len(lines) >= 10},
        change=("nodes.drawn.with.rows=1000", "nodes.input.with.rows=10"))],
    "group": [example({"sorted": rows(EDGES, "1,5", "3,1", "1,2", by="src")}, {"degree": ["1,2,5", "3,1,1"]})],
    "group_pairs": [example({"oriented": rows(EDGES, "1,2", "1,3", "2,5", "1,7", by="src, dst")},
                            {"wedges": ["2,3", "2,7", "3,7"]})],
    "if": [example({"names": rows("name: string, rank: u32", *(f"n{i},{i}" for i in range(995, 1005)))},
                   {"shorter.out": [f"n{i},{i}" for i in range(995, 1005)]}),
           example({"names": rows("name: string, rank: u32", *(f"n{i},{i}" for i in range(1001)))},
                   {"shorter.out": [f"n{i},{i}" for i in range(1000)]})],
    "join": [example(
        {"orders": rows("customer: u32, item: string", "2,pen", "1,ink", "2,cup", by="customer, item"),
         "customers": rows("id: u32, name: string", "2,Eva", "3,Udo", by="id"),
         "reached": rows("node: u32", "4", "5", by="node"), "visited": rows("node: u32", "4", by="node")},
        {"known": ["1,ink,,1", "2,cup,Eva,3", "2,pen,Eva,3"], "fresh": ["5"]})],
    "limit": [example(
        {"names": rows("name: string", "d", "a", "c", "b"), "sorted": rows(EDGES, "1,5", "3,1", "1,2", by="src, dst")},
        {"page": ["a", "c"], "firsts": ["1,2", "3,1"]})],
    "lookup": [example({"edges": FEW_EDGES, "degrees": rows("node: u32, degree: u32", "3,9", "1,7")},
                       {"ranked": ["1,2,7", "3,3,9", "4,1,0"]})],
    "loop": [example({"edges": rows(EDGES, "0,1", "1,0", "1,2", "2,1", "0,3", "3,0", by="src, dst")},
                     {"levels.out": ["1,1", "3,1", "2,2"]})],
    "map": [example({"edges": rows(EDGES, "5,3", "100,0")}, {"back": ["3,5,7", "0,100,1"]})],
    "merge": [example(
        {"old": rows("time: u32, id: u32", "1,1", "5,0", by="time, id"), "new": rows("time: u32, id: u32", "1,0", "7,7", by="time, id"),
         "class0": rows("c: u32, behind: u32", "1,5", "3,1"), "class1": rows("c: u32, behind: u32, rank: u32", "1,2,0", "2,9,1", "3,4,2")},
        {"all": ["1,0", "1,1", "5,0", "7,7"], "suffixes": ["1,2", "1,5", "2,9", "3,1", "3,4"]})],
    "partition": [example({"drawn": rows("k: u32", "513", "2", "65535", "258", "1")}, {"sorted": ["1", "2", "258", "513", "65535"]})],
    "permute": [example(
        {"cells": "{op: generate, with: {rows: 500000, columns: {v: u32(i)}}}", "samples": "{op: generate, with: {rows: 8, columns: {v: u32(i)}}}"},
        {"transposed": [str(p % 500 * 1000 + p // 500) for p in range(500_000)],
         "reversed": ["0", "4", "2", "6", "1", "5", "3", "7"], "rotated": ["0", "4", "1", "5", "2", "6", "3", "7"]},
        change=("nodes.reversed.with.n=3",))],
    "pq_scan": [example(
        {"nodes": rows("node: u32", "0", "1", "2", "3", "4", by="node"), "edges": rows("node: u32, to: u32", "0,1", "1,2", "2,3", "0,4", by="node, to")},
        {"mis": ["0", "2"]})],
    "reduce": [example({"edges": FEW_EDGES}, {"totals": re.compile(r"3,3,\d{5,},\d{5,}")})],
    "reverse": [example({"log": rows("text: string", "a", "c", "b")}, {"latest_first": ["b", "c", "a"]})],
    "scan": [example(
        {"sorted": rows("c0: u8, c1: u8, c2: u8, amount: u32, time: u32", "1,1,1,10,100", "1,1,1,20,130", "1,2,0,5,110", by="c0, c1, c2, amount")},
        {"numbered": ["1,1,1,10,100,0,10", "1,1,1,20,130,1,30", "1,2,0,5,110,2,35"],
         "names": ["1,1,1,10,100,0", "1,1,1,20,130,0", "1,2,0,5,110,1"], "gaps": ["100,100", "130,30", "110,-20"]})],
    "shuffle": [example({"edges": rows(EDGES, *(f"{i},0" for i in range(100)))}, {"mixed": is_shuffled, "some": lambda lines: len(set(lines)) == 10})],
    "sort": [example({"degrees": rows("src: u32, deg: u32", *(f"{i},{i // 2}" for i in range(12)))},
                     {"top": [f"{i ^ 1},{i // 2}" for i in range(11, 1, -1)]})],
    "split": [example({"edges": FEW_EDGES}, {"sides.down": ["4,1"], "sides.loops": ["3,3"]}, written={"up.bin": u32(1, 2)})],
    "suffix_sort": [example({"letters": rows("c: u8", *(str(ord(c)) for c in "banana"))}, {"array": ["5", "3", "1", "0", "4", "2"]})],
    "tokens": [example({"lines": rows("text: string", "To be; or not", "to be.")},
                       {"words": ["to", "be", "or", "not", "to", "be"],
                        "pairs": ["to, to", "be,to be", "or,be or", "not,or not", "to,not to", "be,to be"]})],
    "union_find": [example({"edges": rows(EDGES, "1,2", "3,3", "2,1", "3,0")},
                           written={"forest.bin": u32(1, 2, 3, 0), "labels.bin": u32(0, 0, 1, 1, 2, 1, 3, 0)},
                           change=("nodes.components.with.nodes=4",))],
    "window": [example(
        {"sorted": rows("x: u32", "3", "10", "11", by="x"), "visits": rows("visitor: u32, page: string", "1,a", "1,b", "2,c")},
        {"steps": ["3,3", "10,7", "11,1"], "pairs": ["1,a,b", "1,b,", "2,c,"]})],
    "zip": [example({"sorted": rows("x: u32", "9", "4", by="x"), "names": rows("name: string", "a", "b"), "values": rows("v: u32", "2", "1")},
                    {"ranks": ["4,0", "9,1"], "paired": ["a,2", "b,1"]})],
}


class reference_examples_test(process_test):
    def reference(self):
        return self.flowrun("reference").stdout

    def test_jobs_of_the_reference(self):
        jobs = re.findall(r"^```yaml\n(flowrun: 1\n.*?)^```$", self.reference(), re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(jobs), 3)
        for number, job in enumerate(jobs):
            with self.subTest(job=job.splitlines()[1]):
                self.assertIn("\ntests:\n", job)
                self.write(f"{number}.yaml", job)
                done = self.flowrun("test", f"{number}.yaml")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def examples_of_operators(self):
        """{operator: its nodes}."""
        sections = re.split(r"^### (.*)\n", self.reference(), flags=re.MULTILINE)
        names = [line.split()[0] for line in self.flowrun("ops").stdout.splitlines()]
        out = {}
        for name, text in zip(sections[1::2], sections[2::2]):
            if name in names:
                [out[name]] = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertEqual(sorted(out), sorted(names))
        return out

    def test_nodes_of_the_operators(self):
        nodes = self.examples_of_operators()
        self.assertLessEqual(set(EXAMPLES), set(nodes))
        for name, text in nodes.items():
            for number, what in enumerate(EXAMPLES.get(name, [])):
                with self.subTest(operator=name, number=number):
                    self.run_nodes(name, text, what)

    def run_nodes(self, name, text, what):
        folder = self.dir / name
        for path, content in [*what.files.items(), *(g.file(n) for n, g in what.given.items() if isinstance(g, rows))]:
            self.write(f"{name}/{path}", content)
        lines = []
        for node, given in what.given.items():
            lines += given.nodes(node) if isinstance(given, rows) else [f"{node}: {given}"]
        lines += text.splitlines()
        lines += [f"out_{i}: {{op: file.write_csv, in: {output}, with: {{path: out_{i}.csv}}}}" for i, output in enumerate(what.expect)]
        if what.before is not None:
            self.run_job(folder, what.before)
        job = f"flowrun: 1\n{what.around}nodes:\n" + "".join(f"  {line}\n" for line in lines)
        self.run_job(folder, job, *(word for change in what.change for word in ("--set", change)))
        for path, content in what.written.items():
            self.assertEqual((folder / path).read_bytes(), content, path)
        for i, (output, expected) in enumerate(what.expect.items()):
            found = (folder / f"out_{i}.csv").read_text(errors="replace").splitlines()
            if isinstance(expected, list):
                self.assertEqual(found, expected, output)
            elif isinstance(expected, re.Pattern):
                self.assertRegex("\n".join(found), expected)
            else:
                self.assertTrue(expected(found), (output, found))

    def run_job(self, folder, text, *more):
        (folder / "job.yaml").parent.mkdir(parents=True, exist_ok=True)
        (folder / "job.yaml").write_text(text)
        done = self.flowrun("-q", "job.yaml", *more, cwd=folder)
        self.assertEqual(done.returncode, 0, text + done.stderr)

    def test_nodes_of_other_operators(self):
        """Those that no rows are given for here are nodes as the checker knows them, but for what they read."""
        for name, text in self.examples_of_operators().items():
            if name in EXAMPLES:
                continue
            with self.subTest(operator=name):
                self.write("nodes.yaml", "flowrun: 1\nnodes:\n" + "".join(f"  {line}\n" for line in text.splitlines()))
                faults = re.findall(r"^nodes.yaml:\d+:\d+: error: (.*)", self.flowrun("check", "--no-files", "nodes.yaml").stderr, re.MULTILINE)
                self.assertNotEqual(faults, [])
                self.assertEqual([f for f in faults if not re.match("there is no node |.* never used$", f)], [])

    def test_the_structure_of_a_job_is_complete(self):
        """The keys that the tables name are those that the reader knows."""
        text = self.reference()
        self.write("job.yaml", "flowrun: 1\nnothing: 1\nparams: {p: {nothing: 1, type: int, default: 1}}\nnodes: {}\n")
        said = self.flowrun("check", "job.yaml").stderr
        for line in re.findall(r"expected: (?:one of )?(.*)", said):
            for key in line.split(", "):
                if re.fullmatch(r"[a-z_]+", key):
                    self.assertIn(f"`{key}`", text)


if __name__ == "__main__":
    main()
