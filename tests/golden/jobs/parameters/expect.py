import datetime

from golden_data import csv, rand, write

WHO, SHOP, LEAST, BELOW, LIMIT = "O'Brien \"x\" \\ or true", "s'1", 400, -50, 4096
DAY = datetime.date(2026, 3, 1)
first = datetime.date(2026, 1, 1)
names = [WHO, "O'Brien", "x", "", "O'Brien \"x\" \\ or true "]
shops = ["s00", SHOP, "abc"]


def money(units, scale=2):
    return f"{'-' if units < 0 else ''}{abs(units) // 10**scale}.{abs(units) % 10**scale:0{scale}}"


rows = [
    (
        names[rand(1, i) % 5],
        shops[rand(2, i) % 3],
        rand(3, i) % 1000,
        rand(4, i) % 2000 - 200,
        rand(5, i) % 100000 - 1000,
        first + datetime.timedelta(rand(6, i) % 120),
    )
    for i in range(900)
]
shown = [(*r[:4], money(r[4]), r[5]) for r in rows]
write("in.csv", csv(shown))
write("expected/named.csv", csv([r for r in shown if r[0] == WHO and r[3] > BELOW]))
write(
    "expected/values.csv",
    csv([(r[2] * LIMIT, money(r[4] * 125, 4), (DAY - r[5]).days, r[5] <= DAY, SHOP) for r in rows]),
)
kinds = {}
for r in rows:
    kind = (r[1] == SHOP, r[5] < DAY)
    n, total = kinds.get(kind, (0, 0))
    kinds[kind] = n + 1, total + r[3] + LEAST
write("expected/kinds.csv", csv([(*kind, *kinds[kind]) for kind in sorted(kinds)]))
run, n = [], LEAST
for r in rows:
    n = LEAST if r[3] < BELOW else n + 1
    run.append((n,))
write("expected/run.csv", csv(run))
write("expected/all.csv", csv([(max(r[3] - BELOW for r in rows), sum(r[0] == WHO for r in rows))]))
write("expected/steps.csv", csv([r for r, s in zip(shown, rows) if s[0] == WHO and s[3] >= 2 * LEAST + BELOW]))
