"""Amounts of money, and lines that are none; all in Python's integers, in units of the last digit."""

import struct
from fractions import Fraction

from golden_data import csv, rand, write

SHOPS = ["Aachen", "Bonn", "Celle", "Dresden", "Emden"]
RANGE = "it is not in the range -92233720368547758.08 to 92233720368547758.07"
WRONG = [
    ("12.505", 'expected decimal[2], got "12.505": it has 3 digits behind the point'),
    ("12,5", None),  # two fields
    ("1e3", 'expected decimal[2], got "1e3": a decimal has digits, a point and a sign, as in -12.50'),
    ("", "expected decimal[2] (such as 1.20), got an empty field"),
    ("92233720368547758.08", f'expected decimal[2], got "92233720368547758.08": {RANGE}'),
]


def text(units, scale):
    sign, digits = "-" * (units < 0), f"{abs(units):0{scale + 1}}"
    return sign + (digits if scale == 0 else digits[:-scale] + "." + digits[-scale:])


def given(units, scale, i):
    """One of the forms that a decimal may have."""
    out = text(units, scale)
    if i % 5 == 0:
        out = out.rstrip("0").rstrip(".")
    if i % 5 == 1:
        out += "000"
    if i % 5 == 2 and out[0] != "-":
        out = "+" + out
    return out.removeprefix("0") if i % 5 == 3 and "." in out else out


def half_away(units, unit):
    size = (2 * abs(units) + unit) // (2 * unit)
    return -size if units < 0 else size


def toward_zero(units, unit):
    return -(-units // unit) if units < 0 else units // unit


def real(x):
    return f"{x:.0f}" if x == int(x) else repr(x)


def rows():
    for i in range(1000):
        large = rand(6, 4 * i) % 50 == 0
        price = rand(6, 4 * i + 1) % 10**13 if large else rand(6, 4 * i + 1) % 12000 - 2000
        yield i, SHOPS[rand(6, 4 * i + 2) % 5], rand(6, 4 * i + 3) % 7 - 1, price, rand(7, i) % 3000 - 100


def parts(i, shop, count, price, rate):
    net = price * count
    return [
        i,
        text(net, 2),
        text(half_away(net * (10000 + rate), 10**4), 2),
        text(toward_zero(price * rate, 10**3), 3),
        price // 100,
        -(-price * rate // 10**6),
        half_away(price, 1000) * 10,
        text((abs(price) % 75) * (-1 if price < 0 else 1), 2),
        text(price * 100 - rate, 4),
        price * 10 >= 50005 and price != 7500,
        price * 100 < rate * 1000,
        text(min(price * 100, rate, 30000), 4),
        text(abs(price), 2),
        (price > 0) - (price < 0),
        toward_zero(price, 100),
        real(float(Fraction(price, 100)) / 2),
        True,
        text(price, 2) + " EUR",
    ]


all_rows = list(rows())
lines, bad = [], []
for i, shop, count, price, rate in all_rows:
    lines.append(f"{i},{shop},{count},{given(price, 2, i)},{given(rate, 4, i // 5)}")
    if i % 200 == 199:
        field, reason = WRONG[i // 200]
        lines.append(f"9,Bonn,1,{field},0.5")
        if reason is None:
            reason = "expected 5 fields, got 6"
        bad.append([lines[-1], len(lines), 10 if "fields" not in reason else 15, reason])
write("in.csv", "".join(line + "\n" for line in lines).encode())
write("expected/bad.csv", csv(bad))


def shown(row):
    i, shop, count, price, rate = row
    return [i, shop, count, text(price, 2), text(rate, 4)]


columns = ["id", "shop", "count", "price", "rate"]
write("expected/sorted.csv", csv(map(shown, sorted(all_rows, key=lambda r: (-r[3], r[0]))), columns))
names = "id net gross cut floor ceil dozens rest both dear less least size sign whole half again shown".split()
write("expected/parts.csv", csv((parts(*r) for r in all_rows), names))
sums, combined, running = [], [], []
for shop in SHOPS:
    here = [r for r in all_rows if r[1] == shop]
    total = text(sum(r[3] * r[2] * r[4] for r in here), 6)
    prices = [r[3] for r in here]
    mean = sum(prices) / (len(prices) * 100)
    sums.append([shop, len(here), total, text(min(prices), 2), text(max(prices), 2), real(mean)])
    combined.append([shop, total, text(min(prices), 2), len(here)])
    so_far = 0
    for r in here:
        so_far += r[3] * r[2]
        running.append([r[0], text(so_far, 2)])
write("expected/sums.csv", csv(sums))
write("expected/combined.csv", csv(combined))
write("expected/running.csv", csv(running))
dear = [r for r in all_rows if r[3] > 9000]
write("expected/dear.bin", b"".join(struct.pack("<Iqq", r[0], r[3], r[4]) for r in dear))
ids = {r[3] for r in dear}
write("expected/same.csv", csv(map(shown, sorted((r for r in all_rows if r[3] in ids), key=lambda r: (r[3], r[0])))))
