"""Arrays as NumPy writes them, made with struct: fields in any order, padding, both orders of bytes."""

import struct
from golden_data import csv, packed, rand, write

DAY = 86_400_000_000
NAT = -(2**63)


def npy(descr, shape, data):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    room = 20 - len(str(shape[0]))  # for any number of rows
    padded = (10 + len(text) + room + 1 + 63) // 64 * 64 - 10
    return b"\x93NUMPY\x01\0" + struct.pack("<H", padded) + text.ljust(padded - 1) + b"\n" + data


rows, bad, a, b = [], [], b"", b""
for i in range(2000):
    first = i < 1200
    row = i if first else i - 1200
    day = rand(3, i) % 40_000 - 10_000
    at = rand(4, i) % (90_000 * DAY) - 20_000 * DAY
    wide = rand(6, i) % (1 << 40)
    if i % 100 == 40:
        day = NAT
        bad.append([row, "day", "column 'day' is NaT, a missing time, which rows don't have"])
    elif i % 100 == 60:
        at = NAT
        bad.append([row, "at", "column 'at' is NaT, a missing time, which rows don't have"])
    elif i % 100 == 80:
        wide += 1 << 40
        bad.append([row, "wide", f"column 'wide' is {wide}, which is no u40"])
    name, ok, weight = b"%04d" % (rand(5, i) % 300), i % 3 == 0, rand(7, i) % 1000 / 8
    if i % 100 not in (40, 60, 80):
        rows.append((i, weight, day, at, name, ok, wide))
    if first:
        a += struct.pack("<?3x4s4xqIq4xdQ2s", ok, name, day, i, at, weight, wide, b"..")
    else:
        b += struct.pack(">dQqI?4sq", weight, wide, at, i, ok, name, day)
write("a.npy", npy("[('ok', '|b1'), ('', '|V3'), ('name', '|S4'), ('', '|V4'), ('day', '<M8[D]'), ('id', '<u4'), ('at', '<M8[us]'), "
                   "('', '|V4'), ('weight (kg)', '<f8'), ('wide', '<u8'), ('rest', '|S2')]", (1200,), a))  # fmt: skip
write("b.npy", npy("[('weight (kg)', '>f8'), ('wide', '>u8'), ('at', '>M8[us]'), ('id', '>u4'), ('ok', '|b1'), ('name', '|V4'), "
                   "('day', '>M8[D]')]", (800,), b))  # fmt: skip
points = [(i % 91, -i) for i in range(3000)]
write("points.npy", npy("'<i2'", (3000, 2), packed("hh", points)))
rows.sort(key=lambda r: (r[4], -r[0]))
data = b"".join(struct.pack("<Idqq4s?Q", *r) for r in rows)
write("expected/sorted.npy", npy("[('id', '<u4'), ('weight', '<f8'), ('day', '<M8[D]'), ('at', '<M8[us]'), ('name', '|S4'), "
                                 "('ok', '|b1'), ('wide', '<u8')]", (len(rows),), data))  # fmt: skip
write("expected/ids.npy", npy("'<u4'", (len(rows),), packed("I", [r[:1] for r in rows])))
write("expected/bad.csv", csv(bad))
write("expected/moved.npy", npy("'<i2'", (3000, 2), packed("hh", [(y + 1, x) for x, y in points])))
