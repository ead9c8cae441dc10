"""Random nodes with one input. Each function draws from a `drawing` and may find nothing that fits."""

import math

from draw_expressions import expression_drawer
from draw_sinks import write
from drawing import some
from job_text import call, ex, key, name, number
from values import INTEGERS, is_integer, is_number, is_signed, is_text, width


def filter_rows(d):
    s = d.pick()
    return d.add("filter", s, where=d.drawer(d.streams[s], True).condition())


def computed(d, t):
    """{new column: expression}: some columns as they are, some computed."""
    r, drawer, out = d.r, d.drawer(t, True), {}
    for c in d.columns(t, 4):
        out[c if r.random() < 0.6 else d.fresh("c")] = name(c)
    for _ in range(r.randint(1, 3)):
        e = drawer.draw(lambda k: k != "hash" and not k.startswith("key "), r.randint(1, 3))
        if e is not None:
            out[d.fresh("c")] = e
    return out


def map_rows(d):
    s = d.pick()
    return d.add("map", s, **computed(d, d.streams[s]))


def narrowed(d, t, most=16):
    """Columns that packed files and narrow sorts can have."""
    out, size = {}, 0
    for c, k in t.columns.items():
        if k != "string" and size + width(k) <= most:
            out[c], size = name(c), size + width(k)
    return out


def narrow_sort(d):
    """All columns of a narrow row, sorted whole: not stable, and with the options that want that."""
    s = d.pick(lambda t: any(k != "string" and width(k) <= 16 for k in t.columns.values()))
    if s is None:
        return None
    s = d.add("map", s, **narrowed(d, d.streams[s]))
    if s is None:
        return None
    t, r = d.streams[s], d.r
    columns = list(t.columns)
    r.shuffle(columns)
    options = some(
        r,
        unique=True,
        limit=r.choice([1, 3, 50]),
        runs=r.choice(["halves", "long"]),
        compress=r.choice(["none", "delta", "delta", "lz4", "zstd"]),
    )
    return d.add("sort", s, by=[key(name(c), r.random() < 0.3) for c in columns], **options)


def sort(d):
    if d.r.random() < 0.4:
        return narrow_sort(d)
    s, r = d.pick(), d.r
    t = d.streams[s]
    keys = d.keys(t)
    if r.random() < 0.4:
        drawer = d.drawer(t)
        texts = [c for c, k in t.columns.items() if is_text(k)]
        e = drawer.draw(lambda k: k != "hash" and not k.startswith("key "), r.randint(1, 2))
        if texts and r.random() < 0.5:
            e = call(r.choice(["decimal_key", "size_key", "real_key", "version_key"]), name(r.choice(texts)))
        bytes_columns = [c for c in texts if t.columns[c] in ("bytes[3]", "bytes[12]", "bytes[20]")]
        if bytes_columns and r.random() < 0.4:
            first = r.randrange(3)
            e = ex("slice", name(r.choice(bytes_columns)), number(first), number(first + r.randint(1, 3 - first)))
        if e is not None and e[0] != "name" and all(e != k[0] for k in keys):
            keys.insert(r.randrange(len(keys) + 1), key(e, r.random() < 0.3))
    options = some(
        r, unique=True, limit=r.choice([1, 5, 100]), compress=r.choice(["lz4", "zstd", "none"]), runs="halves"
    )
    if r.random() < 0.85:
        options["stable"] = True
    return d.add("sort", s, by=keys, **options)


def sort_with_ties(d):
    """Nobody promises the order of the ties: only a file is made of that."""
    if d.depth > 0:
        return None
    s = d.pick()
    made = d.add("sort", s, by=d.keys(d.streams[s], 2), **some(d.r, compress="lz4"))
    return made and write(d, made)


