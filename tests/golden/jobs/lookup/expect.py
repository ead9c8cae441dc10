import collections

from golden_data import csv, rand, write

edges = [(rand(1, i) % 700, rand(2, i) % 900) for i in range(3000)]
degree = collections.Counter(src for src, _ in edges)
write("expected/both.csv", csv((s, d, degree[s], degree.get(d, 1000)) for s, d in edges))
words = {("w%d" % (k % 47), k // 47): "meaning %d" % rand(3, k) for k in range(120)}
write("words.csv", csv((*key, meaning) for key, meaning in sorted(words.items(), key=lambda item: item[1])))
asked = [("w%d" % (s % 60), d % 3, s) for s, d in edges]
write("expected/known.csv", csv((*a, words[a[:2]]) for a in asked if a[:2] in words))
