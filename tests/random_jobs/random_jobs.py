#!/usr/bin/env python3
"""Random jobs: a seed gives input files and a graph of operators; flowrun's outputs must be those of reference.py,
byte for byte, with tiny and with default blocks, in memory and spilling, on one thread and on three.

    random_jobs.py --flowrun PROGRAM [--seed N] [--count N] [--seconds S] [--keep DIR]

A failure prints the seed; --seed N --count 1 --keep DIR repeats it and leaves the job and its files in DIR.
"""

import argparse
import json
import pathlib
import random
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import reference as ref  # noqa: E402
from run_job import TINY, run_job  # noqa: E402

VARIANTS = [
    [],
    [*TINY, "--force-spill", "-j", "1"],
    ["--batch-size", "700", "-j", "3", "--force-spill", "--backend", "threads"],
    ["--plain-executor", "--batch-size", "512", "--backend", "memory"],
]
WORDS = [
    "",
    "a",
    "ab",
    "abc",
    "abd",
    "b",
    "zebra",
    "Zebra",
    "word with blanks",
    "comma,",
    'quote"',
    "a long text that begins like others 1",
    "a long text that begins like others 2",
]


class job_maker:
    def __init__(self, seed, directory):
        self.random = random.Random(seed)
        self.directory = directory
        self.nodes = {}
        self.streams = {}  # node or node.port -> ref.table
        self.unread = []  # streams that no node reads yet
        self.outputs = {}  # file -> text
        self.fresh = 0

    def name(self, prefix):
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def add(self, node, op, inputs, parameters):
        entry = {"op": op}
        if inputs is not None:
            entry["in"] = inputs
            for stream in (
                inputs.values() if isinstance(inputs, dict) else inputs if isinstance(inputs, list) else [inputs]
            ):
                if stream in self.unread:
                    self.unread.remove(stream)
        if parameters:
            entry["with"] = parameters
        self.nodes[node] = entry

    def give(self, stream, table):
        self.streams[stream] = table
        self.unread.append(stream)
        return stream

    def value(self, type_name):
        r = self.random
        if type_name == "string":
            return r.choice(WORDS) + (str(r.randrange(20)) if r.random() < 0.3 else "")
        if type_name == "u32":
            return r.choice([r.randrange(5), r.randrange(100), r.randrange(2**32)])
        return r.choice([r.randrange(-5, 5), r.randrange(-(2**40), 2**40)])

    def pick(self):
        """A stream; mostly one that no node reads yet."""
        pool = self.unread if self.unread and self.random.random() < 0.75 else list(self.streams)
        return self.random.choice(pool)

    # Sources

    def read_csv(self):
        r = self.random
        columns = {self.name("c"): r.choice(["u32", "i64", "string"]) for _ in range(r.randint(1, 4))}
        rows = [{c: self.value(t) for c, t in columns.items()} for _ in range(r.choice([0, 1, 7, 60, 300]))]
        table = ref.table(columns, rows, [])
        # A line without anything is a row only where the type is a single string; elsewhere fields are separated.
        node = self.name("read")
        path = self.directory / f"{node}.csv"
        path.write_text(ref.csv(table))
        self.add(node, "file.read_csv", None, {"path": str(path), "type": columns})
        self.give(node, table)

    def generate(self):
        n = self.random.choice([0, 1, 50, 400])
        modulus = self.random.choice([3, 10, 1000])
        number, group = self.name("c"), self.name("c")
        node = self.name("gen")
        self.add(node, "generate", None, {"rows": n, "columns": {number: "i", group: f"i64(i * 7 % {modulus}) - 1"}})
        rows = [{number: i, group: i * 7 % modulus - 1} for i in range(n)]
        self.give(node, ref.table({number: "u32", group: "i64"}, rows, [(number, False)]))

    # One input

    def condition(self, table):
        r = self.random
        column = r.choice(list(table.columns))
        type_name = table.columns[column]
        if type_name == "string":
            word = r.choice(["a", "b", "zebra", ""])
            return r.choice(
                [
                    (f"{column} < '{word}'", lambda row: row[column].encode() < word.encode()),
                    (f"length({column}) % 2 == 0", lambda row: len(row[column].encode()) % 2 == 0),
                    (f"starts_with({column}, '{word}')", lambda row: row[column].startswith(word)),
                ]
            )
        bound = r.randrange(-3, 50)
        if type_name == "u32":
            bound = abs(bound)
        return r.choice(
            [
                (f"{column} < {bound}", lambda row: row[column] < bound),
                (f"not ({column} == {bound})", lambda row: row[column] != bound),
            ]
        )

    def filter(self):
        source = self.pick()
        table = self.streams[source]
        text, holds = self.condition(table)
        node = self.name("filter")
        self.add(node, "filter", source, {"where": text})
        self.give(node, ref.table(table.columns, [row for row in table.rows if holds(row)], table.order))

    def map(self):
        source = self.pick()
        table = self.streams[source]
        r = self.random
        expressions, columns, compute, carried = {}, {}, {}, {}
        for column in r.sample(list(table.columns), r.randint(1, len(table.columns))):
            name = column if r.random() < 0.6 else self.name("c")
            expressions[name], columns[name], compute[name], carried[column] = (
                column,
                table.columns[column],
                (lambda row, c=column: row[c]),
                name,
            )
        column = r.choice(list(table.columns))
        name = self.name("c")
        if table.columns[column] == "string":
            kind = r.randrange(3)
            if kind == 0:
                expressions[name], columns[name], compute[name] = (
                    f"concat({column}, '/', length({column}))",
                    "string",
                    lambda row: f"{row[column]}/{len(row[column].encode())}",
                )
            elif kind == 1:
                expressions[name], columns[name], compute[name] = (
                    f"upper({column})",
                    "string",
                    lambda row: row[column].upper(),
                )
            else:
                expressions[name], columns[name], compute[name] = (
                    f"u32(length({column}))",
                    "u32",
                    lambda row: len(row[column].encode()),
                )
        else:
            factor = r.randrange(1, 9)
            if r.random() < 0.5:
                expressions[name], columns[name], compute[name] = (
                    f"i64({column}) * {factor} - 7",
                    "i64",
                    lambda row: row[column] * factor - 7,
                )
            else:
                expressions[name], columns[name], compute[name] = (
                    f"if({column} > 10, 'big', string({column}))",
                    "string",
                    lambda row: "big" if row[column] > 10 else str(row[column]),
                )
        rows = [{c: f(row) for c, f in compute.items()} for row in table.rows]
        order = []
        for c, descending in table.order:
            if c not in carried:
                break
            order.append((carried[c], descending))
        node = self.name("map")
        self.add(node, "map", source, expressions)
        self.give(node, ref.table(columns, rows, order))

    def keys(self, table, most=3):
        r = self.random
        return [
            (c, r.random() < 0.3) for c in r.sample(list(table.columns), r.randint(1, min(most, len(table.columns))))
        ]

    @staticmethod
    def key_texts(keys):
        return [("-" if descending else "") + c for c, descending in keys]

    def sort(self, source=None, keys=None):
        source = source or self.pick()
        table = self.streams[source]
        r = self.random
        keys = keys or self.keys(table)
        parameters = {"by": self.key_texts(keys), "stable": True}
        rows = ref.sorted_by(table.rows, keys)
        if r.random() < 0.25:
            parameters["unique"] = True
            rows = [g[0] for g in ref.groups(rows, [c for c, _ in keys])]
        if r.random() < 0.25:
            parameters["limit"] = r.choice([1, 5, 100])
            rows = rows[: parameters["limit"]]
        if r.random() < 0.25:
            parameters["compress"] = r.choice(["lz4", "zstd"])
        node = self.name("sort")
        self.add(node, "sort", source, parameters)
        return self.give(node, ref.table(table.columns, rows, keys))

    def group(self):
        source = self.pick()
        by = self.keys(self.streams[source], 2)
        source = self.sort(source, by)
        table = self.streams[source]
        names = [c for c, _ in by]
        wanted, columns = {}, {c: table.columns[c] for c in names}
        wanted[self.name("c")] = ("count", None)
        for _ in range(self.random.randint(0, 3)):
            column = self.random.choice(list(table.columns))
            choices = ["min", "max", "first", "last"] + (["sum"] if table.columns[column] != "string" else [])
            wanted[self.name("c")] = (self.random.choice(choices), column)
        for name, (what, column) in wanted.items():
            columns[name] = "u64" if what == "count" else table.columns[column] if what != "sum" else "i64"
        rows = []
        for g in ref.groups(table.rows, names):
            row = {c: g[0][c] for c in names}
            for name, (what, column) in wanted.items():
                row[name] = len(g) if what == "count" else ref.aggregate(what, [r[column] for r in g])
            rows.append(row)
        # Types of sums are u64 or i64; a count is u64: call them i64 only where they stay small.
        columns = {c: "i64" if t == "u64" else t for c, t in columns.items()}
        node = self.name("group")
        self.add(node, "group", source, {"by": names, "let": {n: f"{w}({c or ''})" for n, (w, c) in wanted.items()}})
        self.give(node, ref.table(columns, rows, by))

    def scan(self):
        source = self.pick()
        table = self.streams[source]
        numbers = [c for c, t in table.columns.items() if t != "string"]
        name, total = self.name("c"), self.name("c")
        parameters = {"number": name}
        columns = {**table.columns, name: "i64"}
        rows = [{**row, name: i} for i, row in enumerate(table.rows)]
        if numbers:
            column = self.random.choice(numbers)
            parameters["prefix_sum"] = {total: f"i64({column})"}
            columns[total] = "i64"
            running = 0
            for row in rows:
                running += row[column]
                row[total] = running
        node = self.name("scan")
        self.add(node, "scan", source, parameters)
        self.give(node, ref.table(columns, rows, table.order))

    def ranks(self):
        """Ranks of runs of equal values, also where they come back later, within groups or not."""
        source = self.pick()
        table = self.streams[source]
        names = list(table.columns)
        of = self.random.sample(names, self.random.randint(1, min(2, len(names))))
        reset = self.random.sample(names, self.random.randint(0, 1))
        dense, least = self.name("c"), self.name("c")
        rows = []
        for i, row in enumerate(table.rows):
            before = table.rows[i - 1] if i > 0 else None
            if before is None or any(row[c] != before[c] for c in reset):
                start, ranks = i, (0, 0)
            elif any(row[c] != before[c] for c in of):
                ranks = (ranks[0] + 1, i - start)
            rows.append({**row, dense: ranks[0], least: ranks[1]})
        node = self.name("ranks")
        parameters = {"dense_rank": {dense: of}, "min_rank": {least: of}}
        self.add(node, "scan", source, {**parameters, **({"reset": reset} if reset else {})})
        self.give(node, ref.table({**table.columns, dense: "i64", least: "i64"}, rows, table.order))

    def group_pairs(self):
        source = self.pick()
        table = self.streams[source]
        by = self.keys(table, 2)
        names = [c for c, _ in by]
        if sum(len(g) ** 2 for g in ref.groups(ref.sorted_by(table.rows, by), names)) > 20000:
            return
        source = self.sort(source, by)
        table = self.streams[source]
        column = self.random.choice(list(table.columns))
        a, b = self.name("c"), self.name("c")
        rows = []
        for g in ref.groups(table.rows, names):
            for j, second in enumerate(g):
                rows += [{**{c: first[c] for c in names}, a: first[column], b: second[column]} for first in g[:j]]
        node = self.name("pairs")
        let = {**{c: f"a.{c}" for c in names}, a: f"a.{column}", b: f"b.{column}"}
        self.add(node, "group_pairs", source, {"by": names, "let": let})
        columns = {c: table.columns[c] for c in names}
        self.give(node, ref.table({**columns, a: table.columns[column], b: table.columns[column]}, rows, by))

    def window(self):
        source = self.pick()
        table = self.streams[source]
        column = self.random.choice(list(table.columns))
        before, after = self.random.randint(0, 3), self.random.randint(0, 2)
        at = self.random.randint(-before, after)
        name = self.name("c")
        rows = []
        for i, row in enumerate(table.rows):
            value = table.rows[i + at][column] if 0 <= i + at < len(table.rows) else ref.nothing(table.columns[column])
            rows.append({**row, name: value})
        node = self.name("window")
        self.add(
            node,
            "window",
            source,
            {"before": before, "after": after, "let": {name: f"row[{at}].{column}" if at else column}},
        )
        self.give(node, ref.table({**table.columns, name: table.columns[column]}, rows, table.order))

    def flat_map(self):
        source = self.pick()
        table = self.streams[source]
        column = self.random.choice(list(table.columns))
        text, holds = self.condition(table)
        a, b = self.name("c"), self.name("c")
        rows = []
        for row in table.rows:
            rows.append({a: row[column], b: "first"})
            if holds(row):
                rows.append({a: row[column], b: "second"})
        node = self.name("flat")
        self.add(
            node, "flat_map", source, {"rows": [{a: column, b: "'first'"}, {a: column, b: "'second'", "when": text}]}
        )
        self.give(node, ref.table({a: table.columns[column], b: "string"}, rows, []))

    def split(self):
        source = self.pick()
        table = self.streams[source]
        text, holds = self.condition(table)
        node = self.name("split")
        self.add(node, "split", source, {"ports": {"yes": text}, "rest": "no"})
        self.give(node + ".yes", ref.table(table.columns, [row for row in table.rows if holds(row)], table.order))
        self.give(node + ".no", ref.table(table.columns, [row for row in table.rows if not holds(row)], table.order))

    # Several inputs

    def renamed(self, source, keep):
        """A map that gives every column but `keep` a new name, so that two streams can be joined."""
        table = self.streams[source]
        names = {c: c if c in keep else self.name("c") for c in table.columns}
        node = self.name("map")
        self.add(node, "map", source, {names[c]: c for c in table.columns})
        return self.give(
            node,
            ref.table(
                {names[c]: t for c, t in table.columns.items()},
                [{names[c]: v for c, v in row.items()} for row in table.rows],
                [(names[c], d) for c, d in table.order],
            ),
        )

    def join(self):
        source = self.pick()
        table = self.streams[source]
        if len(table.rows) > 500:
            return
        keys = self.keys(table, 2)
        by = [c for c, _ in keys]
        left = self.sort(source, keys)
        right = self.sort(self.renamed(source, by), keys)
        kind = self.random.choice(["inner", "left", "full", "semi", "anti"])
        columns, rows = ref.join(self.streams[left], self.streams[right], by, kind)
        if len(rows) > 5000:
            return
        node = self.name("join")
        skip = {"skip": True} if kind != "full" and self.random.random() < 0.4 else {}
        self.add(node, "join", {"left": left, "right": right}, {"by": by, "kind": kind, **skip})
        self.give(node, ref.table(columns, rows, keys))

    def lookup(self):
        """How often a row's key occurs in the stream, or in what a sort left of it."""
        source = self.pick()
        table = self.streams[source]
        keys = self.keys(table, 2)
        names = [c for c, _ in keys]
        ordered = self.sort(source, keys)
        count = self.name("c")
        counts = [{**{c: g[0][c] for c in names}, count: len(g)} for g in ref.groups(self.streams[ordered].rows, names)]
        group = self.name("group")
        self.add(group, "group", ordered, {"by": names, "let": {count: "count()"}})
        self.give(group, ref.table({**{c: table.columns[c] for c in names}, count: "i64"}, counts, keys))
        known = {ref.row_key(row, names): row[count] for row in counts}
        drop = self.random.random() < 0.5
        rows = [{**row, count: known.get(ref.row_key(row, names), 7)} for row in table.rows]
        if drop:
            rows = [row for row in rows if ref.row_key(row, names) in known]
        parameters = {"by": names, **({"missing": "drop"} if drop else {"missing": "default", "defaults": {count: 7}})}
        node = self.name("lookup")
        self.add(node, "lookup", {"stream": source, "table": group}, parameters)
        self.give(node, ref.table({**table.columns, count: "i64"}, rows, table.order))

    def concat_or_merge(self):
        source = self.pick()
        table = self.streams[source]
        text, holds = self.condition(table)
        keys = self.keys(table)
        one = self.sort(source, keys)
        two = self.name("filter")
        self.add(two, "filter", source, {"where": text})
        self.give(two, ref.table(table.columns, [row for row in table.rows if holds(row)], table.order))
        two = self.sort(two, keys)
        rows = self.streams[one].rows + self.streams[two].rows
        if self.random.random() < 0.5:
            node = self.name("concat")
            self.add(node, "concat", [one, two], {})
            self.give(node, ref.table(table.columns, rows, []))
        else:
            node = self.name("merge")
            self.add(node, "merge", [one, two], {"by": self.key_texts(keys)})
            self.give(node, ref.table(table.columns, ref.sorted_by(rows, keys), keys))

    def zip(self):
        source = self.pick()
        right = self.renamed(source, [])
        if self.random.random() < 0.5:
            keys = self.keys(self.streams[right])
            table = self.streams[right]
            node = self.name("sort")
            self.add(node, "sort", right, {"by": self.key_texts(keys), "stable": True})
            right = self.give(node, ref.table(table.columns, ref.sorted_by(table.rows, keys), keys))
        left, other = self.streams[source], self.streams[right]
        node = self.name("zip")
        self.add(node, "zip", {"left": source, "right": right}, {})
        self.give(
            node,
            ref.table(
                {**left.columns, **other.columns}, [{**a, **b} for a, b in zip(left.rows, other.rows)], left.order
            ),
        )

    def make(self):
        r = self.random
        for _ in range(r.randint(1, 2)):
            r.choice([self.read_csv, self.read_csv, self.generate])()
        steps = [
            self.filter,
            self.map,
            self.sort,
            self.sort,
            self.group,
            self.scan,
            self.ranks,
            self.group_pairs,
            self.window,
            self.flat_map,
            self.split,
            self.join,
            self.lookup,
            self.concat_or_merge,
            self.zip,
        ]
        for _ in range(r.randint(2, 7)):
            if sum(len(t.rows) for t in self.streams.values()) < 40000:
                r.choice(steps)()
        for stream in list(self.unread):
            node = self.name("write")
            file = f"{node}.csv"
            self.add(node, "file.write_csv", stream, {"path": "${out}/" + file})
            self.outputs[file] = ref.csv(self.streams[stream])
        # JSON is YAML.
        return json.dumps(
            {"flowrun": 1, "name": "random", "params": {"out": {"type": "path"}}, "nodes": self.nodes}, indent=1
        )


