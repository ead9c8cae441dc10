from golden_data import csv, packed, rand, write

drawn = [(i, rand(3, i) & 0xFFFF) for i in range(4096)]
mixed = sorted(drawn, key=lambda row: rand(9, row[0]))
write("expected/mixed.bin", packed("IH", mixed))
hundred = sorted(drawn, key=lambda row: rand(8, row[0]))[:100]
write("expected/hundred.bin", packed("IH", hundred))


def permuted(rows, place):
    out = [None] * len(rows)
    for i, row in enumerate(rows):
        out[place(i)] = row
    return out


write("expected/transposed.bin", packed("IH", permuted(drawn, lambda i: i % 32 * 128 + i // 32)))
write("expected/reversed.bin", packed("IH", permuted(drawn, lambda i: int(f"{i:012b}"[::-1], 2))))
write("expected/gray.csv", csv(permuted(drawn[:8], lambda i: i ^ i >> 1 ^ 1)))
write("expected/back.csv", csv([(i, r, i % 7 == 0, 3 * i) for i, r in drawn]))
write("expected/some.bin", packed("I", permuted([(i,) for i in range(1 << 18)], lambda i: i ^ i >> 12)[::61]))
