"""The jobs under test: for each a maker of random cases, with what the job must write.

A case has the job's parameters, its input files, and either the rows that must come out or a judge of them. `checker`
is the job that must accept what came out and refuse it when it is corrupted.
"""

import collections
import dataclasses
import typing

import graphs
import references
from rows import pack

EDGE, WEIGHTED_EDGE, VALUE = [4, 4], [4, 4, 4], [4, 4]


@dataclasses.dataclass
class case:
    params: dict
    files: dict  # parameter: bytes
    expected: list | bytes | None = None  # rows, or the text
    judge: typing.Callable | None = None  # of rows


@dataclasses.dataclass
class job:
    make: typing.Callable  # rng -> case
    widths: list | None  # of the columns of the result; None: text
    checker: str | None = None
    num_cases: int = 60
    own: tuple = ()  # parameters that the checker doesn't have


def graph_case(rng, expect, make=graphs.graph, widths=EDGE, **params):
    n, edges = make(rng)
    return case({"nodes": n, **params}, {"edges": pack(edges, widths)}, expected=expect(n, edges))


def of_graph(expect, make=graphs.graph):
    return lambda rng: graph_case(rng, expect, make)


def mis_case(rng):
    n, edges = graphs.graph(rng)
    out = case({"nodes": n}, {"edges": pack(edges, EDGE)}, expected=references.independent_set(n, edges))
    out.judge = lambda rows: (
        rows == sorted(set(rows))
        and all(node < n for (node,) in rows)
        and references.is_maximal_independent_set(n, edges, {node for (node,) in rows})
    )
    return out


def colouring_case(rng):
    n, edges = graphs.graph(rng)
    out = case({"nodes": n}, {"edges": pack(edges, EDGE)}, expected=references.greedy_colours(n, edges))
    out.judge = lambda rows: references.is_colouring(n, edges, rows, 2**32 - 1)
    return out


def planar_case(rng):
    n, edges = graphs.planar_graph(rng)
    out = case({"nodes": n}, {"edges": pack(edges, EDGE)})
    out.judge = lambda rows: references.is_colouring(n, edges, rows, 7)
    return out


def weighted_case(rng):
    n, edges = graphs.graph(rng)
    largest = rng.choice([1, 5, 2**32 - 1])
    edges = [(a, b, rng.randint(0, largest)) for a, b in edges]
    return case({"nodes": n}, {"edges": pack(edges, WEIGHTED_EDGE)}, expected=references.minimum_forest(n, edges))


def search_case(rng):
    n, edges = 0, []
    while n == 0:
        n, edges = graphs.graph(rng)
    source = rng.randrange(n)
    return case(
        {"nodes": n, "source": source},
        {"edges": pack(edges, EDGE)},
        expected=references.distances(n, edges, source),
    )


def clustered_search_case(rng):
    out = search_case(rng)
    out.params.update(seed=rng.randrange(100))
    return out


def forest_case(rng):
    n, edges = graphs.graph(rng)
    out = case({"nodes": n}, {"edges": pack(edges, EDGE)}, expected=references.forest(n, edges))
    out.judge = lambda rows: rows == sorted(rows) and references.is_spanning_forest(n, edges, rows)
    return out


def text_case(rng):
    text = graphs.text(rng)
    return case({}, {"text": text}, expected=references.suffix_array(text))


def covered_text_case(rng):
    out = text_case(rng)
    out.params.update(in_memory=rng.choice([1, 10, 30, 10**9]), position=rng.choice(["u32", "u40"]))
    return out


def ngrams_case(rng):
    text, n, least = graphs.text(rng), rng.randrange(1, 9), rng.choice([1, 1, 2, 5])
    counts = collections.Counter(text[i : i + n] for i in range(len(text) - n + 1))
    rows = [(int.from_bytes(gram, "big"), count) for gram, count in sorted(counts.items()) if count >= least]
    return case({"n": n, "least": least}, {"text": text}, expected=rows)


def words_case(rng):
    vocabulary = ["the", "a", "cat", "don't", "sat", "Zoë", "on", "'"][: rng.randrange(2, 9)]
    lines = []
    for _ in range(rng.randrange(0, 30)):
        words = [rng.choice(vocabulary) for _ in range(rng.randrange(0, 8))]
        lines.append("".join(rng.choice([word, word.upper()]) + rng.choice([" ", "  ", ", ", ".\t"]) for word in words))
    text = "\n".join(lines).encode()
    limit = rng.choice([1, 3, 1000])
    in_word = set(range(0x80, 0x100)) | set(b"abcdefghijklmnopqrstuvwxyz'")  # a byte beyond ASCII is part of a word
    lower = bytes(c + 32 if ord("A") <= c <= ord("Z") else c for c in text)
    words = bytes(c if c in in_word else ord(" ") for c in lower).split()
    counts = collections.Counter(b" ".join(words[i : i + 3]) for i in range(len(words) - 2))
    often = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
    return case({"limit": limit}, {"text": text}, expected=b"".join(b"%d,%b\n" % (n, gram) for gram, n in often))


