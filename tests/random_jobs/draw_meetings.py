"""Random sources, and nodes with several inputs."""

import arrays
import draw_json
import draw_values
import files
import stored
import times
from draw_expressions import expression_drawer
from drawing import some
from job_text import call, ex, key, name, number
from values import INTEGERS, is_integer, is_number, is_text, is_time, job_fails, length_of, packed, text_of


def types(d, pool, most=5):
    most = 40 if d.r.random() < 0.02 else most
    return {d.fresh("c"): d.r.choice(pool) for _ in range(d.r.randint(1, most))}


def file(d, data):
    path = d.fresh(f"s{d.job.seed}-f")
    d.job.files[path] = data
    return "${in}/" + path


def parts(d, make):
    """One file, or a list of two."""
    if d.r.random() < 0.85:
        return file(d, make())
    return [file(d, make()), file(d, make())]


WRONG = [b"", b"x", b"999999999999999999999999", b"-1", b"1.5", b" 1", b"tru", b"300", b"2026-02-29", b"2026-02-28", b"2026-01-01T24:00"]


def header_names(d, columns, blanks):
    """What headers call some of the columns; with blanks only where those may stand in a name."""
    some = [c for c in columns if d.r.random() < 0.3]
    shapes = ["{}-", "0{}", "\u00e4{}", "#.{}", *(["Amount ({})"] if blanks else [])]
    return {c: d.r.choice(shapes).format(c) for c in some}


def fields_by_header(d, columns, names):
    """The columns as a file may have them: in another order, with more among them."""
    more = {d.fresh("x"): d.r.choice(draw_values.TYPES) for _ in range(d.r.choice([0, 0, 1, 2, 30]))}
    found = list({**columns, **more}.items())
    d.r.shuffle(found)
    return dict(found)


def field(value, kind, pattern):
    """What a file has, in the column's form if it has one."""
    if pattern is None:
        return text_of(value, kind)
    return times.printed(value * (times.DAY if kind == "date" else 1), pattern.encode())


def missing_values(d, columns, forms):
    """null_values, default and missing. Most columns may be missing, so that not all lines are malformed."""
    nulls = d.r.sample(["", "NA", "-", "0", "7", "null", "nan"], d.r.randint(1, 3))
    return {"null_values": nulls, **missing_columns(d, columns, forms)}


def missing_columns(d, columns, forms):
    """default and missing."""
    r = d.r
    default, told = {}, {}
    for c, kind in columns.items():
        if r.random() < 0.6:
            texts = ["", "none", "a, b", 'say "x"', "\u00e4;\t|"] if kind == "string" else []
            if is_text(kind):
                default[c] = r.choice(texts or ["x" * length_of(kind)])
            else:
                default[c] = field(draw_values.value(r, kind), kind, forms.get(c)).decode()
        if r.random() < 0.5:
            told[c] = d.fresh("c")
    return {**({"default": default} if default else {}), **({"missing": told} if told else {})}


