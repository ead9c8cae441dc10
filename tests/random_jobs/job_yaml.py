"""Some drawn jobs as one file. JSON is YAML."""

import json
import random

from job_text import plain

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
            nodes[prefix + n.id] = spelled.of(n.entry(lambda s, prefix=prefix: prefix + s))
        for graph, declared in job.graphs.items():
            graphs[graph] = {**declared, "nodes": spelled.of(plain(declared["nodes"]))}
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
