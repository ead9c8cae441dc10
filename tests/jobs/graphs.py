"""Small random inputs of many shapes: graphs, lists, texts. All from the given random number generator."""


def pairs_of(rng, n):
    """Edges of a graph with nodes 0 … n - 1, of a random shape; no loops, no repetitions."""
    if n < 2:
        return set()
    shape = rng.choice(["none", "sparse", "sparse", "dense", "complete", "path", "star", "tree", "grid", "parts", "circle"])
    edges = set()
    if shape in ("sparse", "dense"):
        for _ in range(rng.randrange(1, 2 * n) if shape == "sparse" else rng.randrange(n, n * n)):
            edges.add((rng.randrange(n), rng.randrange(n)))
    elif shape == "complete":
        m = rng.randrange(2, min(n, 12) + 1)
        edges = {(a, b) for a in range(m) for b in range(a)}
    elif shape == "path":
        edges = {(i, i + 1) for i in range(n - 1)}
    elif shape == "circle":
        edges = {(i, (i + 1) % n) for i in range(n)}
    elif shape == "star":
        edges = {(0, i) for i in range(1, n)}
    elif shape == "tree":
        edges = {(rng.randrange(i), i) for i in range(1, n)}
    elif shape == "grid":
        width = rng.randrange(1, n + 1)
        edges = {(i, i + 1) for i in range(n - 1) if (i + 1) % width} | {(i, i + width) for i in range(n - width)}
    elif shape == "parts":
        for _ in range(n):
            a = rng.randrange(n)
            edges.add((a, min(n - 1, a // 5 * 5 + rng.randrange(5))))
    return {(a, b) for a, b in edges if a != b}


def relabelled(rng, edges, n):
    names = list(range(n))
    if rng.random() < 0.7:
        rng.shuffle(names)
    return [(names[a], names[b]) for a, b in edges]


def as_given(rng, edges, n):
    """The rows of a file: in a random sequence, in any direction, some twice, with loops now and then."""
    rows = [(a, b) if rng.random() < 0.5 else (b, a) for a, b in edges]
    if n and rng.random() < 0.5:
        rows += [(a, a) for a in (rng.randrange(n) for _ in range(rng.randrange(4)))]
    if rows and rng.random() < 0.5:
        for _ in range(rng.randrange(1, 5)):
            a, b = rng.choice(rows)
            rows.append((b, a) if rng.random() < 0.5 else (a, b))
    rng.shuffle(rows)
    return rows


def num_nodes(rng):
    return rng.choice([0, 1, 2, 3, rng.randrange(4, 12), rng.randrange(4, 12), rng.randrange(12, 60), rng.randrange(60, 250)])


def graph(rng):
    """(number of nodes, rows of the edge file)."""
    n = num_nodes(rng)
    return n, as_given(rng, sorted(relabelled(rng, sorted(pairs_of(rng, n)), n)), n)


def planar_graph(rng):
    """Triangles into which nodes are put, a grid with diagonals, or a tree; without some of the edges."""
    n = num_nodes(rng)
    shape = rng.choice(["triangles", "triangles", "grid", "tree"])
    edges = set()
    if shape == "triangles" and n >= 3:
        faces = [(0, 1, 2), (0, 1, 2)]
        edges = {(0, 1), (1, 2), (0, 2)}
        for new in range(3, n):
            a, b, c = faces.pop(rng.randrange(len(faces)) if rng.random() < 0.8 else -1)
            faces += [(a, b, new), (a, c, new), (b, c, new)]
            edges |= {(a, new), (b, new), (c, new)}
    elif shape == "grid" and n >= 2:
        width = rng.randrange(1, n + 1)
        edges = {(i, i + 1) for i in range(n - 1) if (i + 1) % width} | {(i, i + width) for i in range(n - width)}
        edges |= {(i, i + width + 1) for i in range(n - width - 1) if (i + 1) % width}
    elif n >= 2:
        edges = {(rng.randrange(i), i) for i in range(1, n)}
    kept = rng.choice([1.0, 1.0, 0.8, 0.4])
    edges = [e for e in sorted(edges) if rng.random() < kept]
    return n, as_given(rng, relabelled(rng, edges, n), n)


def dag(rng):
    """Edges from smaller to larger ids, some twice."""
    n = num_nodes(rng)
    rows = [(min(a, b), max(a, b)) for a, b in as_given(rng, relabelled(rng, sorted(pairs_of(rng, n)), n), n) if a != b]
    return n, rows


def lists(rng):
    """Links of one list or several."""
    n = num_nodes(rng)
    names = list(range(n))
    if rng.random() < 0.8:
        rng.shuffle(names)
    cut = rng.choice([0.0, 0.1, 0.5])
    rows = [(names[i], names[i + 1]) for i in range(n - 1) if rng.random() >= cut]
    rng.shuffle(rows)
    return n, rows


def text(rng):
    num_bytes = rng.choice([0, 1, 2, 3, 4, 5, 6, rng.randrange(7, 20), rng.randrange(20, 100), rng.randrange(100, 700)])
    shape = rng.choice(["two", "four", "all", "same", "period", "fibonacci", "every"])
    if shape == "same":
        return bytes([rng.randrange(256)]) * num_bytes
    if shape == "period":
        word = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        out = bytearray((word * num_bytes)[:num_bytes])
        if out and rng.random() < 0.5:
            out[rng.randrange(num_bytes)] = rng.randrange(256)
        return bytes(out)
    if shape == "fibonacci":
        a, b = b"a", b"ab"
        while len(b) < num_bytes:
            a, b = b, b + a
        return b[:num_bytes]
    if shape == "every":
        return bytes(rng.sample(range(256), 256)) * rng.randrange(1, 3)
    if shape == "all":
        return bytes(rng.randrange(256) for _ in range(num_bytes))
    letters = bytes(rng.sample(range(256), 2 if shape == "two" else 4))
    return bytes(rng.choice(letters) for _ in range(num_bytes))
