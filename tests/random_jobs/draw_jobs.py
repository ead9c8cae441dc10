"""A seed gives a job: sources, some nodes, and a sink for each stream that nobody reads."""

import random

import draw_large
import draw_sheets
from draw_control import CONTROL
from draw_failures import FAILURES
from draw_meetings import SEVERAL, SOURCES
from draw_messages import read_protobuf
from draw_nodes import ONE_INPUT
from draw_sinks import write
from drawing import attempted, drawing
from job_text import ex, job, named_graphs

LARGE = 0.012  # of the jobs have thousands of rows
SHEETS = 0.12  # of the jobs are nothing but expressions
FAILING = 0.05  # of the jobs may come upon data that ends them


def draw(seed):
    """(job, {file: what it has to hold}, or why the job has to fail)."""
    r = random.Random(seed)
    out = job(seed)
    d = drawing(r, out)
    what = r.random()
    if what < LARGE + SHEETS:
        (draw_large if what < LARGE else draw_sheets).draw(d)
        out.nodes = d.nodes
        return out, d.outputs
    d.may_fail = r.random() < FAILING
    for _ in range(r.choice([1, 1, 2])):
        r.choice([*SOURCES, read_protobuf])(d)
    while not d.nodes:  # a source may find nothing that it could read
        r.choice(SOURCES)(d)
    while not d.nodes:
        r.choice(SOURCES)(d)
    for _ in range(r.randint(1, 7)):
        if d.failure or sum(len(t.rows) for t in d.streams.values()) > 4000:
            break
        if d.may_fail and r.random() < 0.4:
            attempted(r.choice(FAILURES), d)
            continue
        what = r.random()
        attempted(r.choice(ONE_INPUT if what < 0.62 else SEVERAL if what < 0.85 else CONTROL), d)
    out.nodes = d.nodes
    silent = {n.id for n in out.nodes if n.op in ("check", "reduce")}
    for s in list(d.unread):
        if s in d.unread:
            written = write(d, s)
            if not written and s not in silent:
                d.add("reduce", s, let={d.fresh("c"): ex("aggregate", "count")})
    out.graphs = named_graphs(out)
    return out, d.failure or d.outputs
