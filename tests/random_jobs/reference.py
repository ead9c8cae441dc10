"""A naive reference for the operators: tables are lists of rows, and every operator is the first thing that comes
to mind.

It shares no code with the engine, and no ideas: no batches, no keys, no merging. Texts compare byte by byte, as in
flowrun; numbers are Python's, so expressions are chosen such that nothing overflows.
"""

import dataclasses


@dataclasses.dataclass
class table:
    columns: dict  # name -> type: "u32", "i64", "string"
    rows: list  # of dicts
    order: list  # [(column, descending)] by which the rows are sorted, as far as flowrun can prove it too


def sort_value(value):
    return value.encode() if isinstance(value, str) else value


def sorted_by(rows, keys):
    """Stable, least significant key first."""
    out = list(rows)
    for column, descending in reversed(keys):
        out.sort(key=lambda row: sort_value(row[column]), reverse=descending)
    return out


def row_key(row, columns):
    return tuple(row[c] for c in columns)


def groups(rows, by):
    out = []
    for row in rows:
        if not out or row_key(out[-1][0], by) != row_key(row, by):
            out.append([])
        out[-1].append(row)
    return out


def aggregate(name, values):
    return {
        "count": len,
        "sum": sum,
        "min": lambda v: min(v, key=sort_value),
        "max": lambda v: max(v, key=sort_value),
        "first": lambda v: v[0],
        "last": lambda v: v[-1],
    }[name](values)


def nothing(type_name):
    return "" if type_name == "string" else 0


def join(left, right, by, kind):
    """Rows of the left table in their order, each with its partners in theirs; of a full join, sorted by the keys."""
    added = [c for c in right.columns if c not in by]
    out = []
    for row in left.rows:
        partners = [r for r in right.rows if row_key(r, by) == row_key(row, by)]
        if kind == "semi":
            out += [row] if partners else []
        elif kind == "anti":
            out += [] if partners else [row]
        elif partners:
            out += [{**row, **{c: r[c] for c in added}} for r in partners]
        elif kind != "inner":
            out.append({**row, **{c: nothing(right.columns[c]) for c in added}})
    if kind == "full":
        known = {row_key(row, by) for row in left.rows}
        blank = {c: nothing(t) for c, t in left.columns.items()}
        out += [
            {**blank, **{c: nothing(right.columns[c]) for c in added}, **r}
            for r in right.rows
            if row_key(r, by) not in known
        ]
        directions = dict(left.order)
        out = sorted_by(out, [(c, directions[c]) for c in by])
    columns = (
        dict(left.columns) if kind in ("semi", "anti") else {**left.columns, **{c: right.columns[c] for c in added}}
    )
    return columns, out


def field(value):
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def csv(data):
    return "".join(",".join(field(row[c]) for c in data.columns) + "\n" for row in data.rows)
