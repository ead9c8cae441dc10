"""Files as the reference page describes them: text with delimiters, lines, packed rows; arrays.py has NumPy's, messages.py
those of Protocol Buffers."""

import re
from decimal import Decimal
from fractions import Fraction

import arrays
import json_files
import messages
import times
from tables import by_keys, sort_keys, table
from values import (
    INTEGERS,
    fault,
    holds,
    is_decimal,
    is_float,
    is_text,
    is_time,
    job_fails,
    length_of,
    packed,
    read_decimal,
    scale_of,
    single,
    text_of,
    undefined,
    unpacked,
    width,
)

# Where in the line, and the words of the reason, are for people: like the bytes of a hash, nobody promises them.
REJECTED = {"text": "string", "line": "u64", "column": "hash", "reason": "hash"}


class any_order(bytes):
    """A file whose lines, or rows of `size` bytes, may stand in another order, but in the same one after each run."""

    def __new__(cls, data, size):
        out = super().__new__(cls, data)
        out.size = size
        return out

    def __getnewargs__(self):
        return bytes(self), self.size

    def same_rows(self, data):
        def parts(data):
            n = self.size
            return sorted(data[i : i + n] for i in range(0, len(data), n)) if n else sorted(data.split(b"\n"))

        return parts(data) == parts(bytes(self))


def split_lines(data, delimiter, quote):
    """([field text, ...], [whether it is in quotes, ...], raw line) of RFC 4180."""
    at, out = 3 if data.startswith(b"\xef\xbb\xbf") else 0, []
    while at < len(data):
        start, fields, quoted = at, [], []
        while True:
            quoted.append(bool(quote) and data[at : at + 1] == quote)
            if quoted[-1]:
                field, at = b"", at + 1
                while True:
                    end = data.find(quote, at)
                    if end < 0:
                        raise undefined("a quote without an end")
                    field, at = field + data[at:end], end + 1
                    if data[at : at + 1] != quote:
                        break
                    field, at = field + quote, at + 1
            else:
                match = re.compile(rb"[^" + re.escape(delimiter + b"\n") + rb"]*").match(data, at)
                field, at = match.group(), match.end()
                if data[at : at + 1] != delimiter and field.endswith(b"\r"):
                    field = field[:-1]
            fields.append(field)
            if data[at : at + 1] != delimiter:
                break
            at += 1
        raw = data[start:at]
        if data[at : at + 2] == b"\r\n":
            at += 2
        elif data[at : at + 1] == b"\n":
            raw, at = raw[:-1] if raw.endswith(b"\r") else raw, at + 1
        elif at < len(data):
            raise undefined("text behind a closing quote")
        out.append((fields, quoted, raw))
    return out


