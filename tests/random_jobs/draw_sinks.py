"""A sink for a stream."""

import draw_json
import draw_messages
import files
import stored
from drawing import some
from values import is_float, is_text


def columns_in_path(d, t):
    """Part of a path that names columns, and the parameters about it."""
    r = d.r
    columns = [c for c, k in t.columns.items() if not is_float(k) and k != "hash"]
    if not columns or r.random() < 0.8:
        return "", {}
    names = [f"{{{c}}}" for c in r.sample(columns, min(len(columns), r.choice([1, 1, 2])))]
    more = some(r, max_files=r.choice([3, 50, 100000]), path_columns=r.choice(["write", "leave_out"]))
    return r.choice(["/", "-", "/x="]) + r.choice(["/", "-", "/y="]).join(names), more


def place(d, t):
    """The file, or several."""
    columns, more = columns_in_path(d, t)
    return {**one_place(d, columns), **more}


def one_place(d, columns=""):
    """Some are compressed: as their names say, or as the job says and their names end."""
    r, name = d.r, d.fresh(f"s{d.job.seed}-o") + columns
    if r.random() < 0.75:
        return {"path": "${out}/" + name, **some(r, compression=r.choice(["none", "auto"]))}
    ending, (word, _) = r.choice(list(stored.OUTPUTS.items()))
    if r.random() < 0.5:
        return {"path": "${out}/" + name + ending, **some(r, compression="auto")}
    return {"path": "${out}/" + name + "-" + word, "compression": word}


def missing_values(r, columns):
    """Which of the columns a bool column tells to be missing."""
    bools = [c for c, k in columns.items() if k == "bool"]
    if not bools or r.random() < 0.5:
        return {}
    tell = r.sample(bools, r.randint(1, min(len(bools), 2)))
    found = {c: r.choice(tell) for c in columns if c not in tell and r.random() < 0.6}
    return {"missing": found} if found else {}


def write(d, s):
    """A file of whichever kind can have these rows."""
    r, t = d.r, d.streams[s]
    path = place(d, t)
    only_text = {k: v for k, v in path.items() if k != "path_columns"}
    what = r.random()
    if ("string" not in t.columns.values() or path.get("path_columns") == "leave_out") and what < 0.5:
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
        if d.add("file.write_lines", s, **only_text, **delimiter, **column):
            return True
    left_out = files.path_columns(path) if path.get("path_columns") == "leave_out" else []
    written = {c: k for c, k in t.columns.items() if c not in left_out}
    if written and r.random() < 0.15 and draw_messages.write_protobuf(d, s, path, written):
        return True
    missing = missing_values(r, written)
    told = missing.get("missing", {}).values()
    if what > 0.8:
        kept = {c: k for c, k in written.items() if c not in told}
        names = draw_json.names(r, kept) if kept and r.random() < 0.4 else {}
        if d.add("file.write_json_lines", s, **path, **({"names": names} if names else {}), **missing):
            return True
    options = some(r, header=True, delimiter=r.choice([";", "\t", "|", " "]), quote="'" if r.random() < 0.7 else "")
    if missing:
        options.update(some(r, null_text=r.choice(["NULL", "-", "none", "\u00e4"])))
    if options.get("header"):
        found = [c for c in written if c not in told]
        options.update(some(r, names={c: r.choice(["{}", "{} (EUR)", 'a "{}"', "\u00e4;,\t| {}", "{}\n"]).format(c) for c in found[:2]}))
    if options.get("quote") == "":
        options.pop("names", None)  # most of these need quotes
    if d.add("file.write_csv", s, **path, **options, **missing) or d.add("file.write_csv", s, **path, **options) or d.add("file.write_csv", s, **path):
        return True
    # Its values may be no names, or too many.
    return d.add("file.write_csv", s, **one_place(d))
