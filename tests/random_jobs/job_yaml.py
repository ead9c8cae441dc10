"""Some drawn jobs as one file. JSON is YAML."""

import json
import random

from job_text import ex, name, plain, real

# Settings whose number may come from a parameter.
NUMBERS = {"rows", "limit", "every", "buckets", "first", "seed", "before", "after", "n", "count", "max_depth"}


class spelling:
    """Some values come from parameters, and some types have names."""

    def __init__(self, job):
        self.r, self.prefix = random.Random(f"spelling {job.seed}"), f"{job.seed}x"
        self.chance = 0 if job.plain else 0.15
        self.params, self.types = {}, {}

    def parameter(self, kind, value):
        name = f"p{self.prefix}{len(self.params)}"
        self.params[name] = {"type": kind, "default": value}
        return f"${{{name}}}"

    def constant(self, kind, value):
        """What an expression says in the place of a constant."""
        parameter = f"p{self.prefix}{len(self.params)}"
        self.params[parameter] = {"type": kind, "default": value}
        return name(f"params.{parameter}")

    def expression(self, e):
        """The same with some of its constants from parameters."""
        if not isinstance(e, tuple):
            return e
        if isinstance(e, ex) and e[0] in ("number", "real", "text") and self.r.random() < self.chance:
            if e[0] == "number":
                return self.constant("int", e[1])
            if e[0] == "real":
                return self.constant("float", real(e[1]))
            if all(32 <= byte < 127 for byte in e[1]):
                return self.constant("string", e[1].decode().replace("$", "$$"))
        parts = [self.expression(part) for part in e]
        return ex(*parts) if isinstance(e, ex) else tuple(parts)

    def of(self, value):
        if isinstance(value, list):
            return [self.of(v) for v in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for k, v in value.items():
            drawn = self.r.random() < self.chance
            if drawn and k in NUMBERS and type(v) is int:
                out[k] = self.parameter("int", v)
            elif drawn and k == "delimiter":
                out[k] = self.parameter("string", v)
            elif drawn and k == "type" and isinstance(v, dict):
                name = f"t{self.prefix}{len(self.types)}"
                self.types[name], out[k] = v, name
            else:
                out[k] = self.of(v)
        return out


def yaml(jobs):
    """Names of nodes of several jobs begin with a word for each; graphs, files and parameters have the seed in theirs."""
    nodes, graphs, types = {}, {}, {}
    params = {"in": {"type": "path"}, "out": {"type": "path"}}
    for k, job in enumerate(jobs):
        prefix, spelled = f"j{k}" if len(jobs) > 1 else "", spelling(job)
        for n in job.nodes:
            nodes[prefix + n.id] = spelled.of(n.entry(lambda s, prefix=prefix: prefix + s, spelled.expression))
        for graph, declared in job.graphs.items():
            graphs[graph] = {**declared, "nodes": spelled.of(plain(declared["nodes"], spelled.expression))}
        params.update(spelled.params)
        types.update(spelled.types)
    out = {"flowrun": 1, "params": params}
    if types:
        out["types"] = types
    if graphs:
        out["graphs"] = graphs
    lines = ",\n".join(f" {json.dumps(n)}: {json.dumps(e)}" for n, e in nodes.items())
    head = "".join(f"{json.dumps(k)}: {json.dumps(v)},\n" for k, v in out.items())
    return "{" + head + '"nodes": {\n' + lines + "\n}}\n"
