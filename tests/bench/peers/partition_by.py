#!/usr/bin/env python3
"""A CSV file of items written to a directory, by DuckDB: one file, or one for each value of `country`.

    partition_by.py FILE THREADS MEMORY OUT {one,many}      prints seconds, without those of starting Python
"""
import sys
import time

import duckdb

path, threads, memory, out, how = sys.argv[1:]
COLUMNS = "{'id': 'UBIGINT', 'country': 'VARCHAR', 'name': 'VARCHAR', 'amount': 'UINTEGER'}"
target = (f"'{out}/all.csv' (FORMAT csv, HEADER false)" if how == "one"
          else f"'{out}' (FORMAT csv, HEADER false, PARTITION_BY (country))")
began = time.perf_counter()
database = duckdb.connect(config={"threads": int(threads), "memory_limit": f"{memory}MiB"})
database.execute(f"COPY (FROM read_csv('{path}', columns = {COLUMNS}, header = false, auto_detect = false)) TO {target}")
print(time.perf_counter() - began)
