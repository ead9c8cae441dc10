from golden_data import csv, rand, write

edges = [(rand(1, i) % 2500, rand(2, i) % 2500, rand(3, i) % 2**32) for i in range(2000)]


def unite(edges):
    label, accepted = list(range(2500)), []
    for edge in edges:
        low, high = sorted((label[edge[0]], label[edge[1]]))
        if low != high:
            label = [low if x == high else x for x in label]
            accepted.append(edge)
    return label, accepted


write("expected/components.csv", csv(enumerate(unite(edges)[0])))
write("expected/forest.csv", csv(unite(sorted(edges, key=lambda e: (e[2], e[0], e[1])))[1]))