def grid_case(rng):
    n, width = rng.randrange(0, 60), rng.randrange(1, 12)
    edges = [(i, i + 1) for i in range(n - 1) if (i + 1) % width] + [(i, i + width) for i in range(n - width)]
    return case({"nodes": n, "width": width}, {}, expected=sorted(set(edges)))


def random_graph_case(rng):
    n, m = rng.randrange(1, 40), rng.randrange(0, 300)

    def judge(edges):
        proper = all(a < n and b < n and a != b for a, b in edges)
        return proper and edges == sorted(set(edges)) and len(edges) <= m and (len(edges) > 0 or m < 20 or n < 2)

    return case({"nodes": n, "edges": m, "seed": rng.randrange(100)}, {}, judge=judge)


def rmat_case(rng):
    scale, m = rng.randrange(1, 12), rng.randrange(0, 300)

    def judge(edges):
        proper = all(max(a, b) < 2**scale and a != b for a, b in edges)
        return proper and edges == sorted(set(edges)) and len(edges) <= m and (len(edges) > 0 or m < 50)

    return case({"scale": scale, "edges": m, "seed": rng.randrange(100)}, {}, judge=judge)


def reversal_case(rng):
    bits = rng.randrange(1, 11)
    values = [(rng.randrange(2**64),) for _ in range(2**bits)]
    out = [values[int(f"{i:0{bits}b}"[::-1], 2)] for i in range(2**bits)]
    return case({"bits": bits}, {"input": pack(values, [8])}, expected=out)


def transpose_case(rng):
    height, width = rng.randrange(1, 40), rng.randrange(1, 40)
    values = [(rng.randrange(2**52),) for _ in range(height * width)]  # the bits of small floats
    out = [values[r * width + c] for c in range(width) for r in range(height)]
    return case({"rows": height, "columns": width}, {"input": pack(values, [8])}, expected=out)


def records_case(rng):
    rows = [tuple(rng.randrange(256) for _ in range(100)) for _ in range(rng.choice([0, 1, 2, rng.randrange(3, 300)]))]
    for i in range(1, len(rows)):  # equal keys, some of which differ at the last byte only
        if rng.random() < 0.2:
            rows[i] = rows[i - 1][: rng.randrange(8, 11)] + rows[i][rng.randrange(8, 11) :]
            rows[i] = (rows[i] + (0,) * 100)[:100]
    return case({}, {"input": pack(rows, [1] * 100)}, expected=sorted(rows, key=lambda row: row[:10]))


def numbers_case(rng):
    largest = rng.choice([3, 300, 2**64 - 1])
    rows = [(rng.randint(0, largest),) for _ in range(rng.choice([0, 1, 2, rng.randrange(3, 2000)]))]
    return case({}, {"input": pack(rows, [8])}, expected=sorted(rows))


JOBS = {
    "bfs": job(search_case, VALUE, "check-bfs"),
    "bfs-mm": job(clustered_search_case, VALUE, "check-bfs", own=("seed",)),
    "bit-reversal": job(reversal_case, [8]),
    "colouring": job(colouring_case, VALUE, "check-colouring"),
    "colouring-planar": job(planar_case, VALUE, "check-colouring"),
    "components": job(of_graph(references.components), VALUE, "check-components"),
    "components-stars": job(of_graph(references.components), VALUE, "check-components"),
    "components-sweep": job(of_graph(references.components), VALUE, "check-components"),
    "dag-longest-path": job(of_graph(references.longest_paths, graphs.dag), VALUE, "check-dag-longest-path"),
    "degree": job(of_graph(references.degrees), VALUE),
    "grid-graph": job(grid_case, EDGE),
    "list-ranking": job(of_graph(references.ranks, graphs.lists), VALUE, "check-list-ranking"),
    "matrix-transpose": job(transpose_case, [8]),
    "mis": job(mis_case, [4], "check-mis"),
    "mst": job(weighted_case, WEIGHTED_EDGE, "check-mst"),
    "mst-boruvka": job(weighted_case, WEIGHTED_EDGE, "check-mst"),
    "radix-sort": job(numbers_case, [8]),
    "mst-sweep": job(weighted_case, WEIGHTED_EDGE, "check-mst"),
    "ngrams": job(ngrams_case, [8, 8]),
    "random-graph": job(random_graph_case, EDGE),
    "rmat-graph": job(rmat_case, EDGE),
    "sort-benchmark": job(records_case, [1] * 100, "check-sort"),
    "spanning-forest": job(forest_case, EDGE, "check-spanning-forest"),
    "suffix-array": job(covered_text_case, [5], "check-suffix-array", own=("in_memory", "position")),
    "suffix-array-doubling": job(text_case, [5], "check-suffix-array"),
    "suffix-array-discarding": job(text_case, [5], "check-suffix-array"),
    "triangles": job(of_graph(references.triangles), [4, 4, 4], "check-triangles"),
    "triangles-count": job(of_graph(lambda n, edges: [(len(references.triangles(n, edges)),)]), [8]),
    "word-trigrams": job(words_case, None),
}
