from golden_data import csv, rand, write

edges = [(rand(1, i) % 400, rand(2, i) % 400) for i in range(420)]
write("edges.csv", csv(edges))

neighbours = {}
for a, b in edges:
    neighbours.setdefault(a, set()).add(b)
    neighbours.setdefault(b, set()).add(a)
level = {3: 0}
queue = [3]
for node in queue:
    for other in sorted(neighbours.get(node, ())):
        if other not in level:
            level[other] = level[node] + 1
            queue.append(other)
del level[3]
write("expected/levels.csv", csv(sorted(level.items())))

# The iteration behind the last level finds nothing.
rounds = max(level.values()) + 1
write("expected/scalars.csv", "t,iterations\n" + csv([(rounds, rounds)]))

rows, sums = sorted(level.items()), []
while rows:
    sums.append((sum(value for _, value in rows),))
    rows = [(node // 2, value) for node, value in rows if node % 2 == 0 and node > 0]
write("expected/sums.csv", csv(sums))
