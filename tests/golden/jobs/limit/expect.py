from itertools import groupby

from golden_data import csv, rand, write

rows = [
    (7 if rand(1, i) % 3 == 0 else rand(2, i) % 900, rand(3, i) % 1000, str(rand(4, i) % 40)) for i in range(3000)
]
write("expected/page.csv", csv(rows[1990:2010]))
write("expected/rest.csv", csv(rows[2990:]))
write("expected/beyond.csv", "")
groups = [list(g) for _, g in groupby(sorted(rows, key=lambda r: (r[0], -r[1])), key=lambda r: r[0])]
write("expected/top.csv", csv(r for g in groups for r in g[:2]))
write("expected/second.csv", csv(r for g in groups for r in g[1:2]))
groups = [list(g) for _, g in groupby(sorted(rows, key=lambda r: (r[2].encode(), r[0])), key=lambda r: r[2])]
write("expected/later.csv", csv(r for g in groups for r in g[60:]))
