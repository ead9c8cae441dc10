"""Protocol Buffers as the reference page and the page of the encoding describe them, without their library: descriptors
and messages are written, and messages read again."""

from values import TIMES, fault, holds, is_float, is_integer, is_text, job_fails, length_of, packed, unpacked

# A column's type: the types of the fields that it may have, as descriptors number them.
DOUBLE, FLOAT, INT64, UINT64, INT32, FIXED64, FIXED32, BOOL, STRING, MESSAGE, BYTES, UINT32, ENUM, SFIXED32, SFIXED64, SINT32, SINT64 = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18
)  # fmt: skip
TYPES = {
    "i32": [INT32, SINT32, SFIXED32, ENUM], "i64": [INT64, SINT64, SFIXED64], "u32": [UINT32, FIXED32], "u64": [UINT64, FIXED64],
    "f32": [FLOAT], "f64": [DOUBLE], "bool": [BOOL], "string": [STRING, BYTES, ENUM], "timestamp": [MESSAGE],
}  # fmt: skip
COLOURS = {0: b"RED", 1: b"GREEN", 7: b"BLUE"}
REJECTED = {"message": "u64", "byte": "hash", "reason": "hash"}


def varint(number):
    number %= 2**64
    out = b""
    while number >= 128:
        out += bytes([number % 128 + 128])
        number //= 128
    return out + bytes([number])


def tagged(number, wire, data):
    return varint(number * 8 + wire) + (varint(len(data)) if wire == 2 else b"") + data


def types_of(kind):
    return [STRING, BYTES] if kind.startswith("bytes") else TYPES.get(kind, [])


def wire_of(type):
    return 1 if type in (DOUBLE, FIXED64, SFIXED64) else 5 if type in (FLOAT, FIXED32, SFIXED32) else 2 if type in (STRING, BYTES, MESSAGE) else 0


def value(v, kind, type):
    """The field's bytes behind its tag, without a length."""
    if type == ENUM:
        return varint(v if kind == "i32" else {name: n for n, name in COLOURS.items()}.get(v) if v in COLOURS.values() else int(v))
    if type in (SINT32, SINT64):
        return varint(2 * v if v >= 0 else -2 * v - 1)
    if type == MESSAGE:
        seconds, us = divmod(v, 10**6)
        return (tagged(1, 0, varint(seconds)) if seconds else b"") + (tagged(2, 0, varint(us * 1000 + 7)) if us else b"")
    if wire_of(type) == 0:
        return varint(int(v))
    return packed(v, kind)


def default(kind, type):
    if kind.startswith("bytes"):
        return bytes(length_of(kind))
    if kind == "string":
        return COLOURS[0] if type == ENUM else b""
    return False if kind == "bool" else 0.0 if is_float(kind) else 0


def field_descriptor(name, number, type):
    """A FieldDescriptorProto: name 1, number 3, label 4 (optional), type 5, type_name 6."""
    names = {ENUM: b".t.Colour", MESSAGE: b".google.protobuf.Timestamp"}
    out = tagged(1, 2, name.encode()) + tagged(3, 0, varint(number)) + tagged(4, 0, b"\x01") + tagged(5, 0, varint(type))
    return out + (tagged(6, 2, names[type]) if type in names else b"")


def message_descriptor(name, fields, more=b""):
    return tagged(1, 2, name) + b"".join(tagged(2, 2, field_descriptor(*f)) for f in fields) + more


def descriptors(top, inner, syntax=b"proto3"):
    """A FileDescriptorSet of t.proto, whose message t.Row has the fields `top`, and a message of `inner` in the field
    `within`, of number 99; (name, number, type) each. All fields of proto2 have presence."""
    times = message_descriptor(b"Timestamp", [("seconds", 1, INT64), ("nanos", 2, INT32)])
    colours = tagged(1, 2, b"Colour") + b"".join(
        tagged(2, 2, tagged(1, 2, name) + tagged(2, 0, varint(n))) for n, name in COLOURS.items()
    )
    within = tagged(2, 2, field_descriptor("within", 99, MESSAGE).replace(b".google.protobuf.Timestamp", b".t.Within").replace(b"2\x1a", b"2\x09"))
    first = tagged(1, 2, b"google/protobuf/timestamp.proto") + tagged(2, 2, b"google.protobuf") + tagged(4, 2, times) + tagged(12, 2, b"proto3")
    second = tagged(1, 2, b"t.proto") + tagged(2, 2, b"t") + tagged(3, 2, b"google/protobuf/timestamp.proto")
    second += tagged(4, 2, message_descriptor(b"Row", top, within)) + tagged(4, 2, message_descriptor(b"Within", inner))
    return tagged(1, 2, first) + tagged(1, 2, second + tagged(5, 2, colours) + tagged(12, 2, syntax))


