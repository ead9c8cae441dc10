#!/usr/bin/env python3
"""Makes a Parquet file of line items, as shops have them: eight columns, of which a query reads some.

    parquet_items.py FILE ROWS     a million rows in a row group, packed with snappy
"""
import sys

import numpy
import pyarrow
import pyarrow.parquet

path, rows = sys.argv[1], int(sys.argv[2])
draw = numpy.random.default_rng(1)
GROUP = 1 << 20


def items(first, count):
    return pyarrow.table({
        "orderkey": numpy.arange(first, first + count) // 4,
        "partkey": draw.integers(1, 2_000_000, count),
        "quantity": draw.integers(1, 51, count).astype("int32"),
        "extendedprice": numpy.round(draw.uniform(900, 105_000, count), 2),
        "discount": draw.integers(0, 11, count) / 100,
        "tax": draw.integers(0, 9, count) / 100,
        "shipdate": pyarrow.array(draw.integers(8036, 10592, count).astype("int32")).cast(pyarrow.date32()),
        "comment": numpy.char.add("comment ", draw.integers(0, 10**9, count).astype(str)),
    })


out = None
for at in range(0, rows, GROUP):
    table = items(at, min(GROUP, rows - at))
    out = out or pyarrow.parquet.ParquetWriter(path, table.schema)
    out.write_table(table, row_group_size=GROUP)
out.close()
