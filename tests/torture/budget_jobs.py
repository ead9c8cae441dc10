"""Jobs whose data is far larger than their memory, or that hold much of it in one place, with what each must write.

Each makes its inputs from a seed and a scale, and knows its output without Flowrun.
"""
import csv
import dataclasses
import io
import itertools
import random
import struct
from array import array

MIB = 1 << 20


@dataclasses.dataclass
class budget_job:
    name: str
    memory: str            # the budget
    nodes: str             # YAML
    inputs: dict           # {file: bytes}
    expected: object       # of out.bin: bytes, or a function that gives them in chunks
    options: tuple = ()

    def content(self):
        return self.expected() if callable(self.expected) else [self.expected]


JOBS = []


def job(make):
    """make(rng, scale) -> budget_job; `scale` multiplies the rows."""
    JOBS.append(make)
    return make


def sorted_lines(rng, scale, longest, total):
    lines, size = [], 0
    while size < total * scale:
        lines.append(bytes([rng.randrange(97, 100)]) * rng.randrange(longest) + b"%d" % rng.randrange(10**6))
        size += len(lines[-1])
    return b"\n".join(lines) + b"\n", b"".join(line + b"\n" for line in sorted(lines))


LINES = """  lines: {op: file.read_lines, with: {path: in.txt}}
  sorted: {op: sort, in: lines, with: {by: [text]%s}}
  out: {op: file.write_lines, in: sorted, with: {path: out.bin}}
"""


@job
def numbers(rng, scale):
    values = array("Q", rng.randbytes(int(1_500_000 * scale) * 8))
    return budget_job("numbers", "3MiB", """  rows: {op: file.read_rows, with: {path: in.bin, type: {k: u64}}}
  sorted: {op: sort, in: rows, with: {by: [k]}}
  out: {op: file.write_rows, in: sorted, with: {path: out.bin}}
""", {"in.bin": values.tobytes()}, array("Q", sorted(values)).tobytes())


@job
def records(rng, scale):
    content = rng.randbytes(int(300_000 * scale) * 100)
    rows = [content[at:at + 100] for at in range(0, len(content), 100)]
    return budget_job("records", "8MiB", """  rows: {op: file.read_rows, with: {path: in.bin, type: {k: "bytes[10]", v: "bytes[90]"}}}
  sorted: {op: sort, in: rows, with: {by: [k]}}
  out: {op: file.write_rows, in: sorted, with: {path: out.bin}}
""", {"in.bin": content}, b"".join(sorted(rows)))


@job
def text(rng, scale):
    content, expected = sorted_lines(rng, scale, 200, 24 * MIB)
    return budget_job("lines", "8MiB", LINES % "", {"in.txt": content}, expected)


@job
def long_lines(rng, scale):
    content, expected = sorted_lines(rng, scale, 700_000, 64 * MIB)
    return budget_job("long lines", "24MiB", LINES % "", {"in.txt": content}, expected)


