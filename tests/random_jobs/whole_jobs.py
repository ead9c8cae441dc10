"""Runs a whole job the naive way: node after node, and loops, branches and calls as they come.

outcome(job) gives the files that it writes, or says that it has to fail.
"""

import files as file_operators
import functions
import streams as s
import tables as t
from expressions import compiled, condition
from job_text import call, name
from tables import scalar_values, table
from values import convert, fault, is_float, is_integer, is_signed, is_text, job_fails, packed, undefined, width

ONE_INPUT = {
    "map": t.map_rows,
    "filter": t.filter_rows,
    "flat_map": t.flat_map,
    "window": t.window,
    "group": t.group,
    "group_pairs": t.group_pairs,
    "limit": t.limit,
    "sort": t.sort,
    "check": t.check,
    "scan": s.scan,
    "reverse": s.reverse,
    "shuffle": s.shuffle,
    "partition": s.partition,
    "permute": s.permute,
    "tokens": s.tokens,
}
SEVERAL = {"concat": s.concat, "merge": s.merge, "join": s.join, "lookup": s.lookup, "zip": s.zip_streams}
MOST_ROWS = 30000


class world:
    """What nodes see beside their inputs."""

    def __init__(self, job):
        self.job, self.outputs, self.depth, self.calls = job, {}, {}, 0


def generate(settings, scalars):
    first, count = settings.get("first", 0), settings["rows"]
    kind = settings.get("kind")
    if kind == "counter":
        return table({"i": "u64"}, [(i,) for i in range(first, first + count)], [("i", False)])
    if kind == "random":
        seed = settings.get("seed", 1)
        return table({"value": "u64"}, [(functions.rand(seed, i),) for i in range(first, first + count)])
    if kind is not None:
        raise undefined(f"rows of kind {kind}")
    columns, run = t.computed(settings["columns"], {"i": "u64", **scalars.types})
    rows = [run({**scalars.values, "i": i}) for i in range(first, first + count)]
    counts = [name("i"), *(call(f"u{n}", name("i")) for n in (8, 16, 24, 32, 40, 48, 64) if first + count <= 2**n)]
    order = next(([(c, False)] for c, e in settings["columns"].items() if e in counts), [])
    return table(columns, rows, order)


def same_rows(table_):
    """The order-independent hash: nobody promises its bytes, but equal rows give equal hashes."""
    rows = sorted(
        b"".join(len(p).to_bytes(4, "little") + p for p in (packed(v, k) for v, k in zip(row, table_.columns.values())))
        for row in table_.rows
    )
    return tuple(rows)


def reduced(settings, data, scalars):
    out = t.reduce({"let": settings.get("let", {})}, data, scalars)
    if settings.get("hash"):
        value = same_rows(data)
        out = table(
            {**out.columns, "hash_low": "hash", "hash_high": "hash"},
            [out.rows[0] + (("low",) + value, ("high",) + value)],
        )
    return out


def union_ports(settings, data, scalars):
    accepted, component = s.union_find(settings, data, scalars)
    kind = data.columns[settings.get("ends", ["src", "dst"])[0]]
    labels = table({"node": kind, "value": kind}, sorted(component.items()), [("node", False)])
    return {"accepted": table(data.columns, accepted, data.order), "labels": labels}


def wide(kind):
    """The type of a column's value as a scalar."""
    return "f64" if is_float(kind) else kind if not is_integer(kind) else "i64" if is_signed(kind) else "u64"


def of_one_row(name, data):
    """The types and values of NAME.column of a stream of one row."""
    types, values = {}, {}
    for (c, k), v in zip(data.columns.items(), data.rows[0]):
        if not is_text(k) and k != "hash":
            types[f"{name}.{c}"], values[f"{name}.{c}"] = wide(k), convert(v, k, wide(k)) if wide(k) != k else v
    return types, values


def known_of(inputs):
    """rows(INPUT), and INPUT.column of inputs with one row."""
    types, values = {}, {}
    for port, data in inputs.items():
        types[f"rows({port})"], values[f"rows({port})"] = "u64", len(data.rows)
        if len(data.rows) == 1:
            more = of_one_row(port, data)
            types.update(more[0])
            values.update(more[1])
    return types, values


def with_inputs(scalars, inputs):
    types, values = known_of(inputs)
    return scalar_values({**scalars.types, **types}, {**scalars.values, **values})


def with_rows(scalars, rows):
    """NAME.column of {name: stream of one row}."""
    types, values = dict(scalars.types), dict(scalars.values)
    for row, data in rows.items():
        if len(data.rows) != 1:
            raise job_fails("no stream of one row")
        more = of_one_row(row, data)
        types.update(more[0])
        values.update(more[1])
    return scalar_values(types, values)


