from golden_data import csv, packed, rand, write

drawn = [(rand(4, i) & 0xFFFF, i) for i in range(20000)]
by_key = sorted(drawn, key=lambda row: row[0])
write("expected/sorted.bin", packed("HI", by_key))
write("expected/backwards.bin", packed("HI", by_key[::-1]))
write("expected/thirds.bin", packed("HI", [row for part in range(3) for row in drawn[part::3]]))
groups = [[i for k, i in drawn if k % 5 == b] for b in range(5)]
write("expected/counted.csv", csv([(b, len(g), g[0], g[-1]) for b, g in enumerate(groups)]))
lines = ["x" * (rand(5, i) % 300) + str(i) for i in range(600)]
write("in.txt", "".join(line + "\n" for line in lines))
write("expected/by_length.txt", "".join(line + "\n" for line in sorted(lines[::-1], key=lambda line: len(line) // 4)))
