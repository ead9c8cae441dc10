"""The operators that number, permute, cut, or bring several streams together, from the words of the reference page."""

import bisect

import decimals
import functions
from expressions import compiled, condition, declared
from tables import add, carried, computed, entries, is_made, runs_of, sort_keys, table
from values import (
    convert,
    fault,
    holds,
    is_decimal,
    is_float,
    is_integer,
    is_signed,
    is_text,
    is_time,
    job_fails,
    key_of,
    nothing,
    undefined,
)


def scan(settings, t, scalars):
    if "number" in settings or any(w in settings for w in ("prefix_sum", "dense_rank", "min_rank")):
        return numbered(settings, t, scalars)
    state = {c: compiled(e, {}) for c, e in settings["state"].items()}
    if set(state) & set(t.columns):
        raise undefined("a variable that hides a column")
    types = {**t.types(scalars, True), **{c: v.kind for c, v in state.items()}}
    start = {c: v.run({}) for c, v in state.items()}
    updates = {c: declared(e, types, state[c].kind) for c, e in settings.get("set", {}).items()}
    names = [*t.columns, *state]
    maps = settings.get("emits") or [{**settings.get("emit", {c: ("name", c) for c in names})}]
    if "when" in settings:
        maps[0]["when"] = settings["when"]
    columns, makers = entries(maps, types)
    resets = t.keys(settings.get("reset", []))
    rows, now = [], dict(start)
    for i, row in enumerate(t.named(scalars.values)):
        if i > 0 and resets[i] != resets[i - 1]:
            now = dict(start)
        row.update(now)
        for c, update in updates.items():
            row[c] = now[c] = update(row)
        rows += [run(row) for when, run in makers if is_made(when, run, row)]
    same = [c for c in columns if all(tuple(e.get(c, ())) == ("name", c) for e in maps)]
    return table(columns, rows, carried(t.order, {c: c for c in same}))


def decimal_sums(stretches, terms, exclusive):
    out = []
    for a, b in stretches:
        total = 0
        for term in terms[a:b]:
            after = decimals.within(total + term)
            out.append(total if exclusive else after)
            total = after
    return out


def numbered(settings, t, scalars):
    resets = t.keys(settings.get("reset", []))
    named = t.named(scalars.values)
    columns, added = dict(t.columns), []
    stretches = runs_of(resets) if settings.get("reset") else [(0, len(t.rows))]
    if "number" in settings:
        columns[settings["number"]] = "u64"
        added.append([i - a for a, b in stretches for i in range(a, b)])
    for c, e in settings.get("prefix_sum", {}).items():
        value = compiled(e, t.types(scalars, True))
        if is_text(value.kind) or is_time(value.kind) or value.kind == "bool" or value.constant:
            raise fault("sums of texts")
        if is_decimal(value.kind):
            columns[c] = value.kind
            added.append(decimal_sums(stretches, [value.run(n) for n in named], settings.get("exclusive")))
            continue
        columns[c] = wide = "f64" if is_float(value.kind) else "i64" if is_signed(value.kind) else "u64"
        sums = []
        for a, b in stretches:
            total = convert(0, "u8", wide)
            for i in range(a, b):
                after = add(total, value.run(named[i]), wide)
                sums.append(total if settings.get("exclusive") else after)
                total = after
        if wide == "f64" and any(x == 0 for x in sums):
            raise undefined("the sign of a sum that is 0")
        added.append(sums)
    for word in ("dense_rank", "min_rank"):
        for c, of in settings.get(word, {}).items():
            columns[c] = "u64"
            keys, ranks = t.keys(of), []
            for a, b in stretches:
                for dense, (start, end) in enumerate(runs_of(keys[a:b])):
                    ranks += [dense if word == "dense_rank" else start] * (end - start)
            added.append(ranks)
    if len(columns) != len(t.columns) + len(added):
        raise fault("a column twice")
    return table(columns, [row + more for row, more in zip(t.rows, zip(*added))] if added else t.rows, t.order)


def reverse(settings, t, scalars):
    return table(t.columns, t.rows[::-1], [(c, not d) for c, d in t.order])


