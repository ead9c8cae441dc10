from golden_data import csv, rand, write

text = bytes(97 + rand(1, i) % 2 * (rand(2, i) % 3) for i in range(2000))
suffixes = sorted(range(len(text)), key=lambda i: text[i:])
rank = [0] * (len(text) + 3)
for name, i in enumerate([i for i in suffixes if i % 3], 1):
    rank[i] = name
c = lambda i: text[i] if i < len(text) else 0
write("class0.csv", csv((i, c(i), c(i + 1), rank[i + 1], rank[i + 2]) for i in suffixes if i % 3 == 0))
write("class1.csv", csv((i, rank[i], c(i), rank[i + 1]) for i in suffixes if i % 3 == 1))
write("class2.csv", csv((i, rank[i], c(i), c(i + 1), rank[i + 2]) for i in suffixes if i % 3 == 2))
write("expected/suffixes.csv", csv((i,) for i in suffixes))
