"""Random types, values and rows."""

import math
import struct

from values import DAY, INTEGERS, TIMES, is_decimal, is_float, is_time, length_of, single

WORDS = [
    b"",
    b"a",
    b"ab",
    b"abc",
    b"abd",
    b"b",
    b"zebra",
    b"Zebra",
    b"word with blanks",
    b"comma,",
    b'quote"',
    b" a  b",
    b"a long text that begins like others 1",
    b"a long text that begins like others 2",
    b"line\nend",
    b"a\rb",
    b"\x00",
    b"a\x00b",
    b"\xff\xfe",
    b"\xc3\xa4\xc3\xb6",
    b"jan",
    b" Feb x",
    b"1.9",
    b"1.10",
    b"1.0~rc1",
    b"x-1.2.tar",
    b"10K",
    b"2M",
    b"900",
    b"-3",
    b"0012",
    b"7.50",
    b"18446744073709551616",
    b"a,b;c|d",
    b"1e3",
    b"tail ",
    b"12.345",
    b"-0.5",
    b"2026-02-28",
    b"2026-02-29",
    b"1.2.2026",
    b"2026-11-23 22:15:03.5+01:00",
]
NUMBERS = [
    b"0",
    b"7",
    b"-7",
    b"12",
    b"2.5",
    b"-0.5",
    b".5",
    b"3.",
    b"1e2",
    b"x",
    b"12x",
    b" 1",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"18446744073709551615",
    b"1-2",
    b"--1",
    b"1.2.3",
]
REALS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    2.5,
    -2.5,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
    1e16,
    123456789.0,
    1e22,
    2.0**63,
    2.0**64,
    -(2.0**63),
    255.5,
    1 / 3,
    1e5,
    1e-5,
    100000000.0,
]
DECIMALS = ["decimal[0]", "decimal[2]", "decimal[2]", "decimal[5]"]
TYPES = [*INTEGERS, *TIMES, *TIMES, *DECIMALS, "bool", "f32", "f64", "string", "string", "bytes[1]", "bytes[3]", "bytes[12]", "bytes[20]"]
FEW = 0.4  # of the columns have few different values


def number(r, kind):
    least, most = INTEGERS[kind]
    what = r.random()
    if what < 0.45:
        return max(least, min(most, r.randrange(-4, 9)))
    if what < 0.6:
        return r.choice([least, most, least + 1, most - 1])
    if what < 0.8:
        return r.randrange(max(least, -1000), min(most, 1000) + 1)
    return r.randrange(least, most + 1)


def time(r, kind):
    least, most = TIMES[kind]
    what, day = r.random(), 1 if kind == "date" else DAY
    if what < 0.3:
        return r.randrange(-2, 5) * day + (r.randrange(-3, 4) if kind == "timestamp" else 0)
    if what < 0.6:
        return 20_000 * day + r.randrange(800 * day)
    return r.choice([least, most, least + 1, most - 1]) if what < 0.7 else r.randrange(least, most + 1)


def decimal(r):
    what = r.random()
    if what < 0.6:
        return r.choice([0, 1, -1, 5, 99, 100, 150, 250, -250, 1250, 12345])
    if what < 0.97:
        return r.randrange(-(10**6), 10**6)
    return r.choice([2**63 - 1, -(2**63), r.randrange(-(10**15), 10**15)])


def text(r):
    what = r.random()
    if what < 0.5:
        return r.choice(WORDS)
    if what < 0.65:
        return r.choice(NUMBERS)
    if what < 0.9:
        return b"".join(r.choice([b"a", b"b", b"c", b" ", b"1", b"2", b".", b"-", b"K"]) for _ in range(r.randrange(9)))
    if what < 0.99:
        return bytes(r.randrange(256) for _ in range(r.randrange(14)))
    return r.choice([b"long ", b"x"]) * (r.randrange(10, 300) if r.random() < 0.9 else r.randrange(1000, 5000))


def real(r):
    what = r.random()
    if what < 0.5:
        return r.choice(REALS)
    if what < 0.8:
        return r.randrange(-40, 40) / 4
    return r.uniform(-1e6, 1e6)


def strange_nan(kind):
    """A NaN with its sign set, as packed files may have it."""
    return struct.unpack("<f", b"\0\0\xc0\xff")[0] if kind == "f32" else struct.unpack("<d", b"\0\0\0\0\0\0\xf8\xff")[0]


def value(r, kind, in_text=True):
    if kind == "bool":
        return r.random() < 0.5
    if kind == "string":
        return text(r)
    if kind.startswith("bytes"):
        n = length_of(kind)
        return (text(r) + bytes(r.choice([0, 32, 97]) for _ in range(n)))[:n]
    if is_time(kind):
        return time(r, kind)
    if is_decimal(kind):
        return decimal(r)
    if is_float(kind):
        if not in_text and r.random() < 0.05:
            return strange_nan(kind)
        x = real(r)
        return x if kind == "f64" or x != x else single(x)
    return number(r, kind)


def column(r, kind, count, in_text=True):
    if r.random() < FEW:
        few = [value(r, kind, in_text) for _ in range(r.randint(1, 6))]
        return [r.choice(few) for _ in range(count)]
    return [value(r, kind, in_text) for _ in range(count)]


def rows(r, columns, count, in_text=True):
    return list(zip(*(column(r, k, count, in_text) for k in columns.values()))) if count else []


def count(r):
    return r.choice([0, 1, 2, 7, 20, 40, 60, 90, 150] + [300] * (r.random() < 0.2))