def shuffle(settings, t, scalars):
    seed = settings.get("seed", 0)
    places = sorted(range(len(t.rows)), key=lambda i: functions.rand(seed, i))[: settings.get("limit")]
    return table(t.columns, [t.rows[i] for i in places])


def partition(settings, t, scalars):
    value = compiled(settings["by"], t.types(scalars))
    if not is_integer(value.kind) or value.constant:
        raise fault("a bucket is an integer")
    buckets = [[] for _ in range(settings["buckets"])]
    for row, named in zip(t.rows, t.named(scalars.values)):
        n = value.run(named)
        if not 0 <= n < len(buckets):
            raise job_fails("no such bucket")
        buckets[n].append(row)
    by = settings["by"]
    order = [(by[1], False)] + [k for k in t.order if k[0] != by[1]] if by[0] == "name" and by[1] in t.columns else []
    return table(t.columns, [row for bucket in buckets for row in bucket], order)


def permute(settings, t, scalars):
    n = len(t.rows)
    if "to" in settings:
        value = compiled(settings["to"], t.types(scalars, True))
        if not is_integer(value.kind) or value.constant:
            raise fault("a place is an integer")
        places = [value.run(row) for row in t.named(scalars.values)]
    else:
        bits = settings["n"] if "bits" in settings else len(settings["matrix"].split())
        if bits < 1:
            raise fault("no bits")
        if n != 2**bits:
            raise job_fails("not 2^n rows")
        if "bits" in settings:
            places = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(n)]
        else:
            rows = [int(word, 2) for word in settings["matrix"].split()]
            places = [int("".join(str(bin(row & i).count("1") % 2) for row in rows), 2) for i in range(n)]
        turned = int(settings.get("complement", "0"), 2)
        places = [p ^ turned for p in places]
    if sorted(places) != list(range(n)):
        raise job_fails("places are taken twice or not at all")
    out = [None] * n
    for place, row in zip(places, t.rows):
        out[place] = row
    return table(t.columns, out)


def tokens(settings, t, scalars):
    text = compiled(settings["text"], t.types(scalars))
    if not is_text(text.kind) or text.constant:
        raise fault("tokens of a text")
    given = settings.get("characters", settings.get("separators", "A-Za-z0-9_")).encode()
    members, i = set(), 0
    while i < len(given):
        if given[i + 1 : i + 2] == b"-" and i + 2 < len(given):
            members.update(range(given[i], given[i + 2] + 1))
            i += 3
        else:
            members.add(given[i])
            i += 1
    if "separators" in settings:
        members = set(range(256)) - members
    members |= set(range(128, 256))
    keep = settings.get("keep", [])
    kept = [t.place(c) for c in keep]
    rows = []
    for row, named in zip(t.rows, t.named(scalars.values)):
        token = b""
        for byte in [*text.run(named), None]:
            if byte in members:
                token += bytes([byte])
            elif token:
                rows.append((*(row[i] for i in kept), token))
                token = b""
    columns = {**{c: t.columns[c] for c in keep}, settings.get("as", "token"): "string"}
    if len(columns) != 1 + len(keep):
        raise fault("a column twice")
    return table(columns, rows, carried(t.order, {c: c for c in keep}))


def suffix_sort(settings, t, scalars):
    if len(t.columns) != 1 or any(is_signed(k) or not is_integer(k) for k in t.columns.values()):
        raise fault("one column of an unsigned type")
    letters = [row[0] for row in t.rows]
    if letters and max(letters) > 5000:
        raise undefined("letters that take much memory")
    return [(i,) for i in sorted(range(len(letters)), key=lambda i: letters[i:])]


def union_find(settings, t, scalars):
    ends = [t.place(c) for c in settings.get("ends", ["src", "dst"])]
    count = settings["nodes"][1]
    kinds = [list(t.columns.values())[i] for i in ends]
    if kinds[0] != kinds[1] or kinds[0][0] != "u" or not holds(kinds[0], count - 1):
        raise fault("ids have one unsigned type")
    component = {n: n for n in range(count)}  # the smallest node of each one's component
    accepted = []
    for row in t.rows:
        a, b = (row[i] for i in ends)
        if not (0 <= a < count and 0 <= b < count):
            raise job_fails("no such node")
        a, b = sorted((component[a], component[b]))
        if a != b:
            accepted.append(row)
            component = {n: a if c == b else c for n, c in component.items()}
    return accepted, component


