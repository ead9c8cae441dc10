from golden_data import csv, rand, write

rows = [(rand(1, i) % 1000, "s%d" % (rand(2, i) % 30)) for i in range(400)]
write("in.csv", csv(rows))
at = lambda i: rows[i] if 0 <= i < len(rows) else (-1, "none")
write(
    "expected/out.csv",
    csv((x, s, x - at(i - 1)[0], at(i - 2)[0], at(i + 1)[1], at(i - 1)[1] + "/" + s) for i, (x, s) in enumerate(rows)),
)

rows.sort(key=lambda r: (r[1].encode(), r[0]))


def near(i, distance, nothing):
    """The neighbour of row i, or nothing where it belongs to another group."""
    there = 0 <= i + distance < len(rows) and rows[i + distance][1] == rows[i][1]
    return rows[i + distance] if there else nothing


gone = (-1, "")
write(
    "expected/within.csv",
    csv((x, s, near(i, -1, gone)[0], near(i, 2, gone)[0], near(i, 1, gone)[1]) for i, (x, s) in enumerate(rows)),
)
zero = (0, "")
write(
    "expected/third.csv",
    csv((*rows[i], near(i, -2, zero)[0], near(i, 1, zero)[0]) for i in range(0, len(rows), 3)),
)