def read_varint(data, at):
    number, shift = 0, 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number % 2**64, at


def parts_of(data):
    """[(number, wire, value)], or ValueError."""
    at, out = 0, []
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0 or wire in (3, 4, 6, 7):
            raise ValueError
        if wire == 0:
            v, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            v, at = data[at : at + size], at + size
            if at > len(data):
                raise ValueError
        out.append((number, wire, v))
    return out


def signed(v, bits):
    v %= 2**bits
    return v - 2**bits if v >= 2 ** (bits - 1) else v


def read_value(v, kind, type):
    """ValueError: the column can't have it."""
    if type == ENUM:
        n = signed(v, 32)
        return n if kind == "i32" else COLOURS.get(n, b"%d" % n)
    if type in (SINT32, SINT64):
        v %= 2**32 if type == SINT32 else 2**64
        return v // 2 if v % 2 == 0 else -(v // 2) - 1
    if type == MESSAGE:
        n = {number: n for number, wire, n in parts_of(v) if wire == 0 and number in (1, 2)}
        seconds, nanos = signed(n.get(1, 0), 64), signed(n.get(2, 0), 32)
        us = seconds * 10**6 + nanos // 1000
        if not 0 <= nanos < 10**9 or not TIMES["timestamp"][0] <= us <= TIMES["timestamp"][1]:
            raise ValueError
        return us
    if kind == "bool":
        return v != 0
    if wire_of(type) == 0:
        bits = 32 if kind in ("i32", "u32") else 64
        return signed(v, bits) if kind[0] == "i" else v % 2**bits
    if kind.startswith("bytes") and len(v) != length_of(kind):
        raise ValueError
    return unpacked(v, kind)


def has_presence(type, syntax):
    return type == MESSAGE or syntax == b"proto2"


def read_protobuf(settings, node, files, paths, table, defaults):
    """What descriptors(top, inner) says is asked of the job, which keeps it beside the file. `defaults`: by column, the
    values that `default` gives."""
    top, inner = node_fields(settings, files)
    syntax = syntax_of(settings, files)
    columns, names, told = settings["type"], settings.get("fields", {}), settings.get("missing", {})
    if not {*told, *defaults} <= set(columns) or len({*columns, *told.values()}) < len(columns) + len(told):
        raise fault("an unknown column, or a name that is there already")
    for c in {*told, *defaults}:
        if not names.get(c, c).startswith("within.") and not has_presence(next(t for f, _, t in top if f == names.get(c, c)), syntax):
            raise fault("a field without presence")
    rows, bad = [], []
    for path in paths:
        data, at, number = files[path], 0, 0
        while at < len(data):
            try:
                size, begin = read_varint(data, at)
            except ValueError:
                raise job_fails("no length") from None
            if begin + size > len(data):
                raise job_fails("a message that is cut off")
            message, at = data[begin : begin + size], begin + size
            try:
                found = {"": dict.fromkeys(()), "within.": {}}
                missing = set()
                for n, wire, v in parts_of(message):
                    where, of = ("within.", v) if n == 99 else ("", None)
                    for m, w, x in [(n, wire, v)] if of is None else parts_of(of) if any("within." in names.get(c, c) for c in columns) else []:
                        found[where][m] = (w, x)
                row = []
                for c, kind in columns.items():
                    name = names.get(c, c)
                    where, fields = ("within.", inner) if name.startswith("within.") else ("", top)
                    m, type = next((m, t) for f, m, t in fields if f == name.removeprefix("within."))
                    if m not in found[where]:
                        implied = where and not has_presence(type, syntax) and 99 in [n for n, _, _ in parts_of(message)]
                        row.append(default(kind, type) if implied or c not in defaults else defaults[c])
                        missing.update([] if implied else [c])
                        continue
                    wire, x = found[where][m]
                    if wire != wire_of(type):
                        raise ValueError
                    row.append(read_value(x, kind, type))
                rows.append(tuple(row) + tuple(c in missing for c in told))
            except ValueError:
                bad.append((number, 0, b""))
            number += 1
    how = node.on_error or "fail"
    port = how["to"] if isinstance(how, dict) else how
    if bad and port == "fail":
        raise job_fails("a message that is none")
    if isinstance(how, dict) and len(bad) > how.get("max_ratio", 1) * (len(rows) + len(bad)):
        raise job_fails("more rejected messages than max_ratio")
    types = {**columns, **{c: "bool" for c in told.values()}}
    return {"": table(types, rows), **({port: table(REJECTED, bad)} if port not in ("fail", "skip") else {})}