REAL = re.compile(rb"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


def field_value(text, kind):
    """The value; None: malformed."""
    if kind == "string":
        return text
    if kind.startswith("bytes"):
        return text if len(text) == length_of(kind) else None
    if kind == "bool":
        return {b"true": True, b"1": True, b"false": False, b"0": False}.get(text)
    if kind in INTEGERS:
        if not re.match(rb"-?[0-9]+\Z", text):
            return None
        if text.startswith(b"-") and int(text) == 0:
            raise undefined("-0 of an integer")
        return int(text) if holds(kind, int(text)) else None
    if is_time(kind):
        return times.read(text, kind)
    if is_decimal(kind):
        return read_decimal(text, scale_of(kind))
    if text in (b"inf", b"-inf", b"nan"):
        return float(text)
    if not REAL.match(text):
        return None
    if float(text) == 0:
        return float(text)
    return single(Fraction(Decimal(text.decode()))) if kind == "f32" else float(text)


def is_missing(settings, column, text, quoted):
    allowed = column in settings.get("default", {}) or column in settings.get("missing", {})
    if is_text(settings["type"][column]) and (quoted or not allowed):
        return False
    return text in [n.encode() for n in settings.get("null_values", [])]


def formed_value(settings, column, text, kind):
    """The same in the column's form, if it has one."""
    if column not in settings.get("format", {}):
        return field_value(text, kind)
    us = times.read_with(text, settings["format"][column].encode())
    return us if us is None or kind == "timestamp" else us // times.DAY


def read_field(settings, column, text, quoted):
    """The value; None: malformed."""
    kind = settings["type"][column]
    if not is_missing(settings, column, text, quoted):
        return formed_value(settings, column, text, kind)
    if column in settings.get("default", {}):
        return formed_value(settings, column, settings["default"][column].encode(), kind)
    zero = 0 if is_time(kind) or is_decimal(kind) else b"" if kind == "string" else bytes(length_of(kind)) if is_text(kind) else field_value(b"0", kind)
    return zero if column in settings.get("missing", {}) else None


def read_csv(settings, node, files):
    """{port: table}."""
    columns = settings["type"]
    delimiter, quote = settings.get("delimiter", ",").encode(), settings.get("quote", '"').encode()
    told = settings.get("missing", {})
    if not set(told).union(settings.get("default", {})) <= set(columns) or len({*columns, *told.values()}) < len(columns) + len(told):
        raise fault("an unknown column, or a name that is there already")
    rows, bad, lines = [], [], 0
    for path in paths(settings):
        number, places = 1, list(range(len(columns)))  # of the columns among the fields
        size = len(columns)
        for i, (fields, quoted, raw) in enumerate(split_lines(files[path], delimiter, quote)):
            line, number = number, number + 1 + raw.count(b"\n")
            if settings.get("columns") == "header" and i == 0:
                names = [settings.get("names", {}).get(c, c).encode() for c in columns]
                if any(fields.count(name) != 1 for name in names):
                    raise job_fails("a column that the header lacks or has twice")
                places, size = [fields.index(name) for name in names], len(fields)
                continue
            if settings.get("header") and i == 0:
                if fields != [c.encode() for c in columns]:
                    raise job_fails("another header")
                continue
            lines += 1
            if len(fields) != size:
                values = [None]
            else:
                values = [read_field(settings, c, fields[at], quoted[at]) for at, c in zip(places, columns)]
            if None in values:
                if b"\n" in raw and port_of(node) not in ("fail", "skip"):
                    raise undefined("in which of its lines a record is wrong")
                bad.append((raw, line, 0, b""))
            else:
                at = dict(zip(columns, places))
                rows.append(tuple(values) + tuple(is_missing(settings, c, fields[at[c]], quoted[at[c]]) for c in told))
    return with_rejects(node, table({**columns, **{c: "bool" for c in told.values()}}, rows), bad, lines)


def port_of(node):
    """Where malformed lines go: fail, skip or a port."""
    how = node.on_error or "fail"
    return how["to"] if isinstance(how, dict) else how


def with_rejects(node, t, bad, lines):
    """{port: table} of a source with on_error. `bad`: rows of REJECTED; `lines`: how many there were in all."""
    how, port = node.on_error, port_of(node)
    if bad and port == "fail":
        raise job_fails("malformed lines")
    if isinstance(how, dict) and "max_ratio" in how and len(bad) > how["max_ratio"] * lines:
        raise job_fails("more malformed lines than max_ratio")
    out = {"": t}
    if port not in ("fail", "skip"):
        out[port] = table(REJECTED, bad)
    return out


def read_json_lines(settings, node, files):
    columns, told = settings["type"], settings.get("missing", {})
    if not set(told).union(settings.get("default", {})) <= set(columns) or len({*columns, *told.values()}) < len(columns) + len(told):
        raise fault("an unknown column, or a name that is there already")
    default = {c: formed_value(settings, c, text.encode(), columns[c]) for c, text in settings.get("default", {}).items()}
    rows, bad = [], []
    for path in paths(settings):
        good, malformed = json_files.read_rows(settings, files[path], default)
        rows += good
        bad += [(line, number, 0, b"") for line, number in malformed]
    return with_rejects(node, json_files.told_table(settings, rows), bad, len(rows) + len(bad))


def paths(settings):
    given = settings["path"]
    return [p.removeprefix("${in}/") for p in (given if isinstance(given, list) else [given])]


def byte(settings):
    return settings.get("delimiter", "\n").replace("\\0", "\0").encode()


def read_lines(settings, node, files):
    rows = []
    for path in paths(settings):
        lines = files[path].split(byte(settings))
        rows += [(line,) for line in (lines[:-1] if lines[-1] == b"" else lines)]
    return {"": table({"text": "string"}, rows)}


def read_rows(settings, node, files):
    columns = settings["type"]
    size = sum(width(k) for k in columns.values())
    rows = []
    for path in paths(settings):
        data = files[path]
        if len(data) % size:
            raise job_fails("no multiple of the row's width")
        for at in range(0, len(data), size):
            row = []
            for kind in columns.values():
                row.append(unpacked(data[at : at + width(kind)], kind))
                at += width(kind)
            rows.append(tuple(row))
    if "range" in settings:
        if isinstance(settings["path"], list):
            raise fault("a range of several files")
        first, last = (int(n) if n else None for n in settings["range"].split(":"))
        rows = rows[first or 0 : last]
    t = table(columns, rows)
    if "sorted_by" in settings:
        keys, order = sort_keys(settings["sorted_by"], t, NO_SCALARS)
        if [row for _, row in by_keys(list(zip(t.named(), rows)), keys)] != rows:
            raise job_fails("not sorted")
        t.order = order
    return {"": t}


class NO_SCALARS:
    types, values = {}, {}


# A name may have so many bytes.
MOST_NAME = 255
EMPTY = "__HIVE_DEFAULT_PARTITION__"


def name_text(text):
    """What a value's text is called in a name."""
    out = "" if text else EMPTY
    for at, c in enumerate(text.decode("utf-8", "surrogateescape")):
        cannot = c in "\"#%'*/:=?\\{[]^" or ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xDC80 <= ord(c) <= 0xDCFF
        first = at == 0 and (c == "." or text == EMPTY.encode())
        out += "".join(f"%{b:02X}" for b in c.encode("utf-8", "surrogateescape")) if cannot or first else c
    return out


def target(settings, values=None):
    path = settings["path"].removeprefix("${out}/")
    return re.sub(r"\{(\w+)\}", lambda m: values[m[1]], path) if values else path


def path_columns(settings):
    return list(dict.fromkeys(re.findall(r"(?<!\$)\{(\w+)\}", settings["path"])))


def written(op, settings, t, read):
    """What a sink writes into one file; `read`: the files that it may read."""
    return SINKS[op](settings, t, *([read] if op == "file.write_protobuf" else []))


def partitioned(op, settings, t, read):
    """{path: content} of a sink whose path names columns."""
    names = path_columns(settings)
    if any(is_float(t.columns[c]) for c in names):
        raise fault("a file for each float")
    leaves_out = settings.get("path_columns") == "leave_out"
    kept = [c for c in t.columns if not leaves_out or c not in names]
    if not kept:
        raise fault("no column is left")
    groups, owners = {}, {}
    for row in t.rows:
        values = {c: name_text(text_of(row[t.place(c)], t.columns[c])) for c in names}
        key, path = tuple(values.values()), target(settings, values)
        if owners.setdefault(path, key) != key:
            raise job_fails("two values with one name")
        if any(len(part.encode("utf-8", "surrogateescape")) > MOST_NAME for part in path.split("/")):
            raise job_fails("a name that is too long")
        groups.setdefault(path, []).append(tuple(row[t.place(c)] for c in kept))
    if len(groups) > settings.get("max_files", 10000):
        raise job_fails("more files than there may be")
    types = {c: t.columns[c] for c in kept}
    written(op, settings, table(types, []), read)  # which finds faults, also without rows
    return {path: written(op, settings, table(types, rows), read) for path, rows in groups.items()}


def write_csv(settings, t):
    delimiter, quote = settings.get("delimiter", ",").encode(), settings.get("quote", '"').encode()

    def field(text):
        if delimiter not in text and b"\n" not in text and b"\r" not in text and (not quote or quote not in text):
            return text
        if not quote:
            raise job_fails("a field that needs quotes")
        return quote + text.replace(quote, quote + quote) + quote

    told, null = settings.get("missing", {}), settings.get("null_text", "").encode()
    check_missing(told, t.columns)

    def value(c, kind, v, row):
        text = text_of(v, kind)
        if c not in told:
            return field(text)
        if row[t.place(told[c])]:
            return null
        if not is_text(kind) or text != null:
            return field(text)
        if not quote:
            raise job_fails("a text that needs quotes")
        return quote + text + quote

    kept = [(c, k, t.place(c)) for c, k in t.columns.items() if c not in told.values()]
    names = settings.get("names", {})
    lines = [[field(names.get(c, c).encode()) for c, _, _ in kept]] if settings.get("header") else []
    lines += [[value(c, k, row[i], row) for c, k, i in kept] for row in t.rows]
    return b"".join(delimiter.join(line) + b"\n" for line in lines)


def check_missing(told, columns):
    if not {*told, *told.values()} <= set(columns) or any(columns[c] != "bool" or c in told for c in told.values()):
        raise fault("columns that can't tell what is missing")


def write_lines(settings, t):
    texts = [c for c, k in t.columns.items() if k == "string"]
    column = settings.get("column") or (texts[0] if len(texts) == 1 else "text")
    if not is_text(t.columns.get(column, "u8")):
        raise fault("lines of what is no text")
    place = t.place(column)
    return b"".join(row[place] + byte(settings) for row in t.rows)


def write_rows(settings, t):
    if "string" in t.columns.values():
        raise fault("packed rows have no strings")
    return b"".join(packed(v, k) for row in t.rows for v, k in zip(row, t.columns.values()))


def read_npy(settings, node, files):
    return arrays.read_npy(settings, node, files, paths(settings))


def read_protobuf(settings, node, files):
    defaults = {c: field_value(text.encode(), settings["type"].get(c, "string")) for c, text in settings.get("default", {}).items()}
    return messages.read_protobuf(settings, node, files, paths(settings), table, defaults)


SOURCES = {
    "file.read_csv": read_csv,
    "file.read_json_lines": read_json_lines,
    "file.read_lines": read_lines,
    "file.read_npy": read_npy,
    "file.read_protobuf": read_protobuf,
    "file.read_rows": read_rows,
}
SINKS = {
    "file.write_csv": write_csv,
    "file.write_json_lines": json_files.write_json_lines,
    "file.write_lines": write_lines,
    "file.write_npy": arrays.write_npy,
    "file.write_protobuf": messages.write_protobuf,
    "file.write_rows": write_rows,
}


def file_text(rows, columns, delimiter=b",", quote=b'"', end=b"\n"):
    """A text file that has these rows."""
    settings = {"delimiter": delimiter.decode(), "quote": quote.decode()}
    data = write_csv(settings, table(columns, rows))
    return data if end == b"\n" else data.replace(b"\n", end)


def packs(columns):
    """Whether packed files can have these columns."""
    return "string" not in columns.values()


def exact_text(columns, rows):
    """Whether a text file gives these very rows: a NaN's bits are lost in texts."""
    return not any(is_float(k) and row[i] != row[i] for row in rows for i, k in enumerate(columns.values()))
