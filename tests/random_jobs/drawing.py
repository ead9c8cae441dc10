"""What all who draw nodes use: the nodes so far, and the streams that come out of them, which the reference computes
as it goes. A node that the reference calls wrong, or of which it can't say what comes out, isn't kept."""

import draw_values
import files
from draw_expressions import expression_drawer
from job_text import ex, key, name, names_in, node
from tables import scalar_values
from values import fault, is_decimal, is_float, is_integer, is_text, is_time, job_fails, scale_of, undefined
from whole_jobs import run_node, with_rows, world

# The outputs that something has to read, where it is not just the one.
ENDS = {
    **{f"file.read_{kind}": ["", ".bad"] for kind in ("csv", "json_lines", "npy", "protobuf")},
    "loop": [".scalars"],
    "union_find": [".accepted"],
}


def ends(n):
    """The outputs of a node that something has to read."""
    if n.op in files.SINKS:
        return []
    if n.op == "pq_scan":
        rules = [*n.settings["on"], *n.settings.get("at_end", [])]
        return sorted({f".{rule.get('to', 'out')}" for rule in rules if "emit" in rule})
    return ENDS.get(n.op, [""])


def some(r, **options):
    """Each of the options with a chance."""
    return {k: v for k, v in options.items() if v is not None and r.random() < 0.35}


class nothing_there(Exception):
    """No stream is left that a node could read."""


def attempted(maker, d):
    """The node that a function draws; None: it found nothing that fits."""
    try:
        return maker(d)
    except nothing_there:
        return None


class drawing:
    """A job, or the body of a loop, a branch or a graph, as it grows."""

    def __init__(self, r, job, streams=None, scalars=None, counter=None):
        self.r, self.job = r, job
        self.nodes, self.streams = [], dict(streams or {})
        self.scalars = scalars or scalar_values()
        self.rows = {}  # {name: stream of one row} that expressions may name values of, which are among the scalars
        self.unread = list(self.streams)
        self.counter = counter or [0]
        self.outputs = {}  # what sinks have to write
        self.failure = ""  # why the job has to fail
        self.may_fail = False
        self.depth = 0  # of control nodes around it
        self.most_rows = 1500

    def fresh(self, prefix):
        self.counter[0] += 1
        return f"{prefix}{self.counter[0]}"

    def add(self, op, inputs=None, on_error=None, **settings):
        """The node's name, or None where it makes no sense. What comes out of it is in streams."""
        n = node(self.fresh(op.split(".")[-1].split("_")[-1]), op, inputs, on_error, **settings)
        return n.id if self.keep(n) else None

    def keep(self, n):
        about = world(self.job)
        named = {e.split(".")[0] for e in names_in(n.settings)}
        n.rows = {row: s for row, s in self.rows.items() if row in named}
        try:
            out = run_node(n, self.streams, self.scalars, about)
        except (fault, undefined):
            return False
        except job_fails as why:
            if not self.may_fail:
                return False
            self.failure = str(why)
            self.nodes.append(n)
            for stream in n.sources():
                if stream in self.unread:
                    self.unread.remove(stream)
            # What nobody reads is a fault before any row is read.
            for port in ends(n):
                if port != ".bad" or (isinstance(n.on_error, dict) and n.on_error["to"] == "bad"):
                    count = {self.fresh("c"): ex("aggregate", "count")}
                    self.nodes.append(node(self.fresh("reduce"), "reduce", n.id + port, let=count))
            return True
        if sum(len(t.rows) for t in out.values()) > self.most_rows:
            return False
        if self.depth > 0 and any(t.loose for t in out.values()):
            return False  # no file is written there
        self.outputs.update(about.outputs)
        self.nodes.append(n)
        for stream in n.sources():
            if stream in self.unread:
                self.unread.remove(stream)
        for port, t in out.items():
            alone = port == "" or (port == "out" and len(out) == 1)
            alone = alone or (port == next(iter(out)) and n.op in ("split", "union_find") and self.r.random() < 0.3)
            self.give(n.id if alone else f"{n.id}.{port}", t)
        return True

    def naming_values_of(self, row, stream, maker):
        """What the maker draws, where its expressions may name values of a stream of one row."""
        before = self.scalars
        self.scalars, self.rows = with_rows(before, {row: self.streams[stream]}), {row: stream}
        try:
            return attempted(maker, self)
        finally:
            self.scalars, self.rows = before, {}

    def give(self, stream, t):
        self.streams[stream] = t
        self.unread.append(stream)

    def pick(self, fits=None):
        """A stream that fits, mostly one that nobody reads yet; None: none of them does."""

        def usable(s):
            t = self.streams[s]
            return "hash" not in t.columns.values() and not t.loose and (fits is None or fits(t))

        pool = [s for s in self.unread if usable(s)]
        if not pool or self.r.random() < 0.2:
            pool = [s for s in self.streams if usable(s)]
        if fits is None and not pool:
            raise nothing_there
        return self.r.choice(pool) if pool else None

    def drawer(self, t, row_number=False, **more):
        types = {**t.types(self.scalars, row_number), **more}
        return expression_drawer(self.r, types, scalars=set(self.scalars.types))

    def columns(self, t, most, fits=lambda kind: True):
        """Some columns in a random order."""
        names = [c for c, k in t.columns.items() if fits(k)]
        return self.r.sample(names, self.r.randint(min(1, len(names)), min(most, len(names))))

    def keys(self, t, most=3):
        return [key(name(c), self.r.random() < 0.3) for c in self.columns(t, most)]

    def sorted(self, stream, keys):
        """The stream behind a stable sort by columns."""
        return self.add("sort", stream, by=keys, stable=True)

    def literal(self, kind):
        """A constant that can stand where this type is declared; None: there is none."""
        r = self.r
        if is_text(kind):
            return ex("text", draw_values.text(r)) if kind == "string" else None
        if is_time(kind):
            return None
        if kind == "bool":
            return name(r.choice(["true", "false"]))
        n = r.randrange(9)
        return ex("real", float(n)) if is_float(kind) and r.random() < 0.5 else ex("number", n)

    def constant(self, kind):
        """The same with a type of its own."""
        e = self.literal(kind)
        if is_decimal(kind):
            return ex("call", "to_decimal", e, ex("number", scale_of(kind)))
        return ex("call", kind, e) if is_integer(kind) or kind == "f32" else e
