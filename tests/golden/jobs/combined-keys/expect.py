import datetime

from golden_data import csv, rand, write

first = datetime.datetime(2026, 1, 1)
rows = [
    (first + datetime.timedelta(seconds=rand(1, i) % 700000), f"u{rand(2, i) % 300:03d}", rand(3, i) % 50)
    for i in range(2000)
]
write("in.csv", csv([(at.isoformat() + "Z", user, page) for at, user, page in rows]))


def groups(key):
    out = {}
    for row in rows:
        out.setdefault(key(row), []).append(row)
    return out


days = groups(lambda r: (r[0].date(), r[2] % 3))
write(
    "expected/days.csv",
    csv(
        [
            (day, kind, len(g), len({r[1] for r in g}), max(r[2] for r in g))
            for (day, kind), g in sorted(days.items(), key=lambda e: (e[0][0], -e[0][1]))
        ]
    ),
)
write(
    "expected/initials.csv",
    csv(
        [
            (start, len({r[2] for r in g}), max(r[0] for r in g).isoformat() + "Z", max(r[1] for r in g))
            for start, g in sorted(groups(lambda r: r[1][:2]).items())
        ]
    ),
)
pages = groups(lambda r: r[2])
write("expected/pages.csv", csv([(p, len({r[1] for r in pages[p]})) for p in sorted(pages, reverse=True)[:7]]))
users = groups(lambda r: r[1])
write("expected/users.csv", csv([(u, len({r[2] for r in g}), len(g)) for u, g in sorted(users.items())]))
write("expected/all.csv", csv([(len(users),)]))
