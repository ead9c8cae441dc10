"""A sink for a stream."""

import draw_json
import stored
from drawing import some
from values import is_text


def place(d):
    """The file, some of them compressed: as their names say, or as the job says and their names end."""
    r, name = d.r, d.fresh(f"s{d.job.seed}-o")
    if r.random() < 0.75:
        return {"path": "${out}/" + name, **some(r, compression=r.choice(["none", "auto"]))}
    ending, (word, _) = r.choice(list(stored.OUTPUTS.items()))
    if r.random() < 0.5:
        return {"path": "${out}/" + name + ending, **some(r, compression="auto")}
    return {"path": "${out}/" + name + "-" + word, "compression": word}


def write(d, s):
    """A file of whichever kind can have these rows."""
    r, t = d.r, d.streams[s]
    path = place(d)
    what = r.random()
    if "string" not in t.columns.values() and what < 0.5:
        if d.add("file.write_rows", s, **path):
            return True
    if "string" not in t.columns.values() and r.random() < 0.3:
        npy = {"path": "${out}/" + d.fresh(f"s{d.job.seed}-o"), **some(r, array=r.choice(["auto", "structured", "plain"]))}
        if d.add("file.write_npy", s, **npy):
            return True
    texts = [c for c, k in t.columns.items() if is_text(k)]
    if texts and what < 0.25:
        delimiter = {"delimiter": r.choice([";", "\\0"])} if r.random() < 0.3 else {}
        column = {"column": r.choice(texts)}
        if [t.columns[c] for c in texts].count("string") == 1 and r.random() < 0.5:
            column = {}
        if d.add("file.write_lines", s, **path, **delimiter, **column):
            return True
    if what > 0.8:
        names = draw_json.names(r, t.columns) if r.random() < 0.4 else {}
        if d.add("file.write_json_lines", s, **path, **({"names": names} if names else {})):
            return True
    options = some(r, header=True, delimiter=r.choice([";", "\t", "|", " "]), quote="'" if r.random() < 0.7 else "")
    return d.add("file.write_csv", s, **path, **options) or d.add("file.write_csv", s, **path)
