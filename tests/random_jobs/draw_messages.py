"""A random source of Protocol Buffers messages, and a sink."""

import draw_meetings
import draw_values
import messages
from job_text import name
from values import is_float, is_integer


def column_types(d):
    pool = [k for k in draw_values.TYPES if messages.types_of(k)]
    return draw_meetings.types(d, pool, d.r.choice([1, 4]))


def read_protobuf(d):
    """Messages with these fields among others, some of them in a message within; now and then one that is none."""
    r = d.r
    columns = column_types(d)
    top, inner, fields, of_column = [], [], {}, {}
    for c, kind in [*columns.items(), *((d.fresh("x"), r.choice(["i64", "string", "f32"])) for _ in range(r.choice([0, 0, 2])))]:
        type = r.choice(messages.types_of(kind))
        if type == messages.ENUM and kind == "string" and r.random() < 0.5:
            type = messages.STRING
        is_inner = r.random() < 0.25
        number = len(top) + len(inner) + r.choice([1, 1, 20]) if r.random() < 0.9 else 1000 + len(top) + len(inner)
        while number == 99 or number in [n for _, n, _ in top + inner]:
            number += 1
        field = c if r.random() < 0.7 else f"f_{c}"
        (inner if is_inner else top).append((field, number, type))
        if c in columns:
            of_column[c] = (is_inner, number, type)
            if is_inner or field != c:
                fields[c] = "within." * is_inner + field
    wrong = r.random() < 0.3

    def message(row):
        out, within = [], b""
        for (c, kind), v in zip(columns.items(), row):
            is_inner, number, type = of_column[c]
            if type == messages.ENUM and kind == "string":
                v = r.choice([*messages.COLOURS.values(), b"12", b"-3"])
            if not is_float(kind) and v == messages.default(kind, type) and r.random() < 0.8:
                continue  # as it is written
            data = messages.tagged(number, messages.wire_of(type), messages.value(v, kind, type))
            if is_inner:
                within += data
            else:
                out.append(data)
        for field, number, type in top:
            if field not in columns and r.random() < 0.3 and not any(n == number for _, n, _ in of_column.values()):
                out.append(messages.tagged(number, 2, b"other") if messages.wire_of(type) == 2 else b"")
        if within:
            out.append(messages.tagged(99, 2, within))
        if r.random() < 0.3:
            out.append(messages.tagged(500, r.choice([0, 2]), b"\x07"))
        r.shuffle(out)
        if wrong and r.random() < 0.1:
            out = r.choice([[b"\x00"], [b"\x0b\x0d"], [*out, b"\xfa"], [messages.tagged(77, 2, b"abc")[:-1]]])
        return b"".join(out)

    def make():
        rows = draw_values.rows(r, columns, draw_values.count(r), in_text=False)
        return b"".join(messages.varint(len(m)) + m for m in map(message, rows))

    syntax = r.choice([b"proto3", b"proto3", b"proto2"])
    data = messages.descriptors(top, inner, syntax)
    settings = {"path": draw_meetings.parts(d, make), "descriptors": draw_meetings.file(d, data), "message": "t.Row", "type": columns}
    if fields:
        settings["fields"] = fields
    telling = {c: k for c, k in columns.items() if of_column[c][0] or messages.has_presence(of_column[c][2], syntax)}
    if telling and r.random() < 0.5:
        settings.update(draw_meetings.missing_columns(d, telling, {}))
    on_error = r.choice(["skip", {"to": "bad"}, {"to": "bad", "max_ratio": 0.9}]) if wrong or r.random() < 0.1 else None
    made = d.add("file.read_protobuf", None, on_error, **settings)
    if made and f"{made}.bad" in d.streams:
        d.add("map", f"{made}.bad", **{d.fresh("c"): name("message")})
    return made


def field_type(r, kind, values):
    """One that a column can be written to, most often with all of its values; None: there is none."""
    if kind == "string" and values and all(v in [*messages.COLOURS.values(), b"12", b"-3"] for v in values):
        return messages.ENUM
    types = [t for t in messages.types_of(kind) if t != messages.ENUM or kind != "string"]
    if is_integer(kind) and (not types or r.random() < 0.3):
        types = list(messages.NUMBERS)
    if kind == "f32" and r.random() < 0.3:
        types = [messages.DOUBLE]
    return r.choice(types) if types else None


def write_protobuf(d, s, path, columns):
    """A sink for these columns of a stream; nothing where one is of a type that no field has."""
    r, t = d.r, d.streams[s]
    top, inner, fields = [], [], {}
    numbers = r.sample([*range(1, 30), 98, 100, 1000, 2**29 - 1], min(len(columns) + 1, 30))
    for i, (c, kind) in enumerate(columns.items()):
        type = field_type(r, kind, [row[t.place(c)] for row in t.rows])
        if type is None or i == len(numbers) - 1:
            return None
        is_inner, field = r.random() < 0.25, c if r.random() < 0.7 else f"f_{c}"
        (inner if is_inner else top).append((field, numbers[i], type))
        if is_inner or field != c or r.random() < 0.1:
            fields[c] = "within." * is_inner + field
    top.append((d.fresh("x"), numbers[-1], messages.STRING))  # which no column has
    r.shuffle(top)
    settings = {**path, "descriptors": draw_meetings.file(d, messages.descriptors(top, inner)), "message": "t.Row"}
    return d.add("file.write_protobuf", s, **settings, **({"fields": fields} if fields else {}))