# Several streams


def concat(settings, inputs, scalars):
    if any(t.columns != inputs[0].columns for t in inputs):
        raise fault("different columns")
    return table(inputs[0].columns, [row for t in inputs for row in t.rows])


def need_order(t, keys):
    if t.order[: len(keys)] != keys:
        raise fault(f"not known to be sorted by {keys}")


def merge(settings, inputs, scalars):
    if "less" in settings:
        return merge_less(settings, inputs, scalars)
    if any(list(t.columns.items()) != list(inputs[0].columns.items()) for t in inputs):
        raise fault("different columns")
    keys, order = sort_keys(settings["by"], inputs[0], scalars)
    for t in inputs:
        need_order(t, order)
    pairs = [(named, row) for t in inputs for named, row in zip(t.named(), t.rows)]
    for of, descending in reversed(keys):
        pairs.sort(key=lambda pair: of(pair[0]), reverse=descending)
    return table(inputs[0].columns, [row for _, row in pairs], order)


def has_text(e, types):
    if e[0] == "name":
        return is_text(types.get(e[1].partition(".")[2], "u8"))
    return any(has_text(part, types) for part in e[1:] if isinstance(part, tuple) and part)


def merge_less(settings, inputs, scalars):
    """Takes the first of the rows at the fronts that no other one comes before."""
    every = {c: k for t in inputs for c, k in t.columns.items()}
    if any(every[c] != k for t in inputs for c, k in t.columns.items()):
        raise fault("different types")
    if has_text(settings["less"], every):
        raise fault("texts of two rows")
    names = [c for c in inputs[0].columns if all(c in t.columns for t in inputs)]
    types = {f"{side}.{c}": k for side in "ab" for c, k in every.items()}
    holds = condition(settings["less"], {**scalars.types, **types, "a.input": "u64", "b.input": "u64"})
    blank = {c: nothing(k) for c, k in every.items()}
    rows = [[{**blank, **dict(zip(t.columns, row)), "input": k} for row in t.rows] for k, t in enumerate(inputs)]

    def less(a, b):
        pair = {**scalars.values, **{f"a.{c}": v for c, v in a.items()}, **{f"b.{c}": v for c, v in b.items()}}
        return holds(pair)

    for side in rows:
        if any(less(b, a) for a, b in zip(side, side[1:])):
            raise job_fails("an input that is not sorted")
    out, fronts = [], [0] * len(rows)
    while True:
        open_inputs = [k for k in range(len(rows)) if fronts[k] < len(rows[k])]
        if not open_inputs:
            break
        first = open_inputs[0]
        for k in open_inputs[1:]:
            if less(rows[k][fronts[k]], rows[first][fronts[first]]):
                first = k
        out.append(tuple(rows[first][fronts[first]][c] for c in names))
        fronts[first] += 1
    return table({c: every[c] for c in names}, out)


def key_pairs(by):
    return by if isinstance(by, dict) else {c: c for c in by}


def new_names(settings, columns, taken):
    """{column: its name in the output} of the columns that are added to those that are taken."""
    names = {c: settings.get("rename", {}).get(c, c) for c in columns}
    if set(settings.get("rename", {})) - set(columns):
        raise fault("a new name for no column")
    if len({*taken, *names.values()}) != len(taken) + len(names):
        raise fault("a column twice")
    return names


