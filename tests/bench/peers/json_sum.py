#!/usr/bin/env python3
"""Sums of a file of events in JSON lines, by DuckDB: a scan, a filter and aggregates.

    json_sum.py FILE THREADS AGGREGATES     prints seconds, without those of starting Python, and the first aggregate
"""
import sys
import time

import duckdb

path, threads, aggregates = sys.argv[1:]
COLUMNS = ("{'id': 'UBIGINT', 'user': 'VARCHAR', 'action': 'VARCHAR', 'amount': 'DOUBLE', 'quantity': 'UINTEGER', "
           "'at': 'TIMESTAMP'}")
began = time.perf_counter()
database = duckdb.connect(config={"threads": int(threads)})
found = database.execute(
    f"SELECT {aggregates} FROM read_json(?, columns = {COLUMNS}, format = 'newline_delimited') WHERE quantity < 25", [path])
total = found.fetchone()[0]
print(time.perf_counter() - began, total)
