"""Makes a job that fails smaller while it fails in the same way: fewer sinks, nodes, rows, columns, settings, options,
and smaller expressions. What the reference can't say the outcome of is no candidate."""

import copy
import time

import files
import runs
from job_text import ex, key, name, named_graphs, node
from values import packed, width
from whole_jobs import outcome, run_nodes, world
from tables import scalar_values


def pruned(job):
    """Without nodes whose rows nobody wants, and without files and graphs that nobody names."""
    while True:
        read = {s.split(".")[0] for n in job.nodes for s in n.sources()}
        left = [n for n in job.nodes if n.op in files.SINKS or n.id in read or n.op == "check"]
        if len(left) == len(job.nodes):
            break
        job.nodes = left
    text = repr([n.settings for n in job.nodes])
    job.files = {f: data for f, data in job.files.items() if "/" + f + "'" in text}
    job.graphs = named_graphs(job)
    return job


def other_reader(n, old, new):
    """Reads `new` where it read `old`."""
    n.rows = {row: new if s == old else s for row, s in n.rows.items()}
    if isinstance(n.inputs, dict):
        n.inputs = {p: new if s == old else s for p, s in n.inputs.items()}
    elif isinstance(n.inputs, list):
        n.inputs = [new if s == old else s for s in n.inputs]
    elif n.inputs == old:
        n.inputs = new


def fewer_sinks(job):
    sinks = [n for n in job.nodes if n.op in files.SINKS]
    for keep in sinks if len(sinks) > 1 else []:
        out = copy.deepcopy(job)
        out.nodes = [n for n in out.nodes if n.op not in files.SINKS or n.id == keep.id]
        yield out
    for drop in sinks if len(sinks) > 1 else []:
        out = copy.deepcopy(job)
        out.nodes = [n for n in out.nodes if n.id != drop.id]
        yield out


def cut_off(job):
    """A source in the place of a node, with the rows that the reference says come out of it."""
    try:
        streams = run_nodes(job.nodes, {}, scalar_values(), world(job))
    except Exception:  # of a job that has to fail, or a candidate on the way: nothing to cut
        return
    for i in reversed(range(len(job.nodes))):
        n = job.nodes[i]
        for stream in {s for x in job.nodes for s in x.sources() if s.split(".")[0] == n.id}:
            t = streams.get(stream)
            if t is None or n.id.startswith("cut") or (n.op in files.SOURCES and not n.on_error) or len(t.rows) > 400:
                continue
            out = copy.deepcopy(job)
            made = source(out, t, f"cut{i}")
            if made is None:
                continue
            out.nodes[i:i] = made
            for x in out.nodes:
                other_reader(x, stream, made[-1].id)
            yield out


def source(job, t, id):
    if "hash" in t.columns.values() or not t.columns:
        return None
    path, order = f"{id}.in", [key(name(c), d) for c, d in t.order]
    settings = {"path": "${in}/" + path, "type": dict(t.columns)}
    try:
        if files.packs(t.columns):
            job.files[path] = files.write_rows({}, t)
            return [node(id, "file.read_rows", None, None, **settings, **({"sorted_by": order} if order else {}))]
        if not files.exact_text(t.columns, t.rows):
            return None
        job.files[path] = files.write_csv({}, t)
    except Exception:  # values without bytes, such as a NaN that was computed
        return None
    read = node(id, "file.read_csv", None, None, **settings)
    if not order:
        return [read]
    return [read, node(id + "sorted", "check", id, None, sorted=order)]


def passed_by(job):
    """The readers of a node, of whichever of its outputs, read its input."""
    for i in reversed(range(len(job.nodes))):
        for s in job.nodes[i].sources():
            out = copy.deepcopy(job)
            gone = out.nodes.pop(i).id
            for n in out.nodes:
                for old in [x for x in n.sources() if x.split(".")[0] == gone]:
                    other_reader(n, old, s)
            yield out


def pieces(job, n, path):
    data = job.files[path]
    if n.op == "file.read_rows":
        size = sum(width(k) for k in n.settings["type"].values())
        return [data[i : i + size] for i in range(0, len(data), size)]
    if n.op in ("file.read_npy", "file.read_protobuf"):  # no row stands alone
        return []
    end = files.byte(n.settings) if n.op == "file.read_lines" else b"\n"
    parts = [p + end for p in data.split(end)]
    parts[-1] = parts[-1][: -len(end)]
    return [p for p in parts if p]


