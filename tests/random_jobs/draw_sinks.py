"""A sink for a stream."""

from drawing import some
from values import is_text


def write(d, s):
    """A file of whichever kind can have these rows."""
    r, t = d.r, d.streams[s]
    path = {"path": "${out}/" + d.fresh(f"s{d.job.seed}-o")}
    what = r.random()
    if "string" not in t.columns.values() and what < 0.5:
        if d.add("file.write_rows", s, **path):
            return True
    texts = [c for c, k in t.columns.items() if is_text(k)]
    if texts and what < 0.25:
        delimiter = {"delimiter": r.choice([";", "\\0"])} if r.random() < 0.3 else {}
        column = {"column": r.choice(texts)}
        if [t.columns[c] for c in texts].count("string") == 1 and r.random() < 0.5:
            column = {}
        if d.add("file.write_lines", s, **path, **delimiter, **column):
            return True
    options = some(r, header=True, delimiter=r.choice([";", "\t", "|", " "]), quote="'" if r.random() < 0.7 else "")
    return d.add("file.write_csv", s, **path, **options) or d.add("file.write_csv", s, **path)
