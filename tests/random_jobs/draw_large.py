"""Jobs with so many rows that sorts in little memory make several runs, and streams many batches: few nodes, and
expressions that the naive way computes in bearable time."""

import draw_nodes
from draw_sinks import write
from drawing import attempted, some
from job_text import call, ex, key, name, number


def drawn(i, bound, seed):
    return ex("binary", "%", call("rand", number(seed), i), number(bound))


def rows(d):
    r, i = d.r, name("i")
    columns = {}
    for kind in r.sample(["u8", "u32", "u40", "i64", "u64", "i16"], r.randint(1, 3)):
        columns[d.fresh("c")] = call(kind, drawn(i, r.choice([3, 100, 100000]), r.randrange(99)))
    if r.random() < 0.8:
        filler = ex("text", b"filler " * r.choice([1, 60, 100]))
        columns[d.fresh("c")] = call("concat", filler, drawn(i, r.choice([50, 5000]), r.randrange(99)))
    if r.random() < 0.5:
        columns[d.fresh("c")] = i
    return d.add("generate", columns=columns, rows=r.choice([3000, 6000, 12000]))


def sorted_whole(d, s):
    r, columns = d.r, list(d.streams[s].columns)
    r.shuffle(columns)
    options = some(r, unique=True, limit=r.choice([10, 4000]), compress=r.choice(["none", "lz4", "zstd"]))
    if r.random() < 0.4:
        options["stable"] = True
    return d.add("sort", s, by=[key(name(c), r.random() < 0.3) for c in columns], **options)


def sorted_in_part(d, s):
    return d.add("sort", s, by=d.keys(d.streams[s], 2), stable=True, **some(d.r, compress="zstd", unique=True))


def grouped(d, s):
    keys = d.keys(d.streams[s], 1)
    ordered = d.sorted(s, keys)
    let = {
        d.fresh("c"): ex("aggregate", "count"),
        d.fresh("c"): ex("aggregate", "last", name(list(d.streams[s].columns)[-1])),
    }
    return ordered and d.add("group", ordered, by=[keys[0][0][1]], let=let)


def combined(d, s):
    return d.add("sort", s, by=d.keys(d.streams[s], 2), combine={d.fresh("c"): ex("aggregate", "count")})


def halves(d, s):
    """Both halves of a split, merged again."""
    keys = d.keys(d.streams[s], 2)
    where = ex(
        "binary",
        "==",
        ex("binary", "%", call("crc32", call("string", name(list(d.streams[s].columns)[0]))), number(2)),
        number(0),
    )
    parts = d.add("split", s, ports={"yes": where}, rest="no")
    streams = [x for x in (parts, f"{parts}.yes", f"{parts}.no") if x in d.streams]
    sides = [d.sorted(x, keys) for x in streams]
    return len(sides) == 2 and all(sides) and d.add("merge", sides, by=keys)


def joined(d, s):
    keys = d.keys(d.streams[s], 1)
    c = keys[0][0][1]
    few = d.add("sort", s, by=keys, combine={d.fresh("c"): ex("aggregate", "count")})
    left = few and d.sorted(s, keys)
    return left and d.add(
        "join", {"left": left, "right": few}, by=[c], kind=d.r.choice(["inner", "left", "full", "semi"])
    )


def order(d, s):
    return d.add(d.r.choice(["shuffle", "reverse"]), s)


SORTS = [sorted_whole, sorted_whole, sorted_in_part, grouped, combined, halves, joined, order]
ROW_BY_ROW = [
    draw_nodes.map_rows,
    draw_nodes.filter_rows,
    draw_nodes.scan_state,
    draw_nodes.scan_numbers,
    draw_nodes.window,
    draw_nodes.flat_map,
    draw_nodes.tokens,
    draw_nodes.split,
    draw_nodes.partition,
    draw_nodes.reduce,
]


def draw(d):
    d.most_rows = 40000
    s, r = rows(d), d.r
    for _ in range(r.randint(1, 2)):
        if r.random() < 0.5:
            r.choice(SORTS)(d, s)
        else:
            attempted(r.choice(ROW_BY_ROW), d)
    for s in list(d.unread):
        if s in d.unread:
            write(d, s)