def read_csv(d):
    r = d.r
    columns = types(d, draw_values.TYPES)
    delimiter = r.choice([",", ",", ",", ";", "\t", "|", " "])
    quote = r.choice(['"', '"', '"', "'", ""])
    end = r.choice([b"\n", b"\n", b"\n", b"\r\n"])
    by_header = r.random() < 0.25
    header = r.random() < (0.5 if by_header else 0.2)
    wrong = r.random() < 0.25
    names = header_names(d, columns, quote or delimiter != " ") if by_header else {}
    forms = {c: r.choice(times.PATTERNS).decode() for c, k in columns.items() if is_time(k) and r.random() < 0.4}
    missing = missing_values(d, columns, forms) if r.random() < 0.3 else {}
    wrong = wrong or bool(missing) and r.random() < 0.7
    nulls = [n.encode() for n in missing.get("null_values", [])]
    allowed = {*missing.get("default", {}), *missing.get("missing", {})}

    def make():
        found = fields_by_header(d, columns, names) if by_header else columns  # as the file has them
        try:
            rows = draw_values.rows(r, found, draw_values.count(r))
            shown = {c: "string" if c in forms else k for c, k in found.items()}
            rows = [
                tuple(field(v, k, forms[c]) if c in forms else v for v, (c, k) in zip(row, found.items())) for row in rows
            ]
            lines = [files.file_text([row], shown, delimiter.encode(), quote.encode(), end) for row in rows]
        except job_fails:
            lines = []
        if wrong:
            for i in range(len(lines)):
                if r.random() < 0.2:
                    lines[i] = (
                        delimiter.encode().join(
                            r.choice(WRONG) for _ in range(r.choice([len(found), len(found), len(found) + 1]))
                        )
                        + end
                    )
        for i in range(len(lines) if nulls else 0):
            values = lines[i][: -len(end)].split(delimiter.encode())
            if len(values) == len(found) and not (quote and quote.encode() in lines[i]):  # nothing is in quotes
                for at, c in enumerate(found):
                    if r.random() < 0.3 and (wrong or c not in columns or c in allowed):
                        values[at] = r.choice(nulls)
                        if quote and r.random() < 0.2:
                            values[at] = quote.encode() + values[at] + quote.encode()
            lines[i] = delimiter.encode().join(values) + end
        if by_header:
            wanted = {names.get(c, c): c for c in found}
            text = {c: "string" for c in found}
            head = files.file_text([tuple(n.encode() for n in wanted)], text, delimiter.encode(), quote.encode(), end)
        else:
            head = delimiter.join(columns).encode() + end if header else b""
        data = head + b"".join(lines)
        if r.random() < 0.2 and data.endswith(end) and lines and not lines[-1] == end:
            data = data[: -len(end)]
        if r.random() < 0.1:
            data = b"\xef\xbb\xbf" + data
        return data

    settings = {"path": parts(d, make), "type": columns}
    settings.update({k: v for k, v, usual in [("delimiter", delimiter, ","), ("quote", quote, '"')] if v != usual})
    if header:
        settings["header"] = True
    if by_header:
        settings["columns"] = "header"
    elif r.random() < 0.1:
        settings["columns"] = "position"
    if names:
        settings["names"] = names
    if forms:
        settings["format"] = forms
    settings.update(missing)
    on_error = (
        r.choice(["skip", {"to": "bad"}, {"to": "bad", "max_ratio": r.choice([0.5, 0.9, 1])}, "bad"])
        if wrong
        else r.choice([None, None, None, "skip"])
    )
    made = d.add("file.read_csv", None, on_error, **settings)
    if made and f"{made}.bad" in d.streams:
        d.add("map", f"{made}.bad", **{d.fresh("c"): name("text"), d.fresh("c"): name("line")})
    return made


def read_json_lines(d):
    r = d.r
    columns = types(d, draw_values.TYPES)
    forms = {c: r.choice(times.PATTERNS).decode() for c, k in columns.items() if is_time(k) and r.random() < 0.3}
    missing = missing_values(d, columns, forms) if r.random() < 0.4 else {}
    missing.pop("null_values", None)
    names = draw_json.names(r, columns) if r.random() < 0.5 else {}
    more = {"names": names, "format": forms, **missing, "other_keys": r.choice([None, "refuse", "skip", "skip"])}
    settings = {"type": columns, **{k: v for k, v in more.items() if v}}
    wrong = r.random() < 0.4
    settings["path"] = parts(d, lambda: draw_json.text(r, settings, wrong, field))
    on_error = r.choice(["skip", {"to": "bad"}, {"to": "bad", "max_ratio": r.choice([0.5, 0.9, 1])}])
    made = d.add("file.read_json_lines", None, on_error if wrong else r.choice([None, None, "skip"]), **settings)
    if made and f"{made}.bad" in d.streams:
        d.add("map", f"{made}.bad", **{d.fresh("c"): name("text"), d.fresh("c"): name("line")})
    return made


def read_rows(d):
    r = d.r
    columns = types(d, [k for k in draw_values.TYPES if k != "string"])
    sorted_by = (
        [key(name(c), r.random() < 0.3) for c in d.columns(draw_table(columns), 2)] if r.random() < 0.3 else None
    )

    def make():
        rows = draw_values.rows(r, columns, draw_values.count(r), in_text=False)
        if sorted_by:
            t = draw_table(columns, rows)
            rows = [
                row
                for _, row in files.by_keys(
                    list(zip(t.named(), rows)), files.sort_keys(sorted_by, t, files.NO_SCALARS)[0]
                )
            ]
        return b"".join(packed(v, k) for row in rows for v, k in zip(row, columns.values()))

    settings = {"path": file(d, make()) if sorted_by else parts(d, make), "type": columns}
    if sorted_by:
        settings["sorted_by"] = sorted_by
    if isinstance(settings["path"], str) and r.random() < 0.2:
        settings["range"] = r.choice(["2:9", "0:5", "3:", ":7", "50:200"])
    read = settings["path"] if isinstance(settings["path"], list) else [settings["path"]]
    if r.random() < 0.2:
        compressed = any(stored.how(path.removeprefix("${in}/")) for path in read)
        settings["compression"] = "auto" if compressed else r.choice(["auto", "none"])
    return d.add("file.read_rows", None, **settings)


