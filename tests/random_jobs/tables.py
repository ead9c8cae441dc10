"""Tables, and what the operators that read one stream row by row make of them: the first thing that comes to mind when
one reads the reference page. No batches, no merging, no idea that the engine has too."""

import dataclasses
import math

import decimals
from expressions import all_of, compiled, condition, constant_number, declared
from job_text import ex, key
from values import (
    convert,
    fault,
    is_decimal,
    is_float,
    is_integer,
    is_signed,
    is_text,
    is_time,
    job_fails,
    key_of,
    loose,
    low_bits,
    nothing,
    scale_of,
    undefined,
)


@dataclasses.dataclass
class table:
    columns: dict  # name -> type, in the order of the columns
    rows: list  # of tuples
    # [(column, descending)] by which the rows are known to be sorted
    order: list = dataclasses.field(default_factory=list)
    # Nobody says how rows with equal keys follow each other: only files are made of that.
    loose: bool = False

    def place(self, column):
        if column not in self.columns:
            raise fault(f"no column {column}")
        return list(self.columns).index(column)

    def named(self, extra=()):
        """Each row as {column: value}, with its row_number."""
        names = list(self.columns)
        return [{**dict(extra), "row_number": i, **dict(zip(names, row))} for i, row in enumerate(self.rows)]

    def types(self, scalars, row_number=False):
        return {**scalars.types, **({"row_number": "u64"} if row_number else {}), **self.columns}

    def keys(self, columns):
        """The key of each row, as tuples that compare."""
        places = [(self.place(c), self.columns[c]) for c in columns]
        return [tuple(key_of(row[i], kind) for i, kind in places) for row in self.rows]


class scalar_values:
    """Numbers that loops and graphs hand to expressions."""

    def __init__(self, types=None, values=None):
        self.types, self.values = dict(types or {}), dict(values or {})


def carried(order, new_names):
    """The leading order columns that are there under their new names: {old: new}."""
    out = []
    for column, descending in order:
        if column not in new_names:
            break
        out.append((new_names[column], descending))
    return out


def bare(columns, types):
    """{column of the input: column of the output} of those that are carried over unchanged: under the same name where
    there is one, else under the first."""
    out = {}
    for new, e in columns.items():
        if e[0] == "call" and len(e) == 3 and e[2][0] == "name" and e[1] == types.get(e[2][1]):
            e = e[2]  # a conversion to the type that it has
        if e[0] == "name" and e[1] not in ("true", "false", "row_number"):
            out.setdefault(e[1], new)
            if e[1] == new:
                out[new] = new
    return out


def computed(columns, types):
    """({column: type}, function of a row that gives a tuple)."""
    values = {c: compiled(e, types) for c, e in columns.items()}
    for c, v in values.items():
        if (v.kind == "hash" and columns[c][0] != "name") or v.kind.startswith("key "):
            raise undefined("bytes that nobody promises")
    runs = [v.run for v in values.values()]
    return {c: v.kind for c, v in values.items()}, lambda row: tuple(run(row) for run in runs)


def map_rows(settings, t, scalars):
    columns, run = computed(settings, t.types(scalars, True))
    same = bare(settings, t.columns)
    return table(columns, [run(row) for row in t.named(scalars.values)], carried(t.order, same))


def filter_rows(settings, t, scalars):
    holds = condition(settings["where"], t.types(scalars, True))
    return table(t.columns, [row for row, named in zip(t.rows, t.named(scalars.values)) if holds(named)], t.order)


def split(settings, t, scalars):
    ports = {p: condition(e, t.types(scalars)) for p, e in settings["ports"].items()}
    rest = settings.get("rest")
    out = {p: [] for p in [*ports, *([rest] if rest else [])]}
    for row, named in zip(t.rows, t.named(scalars.values)):
        port = all_of(
            lambda named=named: next((p for p, holds in ports.items() if holds(named)), rest),
            *(lambda holds=holds, named=named: holds(named) for holds in ports.values()),
        )
        if port is not None:
            out[port].append(row)
    return {p: table(t.columns, rows, t.order) for p, rows in out.items()}


def is_made(when, run, row):
    """Whether there is a row of it; what it would have is computed all the same."""
    made = when is None or when(row)
    if not made:
        all_of(lambda: None, lambda: run(row))
    return made


def entries(maps, types):
    """Of a list of {column: expression, when: condition}: the columns, and [(condition or None, function)]."""
    columns, out = None, []
    for entry in maps:
        when = condition(entry["when"], types) if "when" in entry else None
        values = {c: e for c, e in entry.items() if c != "when"}
        if columns is None:
            columns, run = computed(values, types)
        else:
            if set(values) != set(columns):
                raise fault("entries of different columns")
            runs = []
            for c, kind in columns.items():
                value = compiled(values[c], types)
                if value.kind != kind and not value.literal:
                    raise fault("entries of different types")
                if value.literal and not is_integer(kind):
                    raise undefined("a literal beside another type")
                runs.append(constant_number(value.known, kind).run if value.literal else value.run)

            def run(row, runs=tuple(runs)):
                return tuple(r(row) for r in runs)

        out.append((when, run))
    return columns, out


