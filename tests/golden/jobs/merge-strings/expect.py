from golden_data import csv, rand, write

files = [[("k%d" % (rand(s, i) % 90), s) for i in range(n)] for s, n in ((1, 200), (2, 0), (3, 150))]
for name, rows in zip("abc", files):
    write(name + ".csv", csv(rows))
write(
    "expected/all.csv", csv(sorted(files[0] + files[1] + files[2], key=lambda r: r[0], reverse=True))
)  # reverse keeps equal ones in order