def fewer_rows(job):
    for i, n in enumerate(job.nodes):
        if n.op == "generate" and n.settings["rows"] > 0:
            for rows in {0, 1, n.settings["rows"] // 2, n.settings["rows"] - 1}:
                out = copy.deepcopy(job)
                out.nodes[i].settings["rows"] = rows
                if rows < n.settings["rows"]:
                    yield out
        for path in files.paths(n.settings) if n.op in files.SOURCES else []:
            parts = pieces(job, n, path)
            step = len(parts)
            while step >= 1:
                for at in range(0, len(parts), step):
                    out = copy.deepcopy(job)
                    out.files[path] = b"".join(parts[:at] + parts[at + step :])
                    yield out
                step //= 2 if len(parts) < 60 or step > 4 else step + 1


def fewer_columns(job):
    for i, n in enumerate(job.nodes):
        if n.op not in ("file.read_rows", "file.read_csv") or len(n.settings["type"]) < 2 or n.on_error:
            continue
        try:
            t = files.SOURCES[n.op](n.settings, n, job.files)[""]
        except Exception:
            continue
        for at, column in enumerate(t.columns):
            columns = {c: k for c, k in t.columns.items() if c != column}
            left = files.table(columns, [row[:at] + row[at + 1 :] for row in t.rows])
            out = copy.deepcopy(job)
            settings = out.nodes[i].settings
            path = f"less{i}.in"
            settings["type"], settings["path"] = columns, "${in}/" + path
            if n.op == "file.read_rows":
                if "sorted_by" in settings:
                    settings["sorted_by"] = [k for k in settings["sorted_by"] if k[0][1] != column]
                out.files[path] = b"".join(packed(v, k) for row in left.rows for v, k in zip(row, columns.values()))
            else:
                for other in ("columns", "names", "null_values", "default", "missing"):
                    settings.pop(other, None)
                same = {k: v for k, v in settings.items() if k in ("delimiter", "quote", "header")}
                out.files[path] = files.write_csv(same, left)
            yield out


def smaller(value):
    """Values with one thing less in them."""
    if isinstance(value, key):
        yield from (key(e, value[1]) for e in smaller(value[0]))
        if value[1]:
            yield key(value[0], False)
    elif isinstance(value, ex):
        for part in value[1:]:
            if isinstance(part, ex):
                yield part
        if value[0] == "number" and value[1] > 1:
            yield ex("number", value[1] // 2)
        if value[0] == "text" and value[1]:
            yield ex("text", value[1][: len(value[1]) // 2])
        for i, part in enumerate(value):
            if isinstance(part, ex):
                yield from (ex(*value[:i], p, *value[i + 1 :]) for p in smaller(part))
        if value[0] == "call" and len(value) > 4:
            yield from (ex(*value[:i], *value[i + 1 :]) for i in range(2, len(value)))
        if value[0] == "among" and len(value) > 4:
            yield from (ex(*value[:i], *value[i + 1 :]) for i in range(3, len(value)))
    elif isinstance(value, dict):
        for k in value:
            yield {x: v for x, v in value.items() if x != k}
        for k, v in value.items():
            yield from ({**value, k: less} for less in smaller(v))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            if isinstance(v, node):
                rest = copy.deepcopy(value[:i] + value[i + 1 :])
                yield rest
                for s in v.sources():
                    passed = copy.deepcopy(rest)
                    for n in passed:
                        other_reader(n, v.id, s)
                    yield passed
            else:
                yield value[:i] + value[i + 1 :]
        for i, v in enumerate(value):
            for less in smaller(v):
                yield [*value[:i], less, *value[i + 1 :]]
    elif isinstance(value, node):
        for settings in smaller(value.settings):
            out = copy.copy(value)
            out.settings = settings
            yield out


def smaller_settings(job):
    for i in reversed(range(len(job.nodes))):
        for n in smaller(job.nodes[i]):
            out = copy.deepcopy(job)
            out.nodes[i] = copy.deepcopy(n)
            yield out
        if job.nodes[i].on_error:
            out = copy.deepcopy(job)
            out.nodes[i].on_error = None
            yield out
    for g, declared in job.graphs.items():
        for nodes in smaller(declared["nodes"]):
            out = copy.deepcopy(job)
            out.graphs[g]["nodes"] = copy.deepcopy(nodes)
            yield out


STEPS = [fewer_sinks, cut_off, passed_by, fewer_rows, fewer_columns, smaller_settings]


def fewer_options(options):
    i = 0
    while i < len(options):
        n = 2 if runs.OPTIONS[options[i]] else 1
        yield options[:i] + options[i + n :]
        i += n


def shrink(flowrun, job, expected, options, kind, folder, seconds=60):
    """(job, expected, options, words) of the smallest that fails in the same way."""
    deadline = time.monotonic() + seconds
    best = (job, expected, options, "")

    def fails(candidate, options):
        try:
            wanted, why = outcome(pruned(candidate))
        except Exception:  # no job: a name is missing, a type is wrong, or nobody knows what comes out
            return None
        wanted = wanted if wanted is not None else why
        problem = runs.try_jobs(flowrun, [candidate], wanted, options, folder)
        return (candidate, wanted, options, problem[1]) if problem and problem[0] == kind else None

    def tried(options_list):
        nonlocal best
        for options in options_list:
            found = fails(best[0], options)
            if found:
                best = found
                return True
        return False

    simple = copy.deepcopy(job)
    simple.plain = True
    best = fails(simple, options) or best
    tried([[]])
    while time.monotonic() < deadline and tried(list(fewer_options(best[2]))):
        pass
    again = True
    while again and time.monotonic() < deadline:
        again = False
        for step in STEPS:
            progress = True
            while progress and time.monotonic() < deadline:
                progress = False
                for candidate in step(best[0]):
                    found = fails(candidate, best[2]) if time.monotonic() < deadline else None
                    if found:
                        best, again, progress = found, True, True
                        break
    return best
