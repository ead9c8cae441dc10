"""Rows of every type; floats are small multiples of 1/4, so that their text is the same everywhere."""

import struct
from golden_data import csv, rand, write


def row(i):
    r = [rand(11, 20 * i + k) for k in range(15)]
    return {
        "a": r[0] % 256,
        "b": r[1] % 65536,
        "c": r[2] % 7 + (1 << 23),
        "d": r[3] % 2**32,
        "e": r[4] % 3 + (1 << 39),
        "f": r[5] % 2**48,
        "g": r[6],
        "h": r[7] % 256 - 128,
        "i": r[8] % 65536 - 32768,
        "j": r[9] % 2**31 - 2**30,
        "k": r[10] % 2**63 - 2**62,
        "l": (r[11] % 16 - 8) / 4,
        "m": (r[12] % 8 - 4) / 4,
        "n": bool(r[13] % 2),
        "o": bytes([97 + r[14] % 3, r[14] // 3 % 2, 255]),
    }


def pack(v):
    wide = lambda n, width: n.to_bytes(width, "little")
    return (
        struct.pack("<BH", v["a"], v["b"])
        + wide(v["c"], 3)
        + struct.pack("<I", v["d"])
        + wide(v["e"], 5)
        + wide(v["f"], 6)
        + struct.pack("<QbhiqfdB", v["g"], v["h"], v["i"], v["j"], v["k"], v["l"], v["m"], v["n"])
        + v["o"]
    )


rows = [row(i) for i in range(700)]
write("in.bin", b"".join(pack(v) for v in rows))
write("expected/by-c.bin", b"".join(pack(v) for v in sorted(rows, key=lambda v: (v["c"], -v["e"], v["o"]))))
by_floats = sorted(rows, key=lambda v: (-v["l"], v["m"], v["i"]))
write(
    "expected/by-floats.csv",
    csv((v["c"], v["e"], v["f"], (v["c"] + v["e"] + v["f"]) % 2**48, v["h"], -v["j"]) for v in by_floats),
)
write("expected/part.csv", csv((v["g"], v["k"], v["n"]) for v in rows[10:13]))
