from golden_data import csv, rand, write

rows = [
    (["", "red", "blue", "green tea"][rand(8, i) % 4], "n%d" % (rand(9, i) % 100), rand(10, i) % 100 - 50, (i % 8) / 4)
    for i in range(300)
]
write("in.csv", csv((t, n, p, ("%g" % w)) for t, n, p, w in rows))
out = []
for team in sorted({r[0] for r in rows}):
    g = [r for r in rows if r[0] == team]
    names, points = [r[1] for r in g], [r[2] for r in g]
    out.append(
        (
            team,
            len(g),
            sum(points),
            min(points),
            max(points),
            "%g" % sum(r[3] for r in g),
            names[0],
            names[-1],
            min(names),
            max(names),
        )
    )
write("expected/out.csv", csv(out, ["team", "n", "points", "least", "most", "weight", "first", "last", "small", "big"]))
