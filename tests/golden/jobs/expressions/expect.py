import zlib
from golden_data import MASK, csv, rand, write


def quotient(a, b):
    return 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return 0 if b == 0 else a - b * quotient(a, b)


def shortest(x):
    return "-0" if x == 0 and str(x).startswith("-") else "%g" % x


out = []
for i in range(1500):
    x, w = rand(1, i) % 2001 - 1000, " W%d " % (i % 13)
    ones = bin(i).count("1")
    out.append(
        (
            i,
            quotient(x, remainder(x, 5)),
            remainder(x, 7),
            x & 255,
            (i << (i % 70)) & MASK if i % 70 < 64 else 0,
            ones + ones % 2 * 100 + (64 - i.bit_length()) * 1000,
            (x, i) < (0, 700),
            "neg" if x < 0 else "zero" if x == 0 else "pos",
            w.strip().lower(),
            w[1:3],
            len(w),
            int(w.strip()[1:]),
            shortest(x / 2),
            x > 0 and i % 2 == 1 or x == -1000,
            zlib.crc32(w.encode()),
        )
    )
write("expected/out.csv", csv(out))
