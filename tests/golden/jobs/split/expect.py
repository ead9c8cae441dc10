from golden_data import csv, rand, write

rows = [(i, rand(7, i) % 100 - 50) for i in range(1200)]
high = [r for r in rows if r[1] > 10]
low = [r for r in rows if r[1] < -10]
write("expected/joined.csv", csv(high + low))
write("expected/ordered.csv", csv(r for r in rows if -10 <= r[1] <= 10))
