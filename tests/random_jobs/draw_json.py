"""Random JSON lines: files, and the keys that columns have in them."""

import json
import math

import draw_values
import json_files
from values import is_decimal, is_float, is_text, is_time, text_of

# Lines that are no rows, mostly; some are, of a few types.
WRONG = [
    b"[]",
    b"{}",
    b"x",
    b'"text"',
    b'{"a":1',
    b'{"a":1}}',
    b'{"":null}',
    b'{"a":01}',
    b'{"a":"\t"}',
    b'{"a":"\\ud83d"}',
    b'{"a":"\xff"}',
    b'{"a":tru}',
    b"{'a':1}",
    b'{"a":1,}',
    b"{} {}",
    b"\x00",
    b"null",
]
VALUES = ["null", "true", "1.0", "2e2", "1.5e1", "-12.50", '"+7.5"', "-0", "300", "1.5", "18446744073709551616", '"x"', '"12"', "{}", "[1]", '"2026-02-29"', "{\"a\": null}"]
OTHERS = ["1", "[]", '[{"a": [null, true]}, "\\u00e9"]', '{"x": {"x": -1.5e+3}}', '"\\"}{"', "1e999", "[1,]", "nul", '"\\ud800"']


def names(r, columns):
    """Keys, and paths into objects that some columns share."""
    shapes = ["k {}", "o.{}", "o.{}", "o.p.{}", "q.{}", "\u00e4\\.{}", "\\\\{}"]
    return {c: r.choice(shapes).format(c) for c in columns if r.random() < 0.6}


def written(r, text):
    """A text as JSON may have it."""
    return json.dumps(text, ensure_ascii=r.random() < 0.4)


def value(r, v, kind, pattern, field):
    if r.random() < 0.04:
        return "null"
    if is_text(kind):
        return written(r, v.decode("utf-8", "replace"))
    if is_time(kind):
        return written(r, field(v, kind, pattern).decode())
    if is_float(kind) and not math.isfinite(v):
        return "null"
    if is_decimal(kind) and r.random() < 0.2:
        return written(r, text_of(v, kind).decode())
    return text_of(v, kind).decode()


def object_text(r, places, row, settings, wrong, field):
    """An object with its keys in any order."""
    kinds, forms = settings["type"], settings.get("format", {})
    allowed = {*settings.get("default", {}), *settings.get("missing", {})}
    blank = r.choice(["", "", "", " "])
    parts = []
    for key, place in places.items():
        if isinstance(place, dict):
            if r.random() < 0.05:
                parts.append((key, "null"))
            elif r.random() > 0.05:
                parts.append((key, object_text(r, place, row, settings, wrong, field)))
        elif wrong and r.random() < 0.08:
            parts.append((key, r.choice(VALUES)))
        elif r.random() > (0.2 if place in allowed else 0.02 if wrong else 0):
            parts.append((key, value(r, row[place], kinds[place], forms.get(place), field)))
    if r.random() < (0.3 if settings.get("other_keys") == "skip" else 0.02):
        parts.append((r.choice(["x", "other key", "o2"]), r.choice(OTHERS if wrong else OTHERS[:-3])))
    if wrong and parts and r.random() < 0.05:
        parts.append(r.choice(parts))
    if r.random() < 0.4:
        r.shuffle(parts)
    inner = f",{blank}".join(f"{written(r, key)}{blank}:{blank}{text}" for key, text in parts)
    return "{" + blank + inner + blank + "}"


def text(r, settings, wrong, field):
    columns = settings["type"]
    places = json_files.layout(settings, columns)
    end = r.choice([b"\n", b"\n", b"\n", b"\r\n"])
    lines = []
    for row in draw_values.rows(r, columns, draw_values.count(r)):
        line = object_text(r, places, dict(zip(columns, row)), settings, wrong, field).encode()
        lines.append(r.choice(WRONG) if wrong and r.random() < 0.05 else line)
        if r.random() < 0.03:
            lines.append(r.choice([b"", b"  ", b"\t"]))
    data = end.join(lines) + (end if r.random() < 0.8 else b"")
    return b"\xef\xbb\xbf" + data if r.random() < 0.1 else data
