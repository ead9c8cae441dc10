"""JSON lines as the reference page describes them."""

import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import times
from tables import table
from values import (
    fault,
    holds,
    is_decimal,
    is_float,
    is_integer,
    is_text,
    is_time,
    job_fails,
    length_of,
    read_decimal,
    scale_of,
    single,
    text_of,
)


class no_row(Exception):
    """The line is malformed."""


def keys_of(settings, column):
    """The keys that lead to a column's value."""
    path = settings.get("names", {}).get(column)
    if path is None:
        return (column,)
    found = re.findall(r"(?:[^.\\]|\\[.\\])+|$^", path)
    if ".".join(found) != path:
        raise fault("no path")
    return tuple(re.sub(r"\\(.)", r"\1", key) for key in found)


def layout(settings, columns):
    """{key: column, or the same of an object}, in the order in which the columns name them."""
    out = {}
    for column in columns:
        *outer, last = keys_of(settings, column)
        at = out
        for key in outer:
            at = at.setdefault(key, {})
            if not isinstance(at, dict):
                raise fault("a value within a value")
        if last in at:
            raise fault("two columns of one value")
        at[last] = column
    return out


class number(Decimal):
    """With its digits, as a decimal is read: 1.5e1 is none."""

    def __new__(cls, digits):
        out = super().__new__(cls, digits)
        out.digits = digits
        return out


class pairs(list):
    """An object as it stands, a key perhaps twice."""


def parsed(line):
    def no_constant(word):
        raise no_row(word)

    def whole(digits):  # the sign of a zero is a float's matter
        return Decimal(digits) if digits == "-0" else int(digits)

    how = {"object_pairs_hook": pairs, "parse_float": number, "parse_int": whole, "parse_constant": no_constant}
    try:
        return json.loads(line.decode(), **how)
    except ValueError as why:  # also of UTF-8
        raise no_row from why


def must_be_text(value):
    try:
        return value.encode()
    except UnicodeEncodeError as why:  # half of a surrogate pair
        raise no_row from why


def look_at(value):
    """What no column takes is JSON, too, as Python's module sees it but for its texts."""
    if isinstance(value, str):
        must_be_text(value)
    elif isinstance(value, pairs):
        for key, inner in value:
            must_be_text(key)
            look_at(inner)
    elif isinstance(value, list):
        for inner in value:
            look_at(inner)


def scalar(settings, column, value, kind):
    if is_text(kind) or is_time(kind):
        if not isinstance(value, str):
            raise no_row
        text = must_be_text(value)
        if is_time(kind):
            return time_of(settings, column, text, kind)
        if kind != "string" and len(text) != length_of(kind):
            raise no_row
        return text
    if is_decimal(kind):
        if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
            raise no_row
        text = must_be_text(value if isinstance(value, str) else getattr(value, "digits", str(value)))
        units = read_decimal(text, scale_of(kind))
        if units is None:
            raise no_row
        return units
    if kind == "bool":
        if not isinstance(value, bool):
            raise no_row
        return value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise no_row
    if is_integer(kind):
        if value != int(value) or not holds(kind, int(value)):
            raise no_row
        return int(value)
    number = float(value) if value == 0 or kind == "f64" else single(Fraction(value))
    if math.isinf(number):
        raise no_row
    return number


def time_of(settings, column, text, kind):
    if column not in settings.get("format", {}):
        value = times.read(text, kind)
    else:
        us = times.read_with(text, settings["format"][column].encode())
        value = us if us is None or kind == "timestamp" else us // times.DAY
    if value is None:
        raise no_row
    return value


def take(settings, value, places, found):
    """The values of columns in an object, into `found`."""
    seen = set()
    for key, inner in value:
        must_be_text(key)
        place = places.get(key)
        if place is None:
            if settings.get("other_keys", "refuse") == "refuse":
                raise no_row
            look_at(inner)
            continue
        if key in seen:
            raise no_row
        seen.add(key)
        if inner is None:
            continue
        if isinstance(place, dict):
            if not isinstance(inner, pairs):
                raise no_row
            take(settings, inner, place, found)
        else:
            found[place] = scalar(settings, place, inner, settings["type"][place])


def row_of(settings, line, places, default):
    value = parsed(line)
    if not isinstance(value, pairs):
        raise no_row
    found = {}
    take(settings, value, places, found)
    told = settings.get("missing", {})
    row = []
    for column, kind in settings["type"].items():
        if column in found:
            row.append(found[column])
        elif column in default:
            row.append(default[column])
        elif column in told:
            zero = b"" if kind == "string" else bytes(length_of(kind)) if is_text(kind) else 0.0 if is_float(kind) else 0
            row.append(False if kind == "bool" else zero)
        else:
            raise no_row
    return tuple(row) + tuple(column not in found for column in told)


def read_rows(settings, data, default):
    """([row], [(line, number)] of those that are malformed)."""
    places, rows, bad = layout(settings, settings["type"]), [], []
    data = data.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        if not line.strip(b" \t\r"):
            continue
        try:
            rows.append(row_of(settings, line, places, default))
        except no_row:
            bad.append((line, number))
    return rows, bad


def shown(value, kind):
    if is_float(kind) and not math.isfinite(value):
        return "null"
    if not is_text(kind) and not is_time(kind):
        return text_of(value, kind).decode()
    try:
        return json.dumps(text_of(value, kind).decode(), ensure_ascii=False)
    except UnicodeDecodeError as why:
        raise job_fails("a text that is no UTF-8") from why


def object_text(places, row, kinds, told):
    parts = [
        json.dumps(key, ensure_ascii=False)
        + ":"
        + (
            object_text(place, row, kinds, told)
            if isinstance(place, dict)
            else "null"
            if place in told and row[told[place]]
            else shown(row[place], kinds[place])
        )
        for key, place in places.items()
    ]
    return "{" + ",".join(parts) + "}"


def write_json_lines(settings, t):
    told = settings.get("missing", {})
    places = layout(settings, {c: k for c, k in t.columns.items() if c not in told.values()})
    lines = [object_text(places, dict(zip(t.columns, row)), t.columns, told) for row in t.rows]
    return "".join(line + "\n" for line in lines).encode()


def told_table(settings, rows):
    return table({**settings["type"], **{c: "bool" for c in settings.get("missing", {}).values()}}, rows)
