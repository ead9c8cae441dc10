from golden_data import csv, rand, write

rows = [(i // 37, rand(2, i) % 200 - 100) for i in range(2000)]
best, sums, before, all_before = [], [], [], 0
for i, (g, x) in enumerate(rows):
    group = [y for h, y in rows[g * 37 : i + 1]]
    best.append((g, x, max(group), len(group)))
    sums.append((g, x, len(group) - 1, sum(group)))
    if g % 10 == 3:
        before.append((g, x, all_before))
    all_before += x
write("expected/best.csv", csv(best))
write("expected/sums.csv", csv(sums))
write("expected/before.csv", csv(before))