def join(settings, inputs, scalars):
    left, right = inputs["left"], inputs["right"]
    pairs, kind = key_pairs(settings["by"]), settings.get("kind", "inner")
    directions = dict(left.order)
    if any(c not in left.columns for c in pairs) or any(c not in right.columns for c in pairs.values()):
        raise fault("no such key")
    if any(left.columns[a] != right.columns[b] for a, b in pairs.items()):
        raise fault("keys of different types")
    need_order(left, [(c, directions.get(c)) for c in pairs])
    need_order(right, [(c, directions.get(a)) for a, c in pairs.items()])
    if settings.get("skip") and kind == "full":
        raise fault("skip of a full join")
    added = [c for c in right.columns if c not in pairs.values()]
    places = [right.place(c) for c in added]
    if kind in ("semi", "anti"):
        added = []
        if "matched" in settings or "rename" in settings:
            raise fault("rows of left only")
    matched = settings.get("matched")
    names = new_names(settings, added, left.columns)
    columns = {**left.columns, **{names[c]: right.columns[c] for c in added}, **({matched: "u8"} if matched else {})}
    if len(columns) != len(left.columns) + len(added) + bool(matched):
        raise fault("a column twice")
    partners = {}
    for k, row in zip(right.keys(pairs.values()), right.rows):
        partners.setdefault(k, []).append(tuple(row[i] for i in places))
    blank = tuple(nothing(right.columns[c]) for c in added)
    left_keys = left.keys(pairs)
    out = []  # (key, row)
    for k, row in zip(left_keys, left.rows):
        found = partners.get(k, [])
        if kind in ("semi", "anti"):
            if (kind == "semi") == bool(found):
                out.append((k, row))
        elif found:
            out += [(k, row + other + ((3,) if matched else ())) for other in found]
        elif kind != "inner":
            out.append((k, row + blank + ((1,) if matched else ())))
    if kind == "full":
        known, values = set(left_keys), dict(zip(right.keys(pairs.values()), right.rows))
        to_left = {a: right.place(b) for a, b in pairs.items()}
        for k, rows in partners.items():
            if k not in known:
                base = tuple(values[k][to_left[c]] if c in pairs else nothing(t) for c, t in left.columns.items())
                out += [(k, base + other + ((2,) if matched else ())) for other in rows]
        for i, c in reversed(list(enumerate(pairs))):
            out.sort(key=lambda pair: pair[0][i], reverse=bool(directions[c]))
    order = left.order if kind != "full" else [(c, directions[c]) for c in pairs]
    return table(columns, [row for _, row in out], order)


def lookup(settings, inputs, scalars):
    stream, known = inputs["stream"], inputs["table"]
    pairs = key_pairs(settings["by"])
    if any(stream.columns.get(a) is None or stream.columns[a] != known.columns.get(b) for a, b in pairs.items()):
        raise fault("keys of different types")
    added = {c: k for c, k in known.columns.items() if c not in pairs.values()}
    names = new_names(settings, added, stream.columns)
    places = [known.place(c) for c in added]
    values = {}
    for k, row in zip(known.keys(pairs.values()), known.rows):
        if k in values:
            raise job_fails("a key twice in the table")
        values[k] = tuple(row[i] for i in places)
    missing = settings.get("missing", "fail")
    given = settings.get("defaults", {})
    if set(given) - set(added):
        raise fault("defaults of no column")
    default = tuple(declared(given[c], {}, k)({}) if c in given else nothing(k) for c, k in added.items())
    rows = []
    for k, row in zip(stream.keys(pairs), stream.rows):
        if k in values:
            rows.append(row + values[k])
        elif missing == "fail":
            raise job_fails("a key that the table doesn't have")
        elif missing == "default":
            rows.append(row + default)
    return table({**stream.columns, **{names[c]: k for c, k in added.items()}}, rows, stream.order)


def zip_streams(settings, inputs, scalars):
    left, right = inputs["left"], inputs["right"]
    names = new_names(settings, right.columns, left.columns)
    if len(left.rows) != len(right.rows):
        raise job_fails("one side has more rows")
    columns = {**left.columns, **{names[c]: k for c, k in right.columns.items()}}
    return table(columns, [a + b for a, b in zip(left.rows, right.rows)], left.order or carried(right.order, names))


# Events


def event_row(event, types):
    return {c: event.get(c, nothing(k)) for c, k in types.items()}