def read_npy(d):
    """An array with these columns among others, in some order, or without names; now and then with a value that is none."""
    r = d.r
    plain = r.random() < 0.3
    kinds = [r.choice([k for k in draw_values.TYPES if k != "string"])] if plain else draw_values.TYPES
    columns = types(d, [k for k in kinds if k != "string"], r.choice([1, 5]) if plain else 5)
    sorted_by = (
        [key(name(c), r.random() < 0.3) for c in d.columns(draw_table(columns), 2)] if r.random() < 0.2 else None
    )
    wrong = r.random() < 0.3
    names = {} if plain else header_names(d, columns, True)

    def make():
        rows = draw_values.rows(r, columns, draw_values.count(r), in_text=False)
        if sorted_by:
            t = draw_table(columns, rows)
            keys = files.sort_keys(sorted_by, t, files.NO_SCALARS)[0]
            rows = [row for _, row in files.by_keys(list(zip(t.named(), rows)), keys)]
        fields = list(columns.items())
        if not plain:
            more = [k for k in draw_values.TYPES if k != "string"]
            fields += [(d.fresh("x") if r.random() < 0.5 else "", r.choice(more)) for _ in range(r.choice([0, 0, 1, 3]))]
            r.shuffle(fields)
        big = {c: r.random() < 0.15 for c, _ in fields}
        if plain:
            big = dict.fromkeys(columns, r.random() < 0.3)
        data = b""
        for row in rows:
            values = dict(zip(columns, row))
            for c, k in fields:
                value = arrays.element(values.get(c, 0), k, big[c]) if c in columns else bytes(arrays.size_of(arrays.name_of(k)))
                if c in columns and wrong and r.random() < 0.05:
                    value = bad_value(k, value, big[c])
                data += value
        types_of = [(names.get(c, c) if c in columns else c, dtype(k, big[c])) for c, k in fields]
        version = r.choice([1, 1, 2, 3])
        if not plain:
            return arrays.array(types_of, (len(rows),), data, version)
        shape = (len(rows), len(columns)) if len(columns) > 1 or r.random() < 0.3 else (len(rows),)
        return arrays.array(repr(types_of[0][1]), shape, data, version)

    settings = {"path": file(d, make()) if sorted_by else parts(d, make), "type": columns}
    if names:
        settings["names"] = names
    if sorted_by:
        settings["sorted_by"] = sorted_by
    errors = ["skip"] if sorted_by else ["skip", {"to": "bad"}, {"to": "bad", "max_ratio": 0.9}]
    on_error = r.choice(errors) if wrong or r.random() < 0.1 else None
    made = d.add("file.read_npy", None, on_error, **settings)
    if made and f"{made}.bad" in d.streams:
        d.add("map", f"{made}.bad", **{d.fresh("c"): name("row_in_file"), d.fresh("c"): name("column")})
    return made


def dtype(kind, big):
    """Bytes of one have no order."""
    out = arrays.name_of(kind)
    return out.replace("<", ">") if big else out


def bad_value(kind, value, big):
    """One that the column can't have, if the file can."""
    if kind in ("u24", "u40", "u48", "date"):
        wrong = b"\xff" * (len(value) - 1) + b"\x7f"
    elif kind == "timestamp":
        wrong = bytes(7) + b"\x80"
    else:
        return b"\x02" if kind == "bool" else value
    return wrong[::-1] if big else wrong


def draw_table(columns, rows=()):
    return files.table(columns, list(rows))


