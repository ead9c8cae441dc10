from golden_data import csv, packed, rand, write

rows = sorted({(rand(1, i) % 60, rand(2, i) % 10000) for i in range(500)})[:400]
write("sorted.bin", packed("II", rows))
write(
    "expected/grouped.csv",
    csv(
        (k, sum(1 for j, _ in rows if j == k), sum(v for j, v in rows if j == k)) for k in sorted({k for k, _ in rows})
    ),
)
write("expected/same.csv", "true\n")
