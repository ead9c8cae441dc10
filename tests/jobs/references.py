"""Brute force: what each job must write, as plainly as it can be said."""

from collections import deque


def neighbours(n, edges):
    out = [set() for _ in range(n)]
    for a, b in edges:
        if a != b:
            out[a].add(b)
            out[b].add(a)
    return out


def degrees(n, edges):
    return [(node, len(around)) for node, around in enumerate(neighbours(n, edges))]


def independent_set(n, edges):
    around = neighbours(n, edges)
    chosen = set()
    for node in range(n):
        if not around[node] & chosen:
            chosen.add(node)
    return sorted((node,) for node in chosen)


def is_maximal_independent_set(n, edges, nodes):
    around = neighbours(n, edges)
    return all(not around[a] & nodes for a in nodes) and all(around[a] & nodes for a in range(n) if a not in nodes)


def greedy_colours(n, edges):
    around = neighbours(n, edges)
    colours = {}
    for node in range(n):
        taken = {colours[other] for other in around[node] if other < node}
        colours[node] = next(colour for colour in range(n + 1) if colour not in taken)
    return sorted(colours.items())


def is_colouring(n, edges, rows, num_colours):
    colours = dict(rows)
    return (
        [node for node, _ in rows] == list(range(n))
        and all(value < num_colours for _, value in rows)
        and all(colours[a] != colours[b] for a, b in edges if a != b)
    )


def longest_paths(n, edges):
    longest = [0] * n
    for node in range(n):
        longest[node] = max([longest[a] + 1 for a, b in edges if b == node], default=0)
    return list(enumerate(longest))


def distances_from(source, around):
    """What is reached, nearest first."""
    found = {source: 0}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for other in around[node]:
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


def distances(n, edges, source):
    return sorted(distances_from(source, neighbours(n, edges)).items())


def components(n, edges):
    around = neighbours(n, edges)
    out = {}
    for node in range(n):
        if node not in out:
            out.update(dict.fromkeys(distances_from(node, around), node))
    return sorted(out.items())


def forest(n, edges):
    """The edges that join what those before them had not joined, as they are directed."""
    part = list(range(n))
    out = []
    for edge in edges:
        a, b = part[edge[0]], part[edge[1]]
        if a != b:
            part = [a if p == b else p for p in part]
            out.append(edge)
    return sorted(out)


def is_spanning_forest(n, edges, rows):
    known = {frozenset(edge) for edge in edges}
    return (
        all(frozenset(row) in known for row in rows)
        and len(forest(n, rows)) == len(rows)
        and len(rows) == len(forest(n, edges))
    )


def minimum_forest(n, edges):
    upward = sorted((w, min(a, b), max(a, b)) for a, b, w in edges)
    return forest(n, [(a, b, w) for w, a, b in upward])


def triangles(n, edges):
    around = neighbours(n, edges)
    return [
        (a, b, c)
        for a in range(n)
        for b in sorted(x for x in around[a] if x > a)
        for c in sorted(x for x in around[a] & around[b] if x > b)
    ]


def ranks(n, links):
    after = dict(links)
    behind = {b for _, b in links}
    out = {}
    for node in range(n):
        if node not in behind:
            rank = 0
            while node is not None:
                out[node] = rank
                rank += 1
                node = after.get(node)
    return sorted(out.items())


def suffix_array(text):
    return [(pos,) for pos in sorted(range(len(text)), key=lambda pos: text[pos:])]
