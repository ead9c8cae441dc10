"""Nodes whose data ends the job: the reference says so, and nothing of the output may be there then."""

from draw_meetings import file
from job_text import call, ex, key, name, node, number
from values import is_integer, is_text


def integers(d):
    """A stream with rows and a column of integers: (stream, column)."""
    s = d.pick(lambda t: t.rows and any(is_integer(k) for k in t.columns.values()))
    if s is None:
        return None, None
    return s, d.r.choice([c for c, k in d.streams[s].columns.items() if is_integer(k)])


def wrong_check(d):
    s, r = d.pick(), d.r
    t = d.streams[s]
    drawer = d.drawer(t, True)
    wrong = {"count": len(t.rows) + 1, "empty": bool(t.rows), "where": drawer.condition()}
    word = r.choice([*wrong, "sorted", "unique"])
    if word in wrong:
        return d.add("check", s, **{word: wrong[word]})
    keys = d.keys(t, 1)
    if word == "sorted":
        return d.add("check", s, sorted=keys)
    ordered = d.sorted(s, keys)
    return ordered and d.add("check", ordered, unique=[keys[0][0][1]])


def uneven_zip(d):
    s = d.pick()
    t = d.streams[s]
    right = d.add("map", s, **{d.fresh("c"): name(c) for c in t.columns})
    right = right and d.add("filter", right, where=d.drawer(d.streams[right]).condition())
    return right and d.add("zip", {"left": s, "right": right})


def no_bucket(d):
    s, c = integers(d)
    return s and d.add("partition", s, by=name(c), buckets=d.r.choice([1, 5]))


def no_place(d):
    s, c = integers(d)
    return s and d.add("permute", s, to=d.r.choice([name(c), ex("binary", "/", name("row_number"), number(2))]))


def no_key(d):
    s, c = integers(d)
    if s is None:
        return None
    other = d.add("filter", s, where=d.drawer(d.streams[s]).condition())
    other = other and d.add("map", other, **{c: name(c), d.fresh("c"): name(c)})
    return other and d.add("lookup", {"stream": s, "table": other}, by=[c])


def malformed(d):
    kind = d.r.choice(["u8", "i64", "bool", "bytes[3]", "f64"])
    lines = [b"1", b"x", b"", b"300", b"abc", b"true", b"2.5", b"1,1", b"-1"]
    data = b"".join(d.r.choice(lines) + b"\n" for _ in range(d.r.randint(1, 5)))
    error = d.r.choice([None, "fail", {"to": "bad", "max_ratio": 0.1}, {"to": "skip", "max_ratio": 0.3}])
    return d.add("file.read_csv", None, error, path=file(d, data), type={d.fresh("c"): kind})


def malformed_json(d):
    lines = [b'{"a":1}', b'{"a":300}', b'{"a":"1"}', b"[1]", b'{"a":1,"b":2}', b"{}", b'{"a":1.5}', b'{"a":1']
    data = b"".join(d.r.choice(lines) + b"\n" for _ in range(d.r.randint(1, 5)))
    error = d.r.choice([None, "fail", {"to": "bad", "max_ratio": 0.1}])
    c = d.fresh("c")
    return d.add("file.read_json_lines", None, error, path=file(d, data), type={c: "u8"}, names={c: "a"})


def not_utf8(d):
    s = d.pick(lambda t: any(is_text(k) for k in t.columns.values()))
    return s and d.add("file.write_json_lines", s, path="${out}/" + d.fresh(f"s{d.job.seed}-o"))


def another_header(d):
    how = d.r.choice([{"header": True}, {"columns": "header"}])
    return d.add("file.read_csv", path=file(d, b"other\n1\n"), type={d.fresh("c"): "u8"}, **how)


def odd_size(d):
    return d.add("file.read_rows", path=file(d, b"12345"), type={d.fresh("c"): "u16"})


def unsorted_file(d):
    data = bytes(d.r.randrange(9) for _ in range(d.r.randint(2, 60)))
    c = d.fresh("c")
    return d.add("file.read_rows", path=file(d, data), type={c: "u8"}, sorted_by=[key(name(c))])


def no_node(d):
    s, c = integers(d)
    if s is None:
        return None
    edges = d.add(
        "map", s, src=call("u32", name(c)), dst=call("u32", ex("binary", "%", call("u64", name(c)), number(3)))
    )
    return edges and d.add("union_find", edges, nodes=number(3))


def no_end(d):
    s = d.pick(lambda t: len(t.rows) < 50)
    if s is None:
        return None
    c = d.fresh("t")
    body = [node(d.fresh("map"), "filter", "cur", where=name("true"))]
    return d.add(
        "loop",
        {"start": s},
        carry={"cur": {"from": "start"}, c: {"value": call("i64", number(0))}},
        body=body,
        next={"cur": body[0].id, c: ex("binary", "+", name(c), number(1))},
        until=ex("binary", ">", name(c), number(6)),
        max_iterations=d.r.choice([3, 6, 7, 8]),
    )


def late_push(d):
    s, c = integers(d)
    if s is None:
        return None
    s = d.add("map", s, k=call("u8", name(c)))
    s = s and d.sorted(s, [key(name("k"))])
    push = {"k": call("u8", ex("binary", "+", name("k"), number(d.r.choice([0, 100]))))}
    return s and d.add("pq_scan", {"a": s}, order=[key(name("k"))], on=[{"push": push, "emit": {"k": name("k")}}])


def unquoted(d):
    s = d.pick(lambda t: any(is_text(k) for k in t.columns.values()))
    return s and d.add("file.write_csv", s, path="${out}/" + d.fresh(f"s{d.job.seed}-o"), quote="")


def unsorted_less(d):
    s, c = integers(d)
    if s is None:
        return None
    other = d.add("map", s, **{c: name(c)})
    return other and d.add("merge", [s, other], less=ex("binary", "<", name(f"a.{c}"), name(f"b.{c}")))


def no_single_row(d):
    s, c = integers(d)
    if s is None or len(d.streams[s].rows) == 1:
        return None
    other, row = d.pick(), d.fresh("row")
    n = node(d.fresh("map"), "map", other, None, **{d.fresh("c"): name(f"{row}.{c}")})
    d.rows = {row: s}
    made = d.keep(n)
    d.rows = {}
    return n.id if made else None


FAILURES = [
    no_single_row,
    wrong_check,
    wrong_check,
    uneven_zip,
    no_bucket,
    no_place,
    no_key,
    malformed,
    malformed,
    malformed_json,
    not_utf8,
    another_header,
    odd_size,
    unsorted_file,
    no_node,
    no_end,
    late_push,
    unquoted,
    unsorted_less,
]
