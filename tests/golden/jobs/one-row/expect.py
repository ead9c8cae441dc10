import datetime

from golden_data import csv, rand, write

first = datetime.date(2026, 1, 1)
rows = [
    (f"s{rand(1, i) % 9}", rand(2, i) % 30, rand(3, i) % 1000 - 100, first + datetime.timedelta(rand(4, i) % 200))
    for i in range(700)
]
write("in.csv", csv(rows))
n, total, last = len(rows), sum(r[2] for r in rows), max(r[3] for r in rows)
write("expected/above.csv", csv([r for r in rows if r[2] * n > total]))
sums = {}
for _, part, amount, _ in rows:
    sums[part] = sums.get(part, 0) + amount
parts = sorted(sums.items())
write("expected/large.csv", csv([p for p in parts if p[1] * 20 > total]))
most = max(sums.values())


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


write(
    "expected/best.csv",
    csv([(p, "true" if s == most else "false", most - s, quotient(s * 1000, total)) for p, s in parts]),
)
write("expected/near.csv", csv(sorted(rows, key=lambda r: ((last - r[3]).days, r[0].encode(), r[1], r[2]))))