def first_difference(expected, got):
    a, b = expected.splitlines(), got.splitlines()
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f"line {i + 1}: expected {x!r}, got {y!r}"
    return f"{len(a)} lines expected, {len(b)} written"


def run_one(flowrun, seed, directory):
    """What went wrong; empty: nothing."""
    maker = job_maker(seed, directory)
    (directory / "job.yaml").write_text(maker.make())
    for number, variant in enumerate(VARIANTS):
        out = directory / f"out{number}"
        options = ["-m", "200MiB", *variant]
        code, said = run_job(flowrun, directory / "job.yaml", {"out": out}, directory / "scratch", options)
        if code != 0:
            return f"{' '.join(variant)}: exit code {code}: {said}"
        for file, expected in maker.outputs.items():
            got = (out / file).read_bytes().decode(errors="replace")
            if got != expected:
                stream = maker.nodes[file[:-4]]['in']
                return f"{' '.join(variant)}: {file} (stream of {stream}): {first_difference(expected, got)}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0, help="start no further job after that")
    parser.add_argument("--keep")
    options = parser.parse_args()
    started = time.monotonic()
    failures = done = 0
    for seed in range(options.seed, options.seed + options.count):
        if options.seconds and done >= 10 and time.monotonic() - started > options.seconds:
            break
        directory = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="flowrun-random-"))
        directory.mkdir(parents=True, exist_ok=True)
        try:
            problem = run_one(options.flowrun, seed, directory.resolve())
        finally:
            if not options.keep:
                shutil.rmtree(directory, ignore_errors=True)
        done += 1
        if problem:
            failures += 1
            print(f"seed {seed}: {problem}", flush=True)
    print(f"{done} random jobs in {len(VARIANTS)} variants: {failures} failed")
    sys.exit(1 if failures or done < min(10, options.count) else 0)


if __name__ == "__main__":
    main()
