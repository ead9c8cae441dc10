#!/usr/bin/env python3
"""Rows as Parquet and back, for peers that can't read files of rows. Uncompressed, not dictionary-encoded.

    parquet_rows.py from-rows SHAPE ROWS PARQUET
    parquet_rows.py to-rows SHAPE PARQUET          to standard output

SHAPE is u64, rows16, rows32 (columns key, a, b, c of u64) or records (key and value, binary)."""
import sys

import numpy
import pyarrow
import pyarrow.parquet

WORDS = {"u64": 1, "rows16": 2, "rows32": 4}
COLUMNS = ("key", "a", "b", "c")
ROWS_AT_ONCE = 122880  # DuckDB's own size of row groups


def columns_of(shape, data):
    if shape == "records":
        rows = numpy.frombuffer(data, numpy.uint8).reshape(-1, 100)

        def column(first, end):
            flat = numpy.ascontiguousarray(rows[:, first:end])
            fixed = pyarrow.Array.from_buffers(pyarrow.binary(end - first), len(rows), [None, pyarrow.py_buffer(flat)])
            return fixed.cast(pyarrow.binary())
        return pyarrow.table({"key": column(0, 10), "value": column(10, 100)})
    words = numpy.frombuffer(data, "<u8").reshape(-1, WORDS[shape])
    return pyarrow.table({COLUMNS[i]: numpy.ascontiguousarray(words[:, i]) for i in range(WORDS[shape])})


def rows_of(shape, batch):
    if shape == "records":
        def column(name, width):
            values = batch.column(name).cast(pyarrow.binary())
            offsets = numpy.frombuffer(values.buffers()[1], numpy.int32)[values.offset:values.offset + len(values) + 1]
            if (numpy.diff(offsets) != width).any():
                sys.exit(f"parquet_rows: {name} isn't {width} bytes everywhere")
            flat = numpy.frombuffer(values.buffers()[2], numpy.uint8)[offsets[0]:offsets[-1]]
            return flat.reshape(-1, width)
        return numpy.hstack([column("key", 10), column("value", 90)]).tobytes()
    return numpy.stack([batch.column(COLUMNS[i]).to_numpy(zero_copy_only=False).astype("<u8")
                        for i in range(WORDS[shape])], axis=1).tobytes()


def main():
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("from-rows", "to-rows"):
        sys.exit(__doc__)
    shape = sys.argv[2]
    row_bytes = 100 if shape == "records" else 8 * WORDS[shape]
    if sys.argv[1] == "from-rows":
        with open(sys.argv[3], "rb") as rows:
            schema = columns_of(shape, b"").schema
            with pyarrow.parquet.ParquetWriter(sys.argv[4], schema, compression="none", use_dictionary=False) as out:
                while data := rows.read(ROWS_AT_ONCE * row_bytes):
                    out.write_table(columns_of(shape, data), row_group_size=ROWS_AT_ONCE)
    else:
        for batch in pyarrow.parquet.ParquetFile(sys.argv[3]).iter_batches(ROWS_AT_ONCE):
            sys.stdout.buffer.write(rows_of(shape, batch))


if __name__ == "__main__":
    main()
