"""Random loops, branches and calls: their bodies are drawings of their own, over their inputs by name."""

from draw_expressions import expression_drawer
from draw_meetings import SEVERAL
from expressions import compiled
from draw_nodes import ONE_INPUT, SHRINKING
from drawing import attempted, drawing, some
from job_text import call, ex, key, name, node, number
from tables import scalar_values, table
from values import INTEGERS, is_integer, is_number
from whole_jobs import with_inputs


def inside(d, inputs, scalars):
    """A drawing for nodes that see these inputs, and know no order of theirs: it is another one at each call. Where the
    order is known, a zip knows that of its left side, and no longer that of the right: this is seen when the whole is run.
    """
    out = drawing(d.r, d.job, {p: table(t.columns, t.rows) for p, t in inputs.items()}, scalars, d.counter)
    out.depth = d.depth + 1
    return out


def anything(d):
    """Nodes for a body, control nodes too where it is not deep."""
    return [*ONE_INPUT, *SEVERAL, *(CONTROL * 2 if d.depth < 2 else [])]


def small(d, most=100):
    return d.pick(lambda t: len(t.rows) <= most)


def steps(d, makers, count):
    for _ in range(count):
        attempted(d.r.choice(makers), d)


def as_before(d, s, columns):
    """A map that gives a stream these columns again; None where it can't."""
    drawer, out = d.drawer(d.streams[s]), {}
    for c, k in columns.items():
        e = name(c) if d.streams[s].columns.get(c) == k and d.r.random() < 0.6 else drawer.of_kind(k, 1)
        out[c] = e if e is not None else name(c)
    return d.add("map", s, **out)


def no_end(inner, used=()):
    """Streams in the body of a control node that nobody reads are faults: a reduce is silent."""
    read = {s for n in inner.nodes for s in n.sources()} | set(used)
    silent = {n.id for n in inner.nodes if n.op in ("check", "reduce")}
    own = {n.id for n in inner.nodes}
    for s in [s for s in inner.streams if s.split(".")[0] in own and s not in read and s not in silent]:
        inner.add("reduce", s, let={inner.fresh("c"): ex("aggregate", "count")})


def finished(inner, used):
    """The body with an end for each stream."""
    no_end(inner, used)
    return inner.nodes


def one_row(d, s):
    """A reduce of the stream: INPUT.column of it is known outside of rows."""
    c = d.fresh("c")
    return d.add("reduce", s, let={c: ex("aggregate", "count")}), c


def loop(d):
    r, s = d.r, small(d, 60)
    if s is None:
        return None
    t = d.streams[s]
    inputs = {"start": t}
    wires = {"start": s}
    if r.random() < 0.4:
        other = small(d, 60)
        inputs["other"], wires["other"] = d.streams[other], other
    carry = {"cur": {"from": "start"}}
    kinds = {}
    columns = t.columns
    if r.random() < 0.2:
        columns = {d.fresh("c"): r.choice([*INTEGERS, "bool"]) for _ in range(2)}
        rows = [{c: i % 2 == 0 if k == "bool" else i for c, k in columns.items()} for i in range(r.randint(0, 3))]
        carry["cur"] = {"rows": rows, "type": columns}
    count, total = d.fresh("t"), d.fresh("t")
    carry[count], kinds[count] = {"value": ex("call", "i64", number(r.randrange(3)))}, "i64"
    if r.random() < 0.5:
        kind = r.choice(["u64", "f64", "bool", "i64"])
        carry[total], kinds[total] = {"value": d.constant(kind)}, kind
    start = {c: carry[c]["value"] for c in kinds}
    values = {c: compiled(e, {}).run({}) for c, e in start.items()}
    scalars = scalar_values(
        {**d.scalars.types, **kinds, "iteration": "u64"}, {**d.scalars.values, **values, "iteration": 0}
    )
    streams = dict(inputs)
    streams["cur"] = (
        t if "from" in carry["cur"] else table(columns, [tuple(row.values()) for row in carry["cur"]["rows"]])
    )
    inner = inside(d, streams, scalars)
    # A chain from cur, so that each round sees what the one before it made.
    at = "cur"
    for _ in range(r.randint(1, 3)):
        before = dict(inner.streams)
        inner.streams, hidden = {at: before[at]}, before
        inner.unread = [at]
        made = attempted(r.choice([*SHRINKING, *ONE_INPUT[:4]]), inner)
        inner.streams = {**hidden, **inner.streams}
        at = made if made and made in inner.streams else at
    if r.random() < 0.4:
        steps(inner, anything(inner), 1)
    last = as_before(inner, at, columns)
    if last is None:
        return None
    following = {"cur": last, count: ex("binary", "+", name(count), number(1))}
    if total in kinds:
        known = {**scalars.types, f"rows({last})": "u64"}
        for n in inner.nodes:
            if n.op == "reduce" and "hash" not in n.settings:
                of_reduce = inner.streams[n.id].columns
                known.update({f"{n.id}.{c}": k for c, k in of_reduce.items() if is_number(k) or k == "bool"})
        e = expression_drawer(r, known, scalars=set(known)).of_kind(kinds[total], 2)
        if e is not None:
            following[total] = e
    collected = {}
    if r.random() < 0.6:
        source = r.choice([s for s in inner.streams if s in {n.id for n in inner.nodes}])
        collected[d.fresh("o")] = source
    body = finished(inner, {"start", "other", "cur", last, *collected.values()})
    settings = {"carry": carry, "body": body, "next": following}
    if collected:
        settings["collect"] = collected
    end = r.choice(
        [ex("binary", "==", name(f"rows({last})"), number(0)), ex("binary", ">=", name(count), number(r.randrange(6)))]
    )
    bound = ex("binary", ">=", name(count), number(r.randint(3, 8)))
    how = r.random()
    if how < 0.6:
        settings["until"] = ex("binary", "or", end, bound)
    if how > 0.4:
        settings["times"] = number(r.randrange(6))
    elif r.random() < 0.3:
        settings["max_iterations"] = 50
    return d.add("loop", wires, **settings)