def read_lines(d):
    r = d.r
    delimiter = r.choice(["\n", "\n", ";", "\\0"])
    end = delimiter.replace("\\0", "\0").encode()

    def make():
        data = end.join(draw_values.text(r) for _ in range(draw_values.count(r)))
        return data + (end if r.random() < 0.7 else b"")

    settings = {"delimiter": delimiter} if delimiter != "\n" else {}
    source = d.add("file.read_lines", None, path=parts(d, make), **settings)
    # Two of them have the same column; a map gives it another name.
    return source and d.add("map", source, **{d.fresh("c"): name("text")}) if r.random() < 0.5 else source


def generate(d):
    r = d.r
    first = {"first": r.choice([1, 1000, 2**33])} if r.random() < 0.2 else {}
    rows = draw_values.count(r) if r.random() < 0.6 else 2 ** r.randrange(8)
    if r.random() < 0.2:
        kind = r.choice(["counter", "random"])
        seed = {"seed": r.randrange(9)} if kind == "random" and r.random() < 0.5 else {}
        source = d.add("generate", kind=kind, rows=rows, **seed, **first)
        return source and d.add("map", source, **{d.fresh("c"): name("i" if kind == "counter" else "value")})
    drawer = expression_drawer(r, {"i": "u64"})
    columns = {}
    for _ in range(r.randint(1, 4)):
        what, c = r.random(), d.fresh("c")
        if what < 0.25:
            columns[c] = name("i")
        elif what < 0.5:
            columns[c] = call(
                r.choice(list(INTEGERS)),
                ex("binary", "%", call("rand", number(r.randrange(9)), name("i")), number(r.choice([2, 5, 40, 1000]))),
            )
        else:
            columns[c] = drawer.draw(lambda k: k != "hash", 2) or name("i")
    return d.add("generate", columns=columns, rows=rows, **first)


SOURCES = [read_csv, read_csv, read_csv, read_json_lines, read_rows, read_rows, read_npy, read_lines, generate, generate]


# Several inputs


def renamed(d, s, keep):
    """A map that gives every column but `keep` a new name, so that two streams can stand side by side."""
    t = d.streams[s]
    return d.add("map", s, **{c if c in keep else d.fresh("c"): name(c) for c in t.columns})


def changed(d, s):
    """Some of the rows of a stream, all the same or in another order."""
    r, t = d.r, d.streams[s]
    what = r.randrange(4)
    if what == 0:
        return s
    if what == 1:
        return d.add("filter", s, where=d.drawer(t).condition())
    if what == 2:
        return d.add("shuffle", s)
    return d.add("window", s, every=r.randint(1, 3), let={d.fresh("c"): name("row_number")})


def new_names(d, columns, taken):
    """New names for the columns that are taken, and for some others."""
    chosen = [c for c in columns if c in taken or d.r.random() < 0.2]
    return {"rename": {c: d.fresh("c") for c in chosen}} if chosen else {}


def join(d):
    r = d.r
    s = d.pick(lambda t: len(t.rows) <= 200)
    if s is None:
        return None
    keys = d.keys(d.streams[s], 2)
    by = [k[0][1] for k in keys]
    other = changed(d, s)
    if other is None:
        return None
    pairs = {c: c for c in by}
    if r.random() < 0.3:
        pairs = {c: d.fresh("c") for c in by}
    t = d.streams[other]
    same_names = r.random() < 0.4 and not set(pairs.values()) & (set(t.columns) - set(by))
    other = d.add("map", other, **{pairs.get(c) or (c if same_names else d.fresh("c")): name(c) for c in t.columns})
    left = d.sorted(s, keys)
    right = other and d.sorted(other, [key(name(pairs[k[0][1]]), k[1]) for k in keys])
    if left is None or right is None:
        return None
    if r.random() < 0.3:
        left = d.add("filter", left, where=d.drawer(d.streams[left]).condition()) or left
    kind = r.choice(["inner", "left", "full", "semi", "anti"])
    options = {"kind": kind} if kind != "inner" or r.random() < 0.5 else {}
    options.update(some(r, matched=d.fresh("c"), skip=True if kind != "full" else None))
    if kind not in ("semi", "anti"):
        added = [c for c in d.streams[right].columns if c not in pairs.values()]
        options.update(new_names(d, added, d.streams[left].columns))
    return d.add(
        "join", {"left": left, "right": right}, by=by if all(a == b for a, b in pairs.items()) else pairs, **options
    )


