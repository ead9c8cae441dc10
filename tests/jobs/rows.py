"""Packed rows of unsigned integers, little endian: [4, 4] are the widths in bytes of two columns."""


def pack(rows, widths):
    return b"".join(value.to_bytes(width, "little") for row in rows for value, width in zip(row, widths))


def unpack(data, widths):
    num_bytes = sum(widths)
    if len(data) % num_bytes:
        raise ValueError(f"{len(data)} bytes are not rows of {num_bytes}")
    out = []
    for begin in range(0, len(data), num_bytes):
        row = []
        at = begin
        for width in widths:
            row.append(int.from_bytes(data[at : at + width], "little"))
            at += width
        out.append(tuple(row))
    return out
