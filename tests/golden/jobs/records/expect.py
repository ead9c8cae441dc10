"""gensort's keys: the upper 80 bits of a linear congruential generator modulo 2^128 (L'Ecuyer 1999)."""

from golden_data import write

A, C, M = 0x2360ED051FC65DA44385DF649FCCF645, 0x4A696D47726179524950202020202001, (1 << 128) - 1
random, keys = 0, []
for _ in range(300):
    random = (random * A + C) & M
    keys.append((random >> 48).to_bytes(10, "big"))
write("expected/input.dat", b"".join(keys))
write("expected/sorted.dat", b"".join(sorted(keys)))
write("expected/part.dat", b"".join(sorted(sorted(keys), key=lambda k: k[2:5], reverse=True)[:20]))
