from golden_data import csv, rand, write

edges = set()
for i in range(900):
    a, b = rand(1, i) % 60, rand(2, i) % 60
    if a != b:
        edges.add((min(a, b), max(a, b)))
triangles = [(u, v, w) for u in range(60) for v in range(u) for w in range(v) if {(w, v), (w, u), (v, u)} <= edges]
write("expected/triangles.csv", csv(sorted(((w, v, u) for u, v, w in triangles), key=lambda t: (t[1], t[2], t[0]))))
words = sorted(("kind%d" % (i // 5 % 13), "x" * (rand(3, i) % 9) + str(i)) for i in range(200))
write("words.csv", csv(words[::-1]))
pairs = []
for j, (kind, b) in enumerate(words):
    for other, a in words[:j]:
        if other == kind and len(a) <= len(b):
            pairs.append((kind, a + "+" + b))
write("expected/pairs.csv", csv(pairs))
