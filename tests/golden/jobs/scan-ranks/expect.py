from golden_data import csv, rand, write

rows = sorted((rand(1, i) % 5, rand(2, i) % 90, str(rand(3, i) % 3)) for i in range(3000))
pairs, full = [r[:2] for r in rows], rows
write(
    "expected/names.csv",
    csv(
        (*r, len(set(pairs[: pairs.index(r[:2])])), len(set(full[: full.index(r)])), pairs.index(r[:2])) for r in rows
    ),
)
inside, heads = [], []
for g in range(5):
    group = [r for r in rows if r[0] == g]
    xs = [r[1] for r in group]
    for i, r in enumerate(group):
        inside.append((*r, i, sum(xs[: i + 1]), len(set(xs[: xs.index(r[1])])), xs.index(r[1])))
        seen = i - xs.index(r[1]) + 1
        if seen <= 2:
            heads.append(r)
        if seen == 2:
            heads.append((r[0], r[1], "second " + r[2]))
write("expected/inside.csv", csv(inside))
write("expected/heads.csv", csv(heads))
