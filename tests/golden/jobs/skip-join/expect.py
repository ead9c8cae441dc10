import collections

from golden_data import csv, rand, write

edges = sorted((rand(1, i) % 6000, rand(2, i) % 100) for i in range(20000))
by_src = collections.defaultdict(list)
for src, dst in edges:
    by_src[src].append(dst)
some = [(rand(3, i) % 40 * 211, i) for i in range(60)]
left = sorted(some)
write("expected/inner.csv", csv((n, i, d) for n, i in left for d in by_src.get(n, [])))
outer = []
for n, i in left:
    outer += [(n, i, d, 3) for d in by_src.get(n, [])] or [(n, i, 0, 1)]
write("expected/left.csv", csv(outer))
write("expected/semi.csv", csv((n, i) for n, i in left if n in by_src))
write("expected/anti.csv", csv((n, i) for n, i in left if n not in by_src))
texts = collections.defaultdict(set)
for src, dst in edges:
    texts["key %d" % (src % 997)].add(dst)
keys = sorted(("key %d" % (n % 997), i) for n, i in some)
keys.sort(key=lambda row: row[0], reverse=True)
write("expected/texts.csv", csv((k, i, v) for k, i in keys for v in sorted(texts.get(k, ()))))
