from golden_data import csv, rand, write

orders = [(rand(1, i) % 50, rand(2, i) % 7, rand(3, i) % 1000 - 500) for i in range(400)]
people = {(i % 60, i // 60): str(i) for i in range(300)}
side = list(orders)
orders.sort(key=lambda r: (-r[0], r[1], r[2]))
write("expected/both.csv", csv((c, d, a, people.get((c, d), "")) for c, d, a in orders))
both = [(c, d, a, people.get((c, d), "")) for c, d, a in orders]
again = [(*b, o[2], 3) for b in both for o in orders if o[:2] == b[:2]]
write("expected/again.csv", csv(again, ["customer", "day", "amount", "name", "other", "m"]))
first = {}
for c, d, a in orders:
    first.setdefault(c, (d, a))
write(
    "expected/all.csv",
    csv(((c, d, a, *first[c]) for c, d, a in orders), ["customer", "day", "amount", "first_day", "day_1"]),
)
write("expected/side.csv", csv((a + b for a, b in zip(side, orders)), ["customer", "day", "amount", "c", "d", "a"]))