def pq_scan(settings, inputs, scalars):
    """Events one by one from a list that is sorted again whenever a message is pushed."""
    order = [k[0][1] for k in settings["order"]]
    down = [k[1] for k in settings["order"]]
    if not order:
        raise fault("no order")
    group = settings.get("group", [])
    state = {c: compiled(e, {}) for c, e in settings.get("state", {}).items()}
    types = {c: k for t in inputs.values() for c, k in t.columns.items() if not is_text(k)}
    if any(types.get(c, k) != k for t in inputs.values() for c, k in t.columns.items() if not is_text(k)):
        raise fault("columns of one name and two types")
    for t in inputs.values():
        need_order(t, list(zip(order, down)))
    pushes = [r["push"] for rules in ("on", "at_end") for r in settings.get(rules, []) if "push" in r]
    message = dict.fromkeys(order)
    message = {c: types[c] for c in order}
    for c in [c for p in pushes for c in p]:
        if "message" not in settings:
            if c not in types:
                raise fault("a column that no input has")
            message[c] = types[c]
    message.update(settings.get("message", {}))
    types.update(message)
    if set(state) & set(types):
        raise fault("a name twice")
    names = {**scalars.types, **types, **{c: v.kind for c, v in state.items()}}
    at_end_names = {**scalars.types, **{c: types[c] for c in group}, **{c: v.kind for c, v in state.items()}}
    ports = {}

    def rules(which, names):
        out = []
        for rule in settings.get(which, []):
            port = rule.get("to", "out")
            emit = None
            if "emit" in rule:
                columns, emit = computed(rule["emit"], names)
                if ports.setdefault(port, table(columns, [])).columns != columns:
                    raise fault("rows of different types")
            out.append(
                (
                    rule.get("from"),
                    condition(rule["when"], names) if "when" in rule else lambda row: True,
                    {c: declared(e, names, state[c].kind) for c, e in rule.get("set", {}).items()},
                    {c: declared(e, names, message[c]) for c, e in rule["push"].items()} if "push" in rule else None,
                    emit,
                    port,
                )
            )
        return out

    on, at_end = rules("on", names), rules("at_end", at_end_names)

    def sort_key(row):
        return tuple(-key_of(row[c], types[c]) if d else key_of(row[c], types[c]) for c, d in zip(order, down))

    others = [c for c in message if c not in order]
    waiting = []  # (key, 0 for messages, the message's other columns or the place, source, row)
    for k, (port, t) in enumerate(inputs.items()):
        for i, row in enumerate(t.rows):
            values = event_row(dict(zip(t.columns, row)), types)
            waiting.append((sort_key(values), 1 + k, (i,), port, values))
    waiting.sort(key=lambda e: e[:3])
    start = {c: v.run({}) for c, v in state.items()}
    now, current = dict(start), None

    def happen(source, row, these, least):
        for origin, when, sets, push, emit, port in these:
            seen = {**scalars.values, **row, **now}
            if (origin is not None and origin != source) or not when(seen):
                continue
            for c, update in sets.items():
                now[c] = seen[c] = update(seen)
            if push is not None:
                values = event_row({c: f(seen) for c, f in push.items()}, types)
                if not least(values):
                    raise job_fails("a push that is not later")
                tail = tuple(key_of(values[c], types[c]) for c in others)
                # Among messages that are equal in every column nobody can tell which comes first.
                bisect.insort(waiting, (sort_key(values), 0, tail, "messages", values), key=lambda e: e[:3])
            if emit is not None:
                ports[port].rows.append(emit(seen))

    def in_group(row):
        return tuple(key_of(row[c], types[c]) for c in group)

    def end_group(row):
        depth = len(group)
        happen("", {c: row[c] for c in group}, at_end, lambda v: sort_key(v)[:depth] > sort_key(row)[:depth])

    steps = 0
    while waiting or current is not None:
        if current is not None and (not waiting or in_group(waiting[0][4]) != in_group(current)):
            ended, current = current, None
            end_group(ended)
            now = dict(start)
            continue
        when, _, _, source, row = waiting.pop(0)
        current = row
        happen(source, row, on, lambda v: sort_key(v) > when)
        steps += 1
        if steps > 1500:
            raise undefined("so many events that the naive way takes long")
    for port, t in ports.items():
        makers = [
            r["emit"]
            for rules in ("on", "at_end")
            for r in settings.get(rules, [])
            if "emit" in r and r.get("to", "out") == port
        ]
        ends = any("emit" in r and r.get("to", "out") == port for r in settings.get("at_end", []))
        for c, d in zip(order, down):
            if all(tuple(e.get(c, ())) == ("name", c) for e in makers) and (not ends or c in group):
                t.order.append((c, d))
            else:
                break
    return ports
