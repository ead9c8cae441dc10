from golden_data import csv, rand, write

n = 700
pairs = [(rand(1, 2 * i) % n, rand(1, 2 * i + 1) % n) for i in range(2100)]
edges = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
below, above = [[] for _ in range(n)], [[] for _ in range(n)]
for a, b in edges:
    above[a].append(b)
    below[b].append(a)

chosen, colour, length = [], [], []
for v in range(n):
    if not any(u in chosen for u in below[v]):
        chosen.append(v)
    taken = {colour[u] for u in below[v]}
    colour.append(next(c for c in range(n) if c not in taken))
    length.append(max((length[u] + 1 for u in below[v]), default=0))
seen = [v for v in range(n) if below[v] or above[v]]
write("expected/mis.csv", csv([(v,) for v in chosen]))
write("expected/colours.csv", csv(list(enumerate(colour))))
write("expected/paths.csv", csv([(v, length[v], len(above[v])) for v in seen]))
write("expected/ends.csv", csv([(v, length[v]) for v in seen if not above[v]]))
