"""What a drawn job consists of, and how expressions and settings are written."""


class ex(tuple):
    """An expression as a tree: ("number", 7), ("real", 0.5), ("text", b"x"), ("name", "x"), ("unary", op, a),
    ("binary", op, a, b), ("call", function, a, ...), ("byte", text, i), ("slice", text, from or None, to or None),
    ("tuples", op, (a, ...), (b, ...)), ("among", "in" or "not in", a, b, ...), ("between", op, a, low, high),
    ("like", op, a, pattern), ("aggregate", name, a or nothing)."""

    __slots__ = ()

    def __new__(cls, *parts):
        return super().__new__(cls, parts)

    def __getnewargs__(self):
        return tuple(self)


def name(text):
    return ex("name", text)


def number(n):
    return ex("number", n) if n >= 0 else ex("unary", "-", ex("number", -n))


def call(function, *arguments):
    return ex("call", function, *arguments)


def literal(text):
    out = ""
    for byte in text:
        c = chr(byte)
        out += f"\\{c}" if c in "'\\" else c if 32 <= byte < 127 and c != "$" else f"\\x{byte:02x}"
    return f"'{out}'"


def real(x):
    text = repr(x)
    return text if "." in text or "e" in text else text + ".0"


def written(e):
    head, *parts = e
    if head == "number":
        return str(parts[0])
    if head == "real":
        return real(parts[0])
    if head == "text":
        return literal(parts[0])
    if head == "name":
        return parts[0]
    if head == "unary":
        return f"({parts[0]}{' ' if parts[0] == 'not' else ''}{written(parts[1])})"
    if head == "binary":
        return f"({written(parts[1])} {parts[0]} {written(parts[2])})"
    if head == "call" or head == "aggregate":
        return f"{parts[0]}({', '.join(written(p) for p in parts[1:])})"
    if head == "byte":
        return f"{written(parts[0])}[{written(parts[1])}]"
    if head == "slice":
        first, last = (written(p) if p is not None else "" for p in parts[1:])
        return f"{written(parts[0])}[{first}:{last}]"
    if head == "tuples":
        left, right = (f"({', '.join(written(p) for p in side)})" for side in parts[1:])
        return f"({left} {parts[0]} {right})"
    if head == "among":
        return f"({written(parts[1])} {parts[0]} ({', '.join(written(p) for p in parts[2:])}))"
    if head == "between":
        return f"({written(parts[1])} {parts[0]} {written(parts[2])} and {written(parts[3])})"
    if head == "like":
        return f"({written(parts[1])} {parts[0]} {written(parts[2])})"
    raise AssertionError(head)


def outer(e):
    """Without the parentheses around the whole."""
    text = written(e)
    return text[1:-1] if e[0] in ("unary", "binary", "tuples", "among", "between", "like") else text


def key_text(key):
    """A key of a sort: (expression, descending)."""
    e, descending = key
    return ("-" if descending else "") + (written(e) if e[0] in ("name", "slice", "call") else f"({outer(e)})")


class key(tuple):
    """(expression, descending)."""

    __slots__ = ()

    def __new__(cls, e, descending=False):
        return super().__new__(cls, (e, descending))

    def __getnewargs__(self):
        return tuple(self)


def plain(value, spelled=lambda e: e):
    """`with` of a node as JSON has it; `spelled`: how an expression is said."""
    if isinstance(value, ex):
        return outer(spelled(value))
    if isinstance(value, key):
        return key_text(key(spelled(value[0]), value[1]))
    if isinstance(value, dict):
        return {k: plain(v, spelled) for k, v in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], node):
            return {n.id: n.entry(lambda s: s, spelled) for n in value}
        return [plain(v, spelled) for v in value]
    return value


class node:
    """One node: `inputs` is None, a name, a list of names, or {port: name}; `rows`: {name: stream of one row}, whose
    values its expressions name."""

    def __init__(self, id, op, inputs=None, on_error=None, **settings):
        self.id, self.op, self.inputs, self.on_error, self.settings = id, op, inputs, on_error, settings
        self.rows = {}

    def sources(self):
        inputs = [] if self.inputs is None else self.inputs
        inputs = inputs.values() if isinstance(inputs, dict) else inputs if isinstance(inputs, list) else [inputs]
        return [*inputs, *self.rows.values()]

    def rows_entry(self, renamed):
        """`scalars:`; without names where streams are called as they are."""
        streams = [renamed(s) for s in self.rows.values()]
        if [s.split(".")[0] for s in streams] != list(self.rows):
            return dict(zip(self.rows, streams))
        return streams[0] if len(streams) == 1 else streams

    def entry(self, renamed, spelled=lambda e: e):
        out = {"op": self.op}
        if isinstance(self.inputs, dict):
            out["in"] = {port: renamed(s) for port, s in self.inputs.items()}
        elif isinstance(self.inputs, list):
            out["in"] = [renamed(s) for s in self.inputs]
        elif self.inputs is not None:
            out["in"] = renamed(self.inputs)
        if self.rows:
            out["scalars"] = self.rows_entry(renamed)
        if self.settings:
            out["with"] = plain(self.settings, spelled)
        if self.on_error is not None:
            out["on_error"] = self.on_error
        return out


class job:
    """Nodes in an order in which each comes behind those it reads; graphs by name; the bytes of the input files."""

    def __init__(self, seed):
        self.seed, self.nodes, self.graphs, self.files = seed, [], {}, {}
        self.plain = False  # without parameters and names of types


def every_node(value):
    """The nodes in a list of nodes, and those inside of them."""
    if isinstance(value, node):
        yield value
        yield from every_node(list(value.settings.values()))
    elif isinstance(value, dict):
        yield from every_node(list(value.values()))
    elif isinstance(value, list):
        for v in value:
            yield from every_node(v)


def names_in(value):
    """Of all expressions in a setting."""
    if isinstance(value, ex) and value[0] == "name":
        yield value[1]
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from names_in(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from names_in(v)


def named_graphs(job):
    """The graphs that a job calls, and those that these call."""
    named, more = set(), {n.settings.get("graph") for n in every_node(job.nodes) if n.op == "call"}
    while more - named:
        named |= more
        more = {n.settings["graph"] for g in named for n in every_node(job.graphs[g]["nodes"]) if n.op == "call"}
    return {g: d for g, d in job.graphs.items() if g in named}
