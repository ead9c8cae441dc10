"""Jobs that are all expressions: a source with a column of every kind of type, and a map with many deep expressions over
them. Where a chain of nodes has a few expressions, such a job has dozens."""

import draw_meetings
import draw_values
from draw_sinks import write
from job_text import key, name
from tables import computed
from values import INTEGERS, TIMES, fault, packed, undefined

KINDS = [*INTEGERS, *TIMES, "bool", "f32", "f64", "bytes[3]", "bytes[12]"]


def source(d):
    """Packed rows, whose floats have every bit, or text, which has strings."""
    r = d.r
    in_text = r.random() < 0.6
    columns = {d.fresh("c"): kind for kind in r.sample(KINDS, 8) + (["string", "string", "string"] if in_text else [])}
    rows = draw_values.rows(r, columns, r.choice([1, 9, 40, 120]), in_text)
    if in_text:
        data = draw_meetings.files.file_text(rows, columns)
        return d.add("file.read_csv", path=draw_meetings.file(d, data), type=columns)
    data = b"".join(packed(v, k) for row in rows for v, k in zip(row, columns.values()))
    return d.add("file.read_rows", path=draw_meetings.file(d, data), type=columns)


def said(t, e):
    """Whether the reference says for every row what comes out."""
    try:
        columns, run = computed({"x": e}, {"row_number": "u64", **t.columns})
        for row in t.named():
            run(row)
    except (fault, undefined):
        return False
    return True


def draw(d):
    s, r = source(d), d.r
    t = d.streams[s]
    drawer, out = d.drawer(t, True), {}
    for _ in range(r.randint(6, 16)):
        e = drawer.draw(lambda k: k != "hash" and not k.startswith("key "), r.randint(2, 4))
        if e is not None and said(t, e):
            out[d.fresh("c")] = e
    if r.random() < 0.5:
        d.add("filter", s, where=drawer.condition())
    made = out and d.add("map", s, **out)
    if made and r.random() < 0.3:
        keys = [key(name(c), r.random() < 0.3) for c in r.sample(list(out), min(2, len(out)))]
        d.add("sort", made, by=keys, stable=True)
    for s in list(d.unread):
        if s in d.unread:
            write(d, s)
