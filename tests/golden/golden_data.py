"""What expect.py files use: flowrun's random numbers, CSV fields and packed rows, written down a second time in
Python."""

import pathlib
import struct
import sys

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(a):
    """splitmix64 (Steele, Lea, Flood 2014)."""
    a = (a + GOLDEN) & MASK
    a = ((a ^ (a >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    a = ((a ^ (a >> 27)) * 0x94D049BB133111EB) & MASK
    return a ^ (a >> 31)


def rand(seed, i):
    return mix((mix(seed) + i * GOLDEN) & MASK)


def directory():
    """Where expect.py is to write."""
    return pathlib.Path(sys.argv[1])


def field(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if any(c in text for c in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv(rows, header=None):
    lines = ([",".join(header)] if header else []) + [",".join(field(v) for v in row) for row in rows]
    return "".join(line + "\n" for line in lines)


def write(name, content):
    path = directory() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def packed(layout, rows):
    """Rows of struct letters without padding, little endian."""
    return b"".join(struct.pack("<" + layout, *row) for row in rows)
