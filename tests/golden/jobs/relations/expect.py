import datetime

from golden_data import csv, rand, write

first = datetime.date(2026, 1, 1)
names = ["cat", "cart", "dog", "", "cat_", "cat\\_", "ct", "gärt", "é", "éa", "ca", "d", "c a t", "act"]
keys = ["ab", "ba", "aa", "xy", "xx"]
rows = [
    (
        names[rand(1, i) % len(names)],
        keys[rand(2, i) % 5],
        rand(3, i) % 50,
        rand(4, i) % 40 - 10,
        (rand(5, i) % 32) / 4,
        rand(6, i) % 500,
        first + datetime.timedelta(rand(7, i) % 60),
    )
    for i in range(800)
]


def money(units):
    return f"{units // 100}.{units % 100:02}"


def shown(row):
    return (*row[:5], money(row[5]), row[6])


write("in.csv", csv([shown(r) for r in rows]))
PRIMES = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
write(
    "expected/some.csv",
    csv(
        [
            (*r[:4], f"{r[4]:g}", money(r[5]), r[6])
            for r in rows
            if r[0] in ("cat", "cart", "dog", "", "cat_") or (r[2], r[3]) in ((1, 2), (r[3], 5))
        ]
    ),
)
flags = []
for name, key, n, i, x, price, day in rows:
    a, t = name.find("a"), name.rfind("t")
    flags.append(
        (
            i in (-3, n, 4),
            n in PRIMES,
            key not in ("ab", "ba", "bb", "xy"),
            x in (0.5, 2, 7),
            price in (100, 250, 375),
            day in (datetime.date(2026, 1, 5), datetime.date(2026, 1, 31)),
            -2 <= i <= n // 4,
            not datetime.date(2026, 1, 10) <= day <= datetime.date(2026, 2, 10),
            b"cart" <= name.encode() <= b"d",
            name.startswith("ca"),
            len(name) >= 2 and name[0] == "c" and name[-1] == "t",
            name[1:2] == "a",
            name.endswith("_"),
            not 0 <= a < t,
        )
    )
write("expected/flags.csv", csv(flags))
cats = sum(r[0].startswith("cat") for r in rows)
write("expected/all.csv", csv([(len(rows), cats, sum(r[2] in (1, 2, 3) for r in rows), 0)]))
kinds = []
for key in sorted(keys):
    of = [r for r in rows if r[1] == key]
    kinds.append((key, len(of), sum(r[3] < 0 for r in of), sum(10 <= r[2] <= 20 for r in of)))
write("expected/kinds.csv", csv(kinds))
groups = []
for n in sorted({r[2] for r in rows}):
    of = [r for r in rows if r[2] == n]
    groups.append((n, len(of), sum(r[6] >= datetime.date(2026, 2, 1) for r in of)))
write("expected/groups.csv", csv(groups))
