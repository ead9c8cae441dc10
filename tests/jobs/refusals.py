"""Inputs that a job must refuse with exit code 65, and what its message must say: the node, the row, the rule."""

import dataclasses

from rows import pack

bad_data, bad_spec = 65, 78
EDGE, WEIGHTED_EDGE = [4, 4], [4, 4, 4]


@dataclasses.dataclass
class refusal:
    what: str
    params: dict
    files: dict
    says: list
    code: int = bad_data


def edges(what, rows, nodes, says, widths=EDGE, **params):
    return refusal(what, {"nodes": nodes, **params}, {"edges": pack(rows, widths)}, says)


BEYOND = [
    edges("a source beyond the nodes", [(0, 1), (1, 0), (3, 1)], 3, ["check 'valid'", "row 2 breaks the rule", "src: 3"]),
    edges("a target beyond the nodes", [(0, 1), (1, 2**32 - 1)], 2, ["check 'valid'", "row 1 breaks the rule", "dst: 4294967295"]),
    edges("an edge without nodes", [(0, 0)], 0, ["check 'valid'", "row 0 breaks the rule"]),
]
WEIGHTED_BEYOND = [
    edges("a target beyond the nodes", [(0, 1, 5), (1, 2, 5)], 2, ["check 'valid'", "row 1 breaks the rule"], WEIGHTED_EDGE)
]
SEARCHES = [
    edges("a source beyond the nodes", [(0, 1)], 2, ["check 'source'", "breaks the rule"], source=2),
    edges("a search without nodes", [], 0, ["check 'source'", "breaks the rule"], source=0),
    edges("an edge beyond the nodes", [(0, 2)], 2, ["check 'valid'", "row 0 breaks the rule"], source=0),
]
ON_GRAPHS = [
    "colouring",
    "colouring-planar",
    "components",
    "components-stars",
    "components-sweep",
    "degree",
    "mis",
    "spanning-forest",
    "triangles",
    "triangles-count",
]

def out_of_range(params, files, allowed):
    name, value = next(iter(params.items()))
    says = [f"'{value}' is out of range for the parameter '{name}'", f"-p {name}={value}", f"expected: {allowed}"]
    return refusal(f"{name} = {value}", params, files, says, bad_spec)


IDS = "0 to 4294967295"
REFUSALS = {
    **{name: BEYOND for name in ON_GRAPHS},
    "mst": WEIGHTED_BEYOND,
    "mst-boruvka": WEIGHTED_BEYOND,
    "mst-sweep": WEIGHTED_BEYOND,
    "bfs": SEARCHES,
    "bfs-mm": SEARCHES,
    "dag-longest-path": [
        *BEYOND[1:2],
        edges("an edge backwards", [(0, 1), (2, 1)], 3, ["check 'forward'", "row 1 breaks the rule", "src < dst"]),
        edges("a loop", [(1, 1)], 3, ["check 'forward'", "row 0 breaks the rule"]),
    ],
    "list-ranking": [
        *BEYOND,
        edges("two successors", [(0, 1), (2, 1), (0, 3)], 4, ["'one_successor'", "repeats src"]),
        edges("two predecessors", [(0, 3), (1, 3)], 4, ["'one_predecessor'", "repeats dst"]),
        edges("a circle", [(0, 1), (1, 2), (2, 0), (3, 4)], 5, ["'no_circle'", "breaks the rule"]),
        edges("a loop", [(0, 1), (2, 2)], 5, ["'no_circle'", "breaks the rule"]),
    ],
    "ngrams": [out_of_range({"n": n}, {"text": b"abcdefghij"}, "1 to 8") for n in (0, 9)],
    "rmat-graph": [out_of_range({"scale": scale, "edges": 10}, {}, "1 to 32") for scale in (0, 33)],
    "random-graph": [out_of_range({"nodes": n, "edges": 10}, {}, "1 to 4294967296") for n in (0, 2**32 + 1, -1)],
    "grid-graph": [out_of_range({"width": 0, "nodes": 10}, {}, "1 to 4294967296")],
    "bit-reversal": [
        out_of_range({"bits": 0}, {"input": b""}, "1 to 40"),
        refusal("too many rows", {"bits": 1}, {"input": pack([(i,) for i in range(3)], [8])}, ["the input has 3", "1 bits make 2 places"]),
        refusal("too few rows", {"bits": 3}, {"input": pack([(i,) for i in range(5)], [8])}, ["the input has 5 rows", "3 bits make 8 places"]),
    ],
    "matrix-transpose": [
        refusal("too many", {"rows": 2, "columns": 2}, {"input": pack([(i,) for i in range(5)], [8])}, ["check 'complete'", "values: 5"]),
        refusal("too few", {"rows": 2, "columns": 2}, {"input": pack([(i,) for i in range(3)], [8])}, ["check 'complete'", "values: 3"]),
    ],
}
for search in ("bfs", "bfs-mm"):
    beyond = out_of_range({"source": 2**32, "nodes": 2}, {"edges": pack([(0, 1)], EDGE)}, IDS)
    REFUSALS[search] = [*REFUSALS[search], beyond]
REFUSALS["colouring-planar"] = [
    *BEYOND,
    edges("each with each", [(a, b) for a in range(9) for b in range(a)], 9, ["'not_planar'"]),
]
