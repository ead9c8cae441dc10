from golden_data import csv, rand, write

rows = [("k%d" % (rand(1, i) % 40), rand(2, i) % 200 - 100, "s%d" % i) for i in range(900)]
write("in.csv", csv(rows))
out = []
for k in sorted({r[0] for r in rows}, reverse=True):
    g = [r for r in rows if r[0] == k]
    xs, ss = [r[1] for r in g], [r[2] for r in g]
    out.append((k, len(g), sum(xs), min(xs), max(ss), ss[0], ss[-1]))
write("expected/out.csv", csv(out))
sums = {}
for _, x, _ in rows:
    sums[(x + 100) % 17] = sums.get((x + 100) % 17, 0) + x + 100
write("expected/narrow.csv", csv(sorted(sums.items())[:9]))
