#!/usr/bin/env python3
"""Rows that become a thousand times as long, in 64 MiB: each operator that can make more than it gets, alone and behind
others. The memory stays within the budget and what a job may take beside it, and no byte is lost. A row that is longer
than the memory allows ends the job with a way out."""

import gzip
import os
import subprocess

from flowrun_process import FLOWRUN, MIB, main, process_test

LONG = 50_000
X = "'" + "x" * LONG + "'"
# All rows of a job are far larger than its budget.
ROWS = 4000
DIGITS = sum(len(str(i)) for i in range(ROWS))  # of all i

SHORT = f'{{op: generate, with: {{rows: {ROWS}, columns: {{k: i, s: "string(i)"}}}}}}'
GROWN = f'{{op: map, in: g, with: {{k: k, t: "concat(s, {X})"}}}}'
# A few rows with a long text of short words. Each word becomes a row that shares the text.
WORDS = 2000
MANY_WORDS = 20_000
LENGTHENED = "{op: map, in: IN, with: {t: \"concat(text, '.')\"}}"  # no longer shared


def generated(rows, **columns):
    listed = ", ".join(f'{name}: "{value}"' for name, value in columns.items())
    return f"{{op: generate, with: {{rows: {rows}, columns: {{{listed}}}}}}}"


def texts(count, words=WORDS):
    """`count` texts, and their words with the texts: so many rows, and so many bytes of texts in them."""
    text = f"concat({', '.join(['i'] + [repr(' ab' * 500)] * (words // 500))})"  # i, and so many words
    nodes = {"g": generated(count, id="i", text=text), "m": "{op: tokens, in: g, with: {text: text, keep: [id, text]}}"}
    rows = count * (words + 1)
    return nodes, rows, sum(3 * words + len(str(i)) for i in range(count)) * (words + 1)


def long_texts(name, count, mib, suffix="", key="i"):
    """Nodes that make `count` rows {k, NAME}, with texts of `mib` MiB, the last one of which is called NAMESUFFIX; and the
    bytes of all these texts."""
    halves = max(int(2 * mib), 1)
    piece = int(mib * MIB) // (16 * halves)
    first, second, third = (f"{name}{suffix}{end}" for end in ("_0", "_1", ""))
    nodes = {
        first: generated(count, k=key, p=f"'{'x' * piece}'"),
        second: f'{{op: map, in: {first}, with: {{k: k, p: "concat({", ".join(["p"] * 16)})"}}}}',
        third: f'{{op: map, in: {second}, with: {{k: k, {name}: "concat({", ".join(["p"] * halves)})"}}}}',
    }
    return nodes, count * piece * 16 * halves


