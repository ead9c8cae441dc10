from golden_data import csv, rand, write

out = []
for i in range(600):
    value = rand(9, i)
    src, dst = value % 40, (value >> 32) % 40
    out.append((src, dst, "out"))
    if src != dst:
        out.append((dst, src, "in%d" % (src % 3)))
write("expected/both.csv", csv(sorted(out)))