def very_long(rng, longest):
    return bytes([rng.randrange(97, 100)]) * rng.randrange(longest // 2, longest) + b"%d" % rng.randrange(10**6)


@job
def longest_lines(rng, scale):
    """A quarter of the memory each, among many short ones."""
    lines = [very_long(rng, 16 * MIB - 16) for _ in range(int(12 * scale))]
    lines += [b"%d" % rng.randrange(10**12) for _ in range(int(500_000 * scale))]
    rng.shuffle(lines)
    return budget_job("longest lines", "64MiB", LINES % "", {"in.txt": b"\n".join(lines) + b"\n"},
                      b"".join(line + b"\n" for line in sorted(lines)))


@job
def long_unique_lines(rng, scale):
    lines = [very_long(rng, 6 * MIB) for _ in range(int(16 * scale))]
    lines += rng.choices(lines, k=len(lines) // 2)
    return budget_job("long unique lines", "48MiB", LINES % ", unique: true", {"in.txt": b"\n".join(lines) + b"\n"},
                      b"".join(line + b"\n" for line in sorted(set(lines))))


@job
def short_then_long(rng, scale):
    """The index of short lines takes most of the sort's memory, and the texts of long ones all of it."""
    long = [bytes([rng.randrange(97, 123)]) * rng.randrange(500_000, 900_000) for _ in range(int(250 * scale))]
    content = b"\n" * 20_000_000 + b"".join(line + b"\n" for line in long)
    return budget_job("short then long lines", "128MiB", LINES % "", {"in.txt": content},
                      b"\n" * 20_000_000 + b"".join(line + b"\n" for line in sorted(long)))


@job
def compressed_lines(rng, scale):
    content, expected = sorted_lines(rng, scale, 3_000, 24 * MIB)
    return budget_job("compressed", "8MiB", LINES % ", compress: lz4", {"in.txt": content}, expected)


@job
def unique_lines(rng, scale):
    lines = [bytes([rng.randrange(97, 123)]) * rng.randrange(1, 4_000) for _ in range(int(12_000 * scale))]
    return budget_job("unique", "8MiB", LINES % ", unique: true", {"in.txt": b"\n".join(lines) + b"\n"},
                      b"".join(line + b"\n" for line in sorted(set(lines))))


@job
def combined(rng, scale):
    rows = [(b"%d" % rng.randrange(40_000) * 3, rng.randrange(100)) for _ in range(int(200_000 * scale))]
    sums = {}
    for key, value in rows:
        sums[key] = sums.get(key, 0) + value
    return budget_job("combine", "4MiB", """  rows: {op: file.read_csv, with: {path: in.csv, type: {k: string, v: u64}}}
  sorted: {op: sort, in: rows, with: {by: [k], combine: {v: "sum(v)"}}}
  out: {op: file.write_csv, in: sorted, with: {path: out.bin}}
""", {"in.csv": b"".join(b"%s,%d\n" % row for row in rows)},
                      b"".join(b"%s,%d\n" % (key, sums[key]) for key in sorted(sums)))


@job
def long_combined(rng, scale):
    """Rows of equal long keys become one."""
    keys = [very_long(rng, 4 * MIB) for _ in range(int(8 * scale))]
    rows = [(rng.choice(keys), rng.randrange(100)) for _ in range(int(30 * scale))]
    sums = {}
    for key, value in rows:
        sums[key] = sums.get(key, 0) + value
    return budget_job("long combined keys", "48MiB", """  rows: {op: file.read_csv, with: {path: in.csv, type: {k: string, v: u64}}}
  sorted: {op: sort, in: rows, with: {by: [k], combine: {v: "sum(v)"}}}
  out: {op: file.write_csv, in: sorted, with: {path: out.bin}}
""", {"in.csv": b"".join(b"%s,%d\n" % row for row in rows)},
                      b"".join(b"%s,%d\n" % (key, sums[key]) for key in sorted(sums)))


@job
def long_joined(rng, scale):
    """Long texts on both sides of a join."""
    sides = [[(k, very_long(rng, 3 * MIB)) for k in range(int(12 * scale))] for _ in range(2)]
    mixed = [rng.sample(side, len(side)) for side in sides]
    return budget_job("long joined texts", "64MiB", """  l: {op: file.read_csv, with: {path: l.csv, type: {k: u32, a: string}}}
  r: {op: file.read_csv, with: {path: r.csv, type: {k: u32, b: string}}}
  ls: {op: sort, in: l, with: {by: [k]}}
  rs: {op: sort, in: r, with: {by: [k]}}
  both: {op: join, in: {left: ls, right: rs}, with: {by: [k]}}
  out: {op: file.write_csv, in: both, with: {path: out.bin}}
""", {name: b"".join(b"%d,%s\n" % row for row in side) for name, side in zip(("l.csv", "r.csv"), mixed)},
                      b"".join(b"%d,%s,%s\n" % (k, a, b) for (k, a), (_, b) in zip(*sides)))


@job
def long_last(rng, scale):
    """Groups that keep their last text, which is long."""
    rows = [(k, very_long(rng, 6 * MIB)) for k in range(int(6 * scale)) for _ in range(3)]
    last = dict(rows)
    rows.sort(key=lambda row: row[0] * 7919 % 101)
    return budget_job("long last texts", "64MiB", """  rows: {op: file.read_csv, with: {path: in.csv, type: {k: u32, t: string}}}
  sorted: {op: sort, in: rows, with: {by: [k], stable: true}}
  kept: {op: group, in: sorted, with: {by: [k], let: {t: last(t)}}}
  out: {op: file.write_csv, in: kept, with: {path: out.bin}}
""", {"in.csv": b"".join(b"%d,%s\n" % row for row in rows)},
                      b"".join(b"%d,%s\n" % row for row in sorted(last.items())))


@job
def equal_keys(rng, scale):
    """Rows of one key on both sides of a join make all pairs."""
    each = int(700 * scale ** 0.5)
    left = [(i % 2, i) for i in range(2 * each)]
    right = [(i % 2, i) for i in range(2 * each)]
    pairs = ((k, a, b) for k in (0, 1) for _, a in left[k::2] for _, b in right[k::2])
    row = struct.Struct("<III").pack
    return budget_job("join", "8MiB", """  l: {op: file.read_rows, with: {path: l.bin, type: {k: u32, a: u32}}}
  r: {op: file.read_rows, with: {path: r.bin, type: {k: u32, b: u32}}}
  ls: {op: sort, in: l, with: {by: [k, a]}}
  rs: {op: sort, in: r, with: {by: [k, b]}}
  both: {op: join, in: {left: ls, right: rs}, with: {by: [k]}}
  out: {op: file.write_rows, in: both, with: {path: out.bin}}
""", {"l.bin": b"".join(struct.pack("<II", *one) for one in left), "r.bin": b"".join(struct.pack("<II", *one) for one in right)},
                      b"".join(row(*pair) for pair in pairs))


@job
def large_states(rng, scale):
    """Groups that keep long texts."""
    rows = [(i // 40, bytes([rng.randrange(97, 123)]) * rng.randrange(1, 100_000)) for i in range(int(600 * scale))]
    out = []
    for group, of_group in itertools.groupby(rows, lambda one: one[0]):
        texts = [t for _, t in of_group]
        out.append(b"%d,%s,%s,%s,%s\n" % (group, min(texts), max(texts), texts[0], texts[-1]))
    return budget_job("group", "16MiB", """  rows: {op: file.read_csv, with: {path: in.csv, type: {g: u32, t: string}}}
  checked: {op: check, in: rows, with: {sorted: [g]}}
  grouped: {op: group, in: checked, with: {by: [g], let: {least: "min(t)", most: "max(t)", first: "first(t)", last: "last(t)"}}}
  out: {op: file.write_csv, in: grouped, with: {path: out.bin}}
""", {"in.csv": b"".join(b"%d,%s\n" % one for one in rows)}, b"".join(out))


@job
def wide_windows(rng, scale):
    """Neighbours with long texts."""
    lines = [bytes([rng.randrange(97, 123)]) * rng.randrange(1, 60_000) for _ in range(int(500 * scale))]
    padded = [b""] * 4 + lines + [b""] * 4
    out = (b"%s%s\n" % (padded[i], padded[i + 8]) for i in range(len(lines)))
    return budget_job("window", "16MiB", """  lines: {op: file.read_lines, with: {path: in.txt}}
  near: {op: window, in: lines, with: {before: 4, after: 4, let: {both: "concat(row[-4].text, row[4].text)"}}}
  out: {op: file.write_lines, in: near, with: {path: out.bin, column: both}}
""", {"in.txt": b"\n".join(lines) + b"\n"}, b"".join(out))


@job
def growing_state(rng, scale):
    """The state of a scan that becomes longer with each row of a group."""
    rows = [(i // 50, bytes([rng.randrange(97, 123)]) * rng.randrange(1, 20_000)) for i in range(int(300 * scale))]
    out, state, group = [], b"", None
    for g, t in rows:
        state = state + t if g == group else t
        group = g
        out.append(b"%d,%s\n" % (len(state), state[:3]))
    return budget_job("scan", "16MiB", """  rows: {op: file.read_csv, with: {path: in.csv, type: {g: u32, t: string}}}
  grown: {op: scan, in: rows, with: {state: {s: "''"}, set: {s: "concat(s, t)"}, reset: [g], emit: {n: length(s), front: "s[0:3]"}}}
  out: {op: file.write_csv, in: grown, with: {path: out.bin}}
""", {"in.csv": b"".join(b"%d,%s\n" % one for one in rows)}, b"".join(out))


@job
def looked_up(rng, scale):
    """A table of texts in memory."""
    names = [b"%016x" % rng.getrandbits(64) for _ in range(60_000)]
    asked = [rng.randrange(len(names)) for _ in range(int(300_000 * scale))]
    return budget_job("lookup", "24MiB", """  rows: {op: file.read_csv, with: {path: in.csv, type: {key: string}}}
  table: {op: file.read_csv, with: {path: table.csv, type: {key: string, name: string}}}
  found: {op: lookup, in: {stream: rows, table: table}, with: {by: [key]}}
  out: {op: file.write_csv, in: found, with: {path: out.bin}}
""", {"in.csv": b"".join(b"k%d\n" % n for n in asked),
      "table.csv": b"".join(b"k%d,%s\n" % (i, name) for i, name in enumerate(names))},
                      b"".join(b"k%d,%s\n" % (n, names[n]) for n in asked))


@job
def rounds(rng, scale):
    """A loop that sorts what it carries, in each of its iterations."""
    count = int(120_000 * scale)
    values = [rng.getrandbits(32) for _ in range(count)]
    last = values
    for _ in range(6):
        last = sorted((v * 1664525 + 1013904223) % 2**32 for v in last)
    return budget_job("loop", "8MiB", """  rows: {op: file.read_rows, with: {path: in.bin, type: {v: u32}}}
  turned:
    op: loop
    in: {rows: rows}
    with:
      carry: {cur: {from: rows}}
      body:
        next: {op: map, in: cur, with: {v: "u32(v * 1664525 + 1013904223)"}}
        sorted: {op: sort, in: next, with: {by: [v]}}
      next: {cur: sorted}
      times: 6
  out: {op: file.write_rows, in: turned.cur, with: {path: out.bin}}
""", {"in.bin": array("I", values).tobytes()}, array("I", last).tobytes())


@job
def long_fields(rng, scale):
    """CSV with line ends and quotes in long fields."""
    rows = []
    for i in range(int(160 * scale)):
        rows.append((i, "".join(rng.choice(("x" * 900, 'a"b', "\n", ",")) for _ in range(rng.randrange(1, 1_000)))))
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    turned = io.StringIO()
    writer = csv.writer(turned, lineterminator="\n")
    for i, one in reversed(rows):
        writer.writerow((i, len(one.encode()), one))
    return budget_job("csv", "16MiB", """  rows: {op: file.read_csv, with: {path: in.csv, type: {i: u32, t: string}}}
  sorted: {op: sort, in: rows, with: {by: [-i]}}
  measured: {op: map, in: sorted, with: {i: i, n: length(t), t: t}}
  out: {op: file.write_csv, in: measured, with: {path: out.bin}}
""", {"in.csv": written.getvalue().encode()}, turned.getvalue().encode())


@job
def many_of_each(rng, scale):
    """Eight long rows of each row."""
    lines = [b"%06d" % i * rng.randrange(1, 2_000) for i in range(int(400 * scale))]
    rows = ", ".join(f"{{t: \"concat('{i}', text)\"}}" for i in range(8))
    out = sorted(b"%d%s\n" % (i, line) for line in lines for i in range(8))
    return budget_job("flat_map", "8MiB", f"""  lines: {{op: file.read_lines, with: {{path: in.txt}}}}
  more: {{op: flat_map, in: lines, with: {{rows: [{rows}]}}}}
  sorted: {{op: sort, in: more, with: {{by: [t]}}}}
  out: {{op: file.write_lines, in: sorted, with: {{path: out.bin}}}}
""", {"in.txt": b"\n".join(lines) + b"\n"}, b"".join(out))


@job
def many_nodes(rng, scale):
    """A long chain of nodes, with a sort in its middle."""
    count, rows = 2_000, int(20_000 * scale)
    nodes = ["  n0: {op: generate, with: {rows: %d, columns: {x: \"u64(i)\"}}}" % rows]
    for i in range(1, count):
        step = '{op: sort, in: n%d, with: {by: [-x]}}' if i == count // 2 else '{op: map, in: n%d, with: {x: "x + 1"}}'
        nodes.append(f"  n{i}: " + step % (i - 1))
    nodes.append(f"  out: {{op: file.write_rows, in: n{count - 1}, with: {{path: out.bin}}}}\n")
    return budget_job("2000 nodes", "16MiB", "\n".join(nodes), {},
                      array("Q", (x + count - 2 for x in reversed(range(rows)))).tobytes())


@job
def many_columns(rng, scale):
    count, rows = 2_000, int(500 * scale)
    drawn = [tuple(rng.randrange(1000) for _ in range(count)) for _ in range(rows)]
    line = lambda one: b",".join(b"%d" % v for v in one) + b"\n"
    types = ", ".join(f"c{i}: u32" for i in range(count))
    return budget_job("2000 columns", "24MiB", f"""  rows: {{op: file.read_csv, with: {{path: in.csv, type: {{{types}}}}}}}
  sorted: {{op: sort, in: rows, with: {{by: [c1999, c0, c1]}}}}
  out: {{op: file.write_csv, in: sorted, with: {{path: out.bin}}}}
""", {"in.csv": b"".join(map(line, drawn))},
                      b"".join(map(line, sorted(drawn, key=lambda one: (one[1999], one[0], one[1])))))


@job
def merged_streams(rng, scale):
    """Eight sorted streams that meet, with long texts."""
    files = {f"in{i}.txt": sorted(b"%08x" % rng.getrandbits(32) * rng.randrange(1, 1_000)
                                  for _ in range(int(200 * scale))) for i in range(8)}
    nodes = [f"  s{i}: {{op: file.read_lines, with: {{path: in{i}.txt}}}}\n"
             f"  c{i}: {{op: check, in: s{i}, with: {{sorted: [text]}}}}\n" for i in range(8)]
    return budget_job("merge", "24MiB", "".join(nodes) + f"""  all: {{op: merge, in: [{', '.join(f'c{i}' for i in range(8))}], with: {{by: [text]}}}}
  out: {{op: file.write_lines, in: all, with: {{path: out.bin}}}}
""", {name: b"".join(line + b"\n" for line in lines) for name, lines in files.items()},
                      b"".join(line + b"\n" for line in sorted(itertools.chain(*files.values()))))


@job
def turned_round(rng, scale):
    """What one stream gives is read by two, one of which is stored."""
    lines = [b"%07d" % i * rng.randrange(1, 500) for i in range(int(6_000 * scale))]
    return budget_job("reverse", "8MiB", """  lines: {op: file.read_lines, with: {path: in.txt}}
  back: {op: reverse, in: lines}
  both: {op: concat, in: [lines, back]}
  out: {op: file.write_lines, in: both, with: {path: out.bin}}
""", {"in.txt": b"\n".join(lines) + b"\n"}, b"".join(line + b"\n" for line in lines + lines[::-1]))


def forced_down(ratio):
    """A sort whose share is so small that its input is about `ratio` times as large: blocks of a page, many passes."""
    bits = (ratio * MIB // 8 - 1).bit_length()
    step = 2 ** (64 - bits)

    def chunks():
        for first in range(0, 2**bits, 2**16):
            yield array("Q", range(first * step, min(first + 2**16, 2**bits) * step, step)).tobytes()

    return budget_job(f"N/M = {ratio}", "1MiB", f"""  drawn: {{op: generate, with: {{rows: {2**bits}, columns: {{k: bit_reverse(i)}}}}}}
  turned: {{op: map, in: drawn, with: {{k: "k"}}}}
  sorted: {{op: sort, in: turned, with: {{by: [k]}}}}
  out: {{op: file.write_rows, in: sorted, with: {{path: out.bin}}}}
""", {}, chunks, ("--block-size", "4096", "--batch-size", "4096"))