def combine(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    let = {d.fresh("c"): d.drawer(t).aggregate() for _ in range(r.randint(1, 3))}
    keys = d.keys(t, 2)
    for _ in range(r.choice([0, 0, 1, 2])):
        e = d.drawer(t).draw(lambda k: k != "hash" and not k.startswith("key "), r.randint(1, 2))
        if e is not None:
            c = d.fresh("c") if r.random() < 0.7 else r.choice(list(t.columns))
            keys.insert(r.randrange(len(keys) + 1), {c: key(e, r.random() < 0.3)})
    if r.random() < 0.3:
        counted = d.drawer(t).draw(lambda k: k != "hash" and not k.startswith("key "), 1)
        c = r.choice(list(let))
        let[c] = ex("aggregate", "count_distinct", counted) if counted is not None else let[c]
    return d.add("sort", s, by=keys, combine=let, **some(r, limit=r.choice([1, 5]), stable=True, compress="lz4"))


def group(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    let = {d.fresh("c"): d.drawer(t).aggregate() for _ in range(r.randint(1, 3))}
    if r.random() < 0.2:
        return d.add("group", s, by=[], let=let)
    keys = d.keys(t, 2)
    by = [k[0][1] for k in keys]
    if r.random() < 0.3:
        counted = r.choice(list(t.columns))
        let[r.choice(list(let))] = ex("aggregate", "count_distinct", name(counted))
        keys += [key(name(counted), r.random() < 0.3)] if counted not in by else []
    ordered = d.sorted(s, keys)
    if ordered is None:
        return None
    if r.random() < 0.3:
        ordered = d.add("filter", ordered, where=d.drawer(t).condition()) or ordered
    r.shuffle(by)
    return d.add("group", ordered, by=by, let=let)


def limit(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    options = some(r, skip=r.choice([1, 2, 10, 300]))
    if r.random() < 0.8 or not options:
        options["count"] = r.choice([1, 2, 5, 100])
    if r.random() < 0.4:
        return d.add("limit", s, **options)
    keys = d.keys(t, 2)
    ordered = d.sorted(s, keys)
    if ordered is None:
        return None
    by = [k[0][1] for k in keys]
    r.shuffle(by)
    return d.add("limit", ordered, by=by, **options)


def reduce(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    let = {d.fresh("c"): d.drawer(t).aggregate() for _ in range(r.randint(1, 4))}
    if t.order and r.random() < 0.4:
        let[d.fresh("c")] = ex("aggregate", "count_distinct", name(t.order[0][0]))
    return d.add("reduce", s, let=let)


def same_rows(d):
    """The hash of rows is that of the same rows in another order, and not that of fewer."""
    s, r = d.pick(), d.r
    other = d.add(*r.choice([("shuffle", s), ("reverse", s)]))
    if other and r.random() < 0.4:
        other = d.add("filter", other, where=ex("binary", "!=", name("row_number"), number(r.randrange(20))))
    if other is None:
        return None
    sides = []
    for stream in (s, other):
        reduced = d.add("reduce", stream, hash=True)
        if reduced is None:
            return None
        low, high = d.fresh("c"), d.fresh("c")
        sides.append((d.add("map", reduced, **{low: name("hash_low"), high: name("hash_high")}), low, high))
    (a, a_low, a_high), (b, b_low, b_high) = sides
    both = d.add("zip", {"left": a, "right": b}) if a and b else None
    if both is None:
        return None
    return d.add(
        "map",
        both,
        **{
            d.fresh("c"): ex("tuples", r.choice(["==", "!="]), (name(a_low), name(a_high)), (name(b_low), name(b_high)))
        },
    )


def group_pairs(d):
    s, r = d.pick(lambda t: len(t.rows) <= 100), d.r
    if s is None:
        return None
    t = d.streams[s]
    keys = d.keys(t, 2) if r.random() < 0.8 or len(t.rows) > 20 else []
    ordered = d.sorted(s, keys) if keys else s
    if ordered is None:
        return None
    by = [k[0][1] for k in keys]
    pairs = {f"{side}.{c}": k for side in "ab" for c, k in t.columns.items()}
    drawer = expression_drawer(r, pairs)
    let = {c: name(f"{r.choice('ab')}.{c}") for c in by}
    for _ in range(r.randint(1, 2)):
        e = drawer.draw(lambda k: k != "hash", 1)
        if e is not None:
            let[d.fresh("c")] = e
    options = {"where": drawer.draw(lambda k: k == "bool", 1)} if r.random() < 0.3 else {}
    if not let or options.get("where", 0) is None:
        return None
    return d.add("group_pairs", ordered, by=by, let=let, **options)


def scan_state(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    state = {}
    for _ in range(r.randint(1, 2)):
        kind = r.choice([*INTEGERS, "f64", "bool", "i64", "u64", "f32"])
        state[d.fresh("v")] = (kind, d.constant(kind))
    drawer = d.drawer(t, True, **{v: kind for v, (kind, _) in state.items()})
    settings = {"state": {v: e for v, (_, e) in state.items()}, "set": {}}
    for v, (kind, _) in state.items():
        e = drawer.of_kind(kind, 1)
        if r.random() < 0.5 and is_integer(kind):
            other = drawer.draw(is_integer, 1)
            e = other and ex("binary", "+", call("i64", name(v)), call("i64", other))
        if e is not None:
            settings["set"][v] = e
    wanted = lambda k: k != "hash" and not k.startswith("key ")
    what = r.random()
    if what < 0.4:
        settings["emit"] = {d.fresh("c"): drawer.draw(wanted, 1) or name(v) for v in [*state, *state]}
        if r.random() < 0.5:
            settings["emit"].update({c: name(c) for c in d.columns(t, 2)})
    elif what < 0.6:
        a = d.fresh("c")
        kept = {c: name(c) for c in d.columns(t, 1)}
        v = r.choice(list(state))
        entries = [{**kept, a: name(v)} for _ in range(r.randint(1, 3))]
        for entry in entries:
            if r.random() < 0.6:
                entry["when"] = drawer.condition()
        settings["emits"] = entries
    if r.random() < 0.3 and "emits" not in settings:
        settings["when"] = drawer.condition()
    if r.random() < 0.4:
        settings["reset"] = d.columns(t, 2)
    return d.add("scan", s, **settings)


def scan_numbers(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    settings = {}
    if r.random() < 0.5:
        settings["number"] = d.fresh("c")
    if r.random() < 0.5:
        e = d.drawer(t, True).draw(is_number, 1)
        if e is not None:
            settings["prefix_sum"] = {d.fresh("c"): e}
            settings.update({"exclusive": True} if r.random() < 0.5 else {})
    for word in ("dense_rank", "min_rank"):
        if r.random() < 0.4:
            settings[word] = {d.fresh("c"): d.columns(t, 2)}
    if not settings:
        settings["number"] = d.fresh("c")
    if r.random() < 0.4:
        settings["reset"] = d.columns(t, 2)
    return d.add("scan", s, **settings)


def window(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    before, after = r.randint(0, 3), r.randint(0, 3)
    neighbours = {f"row[{k}].{c}": kind for k in range(-before, after + 1) if k for c, kind in t.columns.items()}
    drawer, let = d.drawer(t, True, **neighbours), {}
    for _ in range(r.randint(1, 2)):
        e = (
            name(r.choice(list(neighbours)))
            if neighbours and r.random() < 0.5
            else drawer.draw(lambda k: k != "hash", 1)
        )
        if e is not None:
            let[d.fresh("c")] = e
    settings = {"before": before, "after": after}
    settings.update(some(r, every=r.randint(1, 4), reset=d.columns(t, 2)))
    if r.random() < 0.4:
        pads = {c: d.literal(t.columns[c]) for c in d.columns(t, 2)}
        settings["pad"] = {c: e for c, e in pads.items() if e is not None} or None
    return d.add("window", s, let=let, **{k: v for k, v in settings.items() if v is not None}) if let else None


def flat_map(d):
    s, r = d.pick(), d.r
    t, drawer = d.streams[s], d.drawer(d.streams[s])
    kinds, first = {}, {}
    for _ in range(r.randint(1, 3)):
        c = d.fresh("c")
        kinds[c] = r.choice([*INTEGERS, "string", "bool", "f64", *t.columns.values()])
        first[c] = drawer.of_kind(kinds[c], 1)
    if any(e is None for e in first.values()):
        return None
    entries = [first]
    for _ in range(r.randint(0, 2)):
        entry = {
            c: d.literal(k) if is_integer(k) and r.random() < 0.3 else drawer.of_kind(k, 1) for c, k in kinds.items()
        }
        if all(e is not None for e in entry.values()):
            entries.append(entry)
    kept = d.columns(t, 1)
    for entry in entries:
        entry.update({c: name(c) for c in kept})
        if r.random() < 0.5:
            entry["when"] = drawer.condition()
    return d.add("flat_map", s, rows=entries)


def split(d):
    s, r = d.pick(), d.r
    drawer = d.drawer(d.streams[s])
    ports = {f"p{i}": drawer.condition() for i in range(r.randint(1, 3))}
    return d.add("split", s, ports=ports, **({"rest": "others"} if r.random() < 0.6 else {}))


def order(d):
    s, r = d.pick(), d.r
    if r.random() < 0.5:
        return d.add("reverse", s)
    return d.add("shuffle", s, **some(r, seed=r.randrange(9), limit=r.choice([1, 5, 100])))


def partition(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    if r.random() < 0.3:
        c = next(
            (c for c, k in t.columns.items() if k[0] == "u" and t.rows and max(r[t.place(c)] for r in t.rows) < 70),
            None,
        )
        if c is not None:
            return d.add("partition", s, by=name(c), buckets=70)
    e, buckets = d.drawer(t).draw(is_integer, 1), r.choice([1, 2, 7, 64, 300])
    if e is None:
        return None
    return d.add("partition", s, by=ex("binary", "%", call("u64", e), number(buckets)), buckets=buckets)


def permute(d):
    s, r = d.pick(lambda t: len(t.rows) in (2, 4, 8, 16, 32, 64, 128)) if d.r.random() < 0.5 else None, d.r
    if s is None and d.r.random() < 0.6:
        s = d.add("generate", columns={d.fresh("c"): name("i")}, rows=2 ** d.r.randint(1, 7))
    s = s or d.pick()
    n = len(d.streams[s].rows)
    if n > 1 and n & (n - 1) == 0 and r.random() < 0.5:
        bits = n.bit_length() - 1
        more = {"complement": "".join(r.choice("01") for _ in range(bits))} if r.random() < 0.4 else {}
        if r.random() < 0.5:
            return d.add("permute", s, bits="reverse", n=bits, **more)
        rows = [1 << i for i in range(bits)]
        r.shuffle(rows)
        for _ in range(bits * 2):  # sums of rows keep the matrix invertible
            a, b = r.randrange(bits), r.randrange(bits)
            rows[a] ^= rows[b] if a != b else 0
        return d.add("permute", s, matrix=" ".join(f"{row:0{bits}b}" for row in rows), **more)
    if not n:
        return d.add("permute", s, to=name("row_number"))
    factor = r.choice([f for f in (1, 3, 5, 7, 11, 13, 17, n - 1, n + 1) if f and math.gcd(f, n) == 1])
    place = ex(
        "binary",
        "%",
        ex("binary", "+", ex("binary", "*", name("row_number"), number(factor)), number(r.randrange(n))),
        number(n),
    )
    return d.add("permute", s, to=call(r.choice(["u16", "u40", "i64", "u64"]), place))


def tokens(d):
    s, r = d.pick(lambda t: any(is_text(k) for k in t.columns.values())), d.r
    if s is None:
        return None
    t = d.streams[s]
    e = name(r.choice([c for c, k in t.columns.items() if is_text(k)]))
    if r.random() < 0.4:
        e = d.drawer(t).draw(is_text, 1) or e
    settings = {"text": e, **({"as": d.fresh("c")} if r.random() < 0.6 or "token" in t.columns else {})}
    if r.random() < 0.5:
        settings["keep"] = d.columns(t, 2)
    if r.random() < 0.5:
        settings.update(
            r.choice([{"characters": "a-z"}, {"characters": "0-9."}, {"separators": " ,;"}, {"separators": "a"}])
        )
    return d.add("tokens", s, **settings)


def check(d):
    """Something that holds, or where a job may fail perhaps not."""
    s, r = d.pick(), d.r
    if r.random() < 0.4:
        s = d.add("sort", s, by=d.keys(d.streams[s], 2), unique=True) or s
    t = d.streams[s]
    settings = {}
    if t.order and r.random() < 0.8:
        settings["sorted"] = [key(name(c), down) for c, down in t.order[: r.randint(1, 3)]]
        settings.update({"unique": [k[0][1] for k in settings["sorted"]]} if r.random() < 0.6 else {})
    settings.update(
        some(
            r,
            empty=not t.rows,
            count=len(t.rows),
            where=(
                d.drawer(t).condition() if r.random() < 0.3 else ex("binary", "<", name("row_number"), number(100000))
            ),
        )
    )
    return d.add("check", s, **settings) if settings else None


def suffix_sort(d):
    s, r = d.pick(lambda t: any(is_integer(k) for k in t.columns.values())), d.r
    if s is None:
        return None
    c = r.choice([c for c, k in d.streams[s].columns.items() if is_integer(k)])
    kind = r.choice([k for k in INTEGERS if not is_signed(k)])
    letters = d.add(
        "map", s, **{d.fresh("c"): call(kind, ex("binary", "%", call("u64", name(c)), number(r.choice([1, 2, 5, 50]))))}
    )
    return letters and d.add("suffix_sort", letters)


def union_find(d):
    s, r = d.pick(lambda t: sum(is_integer(k) for k in t.columns.values()) >= 1), d.r
    if s is None:
        return None
    t = d.streams[s]
    names, n = [c for c, k in t.columns.items() if is_integer(k)], r.choice([1, 5, 30, 100])
    ends = r.choice([("src", "dst"), (d.fresh("c"), d.fresh("c"))])
    kind = r.choice(["u8", "u16", "u24", "u32", "u40", "u64"])
    columns = {
        end: call(kind, ex("binary", "%", ex("binary", "+", call("u64", name(r.choice(names))), number(k)), number(n)))
        for k, end in enumerate(ends)
    }
    columns.update({d.fresh("c"): name(c) for c in d.columns(t, 2)})
    edges = d.add("map", s, **columns)
    return edges and d.add(
        "union_find", edges, nodes=number(n), **({} if ends == ("src", "dst") else {"ends": list(ends)})
    )


def one_row(d):
    """A stream of one row with a value that expressions can name."""
    has_value = lambda t: len(t.rows) == 1 and any(not is_text(k) for k in t.columns.values())
    s = d.pick(has_value) if d.r.random() < 0.3 else None
    return s or (reduce(d) if d.r.random() < 0.8 else limit(d))


def naming_a_row(d):
    """A node whose expressions may name values of a row. (What else is drawn on the way may do so, too.)"""
    s, r = one_row(d), d.r
    if s is None or s not in d.streams or len(d.streams[s].rows) != 1 or "hash" in d.streams[s].columns.values():
        return None
    row = s.split(".")[0] if r.random() < 0.5 else d.fresh("row")
    return d.naming_values_of(row, s, r.choice(WITH_EXPRESSIONS))


WITH_EXPRESSIONS = [filter_rows, filter_rows, map_rows, map_rows, sort, combine, group, reduce, scan_state, scan_numbers]
WITH_EXPRESSIONS += [window, flat_map, split, partition, check]

ONE_INPUT = [
    filter_rows,
    map_rows,
    map_rows,
    sort,
    sort,
    sort_with_ties,
    combine,
    group,
    group,
    limit,
    reduce,
    same_rows,
    group_pairs,
    scan_state,
    scan_state,
    scan_numbers,
    window,
    flat_map,
    split,
    order,
    partition,
    permute,
    tokens,
    check,
    suffix_sort,
    union_find,
    naming_a_row,
    naming_a_row,
]
# Those that can stand in bodies of loops: they don't make more rows.
SHRINKING = [filter_rows, sort, order, partition, limit]
