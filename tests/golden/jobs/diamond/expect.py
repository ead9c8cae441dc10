from golden_data import csv, rand, write

values = [rand(4, i) % 1000 for i in range(3000)]
rank = {i: r for r, i in enumerate(sorted(range(3000), key=lambda i: (values[i], i)))}
write("expected/ranks.csv", csv((i, values[i], rank[i]) for i in range(3000)))
write("expected/total.csv", csv([(3000, values[0], sum(i * v for i, v in enumerate(values)))]))