def lookup(d):
    """What a group says of a row's key."""
    r = d.r
    s = d.pick()
    keys = d.keys(d.streams[s], 2)
    by = [k[0][1] for k in keys]
    ordered = changed(d, s)
    ordered = ordered and d.sorted(ordered, keys)
    if ordered is None:
        return None
    drawer = d.drawer(d.streams[ordered])
    let = {d.fresh("c"): drawer.aggregate() for _ in range(r.randint(1, 2))}
    table = d.add("group", ordered, by=by, let=let)
    if table is None:
        return None
    pairs = {c: c for c in by}
    if r.random() < 0.3:
        pairs = {c: d.fresh("c") for c in by}
        table = d.add("map", table, **{pairs.get(c, c): name(c) for c in d.streams[table].columns})
    missing = r.choice(["drop", "default", "default", "fail", "fail", "fail"])
    options = {"missing": missing} if missing != "fail" or r.random() < 0.5 else {}
    if missing == "default" and table:
        given = {c: d.literal(d.streams[table].columns[c]) for c in let if r.random() < 0.6}
        if any(e is not None for e in given.values()):
            options["defaults"] = {c: e for c, e in given.items() if e is not None}
    options.update(some(r, kind=r.choice(["auto", "hash"])))
    if table:
        added = [c for c in d.streams[table].columns if c not in pairs.values()]
        options.update(new_names(d, added, d.streams[s].columns))
    return table and d.add(
        "lookup", {"stream": s, "table": table}, by=by if all(a == b for a, b in pairs.items()) else pairs, **options
    )


def dense_lookup(d):
    """A table of small numbers, as an array."""
    r, s = d.r, d.pick(lambda t: any(is_integer(k) for k in t.columns.values()))
    if s is None:
        return None
    c = r.choice([c for c, k in d.streams[s].columns.items() if is_integer(k)])
    n, node, value = r.choice([1, 10, 100]), d.fresh("c"), d.fresh("c")
    table = d.add(
        "generate",
        rows=n,
        columns={
            node: call("u32", name("i")),
            value: call(r.choice(list(INTEGERS)), ex("binary", "*", name("i"), name("i"))),
        },
    )
    shift = r.choice([0, 0, 5])
    stream = d.add(
        "map",
        s,
        **{
            **{x: name(x) for x in d.columns(d.streams[s], 3)},
            node: call("u32", ex("binary", "%", call("u64", name(c)), number(n + shift))),
        },
    )
    if table is None or stream is None:
        return None
    missing = {"missing": r.choice(["drop", "default"])} if shift or r.random() < 0.5 else {}
    return d.add(
        "lookup", {"stream": stream, "table": table}, by=[node], kind=r.choice(["auto", "array", "hash"]), **missing
    )


def concat(d):
    r, s = d.r, d.pick()
    others = [changed(d, s) for _ in range(r.randint(1, 2))]
    columns = d.streams[s].columns
    others = [o and d.add("map", o, **{c: name(c) for c in columns}) for o in others]
    return d.add("concat", [s, *others]) if all(others) else None


def merge(d):
    r, s = d.r, d.pick()
    keys, columns = d.keys(d.streams[s]), d.streams[s].columns
    inputs = []
    for _ in range(r.randint(2, 3)):
        other = changed(d, s)
        other = other and d.add("map", other, **{c: name(c) for c in columns})
        inputs.append(other and d.sorted(other, keys))
    return d.add("merge", inputs, by=keys) if all(inputs) else None


def merge_less(d):
    """An order that a condition says: by one column of numbers, or by what stands in another."""
    r, s = d.r, d.pick(lambda t: any(is_number(k) for k in t.columns.values()))
    if s is None:
        return None
    c = r.choice([c for c, k in d.streams[s].columns.items() if is_number(k)])
    inputs = []
    for i in range(r.randint(2, 3)):
        more = {x: name(x) for x in d.columns(d.streams[s], 2)}
        other = d.add("map", s, **{c: name(c), **more})
        inputs.append(other and d.sorted(other, [key(name(c))]))
    less = ex("binary", "<", name(f"a.{c}"), name(f"b.{c}"))
    if r.random() < 0.4:
        less = ex("tuples", "<", (name(f"a.{c}"), name("b.input")), (name(f"b.{c}"), name("a.input")))
    return d.add("merge", inputs, less=less) if all(inputs) else None


