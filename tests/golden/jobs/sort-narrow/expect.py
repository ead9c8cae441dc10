from golden_data import csv, packed, rand, write

drawn = [(rand(5, i) % 300, i) for i in range(5000)]
write("expected/stable.bin", packed("HH", sorted(drawn, key=lambda r: r[0])))
write("expected/head.csv", csv(sorted((r for r in drawn if r[0] >= 290), key=lambda r: (-r[0], r[1]))))
once = {}
for k, v in drawn:
    once.setdefault(k, v)
write("expected/once.bin", packed("HH", sorted(once.items())))
wide = [(v * 3 % 1009, k) for k, v in drawn]
write("expected/last.csv", csv(sorted(wide, reverse=True)[:25]))
# Equal keys without `stable`: no order is promised but that it is a function of the input (decision D6b). Whole rows of
# 16 bytes or less are sorted as numbers, so the remaining bytes decide.
write("expected/twelve.bin", packed("IQ", sorted((k % 4, rand(6, v)) for k, v in drawn)))
