#!/usr/bin/env python3
"""A sum over a CSV file of a web server, by DuckDB: a scan, a filter and an aggregate.

    csv_sum.py FILE THREADS CONDITION AGGREGATE     prints seconds, without those of starting Python, and the sum
"""
import sys
import time

import duckdb

path, threads, condition, aggregate = sys.argv[1:]
COLUMNS = ("{'stamp': 'TIMESTAMP', 'day': 'DATE', 'client': 'VARCHAR', 'method': 'VARCHAR', 'url': 'VARCHAR', 'status': 'UINTEGER', "
           "'bytes': 'UBIGINT', 'seconds': 'DOUBLE', 'agent': 'VARCHAR', 'country': 'VARCHAR'}")
began = time.perf_counter()
database = duckdb.connect(config={"threads": int(threads)})
found = database.execute(f"SELECT {aggregate} FROM read_csv(?, columns = {COLUMNS}, header = true) WHERE {condition}", [path])
total = found.fetchone()[0]
print(time.perf_counter() - began, total)