def zip_streams(d):
    r, s = d.r, d.pick()
    right = renamed(d, s, []) if r.random() < 0.6 else s
    if right and r.random() < 0.5:
        right = d.sorted(right, d.keys(d.streams[right]))
    names = right and new_names(d, d.streams[right].columns, d.streams[s].columns)
    return right and d.add("zip", {"left": s, "right": right}, **names)


def pq_scan(d):
    r = d.r
    kinds = [r.choice(["u8", "u32", "u64", "i32", "i64", "u24"]) for _ in range(r.choice([1, 1, 2]))]
    order = {d.fresh("c"): k for k in kinds}
    down = [r.random() < 0.15 for _ in kinds]
    inputs, seen = {}, dict(order)
    for i in range(r.randint(1, 2)):
        s = d.pick(lambda t: len(t.rows) <= 100 and any(is_integer(k) for k in t.columns.values()))
        if s is None:
            return None
        t = d.streams[s]
        names = [c for c, k in t.columns.items() if is_integer(k)]
        columns = {
            o: call(k, ex("binary", "%", call("u64", name(r.choice(names))), number(r.choice([3, 20, 100]))))
            for o, k in order.items()
        }
        for _ in range(r.randint(0, 2)):
            columns[d.fresh("c")] = name(r.choice(list(t.columns)))
        s = d.add("map", s, **columns)
        s = s and d.sorted(s, [key(name(o), x) for o, x in zip(order, down)])
        if s is None:
            return None
        inputs[f"in{i}"] = s
        seen.update({c: k for c, k in d.streams[s].columns.items() if not is_text(k)})
    state = {d.fresh("v"): r.choice(["u64", "i64", "u8", "bool", "f64", "u32"]) for _ in range(r.randint(0, 2))}
    message = {d.fresh("m"): r.choice(["u16", "i64", "u64", "bool"])} if r.random() < 0.4 else {}
    drawer = expression_drawer(r, {**d.scalars.types, **seen, **message, **state}, texts=False)
    group = list(order)[: r.randint(0, len(order))]
    ports = {"out": None}
    if r.random() < 0.3:
        ports["more"] = None

    def rule(ends):
        known = (
            expression_drawer(r, {**d.scalars.types, **{c: seen[c] for c in group}, **state}, texts=False)
            if ends
            else drawer
        )
        out = {}
        if not ends and r.random() < 0.6:
            out["from"] = r.choice([*inputs, "messages"])
        if r.random() < 0.5 and known.types:
            out["when"] = known.draw(lambda k: k == "bool", 1) or name("true")
        if state and r.random() < 0.6 and not ends:
            v = r.choice(list(state))
            e = known.of_kind(state[v], 1)
            out.update({"set": {v: e}} if e is not None else {})
        if r.random() < 0.5:
            first = next(iter(order))
            later = ex("binary", "-" if down[0] else "+", call("i64", name(first)), number(r.randint(1, 30)))
            if not ends or first in group:
                out["push"] = {
                    first: call(order[first], later),
                    **{m: known.of_kind(k, 1) or number(0) for m, k in message.items()},
                }
        if r.random() < 0.7:
            port = r.choice(list(ports))
            if ports[port] is None:
                ports[port] = {
                    d.fresh("c"): r.choice(["u64", "i64", "bool", "f64", *order.values()])
                    for _ in range(r.randint(1, 2))
                }
            if not ends and port == "out" and r.random() < 0.3 and ports[port] == {}:
                ports[port] = dict(order)
            out["emit"] = {c: known.of_kind(k, 1) for c, k in ports[port].items()}
            if any(e is None for e in out["emit"].values()):
                del out["emit"]
            elif port != "out":
                out["to"] = port
        return out

    rules = [x for x in (rule(False) for _ in range(r.randint(1, 4))) if set(x) & {"set", "push", "emit"}]
    at_end = [x for x in (rule(True) for _ in range(r.randint(0, 2))) if set(x) & {"push", "emit"}]
    if not any("emit" in x for x in rules + at_end):
        return None
    settings = {"order": [key(name(o), x) for o, x in zip(order, down)], "on": rules}
    if group:
        settings["group"] = group
    if state:
        settings["state"] = {v: d.constant(k) for v, k in state.items()}
    if message:
        settings["message"] = message
    if at_end:
        settings["at_end"] = at_end
    return d.add("pq_scan", inputs, **settings) if rules else None


SEVERAL = [join, join, join, lookup, dense_lookup, concat, merge, merge_less, zip_streams, pq_scan, pq_scan]