def unordered(data):
    return table(data.columns, data.rows)


def in_order(data, order):
    """What a loop counts on: the declared order, which has to be proved each time."""
    if data.order[: len(order)] != order:
        raise fault("not known to be sorted so")
    return table(data.columns, data.rows, order)


def branch(settings, inputs, scalars, about):
    known = with_inputs(scalars, inputs)
    if "then" not in settings:
        raise fault("an if without then")
    holds_ = condition(settings["condition"], known.types)(known.values)
    outs = {}
    for which in ("then", "else"):
        # Both are checked; one of them runs.
        taken = (which == "then") == holds_
        if which in settings:
            try:
                inner = run_nodes(settings[which], dict(inputs), scalars, about)
            except job_fails:
                if taken:
                    raise
                raise undefined("a branch that would fail") from None
            outs[which] = {o: inner[n] for o, n in settings["out"].items()}
    taken = outs.get("then" if holds_ else "else")
    if taken is None:
        sides = settings["out"]
        return {
            o: unordered(inputs[sides[o]]) if sides[o] in inputs else table(v.columns, [])
            for o, v in outs["then"].items()
        }
    other = outs.get("else" if holds_ else "then", taken)
    if any(list(other[o].columns.items()) != list(v.columns.items()) for o, v in taken.items()):
        raise fault("branches of different columns")
    return {o: unordered(v) for o, v in taken.items()}


def called(settings, inputs, scalars, about):
    graph = about.job.graphs[settings["graph"]]
    known = with_inputs(scalars, inputs)
    given = {}
    for scalar in graph.get("scalars", {}):
        if scalar in settings:
            value = compiled(settings[scalar], known.types)
            if value.kind not in ("i64", "f64", "bool"):
                raise undefined("the type of a scalar that is not i64, f64 or bool")
            given[scalar] = (value.kind, value.run(known.values))
        else:
            raise undefined("the type of a scalar's default")
    depth = about.depth.get(settings["graph"], -1) + 1
    about.calls += 1
    if about.calls > 60:
        raise undefined("so many calls that the naive way takes long")
    types = {**{c: k for c, (k, _) in given.items()}, "call_depth": "u64"}
    inner = scalar_values(types, {**{c: v for c, (_, v) in given.items()}, "call_depth": depth})
    outs = graph["out"] if isinstance(graph["out"], dict) else {"out": graph["out"]}
    declared = {o: d["type"] for o, d in outs.items() if isinstance(d, dict)}
    runs = "when" not in settings or condition(settings["when"], known.types)(known.values)
    if not runs and len(declared) == len(outs):
        return {o: table(k, []) for o, k in declared.items()}
    if depth > settings.get("max_depth", 64):
        raise job_fails("calls too deep")
    before = about.depth.get(settings["graph"])
    about.depth[settings["graph"]] = depth
    streams = run_nodes(graph["nodes"], dict(inputs), inner, about)
    if before is None:
        del about.depth[settings["graph"]]
    else:
        about.depth[settings["graph"]] = before
    out = {o: streams[d["from"] if isinstance(d, dict) else d] for o, d in outs.items()}
    if any(out[o].columns != k for o, k in declared.items()):
        raise fault("another type than declared")
    return {o: table(v.columns, v.rows if runs else []) for o, v in out.items()}


