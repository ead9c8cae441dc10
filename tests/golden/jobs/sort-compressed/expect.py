from golden_data import csv, packed, rand, write

drawn = [(rand(5, i) % 300, i) for i in range(9000)]
write("expected/four.bin", packed("HH", sorted(drawn, key=lambda r: (r[0], -r[1]))))
once = {}
for k, v in drawn:
    once.setdefault(k, v)
write("expected/once.csv", csv(sorted(once.items())))
by_x = sorted({rand(6, v) % 100000 for _, v in drawn}, reverse=True)
write("expected/by-x.csv", csv([(x,) for x in by_x if x % 5 == 0]))
sixteen = [(k * 1000003, v) for k, v in drawn]
write("expected/by-a.bin", packed("QQ", [r for r in sorted(sixteen) if r[1] % 4 == 1]))
write("expected/stable.csv", csv(sorted(sixteen, key=lambda r: r[0])[:700]))
named = [(f"row {k} of {v % 7}", v) for k, v in drawn]
write("expected/by-name.csv", csv(r for r in sorted(named, key=lambda r: (r[0], -r[1])) if r[1] < 2000))
