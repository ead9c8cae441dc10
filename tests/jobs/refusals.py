"""Inputs that a job must refuse with exit code 65, and what its message must say: the node, the row, the rule."""

import dataclasses

from rows import pack

bad_data = 65
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
    "bit-reversal": [
        refusal("too many rows", {"bits": 1}, {"input": pack([(i,) for i in range(3)], [8])}, ["permute: the input has 3", "1 bits make 2 places"]),
        refusal("too few rows", {"bits": 3}, {"input": pack([(i,) for i in range(5)], [8])}, ["permute: the input has 5 rows", "3 bits make 8 places"]),
    ],
    "matrix-transpose": [
        refusal("too many", {"rows": 2, "columns": 2}, {"input": pack([(i,) for i in range(5)], [8])}, ["check 'complete'", "values: 5"]),
        refusal("too few", {"rows": 2, "columns": 2}, {"input": pack([(i,) for i in range(3)], [8])}, ["check 'complete'", "values: 3"]),
    ],
}
REFUSALS["colouring-planar"] = [
    *BEYOND,
    edges("each with each", [(a, b) for a in range(9) for b in range(a)], 9, ["'not_planar'"]),
]