def node_fields(settings, files):
    """The fields that the descriptors have: they are read as messages, too."""
    out = []
    for message in (b"Row", b"Within"):
        fields = []
        for _, _, file in parts_of(files[settings["descriptors"].removeprefix("${in}/")]):
            for number, _, v in parts_of(file):
                if number == 4 and parts_of(v)[0][2] == message:
                    for n, _, f in parts_of(v):
                        d = {k: x for k, _, x in parts_of(f)} if n == 2 else {}
                        if d and d[1] != b"within":
                            fields.append((d[1].decode(), d[3], d[5]))
        out.append(fields)
    return out


def syntax_of(settings, files):
    return next(v for _, _, file in parts_of(files[settings["descriptors"].removeprefix("${in}/")])[1:] for n, _, v in parts_of(file) if n == 12)


# The integers of the types that have some, as a column has them.
NUMBERS = {
    INT32: "i32", SINT32: "i32", SFIXED32: "i32", ENUM: "i32", INT64: "i64", SINT64: "i64", SFIXED64: "i64",
    UINT32: "u32", FIXED32: "u32", UINT64: "u64", FIXED64: "u64",
}  # fmt: skip


def written(v, kind, type):
    """The field's bytes behind its tag, without a length; nothing where it holds what a message without it says."""
    if type == ENUM and kind == "string":
        number = {name: n for n, name in COLOURS.items()}.get(v)
        if number is None:
            try:
                number = int(v)
            except ValueError:
                raise job_fails("no name of an enum") from None
            if v != b"%d" % number or not holds("i32", number):
                raise job_fails("no number of an enum")
        return written(number, "i32", ENUM)
    if type in NUMBERS and is_integer(kind):
        if not holds(NUMBERS[type], v):
            raise job_fails("a number that the field can't have")
        if wire_of(type) != 0:
            return packed(v, NUMBERS[type]) if v else b""
        return value(v, "i32", type) if v else b""
    if type == MESSAGE and kind == "timestamp":
        seconds, us = divmod(v, 10**6)
        return (tagged(1, 0, varint(seconds)) if seconds else b"") + (tagged(2, 0, varint(us * 1000)) if us else b"")
    if type in (STRING, BYTES) and is_text(kind):
        if type == STRING:
            try:
                v.decode()
            except UnicodeDecodeError:
                raise job_fails("a text that isn't UTF-8") from None
        return v
    if type == BOOL and kind == "bool":
        return b"\x01" if v else b""
    if (type == DOUBLE and is_float(kind)) or (type == FLOAT and kind == "f32"):
        data = packed(v, "f64" if type == DOUBLE else "f32")
        return data if any(data) else b""
    raise fault("a column that the field can't have")


def write_protobuf(settings, t, files):
    top, inner = node_fields(settings, files)
    names = settings.get("fields", {})
    out = b""
    for row in t.rows:
        found = {"": [], "within.": []}
        for (c, kind), v in zip(t.columns.items(), row):
            name = names.get(c, c)
            where, fields = ("within.", inner) if name.startswith("within.") else ("", top)
            number, type = next((m, t) for f, m, t in fields if f == name.removeprefix("within."))
            data = written(v, kind, type)
            if data:
                found[where].append((number, tagged(number, wire_of(type), data)))
        if found["within."]:
            found[""].append((99, tagged(99, 2, b"".join(data for _, data in sorted(found["within."])))))
        message = b"".join(data for _, data in sorted(found[""]))
        out += varint(len(message)) + message
    return out