def flat_map(settings, t, scalars):
    columns, makers = entries(settings["rows"], t.types(scalars))
    rows = [run(row) for row in t.named(scalars.values) for when, run in makers if is_made(when, run, row)]
    same = [c for c in columns if all(e.get(c) == ex("name", c) for e in settings["rows"])]
    return table(columns, rows, carried(t.order, {c: c for c in same}))


def window(settings, t, scalars):
    before, after = settings.get("before", 0), settings.get("after", 0)
    every = settings.get("every", 1)
    types = t.types(scalars, True)
    for k in range(-before, after + 1):
        types.update({f"row[{k}].{c}": kind for c, kind in t.columns.items()})
    pads = {
        c: declared(e, {}, t.columns[c])({}) if c in t.columns else None for c, e in settings.get("pad", {}).items()
    }
    resets = t.keys(settings.get("reset", []))
    pad = tuple(pads.get(c, nothing(kind)) for c, kind in t.columns.items())
    if set(pads) - set(t.columns):
        raise fault("pads of no column")
    columns, run = computed(settings["let"], types)
    rows = []
    for i in range(0, len(t.rows), every):
        row = {**scalars.values, "row_number": i // every, **dict(zip(t.columns, t.rows[i]))}
        for k in range(-before, after + 1):
            low, high = min(i, i + k), max(i, i + k)
            inside = low >= 0 and high < len(t.rows) and len(set(resets[low : high + 1])) == 1
            there = t.rows[i + k] if inside else pad
            row.update({f"row[{k}].{c}": value for c, value in zip(t.columns, there)})
        rows.append(t.rows[i] + run(row))
    return table({**t.columns, **columns}, rows, t.order)


# Aggregates


def aggregate(e, types):
    """(type, function of the rows of a group)."""
    word, *argument = e[1:]
    if word == "count":
        if not argument:
            return "u64", len
        holds = condition(argument[0], types)
        return "u64", lambda rows: sum([holds(r) for r in rows])
    value = compiled(argument[0], types)
    if value.constant or value.kind == "hash" or value.kind.startswith("key "):
        raise undefined("aggregates of constants")
    run, kind = value.run, value.kind
    if word in ("first", "last"):
        return kind, lambda rows: all_of(lambda: run(rows[0 if word == "first" else -1]), *(lambda r=r: run(r) for r in rows))
    if word in ("min", "max"):
        best = min if word == "min" else max
        return kind, lambda rows: best((run(r) for r in rows), key=lambda v: key_of(v, kind))
    if word == "count_distinct":
        return "u64", lambda rows: len({key_of(run(r), kind) for r in rows})
    if word == "approx_count_distinct":
        return "u64", lambda rows: distinct((run(r) for r in rows), kind)
    if word == "approx_quantile":
        if is_text(kind) or is_time(kind) or kind == "bool":
            raise fault(f"{word} of {kind}")
        return "f64", quantile(run, kind, argument[1][1])
    if word not in ("sum", "avg", "variance", "stddev") or is_text(kind) or is_time(kind) or kind == "bool":
        raise fault(f"{word} of {kind}")
    if word != "sum":
        return "f64", moment(word, run, kind)
    if is_decimal(kind):
        return kind, lambda rows: decimals.within(sum(run(r) for r in rows))
    wide = "f64" if is_float(kind) else "i64" if is_signed(kind) else "u64"

    def total(rows):
        out = convert(run(rows[0]), kind, wide)
        for r in rows[1:]:
            out = add(out, run(r), wide)
        if wide == "f64" and out == 0:
            raise undefined("the sign of a sum that is 0")
        return out

    return wide, total


def distinct(values, kind):
    """Exact up to 384 values."""
    count = len({key_of(v, kind) for v in values})
    if count > 384:
        raise undefined("how far an estimate is off")
    return count


def as_real(value, kind):
    return decimals.real(value, kind) if is_decimal(kind) else convert(value, kind, "f64")


def quantile(run, kind, q):
    """Exact up to 4,096 values, between two of them in proportion."""

    def of(rows):
        if len(rows) > 4096:
            raise undefined("how far an estimate is off")
        values = sorted((as_real(run(r), kind) for r in rows), key=lambda v: key_of(v, "f64"))
        place = q * float(len(values) - 1)
        below = math.floor(place)
        a, b, part = values[below], values[min(below + 1, len(values) - 1)], place - below
        if not part > 0 or a == b:
            return a
        return loose(a + (b - a) * part if math.isfinite(b - a) else a * (1 - part) + b * part)

    return of


def moment(word, run, kind):
    """Mean, variance or standard deviation: of integers exact up to the last divisions."""

    def of_integers(rows):
        values = [run(r) for r in rows]
        n, total = len(values), sum(values)
        if max(abs(total), n * sum(v * v for v in values)) >= 2**53:
            raise undefined("the last bit of a quotient of large numbers")
        unit = 10.0 ** scale_of(kind) if is_decimal(kind) else 1.0
        if word == "avg":
            return total / (n * unit)
        if n < 2:
            return loose(math.nan)
        variance = (n * sum(v * v for v in values) - total * total) / (n * unit) / ((n - 1) * unit)
        return variance if word == "variance" else math.sqrt(variance)

    def of_floats(rows):
        values = [convert(run(r), kind, "f64") for r in rows]
        if word == "avg":
            total = 0.0
            for v in values:
                total += v
            if total == 0:
                raise undefined("the sign of a sum that is 0")
            return loose(total / len(values))
        mean = squares = 0.0
        for n, v in enumerate(values, 1):
            difference = v - mean
            mean += difference / n
            squares += difference * (v - mean)
        if len(values) < 2:
            return loose(math.nan)
        variance = squares / (len(values) - 1)
        return loose(variance if word == "variance" else math.sqrt(variance) if variance >= 0 else math.nan)

    return of_floats if is_float(kind) else of_integers


def add(a, b, wide):
    return convert(a + float(b), "f32", "f64") if wide == "f64" else low_bits(wide, a + b)


def of_no_rows(e, kind):
    return loose(math.nan) if e[1] in ("avg", "variance", "stddev", "approx_quantile") else nothing(kind)


def aggregated(let, types, groups):
    """Columns, and a tuple for each list of rows."""
    made = {c: aggregate(e, types) for c, e in let.items()}
    columns = {c: kind for c, (kind, _) in made.items()}
    rows = [
        tuple(run(g) for _, run in made.values()) if g else tuple(of_no_rows(let[c], k) for c, k in columns.items()) for g in groups
    ]
    return columns, rows


def runs_of(keys):
    """[(from, to)] of stretches of equal neighbours."""
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    return list(zip(starts, [*starts[1:], len(keys)]))


def need_adjacent(t, by):
    if set(c for c, _ in t.order[: len(by)]) != set(by):
        raise fault(f"equal {by} are not known to be adjacent")


def need_values_together(t, by, let):
    for e in let.values():
        if e[1] == "count_distinct":
            if e[2][0] != "name" or e[2][1] not in t.columns:
                raise fault("different values of what is no column")
            need_adjacent(t, [*by, e[2][1]] if e[2][1] not in by else by)


def group(settings, t, scalars):
    by = settings["by"]
    need_adjacent(t, by)
    need_values_together(t, by, settings.get("let", {}))
    named = t.named(scalars.values)
    stretches = runs_of(t.keys(by)) if by else [(0, len(t.rows))]
    columns, rows = aggregated(settings.get("let", {}), t.types(scalars), [named[a:b] for a, b in stretches])
    places = [t.place(c) for c in by]
    heads = [tuple(t.rows[a][i] for i in places) for a, _ in stretches] if by else [()]
    order = carried(t.order, {c: c for c in by})
    return table({**{c: t.columns[c] for c in by}, **columns}, [h + r for h, r in zip(heads, rows)], order)


def limit(settings, t, scalars):
    by, skip = settings.get("by", []), settings.get("skip", 0)
    need_adjacent(t, by)
    if settings.get("count", 1) == 0 or ("count" not in settings and skip == 0):
        raise fault("no rows, or all of them")
    rows = []
    for start, end in runs_of(t.keys(by)) if by else [(0, len(t.rows))]:
        group = t.rows[start:end][skip:]
        rows += group[: settings.get("count", len(group))]
    return table(t.columns, rows, t.order)


def reduce(settings, t, scalars):
    if settings.get("hash"):
        raise AssertionError("a hash stands for itself only beside another: see same_rows")
    need_values_together(t, [], settings["let"])
    columns, rows = aggregated(settings["let"], t.types(scalars), [t.named(scalars.values)])
    return table(columns, rows)


def group_pairs(settings, t, scalars):
    by = settings["by"]
    need_adjacent(t, by)
    types = dict(scalars.types)
    for side in "ab":
        types.update({f"{side}.{c}": kind for c, kind in t.columns.items()})
    columns, run = computed(settings["let"], types)
    holds = condition(settings["where"], types) if "where" in settings else lambda row: True
    rows = []
    for start, end in runs_of(t.keys(by)) if by else [(0, len(t.rows))]:
        for j in range(start, end):
            for i in range(start, j):
                row = {**scalars.values}
                row.update({f"a.{c}": v for c, v in zip(t.columns, t.rows[i])})
                row.update({f"b.{c}": v for c, v in zip(t.columns, t.rows[j])})
                if holds(row):
                    rows.append(run(row))
    names = {}
    for new, e in settings["let"].items():
        for c in by:
            if e in (ex("name", f"a.{c}"), ex("name", f"b.{c}")):
                names.setdefault(c, new)
    return table(columns, rows, carried(t.order, names) if by else [])


# Sorting


def sort_keys(keys, t, scalars):
    """[(function of a row, descending)] and the leading keys that are columns."""
    out, order, plain = [], [], True
    if not keys:
        raise fault("no keys")
    for k in keys:
        if not isinstance(k, key):
            raise AssertionError(k)
        e, descending = k
        value = compiled(e, t.types(scalars))
        if value.constant or value.kind == "hash":
            raise fault("a key without a column")
        kind = value.kind
        of = value.run if kind.startswith("key ") else (lambda row, run=value.run, kind=kind: key_of(run(row), kind))
        out.append((of, descending))
        plain = plain and e[0] == "name" and e[1] in t.columns
        if plain:
            order.append((e[1], descending))
    return out, order


def by_keys(rows, keys):
    """Stable: the least significant key first."""
    rows = list(rows)
    for of, descending in reversed(keys):
        rows.sort(key=lambda pair: of(pair[0]), reverse=descending)
    return rows


def named_keys(by):
    """The keys, and what they are called."""
    keys, names = [], []
    for k in by:
        for c, one in k.items() if isinstance(k, dict) else [(None, k)]:
            keys.append(one)
            names.append(c or (one[0][1] if one[0][0] == "name" else None))
    return keys, names


def sort(settings, t, scalars):
    by, names = named_keys(settings["by"])
    keys, order = sort_keys(by, t, scalars)
    pairs = by_keys(zip(t.named(scalars.values), t.rows), keys)
    if len(by) != len({k[0] for k in by}) and "combine" not in settings:
        raise fault("a key twice")
    same = [tuple(of(named) for of, _ in keys) for named, _ in pairs]
    loose = False
    if "combine" in settings:
        if None in names or len(set(names)) != len(names) or set(names) & set(settings["combine"]):
            raise fault("keys without a name of their own")
        counted = {e[2] for e in settings["combine"].values() if e[1] == "count_distinct"}
        if len(counted) > 1 or (counted and any(e[1] in ("first", "last") for e in settings["combine"].values())):
            raise fault("aggregates that want different orders")
        added_up = [e for e in settings["combine"].values() if e[1] in ("sum", "avg", "variance", "stddev")]
        if counted and any(is_float(compiled(e[2], t.types(scalars)).kind) for e in added_up):
            raise undefined("the order in which floats are added up")
        groups = [[named for named, _ in pairs[a:b]] for a, b in runs_of(same)]
        columns, rows = aggregated(settings["combine"], t.types(scalars), groups)
        values = [compiled(e, t.types(scalars)) for e, _ in by]
        columns = {**{c: v.kind for c, v in zip(names, values)}, **columns}
        rows = [tuple(v.run(g[0]) for v in values) + r for g, r in zip(groups, rows)]
        order = [(c, descending) for c, (_, descending) in zip(names, by)]
    elif any(isinstance(k, dict) for k in settings["by"]):
        raise fault("names of keys without combine")
    else:
        columns, rows = t.columns, [row for _, row in pairs]
        if settings.get("unique"):
            rows = [rows[a] for a, _ in runs_of(same)]
        elif not settings.get("stable"):
            for a, b in runs_of(same):
                loose = loose or any(r != rows[a] for r in rows[a:b])
    if "limit" in settings:
        if loose:
            raise undefined("which rows of equal keys are the first")
        rows = rows[: settings["limit"]]
    return table(columns, rows, order, loose)


def check(settings, t, scalars):
    if "sorted" in settings:
        keys, order = sort_keys(settings["sorted"], t, scalars)
        pairs = list(zip(t.named(scalars.values), t.rows))
        if [row for _, row in by_keys(pairs, keys)] != t.rows:
            raise job_fails("not sorted")
    else:
        order = t.order
    if "unique" in settings:
        keys = t.keys(settings["unique"])
        need_adjacent(table(t.columns, t.rows, order), settings["unique"])
        if len(set(keys)) != len(keys):
            raise job_fails("repeats")
    if "where" in settings:
        holds = condition(settings["where"], t.types(scalars, True))
        if not all(holds(row) for row in t.named(scalars.values)):
            raise job_fails("where")
    if "empty" in settings and settings["empty"] != (not t.rows):
        raise job_fails("empty")
    if "count" in settings and settings["count"] != len(t.rows):
        raise job_fails("count")
    return table(t.columns, t.rows, order)