def condition_over(d, inputs, scalars):
    known = with_inputs(scalars, inputs)
    drawer = expression_drawer(d.r, known.types, scalars=set(known.types))
    e = drawer.draw(lambda k: k == "bool", 1) if d.r.random() < 0.5 else None
    return (
        e
        if e is not None
        else ex(
            "binary",
            d.r.choice(["<", ">", "=="]),
            name(f"rows({next(iter(inputs))})"),
            number(d.r.choice([0, 1, 7, 40])),
        )
    )


def branch(d):
    r, s = d.r, small(d, 200)
    if s is None:
        return None
    wires = {"a": s}
    if r.random() < 0.4:
        wires["b"] = small(d, 200)
    if r.random() < 0.3:
        total, _ = one_row(d, s)
        if total:
            wires["one"] = total
    inputs = {p: d.streams[x] for p, x in wires.items()}
    columns = {d.fresh("c"): r.choice(["u64", "i64", "u8", "string", "bool", "f64"]) for _ in range(r.randint(1, 3))}
    straight = r.random() < 0.3  # both sides give rows of the input's columns
    columns = inputs["a"].columns if straight else columns
    settings = {"condition": condition_over(d, inputs, d.scalars)}
    result = d.fresh("o")
    for side in ("then", "else") if r.random() < 0.8 else ("then",):
        inner = inside(d, inputs, d.scalars)
        steps(inner, SHRINKING if straight else anything(inner), r.randint(0, 2))
        s = inner.pick()
        if s is None:
            return None
        made = as_before(inner, s, columns)
        if made is None:
            return None
        inner.nodes[-1].id = result
        inner.streams[result] = inner.streams.pop(made)
        inner.unread = [result if x == made else x for x in inner.unread]
        settings[side] = finished(inner, {*inputs, result})
    settings["out"] = {"out": result, **({"same": "a"} if r.random() < 0.2 else {})}
    return d.add("if", wires, **settings)


def graph_scalars(d):
    kinds = {d.fresh("k"): d.r.choice(["int", "float", "bool"]) for _ in range(d.r.randint(0, 2))}
    return kinds, {c: {"int": "i64", "float": "f64", "bool": "bool"}[k] for c, k in kinds.items()}


def scalar_argument(d, kind):
    r = d.r
    if kind == "bool":
        return name(r.choice(["true", "false"]))
    return ex("real", r.choice([0.5, 2.0])) if kind == "float" else call("i64", number(r.randrange(9)))


def call_graph(d):
    """A graph with one or two inputs and outputs, called once or twice."""
    r, wires = d.r, {"rows": small(d, 200)}
    if r.random() < 0.3:
        wires["more"] = small(d, 200)
    if None in wires.values():
        return None
    inputs = {p: d.streams[s] for p, s in wires.items()}
    declared, kinds = graph_scalars(d)
    arguments = {c: scalar_argument(d, k) for c, k in declared.items()}
    values = {c: compiled(e, {}).run({}) for c, e in arguments.items()}
    inner = inside(d, inputs, scalar_values({**kinds, "call_depth": "u64"}, {**values, "call_depth": 0}))
    steps(inner, anything(inner), r.randint(1, 3))
    made = [n.id for n in inner.nodes if n.id in inner.streams and "hash" not in inner.streams[n.id].columns.values()]
    if not made:
        return None
    results = [made[-1], *([r.choice(made)] if r.random() < 0.3 else [])]
    out = results[0] if len(results) == 1 and r.random() < 0.5 else {d.fresh("o"): s for s in results}
    graph = d.fresh("g") + f"x{d.job.seed}"
    nodes = finished(inner, {*results})
    types = {p: r.choice(["any", dict(t.columns)]) for p, t in inputs.items()}
    d.job.graphs[graph] = {"in": types, "out": out, "nodes": nodes}
    if declared:
        d.job.graphs[graph]["scalars"] = {c: {"type": k} for c, k in declared.items()}
    settings = {"graph": graph, **arguments}
    if r.random() < 0.3:
        settings["when"] = ex("binary", ">", name("rows(rows)"), number(r.choice([0, 5, 50])))
    called = d.add("call", wires, **settings)
    if called is None:
        del d.job.graphs[graph]
    elif r.random() < 0.4:
        other = d.add("filter", wires["rows"], where=d.drawer(inputs["rows"]).condition())
        if other:
            d.add("call", {**wires, "rows": other}, **settings)
    return called