class growing_rows_test(process_test):
    def run_job(self, nodes, *more):
        """Its report."""
        text = "flowrun: 1\nname: growing\nnodes:\n" + "".join(f"  {name}: {node}\n" for name, node in nodes.items())
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-j", 4, "-T", "scratch", "--report", "report.json", *more)
        self.assertEqual(done.returncode, 0, done.stderr[-1000:])
        report = self.report()
        self.within_budget(report)
        return report

    def sums(self, nodes, of, column, rows, num_bytes, *more):
        """The rows of the node `of` are so many, and so long in `column`."""
        looked = {"r": f'{{op: reduce, in: {of}, with: {{let: {{n: "count()", b: "sum(length({column}))"}}}}}}'}
        report = self.run_job({**nodes, **looked}, *more)
        self.assertEqual({r["name"]: int(r["value"]) for r in report["results"] if r["node"] == "r"}, {"n": rows, "b": num_bytes})
        return report

    def written(self, nodes, of, writer, num_bytes, **parameters):
        listed = "".join(f", {name}: {value}" for name, value in parameters.items())
        self.run_job({**nodes, "w": f"{{op: file.{writer}, in: {of}, with: {{path: out/file{listed}}}}}"})
        path = self.dir / "out/file"
        self.assertEqual(path.stat().st_size, num_bytes)
        path.unlink()

    def test_tables_of_a_lookup(self):
        """Keys with gaps: as an array they take twice the memory of the rows, and what moves to a hash table is there once."""
        def looked_up(keys, rows, width, **more):
            table = {"all": generated(rows, k=f"u32({keys})", v=f"bytes(string(i), {width})"), "t": "{op: filter, in: all, with: {where: k >= 0}}"}
            listed = "".join(f", {name}: {value}" for name, value in more.items())
            return {**table, "s": generated(5, k="u32(2 * i)"), "j": f"{{op: lookup, in: {{stream: s, table: t}}, with: {{by: [k]{listed}}}}}",
                    "m": "{op: map, in: j, with: {k: k, v: 'string(v)'}}"}

        self.sums(looked_up("2 * i", 20_000, 1000), "m", "v", 5, 5 * 1000)
        self.sums(looked_up("20000000 * i", 20, 1, missing="drop", kind="array"), "m", "v", 1, 1, "-m", "256MiB")
        # The last key is far from all others.
        self.sums(looked_up("if(i == 200000, 4000000000, i)", 200_001, 500), "m", "v", 5, 5 * 500, "-m", "118MiB")

    def test_groups_that_a_window_passes_over(self):
        nodes = {"g": generated(14_000_000, k="u32(i)"),
                 "w": '{op: window, in: g, with: {every: 100000000, before: 1, reset: [k], let: {d: "row[-1].k"}}}'}
        self.run_job({**nodes, "r": "{op: reduce, in: w, with: {let: {n: count()}}}"}, "-m", "16MiB")

    def test_few_rows_of_each_batch_that_wait_in_a_queue(self):
        """They share the texts of the batch, and keep no more of it than is theirs."""
        columns = {f"c{k}": f"rand({k}, i) % 1000" for k in range(20)}
        nodes = {"g": generated(1_500_000, **columns, city="concat('c', i % 100)"),
                 "s": "{op: split, in: g, with: {ports: {a: c1 == 7, b: c1 == 8, c: c1 == 9}, rest: others}}",
                 "all": "{op: concat, in: [s.others, s.a, s.b, s.c]}"}
        self.sums(nodes, "all", "city", 1_500_000, 1_500_000 * 3 - 150_000)

    def test_a_lookup_in_keys_alone(self):
        """An array of keys has a bit for each, and no rows."""
        nodes = {"t": generated(40_000_000, k="u32(i)"), "s": generated(10, k="u32(i)"),
                 "j": "{op: lookup, in: {stream: s, table: t}, with: {by: [k], missing: drop}}"}
        self.run_job({**nodes, "r": "{op: reduce, in: j, with: {let: {n: count()}}}"}, "-m", "16MiB")

    def test_a_sort_of_very_long_keys_that_is_verified(self):
        """One such row at a time is merged, and its key isn't copied."""
        text = "concat(pad_left(string(rand(4, i)), 7500000, 'a'), 'x')"
        nodes = {"g": generated(40, t=text), "s": "{op: sort, in: g, with: {by: [t]}}"}
        self.sums(nodes, "s", "t", 40, 40 * 7_500_001, "-j", 16, "--verify")

    def test_blocks_that_are_longer_than_the_memory_allows(self):
        rows = generated(1_000_000, n="i", b="i % 64")
        scan = ("{op: pq_scan, in: {a: g}, with: {order: [n], state: {z: 0}, message: {n: u64, v: u64}, "
                "on: [{from: messages, emit: {n: n}}, {from: a, push: {n: 'n + 500000', v: n}}]}}")
        for node in ("{op: partition, in: g, with: {by: b, buckets: 64}}", "{op: reverse, in: g}", scan):
            with self.subTest(node):
                self.run_job({"g": rows, "j": node, "r": "{op: reduce, in: j, with: {let: {n: count()}}}"},
                             "--block-size", "64MiB", "--force-spill")

    def test_sorts_that_work_at_the_same_time(self):
        """What doesn't count of one sort's memory, for the first keys of its blocks and for long blocks, they share."""
        nodes = {"g": generated(2500, k="i", t="concat(pad_left(string(rand(4, i)), 60000, 'a'), 'x')")}
        for n in range(8):
            nodes[f"s{n}"] = "{op: sort, in: g, with: {by: [t]}}"
        nodes["c"] = f"{{op: concat, in: [{', '.join(f's{n}' for n in range(8))}]}}"
        self.sums(nodes, "c", "t", 8 * 2500, 8 * 2500 * 60_001, "-m", "32MiB")

    def test_very_long_rows_in_several_queues(self):
        """A queue has as few buffers of their length as will do."""
        nodes, num_bytes = long_texts("t", 40, 7)
        nodes.update({f"m{n}": '{op: filter, in: t, with: {where: "k >= 0"}}' for n in range(6)})
        nodes["c"] = f"{{op: concat, in: [{', '.join(f'm{n}' for n in range(6))}]}}"
        self.sums(nodes, "c", "t", 6 * 40, 6 * num_bytes, "-j", 1)

    def test_a_sort_of_few_rows_that_become_long(self):
        longer = """{op: map, in: g, with: {k: k, t: "replace(s, 'a', pad_left('', 50000, 'x'))"}}"""
        nodes = {"g": generated(20, k="i", s="pad_left('', 20, 'a')"), "m": longer, "s": "{op: sort, in: m, with: {by: [t, k]}}"}
        self.sums(nodes, "s", "t", 20, 20 * 20 * 50_000)

    def test_a_group_of_pairs_that_does_not_fit(self):
        """What it holds grows where it lies: it is not there twice at the end."""
        nodes, _ = long_texts("t", 60, 2)
        nodes = {**nodes, "p": '{op: group_pairs, in: t, with: {by: [], let: {n: "length(a.t) + length(b.t)"}}}',
                 "r": "{op: reduce, in: p, with: {let: {n: count()}}}"}
        text = "flowrun: 1\nname: growing\nnodes:\n" + "".join(f"  {name}: {node}\n" for name, node in nodes.items())
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", "-m", "100MiB", "-j", 4, "-T", "scratch", "--report", "report.json")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("rows of one group", done.stderr)
        self.assertLess(int(self.report()["peak_memory_bytes"]), 164 * MIB)

    def test_texts_that_conditions_make_on_the_way(self):
        """They are limited as those of columns are: 400 MB for one row here."""
        for node in ('{op: check, in: g, with: {where: "length(replace(v, \'x\', v)) > 5"}}',
                     '{op: split, in: g, with: {ports: {out: "length(replace(v, \'x\', v)) > 5"}}}',
                     '{op: merge, in: [g, g], with: {less: "length(replace(a.v, \'x\', a.v)) < length(replace(b.v, \'x\', b.v))"}}'):
            nodes = {"g": generated(3, k="u32(i)", v="pad_left(string(i), 20000, 'x')"), "c": node,
                     "w": f"{{op: file.write_csv, in: {'c.out' if 'split' in node else 'c'}, with: {{path: out.csv}}}}"}
            self.write("job.yaml", "flowrun: 1\nname: growing\nnodes:\n" + "".join(f"  {name}: {one}\n" for name, one in nodes.items()))
            done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-j", 1, "-T", "scratch", "--report", "report.json")
            self.assertEqual(done.returncode, 75, done.stderr[-500:])
            self.assertIn("node 'c': one row takes", done.stderr)
            self.within_budget(self.report())

    def test_suffixes_of_large_letters(self):
        nodes = {"g": generated(10, k="u32(i * 1000000)"), "x": "{op: suffix_sort, in: g}", "m": "{op: map, in: x, with: {t: \"''\"}}"}
        self.sums(nodes, "m", "t", 10, 0)
        # How many rows a window leaves isn't known of rows that nobody has counted.
        self.write("n.csv.gz", gzip.compress("".join(f"{i}\n" for i in range(1_500_000)).encode(), 1))
        nodes = {"g": "{op: file.read_csv, with: {path: n.csv.gz, type: {k: u32}}}",
                 "w": '{op: window, in: g, with: {every: 2, after: 1, let: {n: "row[1].k"}}}', "l": "{op: map, in: w, with: {k: k}}",
                 "x": "{op: suffix_sort, in: l}", "m": "{op: map, in: x, with: {t: \"''\"}}"}
        self.sums(nodes, "m", "t", 750_000, 0)

    def test_long_rows_in_many_buckets(self):
        nodes, num_bytes = long_texts("t", 300, 1)
        self.sums({**nodes, "p": "{op: partition, in: t, with: {by: k, buckets: 300}}"}, "p", "t", 300, num_bytes)

    def test_single_rows_of_many_batches_in_a_queue(self):
        """limit gives one row of each batch, which a concat reads when the sort has ended."""
        nodes = {"g": generated(60_000_000, k="i / 32768"), "o": "{op: check, in: g, with: {sorted: [k]}}",
                 "l": "{op: limit, in: o, with: {count: 1, by: [k]}}",
                 "s": "{op: sort, in: l, with: {by: [-k]}}", "c": "{op: concat, in: [s, l]}", "m": "{op: map, in: c, with: {t: \"'x'\"}}"}
        self.sums(nodes, "m", "t", 2 * 1832, 2 * 1832)

    def test_map(self):
        grown = DIGITS + ROWS * LONG
        self.sums({"g": SHORT, "m": GROWN}, "m", "t", ROWS, grown)
        numbered = f'{{op: map, in: g, with: {{t: "concat(row_number, {X})"}}}}'
        self.sums({"g": SHORT, "m": numbered}, "m", "t", ROWS, grown)

    def test_map_of_constants(self):
        nodes = {
            "g": generated(10 * ROWS, k="i", s="string(i % 10)"),
            "m": f'{{op: map, in: g, with: {{t: "if(k % 2 == 0, {X}, s)"}}}}',
        }
        self.sums(nodes, "m", "t", 10 * ROWS, 5 * ROWS * (LONG + 1))

    def test_chains(self):
        tenfold = {
            f"m{n}": f'{{op: map, in: {before}, with: {{k: k, s: "concat({", ".join(["s"] * 10)})"}}}}'
            for n, before in enumerate(["g", "m0", "m1", "m2"])
        }
        self.sums({"g": SHORT, **tenfold}, "m3", "s", ROWS, DIGITS * 10**4)
        # Two readers keep the maps apart.
        apart = {
            **{f"m{n}": tenfold[f"m{n}"] for n in range(3)},
            **{f"r{n}": f'{{op: reduce, in: m{n}, with: {{let: {{n{n}: "count()"}}}}}}' for n in range(3)},
        }
        self.run_job({"g": SHORT, **apart})

    def test_filter_behind_a_map(self):
        nodes = {"g": SHORT, "m": GROWN, "f": '{op: filter, in: m, with: {where: "length(t) % 2 == 0 or k < 10"}}'}
        kept = [len(str(i)) for i in range(ROWS) if len(str(i)) % 2 == 0 or i < 10]
        self.sums(nodes, "f", "t", len(kept), sum(kept) + len(kept) * LONG)

    def test_flat_map(self):
        for first in ("s", "row_number"):
            rows = f'[{{a: k, t: "concat({first}, {X})"}}, {{a: k, t: "concat(s, {X}, s)"}}, {{a: k, t: s, when: "k % 2 == 0"}}]'
            nodes = {"g": SHORT, "m": f"{{op: flat_map, in: g, with: {{rows: {rows}}}}}"}
            even = sum(len(str(i)) for i in range(0, ROWS, 2))
            self.sums(nodes, "m", "t", ROWS * 5 // 2, 3 * DIGITS + 2 * ROWS * LONG + even)

    def test_generate(self):
        self.sums({"g": generated(ROWS, k="i", t=f"concat(i, {X})")}, "g", "t", ROWS, DIGITS + ROWS * LONG)

    def test_scan(self):
        grown = DIGITS + ROWS * LONG
        number = 'state: {n: "u64(0)"}, set: {n: "n + k"}'
        one = f'{{op: scan, in: g, with: {{{number}, emit: {{n: n, t: "concat(s, {X})"}}}}}}'
        self.sums({"g": SHORT, "m": one}, "m", "t", ROWS, grown)
        when = f'{{op: scan, in: g, with: {{{number}, when: "n % 2 == 0", emit: {{n: n, t: "concat(s, {X})"}}}}}}'
        even = [len(str(i)) for i in range(ROWS) if i * (i + 1) // 2 % 2 == 0]
        self.sums({"g": SHORT, "m": when}, "m", "t", len(even), sum(even) + len(even) * LONG)
        several = f'{{op: scan, in: g, with: {{{number}, emits: [{{t: "concat(s, {X})"}}, {{t: "concat({X}, s)"}}]}}}}'
        self.sums({"g": SHORT, "m": several}, "m", "t", 2 * ROWS, 2 * grown)
        text = f"{{op: scan, in: g, with: {{state: {{t: \"''\"}}, set: {{t: \"concat(s, {X})\"}}, emit: {{t: t}}}}}}"
        self.sums({"g": SHORT, "m": text}, "m", "t", ROWS, grown)

    def test_states_that_grow(self):
        nodes = {
            "g": generated(100, k="i"),
            "m": f"{{op: scan, in: g, with: {{state: {{t: \"''\"}}, set: {{t: \"concat(t, {X})\"}}, emit: {{k: k, t: t}}}}}}",
        }
        self.sums(nodes, "m", "t", 100, sum(range(1, 101)) * LONG)
        # Variables that have 3 MB each are no rows, but as many of them take what a row may not.
        many, _ = long_texts("t", 40, 3)
        many.update({"m": "{op: scan, in: t, with: {state: {" + ", ".join(f"s{k}: \"''\"" for k in range(40)) + "}, set: {" +
                     ", ".join(f's{k}: "if(k == {k}, t, s{k})"' for k in range(40)) + "}, emit: {t: s0}}}"})
        self.write("job.yaml", "flowrun: 1\nname: growing\nnodes:\n" + "".join(f"  {name}: {node}\n" for name, node in many.items()) +
                   "  w: {op: file.write_csv, in: m, with: {path: out.csv}}\n")
        done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-j", 4, "-T", "scratch", "--report", "report.json")
        self.assertEqual(done.returncode, 75, done.stderr[-300:])
        self.assertIn("node 'm': the texts of its state take", done.stderr)
        self.within_budget(self.report())

    def test_lookup(self):
        nodes = {
            "g": generated(ROWS, j="i", k="i % 25"),
            "table": generated(25, k="i", t=f"concat(i, {X})"),
            "m": "{op: lookup, in: {stream: g, table: table}, with: {by: [k]}}",
        }
        self.sums(nodes, "m", "t", ROWS, ROWS * LONG + sum(len(str(i % 25)) for i in range(ROWS)))

    def test_lookup_of_wide_rows(self):
        width, count = 20_000, 20
        (self.dir / "table.bin").write_bytes(b"".join(i.to_bytes(4, "little") + b"y" * width for i in range(count)))
        nodes = {
            "g": generated(20_000, k=f"u32(i % {count})"),
            "table": f'{{op: file.read_rows, with: {{path: table.bin, type: {{k: u32, t: "bytes[{width}]"}}}}}}',
            "m": "{op: lookup, in: {stream: g, table: table}, with: {by: [k]}}",
        }
        self.sums(nodes, "m", "t", 20_000, 20_000 * width)

    def test_tokens(self):
        nodes, rows, num_bytes = texts(20)
        self.sums(nodes, "m", "text", rows, num_bytes)
        self.sums({**nodes, "f": LENGTHENED.replace("IN", "m")}, "f", "t", rows, num_bytes + rows)
        nodes, rows, num_bytes = texts(3, MANY_WORDS)
        self.sums({**nodes, "f": LENGTHENED.replace("IN", "m")}, "f", "t", rows, num_bytes + rows)

    def test_one_row_of_many_tokens(self):
        (self.dir / "one.txt").write_text("ab " * 1_300_000)
        nodes = {
            "g": "{op: file.read_lines, with: {path: one.txt}}",
            "w": '{op: map, in: g, with: {text: text, a: "concat(text[0:1], 1)", b: "concat(text[0:1], 2)", c: "rand(1, 2)"}}',
            "m": "{op: tokens, in: w, with: {text: text, keep: [a, b, c]}}",
        }
        self.sums(nodes, "m", "token", 1_300_000, 2_600_000)

    def test_texts_that_rows_share(self):
        nodes, rows, num_bytes = texts(20)
        self.written(nodes, "m", "write_lines", num_bytes + rows, column="text")
        ids = sum(len(str(i)) for i in range(20)) * (WORDS + 1)
        tokens = sum(2 * WORDS + len(str(i)) for i in range(20))
        self.written(nodes, "m", "write_csv", num_bytes + ids + tokens + 3 * rows)

    def test_group(self):
        nodes, rows, num_bytes = texts(20)
        group = '{op: group, in: n, with: {by: [n], let: {f: "first(text)", l: "last(concat(text, token))"}}}'
        nodes = {**nodes, "n": "{op: scan, in: m, with: {number: n}}", "s": "{op: sort, in: n, with: {by: [n]}}"}
        nodes = {**nodes, "gr": group.replace("in: n,", "in: s,")}
        self.sums(nodes, "gr", "f", rows, num_bytes)

    def test_window(self):
        nodes, rows, num_bytes = texts(20)
        wide = '{op: window, in: m, with: {before: 1, after: 1, let: {p: "concat(row[-1].text, row[1].text)"}}}'
        first = 3 * WORDS + 1
        self.sums({**nodes, "v": wide}, "v", "p", rows, 2 * num_bytes - first - (first + 1))
        long = f'{{op: window, in: g, with: {{before: 1, let: {{p: "concat(row[-1].s, {X})"}}}}}}'
        self.sums({"g": SHORT, "v": long}, "v", "p", ROWS, DIGITS - 4 + ROWS * LONG)

    def test_zip_and_split(self):
        nodes, rows, num_bytes = texts(20)
        zipped = {**nodes, "c": generated(rows, n="i"), "z": "{op: zip, in: {left: m, right: c}}"}
        self.sums(zipped, "z", "text", rows, num_bytes)
        divided = {**nodes, "d": '{op: split, in: m, with: {ports: {even: "id % 2 == 0"}, rest: odd}}'}
        divided["w"] = "{op: file.write_lines, in: d.even, with: {path: even.txt, column: text}}"
        even = sum(3 * WORDS + len(str(i)) for i in range(0, 20, 2)) * (WORDS + 1)
        self.sums(divided, "d.odd", "text", rows // 2, num_bytes - even)
        numbered = {**nodes, "d": '{op: split, in: m, with: {ports: {even: "row_number % 2 == 0"}, rest: odd}}'}
        numbered["r"] = '{op: reduce, in: d.even, with: {let: {n: "count()"}}}'
        numbered["o"] = "{op: map, in: d.odd, with: {t: \"concat(text, '.')\"}}"
        numbered["w"] = "{op: file.write_lines, in: o, with: {path: odd.txt}}"
        report = self.run_job(numbered)
        self.assertEqual(int(report["results"][0]["value"]), (rows + 1) // 2)

    def test_branches_of_long_batches_that_meet_again(self):
        """A block from scratch is many batches for the first branch, before the second one gets any."""
        nodes = {"g": generated(6_000_000, k="i"), "a": '{op: filter, in: g, with: {where: "k % 2 == 0"}}',
                 "b": '{op: filter, in: g, with: {where: "k % 2 == 1"}}', "c": "{op: concat, in: [a, b]}",
                 "l": '{op: map, in: c, with: {x: k, y: "k + 1"}}', "r": '{op: map, in: c, with: {u: k, v: "k + 2"}}',
                 "z": "{op: zip, in: {left: l, right: r}}", "s": '{op: reduce, in: z, with: {let: {n: "count()", t: "sum(v - y)"}}}'}
        report = self.run_job(nodes, "-m", "16MiB")
        self.assertEqual([int(r["value"]) for r in report["results"]], [6_000_000, 6_000_000])

    def test_merge_and_concat(self):
        nodes, rows, num_bytes = texts(3, MANY_WORDS)
        both = {**nodes, **{f"{name}2": node.replace("in: g,", "in: g2,") for name, node in nodes.items()}}
        both["f"] = LENGTHENED.replace("IN", "a")
        for meeting in ("{op: merge, in: [m, m2], with: {by: [id]}}", "{op: concat, in: [m, m2]}"):
            self.sums({**both, "a": meeting}, "f", "t", 2 * rows, 2 * (num_bytes + rows))

    def test_sort_and_reverse(self):
        nodes, rows, num_bytes = texts(8)
        self.sums({**nodes, "a": "{op: sort, in: m, with: {by: [token, id]}}"}, "a", "text", rows, num_bytes)
        self.sums({"g": SHORT, "m": GROWN, "a": "{op: reverse, in: m}"}, "a", "t", ROWS, DIGITS + ROWS * LONG)
        nodes = {"g": SHORT, "m": GROWN, "a": "{op: sort, in: m, with: {by: [-k]}}"}
        self.sums(nodes, "a", "t", ROWS, DIGITS + ROWS * LONG)

    def test_join_and_pairs(self):
        repeated = ", ".join(f"{{k: k, n: {n}, s: s}}" for n in range(100))
        nodes = {
            "g": generated(50, k="i", s=f"concat(i, {X})"),
            "d": f"{{op: flat_map, in: g, with: {{rows: [{repeated}]}}}}",
            "right": '{op: map, in: g, with: {k: k, t: s}}',
            "a": "{op: join, in: {left: d, right: right}, with: {by: [k]}}",
        }
        per_copy = sum(len(str(i)) for i in range(50)) + 50 * LONG
        self.sums(nodes, "a", "t", 5000, 100 * per_copy)
        count = 100
        nodes = {
            "g": generated(count, j="i", t=f"concat(i % 10, '{'y' * 5000}')"),
            "a": '{op: group_pairs, in: g, with: {by: [], let: {x: "concat(a.t, b.t)"}}}',
        }
        self.sums(nodes, "a", "x", count * (count - 1) // 2, count * (count - 1) * 5001)

    def test_a_join_with_one_very_long_row_of_each_key(self):
        """One row is no group that may be too large, however long it is."""
        nodes, num_bytes = long_texts("t", 12, 6.5)
        nodes.update({"s": "{op: sort, in: t, with: {by: [t]}}", "n": "{op: scan, in: s, with: {number: id}}",
                      "right": "{op: check, in: n, with: {sorted: [id]}}", "g": generated(24, id="i / 2"),
                      "left": "{op: check, in: g, with: {sorted: [id]}}",
                      "j": "{op: join, in: {left: left, right: right}, with: {by: [id]}}"})
        self.sums(nodes, "j", "t", 24, 2 * num_bytes)

    def test_pq_scan(self):
        columns = ", ".join(f'c{n}: "node + {n}"' for n in range(1000))
        nodes = {
            "g": generated(50_000, node="i"),
            "a": "{op: pq_scan, in: {nodes: g}, with: {order: [node], state: {n: 0}, "
            f"on: [{{from: nodes, set: {{n: n + 1}}, emit: {{{columns}}}}}]}}}}",
            "m": '{op: map, in: a, with: {t: "string(c0)"}}',
        }
        self.sums(nodes, "m", "t", 50_000, sum(len(str(i)) for i in range(50_000)))

    def test_wide_rows_from_file_to_file(self):
        content = os.urandom(6 * MIB) * 40
        width = 60_000
        for columns in (1, 10, 100):
            rows = len(content) // (width * columns)
            (self.dir / "wide.bin").write_bytes(content[: rows * width * columns])
            listed = ", ".join(f'c{n}: "bytes[{width}]"' for n in range(columns))
            nodes = {"g": f"{{op: file.read_rows, with: {{path: wide.bin, type: {{{listed}}}}}}}"}
            with self.subTest(columns=columns):
                self.written(nodes, "g", "write_rows", rows * width * columns)

    def test_wide_rows_of_many_streams(self):
        width, columns, rows, streams = 60_000, 25, 20, 6
        (self.dir / "wide.bin").write_bytes(os.urandom(width * columns) * rows)
        listed = ", ".join(f'c{n}: "bytes[{width}]"' for n in range(columns))
        names = [f"g{n}" for n in range(streams)]
        text = "flowrun: 1\nnodes:\n"
        for name in names:
            text += f"  {name}: {{op: file.read_rows, with: {{path: wide.bin, type: {{{listed}}}}}}}\n"
        text += f"  m: {{op: concat, in: [{', '.join(names)}]}}\n  w: {{op: file.write_rows, in: m, with: {{path: out.bin}}}}\n"
        self.write("job.yaml", text)
        least = -(-width * columns * 4 * streams // MIB)
        words = ["job.yaml", "-q", "-j", 4, "-T", "scratch", "--report", "report.json", "-m"]
        share = f"a row of 'g0' takes 1.43 MiB, and may take 1/{4 * streams} where so many streams meet"
        self.fails(78, self.flowrun(*words, f"{least - 1}MiB"), f"memory: {least}MiB or more; {share}")
        done = self.flowrun(*words, f"{least}MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.within_budget(self.report())
        self.assertEqual((self.dir / "out.bin").stat().st_size, width * columns * rows * streams)

    def test_wide_rows_to_a_slow_reader(self):
        """Many threads make batches of one row each, and none of them goes away for a while."""
        width, columns, rows = 60_000, 130, 40
        (self.dir / "wide.bin").write_bytes(os.urandom(width * columns) * rows)
        listed = ", ".join(f'c{n}: "bytes[{width}]"' for n in range(columns))
        self.write(
            "job.yaml",
            f"flowrun: 1\nnodes:\n  g: {{op: file.read_rows, with: {{path: wide.bin, type: {{{listed}}}}}}}\n"
            '  w: {op: file.write_rows, in: g, with: {path: "-"}}\n',
        )
        slow = '"$@" | (sleep 1; wc -c)'
        words = ["run", "job.yaml", "-q", "-m", "64MiB", "-j", "32", "--report", "report.json"]
        done = subprocess.run(
            ["sh", "-c", slow, "sh", FLOWRUN, *words], cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=120
        )
        self.assertEqual((done.stdout.strip(), done.stderr), (str(width * columns * rows), ""))
        self.within_budget(self.report())

    def test_malformed_and_short_lines(self):
        count = 3_000_000
        (self.dir / "lines.txt").write_text("\n" * count)
        nodes = {
            "g": "{op: file.read_csv, with: {path: lines.txt, type: {a: u64, b: u64}}, on_error: {to: bad, max_ratio: 1}}",
            "m": '{op: map, in: g.bad, with: {t: "concat(reason, line)"}}',
            "n": '{op: reduce, in: g, with: {let: {good: "count()"}}}',
        }
        report = self.run_job({**nodes, "r": '{op: reduce, in: m, with: {let: {n: "count()"}}}'})
        self.assertEqual({r["name"]: int(r["value"]) for r in report["results"]}, {"n": count, "good": 0})
        lines = {"g": "{op: file.read_lines, with: {path: lines.txt}}", "m": "{op: scan, in: g, with: {number: n}}"}
        self.sums(lines, "m", "text", count, 0)

    def test_lines_as_long_as_they_may_be(self):
        (self.dir / "long.txt").write_text(("ab" * 1_500_000 + "\n") * 40)
        nodes = {"g": "{op: file.read_lines, with: {path: long.txt}}"}
        self.written(nodes, "g", "write_lines", 40 * 3_000_001)
        nodes["m"] = '{op: map, in: g, with: {a: "concat(text, text)", n: row_number}}'
        self.written(nodes, "m", "write_csv", 40 * 6_000_002 + 10 + 30 * 2)

    def test_rows_of_long_rows(self):
        """Rows that are put together from others, with texts of some MiB in all, in 64 MiB. Of these a row may take an
        eighth."""
        self.check_by_length([1, 3, 7], [9], lambda mib: self.put_together(8, mib))

    def test_a_window_that_is_too_large(self):
        self.write("job.yaml", """flowrun: 1
nodes:
  g: {op: generate, with: {rows: 300000, columns: {v: i, s: "pad_left(string(i), 500)"}}}
  t: {op: window, in: g, with: {before: 20000, let: {y: "row[-20000].s"}}}
  w: {op: file.write_csv, in: t, with: {path: out.csv}}
""")
        done = self.flowrun("-q", "job.yaml", "-m", "8MiB")
        self.fails(75, done, "node 't': with their strings, ", "make the window smaller")
        self.assertRegex(done.stderr, r"[\d,]+ rows of its window take more than the [\d.]+ MiB that its memory has for them")

    def test_window_of_long_rows(self):
        """A row with its neighbour, which only the window itself sees, may be twice as long as others."""

        def windows(mib):
            rows, num_bytes = long_texts("a", 8, mib / 2)
            window = "{op: window, in: a, with: {before: 1, let: {p: 'length(row[-1].a)'}}}"
            return {"window": ({**rows, "big": window}, "p", 8, num_bytes - num_bytes // 8)}

        self.check_by_length([1, 7, 15], [], windows)
        more = "{op: window, in: a, with: {before: 2, let: {p: 'length(row[-1].a) + length(row[-2].a)'}}}"
        rows, _ = long_texts("a", 8, 6)
        self.is_too_long({**rows, "big": more})

    def test_merge_of_long_rows(self):
        """Each stream that meets others holds some rows, so with many of them a row may take less."""

        def merges(mib, count=2):
            nodes, num_bytes = {}, 0
            for n in range(count):
                rows, of_these = long_texts("a", 4, mib, f"_{n}")
                nodes.update(rows)
                num_bytes += of_these
            streams = ", ".join(f"a_{n}" for n in range(count))
            return {
                f"merge {by}": ({**nodes, "big": f"{{op: merge, in: [{streams}], with: {{{by}}}}}"}, "length(a)", 4 * count, num_bytes)
                for by in ("by: [k]", "less: 'a.k < b.k'")
            }

        self.check_by_length([1, 3, 7], [], merges)
        self.check_by_length([1.75], [], lambda mib: merges(mib, 8))
        for nodes, _, _, _ in merges(4, 8).values():
            self.is_too_long(nodes, "node 'a_", "2.00 MiB for a row")

    def test_many_long_texts_of_a_group(self):
        lets = ", ".join(f"l{n}: 'last(a)'" for n in range(61))
        rows, _ = long_texts("a", 20, 0.5)
        for op in ("{op: reduce, in: a, with: {let: {%s}}}", "{op: group, in: a, with: {by: [k], let: {%s}}}"):
            self.is_too_long({**rows, "big": op % lets})

    def test_long_texts_that_take_turns(self):
        """Of many aggregates one has a long text at a time."""
        lanes = 40
        lets = ", ".join(f"l{n}: \"last(if(k % {lanes} == {n}, a, '-'))\"" for n in range(lanes))
        rows, num_bytes = long_texts("a", lanes, 3)
        total = " + ".join(f"length(l{n})" for n in range(lanes))
        for op in ("{op: reduce, in: a, with: {let: {%s}}}", "{op: group, in: a, with: {by: [], let: {%s}}}"):
            jobs = {op: ({**rows, "big": op % lets}, total, 1, num_bytes // lanes + lanes - 1)}
            self.check_by_length([3], [], lambda _, jobs=jobs: jobs)

    def put_together(self, count, mib):
        """Jobs by name: nodes, what to add up of the node `big`, its rows, and that sum."""
        a, of_a = long_texts("a", count, mib / 2)
        b, of_b = long_texts("b", count, mib / 2)
        both = {**a, **b}
        few, of_few = long_texts("b", 2, mib / 2)
        many = {**few, **long_texts("a", count, mib / 2, key="i % 2")[0]}
        quarter, of_quarter = long_texts("a", count, mib / 4)
        lets = ", ".join(f"l{n}: 'last(a)'" for n in range(4))
        made = ", ".join(f'm{n}: "max(concat(a, {n}))"' for n in range(4))
        of_lets, of_made = (" + ".join(f"length({c}{n})" for n in range(4)) for c in "lm")
        zipped = {**both, "c": "{op: map, in: b, with: {b: b}}", "big": "{op: zip, in: {left: a, right: c}}"}
        joined = {**both, "big": "{op: join, in: {left: a, right: b}, with: {by: [k]}}"}
        found = {**many, "big": "{op: lookup, in: {stream: a, table: b}, with: {by: [k]}}"}
        grouped = {**quarter, "big": f"{{op: group, in: a, with: {{by: [k], let: {{{lets}}}}}}}"}
        made_in_groups = {**quarter, "big": f"{{op: group, in: a, with: {{by: [k], let: {{{made}}}}}}}"}
        reduced = {**quarter, "big": f"{{op: reduce, in: a, with: {{let: {{{lets}}}}}}}"}
        return {
            "zip": (zipped, "length(b)", count, of_b),
            "join": (joined, "length(a) + length(b)", count, of_a + of_b),
            "lookup": (found, "length(b)", count, of_few * count // 2),
            "group": (grouped, of_lets, count, 4 * of_quarter),
            "group of new texts": (made_in_groups, of_made, count, 4 * (of_quarter + count)),
            "reduce": (reduced, of_lets, 1, 4 * of_quarter // count),
        }

    def check_by_length(self, fitting, too_long, jobs):
        for mib in fitting:
            for name, (nodes, total, rows, num_bytes) in jobs(mib).items():
                with self.subTest(job=name, mib=mib):
                    looked = f'{{op: reduce, in: big, with: {{let: {{n: "count()", b: "sum({total})"}}}}}}'
                    results = self.run_job({**nodes, "r": looked})["results"]
                    sums = {r["name"]: int(r["value"]) for r in results if r["node"] == "r"}
                    self.assertEqual(sums, {"n": rows, "b": num_bytes})
        for mib in too_long:
            for name, (nodes, *_) in jobs(mib).items():
                with self.subTest(job=name, mib=mib):
                    self.is_too_long(nodes)

    def is_too_long(self, nodes, *parts):
        """A row of the node `big` is longer than the memory allows, if `parts` don't say something else."""
        text = "flowrun: 1\nname: long\nnodes:\n" + "".join(f"  {n}: {node}\n" for n, node in nodes.items())
        text += '  n: {op: map, in: big, with: {n: "row_number"}}\n  w: {op: file.write_csv, in: n, with: {path: out.txt}}\n'
        self.write("job.yaml", text)
        done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-j", 4, "-T", "scratch", "--report", "report.json")
        self.fails(75, done, *(parts or ["node 'big'"]), "one row takes", "help: raise the memory budget (-m)")
        self.within_budget(self.report())
        self.assertFalse((self.dir / "out.txt").exists())

    def test_a_row_longer_than_the_memory_allows(self):
        def times(n):
            return ", ".join(["s"] * n)

        jobs = {
            "map": {"g": generated(3, s=f"concat(i, {X})"), "big": f'{{op: map, in: g, with: {{s: "concat({times(400)})"}}}}'},
            "map of a map": {
                "g": generated(3, s=f"concat(i, {X})"),
                "m": f'{{op: map, in: g, with: {{s: "concat({times(100)})"}}}}',
                "big": f'{{op: map, in: m, with: {{s: "concat({times(100)})"}}}}',
            },
            "flat_map": {
                "g": generated(3, s=f"concat(i, {X})"),
                "big": f'{{op: flat_map, in: g, with: {{rows: [{{s: s}}, {{s: "concat({times(400)})"}}]}}}}',
            },
            "scan": {
                "g": generated(ROWS, k="i"),
                "big": f"{{op: scan, in: g, with: {{state: {{s: \"''\"}}, set: {{s: \"concat(s, {X})\"}}, emit: {{n: \"length(s)\", s: s}}}}}}",
            },
        }
        for name, nodes in jobs.items():
            with self.subTest(job=name):
                nodes["w"] = "{op: file.write_lines, in: big, with: {path: out.txt, column: s}}"
                text = "flowrun: 1\nname: long\nnodes:\n" + "".join(f"  {n}: {node}\n" for n, node in nodes.items())
                self.write("job.yaml", text)
                done = self.flowrun("job.yaml", "-q", "-m", "64MiB", "-j", 4, "-T", "scratch", "--report", "report.json")
                self.fails(75, done, "node 'big'", "one row takes", "help: raise the memory budget (-m)")
                self.within_budget(self.report())
                self.assertFalse((self.dir / "out.txt").exists())


if __name__ == "__main__":
    main()
