from golden_data import csv, rand, write

orders = [(rand(1, i) % 50, rand(2, i) % 7, rand(3, i) % 1000 - 500) for i in range(400)]
people = {(i % 60, i // 60): str(i) for i in range(300)}
orders.sort(key=lambda r: (-r[0], r[1], r[2]))
write("expected/both.csv", csv((c, d, a, people.get((c, d), "")) for c, d, a in orders))