def looped(settings, inputs, scalars, about):
    streams, values, types = {}, {}, {}
    orders = {c: [(k[0][1], k[1]) for k in start.get("sorted_by", [])] for c, start in settings["carry"].items()}
    for carried, start in settings["carry"].items():
        if "rows" in start:
            rows = table(start["type"], [tuple(row[c] for c in start["type"]) for row in start["rows"]])
            rows.rows = [row for _, row in sorted(zip(rows.keys(start["type"]), rows.rows))]
            rows.order = orders[carried]
            streams[carried] = rows
        elif "from" in start:
            streams[carried] = in_order(inputs[start["from"]], orders[carried])
        else:
            value = compiled(start["value"], scalars.types)
            if value.kind not in ("u64", "i64", "f64", "bool"):
                raise undefined("a scalar of a narrow type")
            types[carried], values[carried] = value.kind, value.run(scalars.values)
    times = None
    if "times" in settings:
        value = compiled(settings["times"], scalars.types)
        if not is_integer(value.kind):
            raise fault("times is an integer")
        times = max(0, value.run(scalars.values))
    collected = {o: None for o in settings.get("collect", {})}
    iteration, first = 0, True
    while True:
        # A loop that doesn't run once has the columns of what it would have made.
        idle = times is not None and iteration >= times
        if idle and not first:
            break
        inner = scalar_values(
            {**scalars.types, **types, "iteration": "u64"}, {**scalars.values, **values, "iteration": iteration}
        )
        seen = run_nodes(settings["body"], {**inputs, **streams}, inner, about)
        for o, n in settings.get("collect", {}).items():
            part = seen[n]
            if collected[o] is None:
                collected[o] = table(part.columns, [])
            collected[o].rows += part.rows if not idle else []
        after = with_inputs(inner, seen)
        nexts = {
            c: t.declared(e, after.types, types[c]) for c, e in settings.get("next", {}).items() if c not in streams
        }
        if idle:
            break
        first = False
        new_streams, new_values = dict(streams), dict(values)
        for carried, e in settings.get("next", {}).items():
            if carried in streams:
                new_streams[carried] = in_order(seen[e], orders[carried])
                if list(seen[e].columns.items()) != list(streams[carried].columns.items()):
                    raise fault("a stream keeps its columns")
            else:
                new_values[carried] = nexts[carried](after.values)
        streams, values = new_streams, new_values
        iteration += 1
        if "until" in settings:
            after.values.update(values)
            if condition(settings["until"], after.types)(after.values):
                break
        if times is None and iteration >= settings.get("max_iterations", 1000000):
            raise job_fails("more iterations than max_iterations")
        if iteration > 40 or any(len(v.rows) > 3000 for v in streams.values()):
            raise undefined("so many iterations that the naive way takes long")
    scalars_out = table({**types, "iterations": "u64"}, [(*values.values(), iteration)])
    return {**{o: v for o, v in collected.items()}, **streams, "scalars": scalars_out}


def run_node(n, streams, scalars, about):
    """{port or empty: table}."""
    if n.rows:
        scalars = with_rows(scalars, {row: streams[s] for row, s in n.rows.items()})
    if n.op in file_operators.SOURCES:
        return file_operators.SOURCES[n.op](n.settings, n, about.job.files)
    if n.op == "generate":
        return {"": generate(n.settings, scalars)}
    inputs = (
        {p: streams[x] for p, x in n.inputs.items()}
        if isinstance(n.inputs, dict)
        else [streams[x] for x in n.inputs] if isinstance(n.inputs, list) else streams[n.inputs]
    )
    if n.op not in file_operators.SINKS and any(streams[x].loose for x in n.sources()):
        raise undefined("the order of rows with equal keys")
    if n.op in file_operators.SINKS:
        if "hash" in inputs.columns.values():
            raise undefined("bytes of a hash")
        if inputs.loose and n.op in ("file.write_npy", "file.write_protobuf"):
            raise undefined("rows in any order, of which none ends at a line end")
        names = file_operators.path_columns(n.settings)
        if names:
            outputs = file_operators.partitioned(n.op, n.settings, inputs, about.job.files)
        else:
            data = file_operators.written(n.op, n.settings, inputs, about.job.files)
            outputs = {file_operators.target(n.settings): data}
        if inputs.loose:
            left_out = names if n.settings.get("path_columns") == "leave_out" else []
            packed = n.op == "file.write_rows"
            size = sum(width(k) for c, k in inputs.columns.items() if c not in left_out) if packed else 0
            outputs = {path: file_operators.any_order(data, size) for path, data in outputs.items()}
        about.outputs |= outputs
        return {}
    if n.op in ONE_INPUT:
        return {"": ONE_INPUT[n.op](n.settings, inputs, scalars)}
    if n.op in SEVERAL:
        return {"": SEVERAL[n.op](n.settings, inputs, scalars)}
    if n.op == "reduce":
        return {"": reduced(n.settings, inputs, scalars)}
    if n.op == "suffix_sort":
        rows = s.suffix_sort(n.settings, inputs, scalars)
        return {"": table({"pos": "u32"}, rows)}
    if n.op == "union_find":
        return union_ports(n.settings, inputs, scalars)
    if n.op == "split":
        return t.split(n.settings, inputs, scalars)
    if n.op == "pq_scan":
        return s.pq_scan(n.settings, inputs, scalars)
    return {"if": branch, "call": called, "loop": looped}[n.op](n.settings, inputs, scalars, about)


def run_nodes(nodes, streams, scalars, about):
    for n in nodes:
        for i, (port, data) in enumerate(run_node(n, streams, scalars, about).items()):
            if len(data.rows) > MOST_ROWS:
                raise undefined("so many rows that the naive way takes long")
            streams[f"{n.id}.{port}" if port else n.id] = data
            if port == "out" or (i == 0 and n.op in ("split", "union_find")):
                streams[n.id] = data  # a node alone is its first output
    return streams


def outcome(job):
    """({file: bytes}, ""), or (None, why it fails)."""
    about = world(job)
    try:
        run_nodes(job.nodes, {}, scalar_values(), about)
    except job_fails as why:
        return None, str(why)
    return about.outputs, ""