def search(d):
    """What can be reached from some nodes: each round joins what is new with the edges, and leaves out what it saw."""
    r, s = d.r, d.pick(lambda t: len(t.rows) <= 150 and any(is_integer(k) for k in t.columns.values()))
    if s is None:
        return None
    names = [c for c, k in d.streams[s].columns.items() if is_integer(k)]
    kind, bound = r.choice(["u8", "u32", "u40", "i64"]), number(r.choice([5, 30, 100]))
    src, dst = (call(kind, ex("binary", "%", call("u64", name(r.choice(names))), bound)) for _ in range(2))
    dst = call(kind, ex("binary", "%", ex("binary", "+", call("u64", dst), number(r.randrange(9))), bound))
    edges = d.add("map", s, src=src, dst=dst)
    edges = edges and d.add("sort", edges, by=[key(name("src")), key(name("dst"))], **some(r, unique=True))
    if edges is None:
        return None
    skip = some(r, skip=True)
    body = [
        node("reached", "join", {"left": "new", "right": "edges"}, None, by={"at": "src"}, **skip),
        node("ends", "map", "reached", None, at=name("dst")),
        node("once", "sort", "ends", None, by=[key(name("at"))], unique=True),
        node("fresh", "join", {"left": "once", "right": "seen"}, None, by=["at"], kind="anti", **some(r, skip=True)),
        node("all", "merge", ["seen", "fresh"], None, by=[key(name("at"))]),
        node("level", "map", "fresh", None, at=name("at"), level=name("iteration")),
    ]
    start = {"rows": [{"at": r.randrange(5)}], "type": {"at": kind}, "sorted_by": [key(name("at"))]}
    carry = {"new": start, "seen": dict(start)}
    return d.add(
        "loop",
        {"edges": edges},
        carry=carry,
        body=body,
        next={"new": "fresh", "seen": "all"},
        until=ex("binary", "==", name("rows(fresh)"), number(0)),
        collect={"levels": "level"},
        **some(r, times=number(r.randrange(5))),
    )


def recursion(d):
    """A graph that calls itself on some of its rows until few are left, and gives all that it saw."""
    r, s = d.r, small(d, 60)
    if s is None:
        return None
    t = d.streams[s]
    graph = d.fresh("g") + f"x{d.job.seed}"
    scalars = scalar_values({"call_depth": "u64"}, {"call_depth": 0})
    inner = inside(d, {"rows": t}, scalars)
    some_rows = inner.add(
        "filter",
        "rows",
        where=ex(
            "binary", r.choice(["==", ">"]), ex("binary", "%", name("row_number"), number(r.choice([2, 3]))), number(0)
        ),
    )
    steps(inner, [f for f in SHRINKING], r.randint(0, 1))
    deeper, result = d.fresh("call"), d.fresh("concat")

    when = ex(
        "binary",
        "and",
        ex("binary", ">", name("rows(rows)"), number(r.randint(1, 5))),
        ex("binary", "<", name("call_depth"), number(r.randint(1, 9))),
    )
    inner.nodes.append(node(deeper, "call", {"rows": some_rows}, None, graph=graph, when=when, **some(r, max_depth=20)))
    last = inner.pick(lambda x: x.columns == t.columns)
    sides = [deeper, last] if r.random() < 0.5 else [last, deeper]
    no_end(inner, (some_rows, last))
    inner.nodes.append(node(result, "concat", sides))
    d.job.graphs[graph] = {
        "in": {"rows": dict(t.columns)},
        "out": {"out": {"from": result, "type": dict(t.columns)}},
        "nodes": inner.nodes,
    }
    called = d.add("call", {"rows": s}, graph=graph)
    if called is None:
        del d.job.graphs[graph]
    return called


CONTROL = [loop, loop, search, branch, call_graph, recursion]
