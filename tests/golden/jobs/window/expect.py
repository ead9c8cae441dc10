from golden_data import csv, rand, write

rows = [(rand(1, i) % 1000, "s%d" % (rand(2, i) % 30)) for i in range(400)]
write("in.csv", csv(rows))
at = lambda i: rows[i] if 0 <= i < len(rows) else (-1, "none")
write(
    "expected/out.csv",
    csv((x, s, x - at(i - 1)[0], at(i - 2)[0], at(i + 1)[1], at(i - 1)[1] + "/" + s) for i, (x, s) in enumerate(rows)),
)
