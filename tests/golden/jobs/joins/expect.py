from golden_data import csv, rand, write

left = [("k%d" % (rand(1, i) % 60), i) for i in range(120)] + [("", 1000)]
right = [("k%d" % (rand(2, i) % 80), i - 70) for i in range(140)] + [("only right", 7), ("", -1), ("", -2)]
write("left.csv", csv(left))
write("right.csv", csv(right))
ls = sorted(left, key=lambda r: (r[0].encode(), r[1]))
rs = sorted(right, key=lambda r: (r[0].encode(), r[1]))
left_keys, right_keys = {k for k, _ in ls}, {k for k, _ in rs}
pairs = [(k, a, b) for k, a in ls for j, b in rs if j == k]
write("expected/inner.csv", csv(pairs))
outer = []
for k, a in ls:
    outer += [(k, a, b, 3) for j, b in rs if j == k] or [(k, a, 0, 1)]
write("expected/left.csv", csv(outer))
full = outer + [(k, 0, b, 2) for k, b in rs if k not in left_keys]
write("expected/full.csv", csv(sorted(full, key=lambda r: r[0].encode())))
write("expected/semi.csv", csv(r for r in ls if r[0] in right_keys))
write("expected/anti.csv", csv(r for r in ls if r[0] not in right_keys))
