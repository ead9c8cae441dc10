"""NumPy files as the reference page and NumPy's own page of the format describe them, without NumPy."""

import ast
import re

from tables import by_keys, sort_keys, table
from values import fault, is_decimal, is_float, is_text, job_fails, length_of, packed, unpacked, width

# The type of NumPy that has a column's values.
NAMES = {
    "bool": "|b1", "u8": "|u1", "i8": "|i1", "u16": "<u2", "i16": "<i2", "u24": "<u4", "u32": "<u4", "i32": "<i4",
    "u40": "<u8", "u48": "<u8", "u64": "<u8", "i64": "<i8", "f32": "<f4", "f64": "<f8", "date": "<M8[D]",
    "timestamp": "<M8[us]",
}  # fmt: skip
NAT = -(2**63)
REJECTED = {"row_in_file": "u64", "column": "string", "reason": "hash"}


def name_of(kind):
    if is_decimal(kind):
        return "<i8"  # its number of units
    return NAMES.get(kind) or f"|S{length_of(kind)}"


def size_of(name):
    return int(re.match(r"[<>|][a-zA-Z](\d+)", name)[1])


def element(value, kind, big=False):
    """The bytes of a value: wider than those of a row where NumPy has no such type. `value` may be NAT."""
    size = size_of(name_of(kind))
    if is_text(kind) or is_float(kind):
        out = packed(value, kind)
    else:
        out = int(value).to_bytes(size, "little", signed=int(value) < 0)
    return out[::-1] if big and not is_text(kind) else out


def array(descr, shape, data, version=1, fortran=False):
    """The file, as NumPy writes it: its header has room for any number of rows."""
    literal = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text = literal.encode("utf-8" if version == 3 else "latin1")
    longest = len(text) + 20 - len(str(shape[0]))
    prefix = 10 if version == 1 else 12
    padded = (prefix + longest + 1 + 63) // 64 * 64 - prefix
    return b"\x93NUMPY" + bytes([version, 0]) + padded.to_bytes(prefix - 8, "little") + text.ljust(padded - 1) + b"\n" + data


def read_npy(settings, node, files, paths):
    columns, names = settings["type"], settings.get("names", {})
    if "string" in columns.values():
        raise fault("arrays have no strings")
    rows, bad = [], []
    for path in paths:
        data = files[path]
        length, begin = (data[8:10], 10) if data[6] == 1 else (data[8:12], 12)
        begin += int.from_bytes(length, "little")
        text = data[begin - int.from_bytes(length, "little") : begin]
        header = ast.literal_eval(text.decode("utf-8" if data[6] == 3 else "latin1").strip())
        fields, at = {}, 0  # {name: (type, offset)}
        if isinstance(header["descr"], str):
            for c in columns:
                fields[names.get(c, c)] = (header["descr"], at)
                at += size_of(header["descr"])
        else:
            for name, kind in header["descr"]:
                fields[name] = (kind, at)
                at += size_of(kind)
        shape = header["shape"]
        if isinstance(header["descr"], str) and (shape[1] if len(shape) > 1 else 1) != len(columns):
            raise job_fails("another number of columns")
        if len(data) != begin + shape[0] * at:
            raise job_fails("a file of another length")
        for i in range(shape[0]):
            row, wrong = [], None
            for c, kind in columns.items():
                if names.get(c, c) not in fields:
                    raise job_fails("a field that isn't there")
                found, offset = fields[names.get(c, c)]
                if found.replace(">", "<") != name_of(kind):
                    raise job_fails("a field of another type")
                value = data[begin + i * at + offset :][: size_of(found)]
                if found[0] == ">":
                    value = value[::-1]
                if wrong is None and not is_text(kind) and not is_float(kind) and not fits(value, kind):
                    wrong = c
                row.append(unpacked(value[: width(kind)], kind))
            if wrong:
                bad.append((i, wrong.encode(), b""))
            else:
                rows.append(tuple(row))
    how = node.on_error or "fail"
    port = how["to"] if isinstance(how, dict) else how
    if bad and port == "fail":
        raise job_fails("a value that its column can't have")
    if isinstance(how, dict) and len(bad) > how.get("max_ratio", 1) * (len(rows) + len(bad)):
        raise job_fails("more rejected rows than max_ratio")
    t = table(columns, rows)
    if "sorted_by" in settings:
        keys, order = sort_keys(settings["sorted_by"], t, NO_SCALARS)
        if [row for _, row in by_keys(list(zip(t.named(), rows)), keys)] != rows:
            raise job_fails("not sorted")
        t.order = order
    return {"": t, **({port: table(REJECTED, bad)} if port not in ("fail", "skip") else {})}


class NO_SCALARS:
    types, values = {}, {}


def fits(value, kind):
    number = int.from_bytes(value, "little")
    if kind == "bool":
        return number <= 1
    if kind == "timestamp":
        return number != 2**63
    if kind == "date":
        return -(2**31) <= int.from_bytes(value, "little", signed=True) < 2**31
    return number < 256 ** width(kind)


def write_npy(settings, t):
    kinds = list(t.columns.values())
    if "string" in kinds:
        raise fault("arrays have no strings")
    how = settings.get("array", "auto")
    structured = how == "structured" or how == "auto" and len(kinds) > 1
    if not structured and len({name_of(k) for k in kinds}) > 1:
        raise fault("columns of different types")
    descr = [(c, name_of(k)) for c, k in t.columns.items()] if structured else repr(name_of(kinds[0]))
    shape = (len(t.rows), len(kinds)) if not structured and len(kinds) > 1 else (len(t.rows),)
    return array(descr, shape, b"".join(element(v, k) for row in t.rows for v, k in zip(row, kinds)))
