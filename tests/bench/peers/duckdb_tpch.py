#!/usr/bin/env python3
"""A question of TPC-H, by DuckDB: of CSV files, or of a database that has them as tables.

    duckdb_tpch.py QUESTION.sql OUT.csv MEMORY_MIB THREADS SCRATCH csv FOLDER TABLES.json
    duckdb_tpch.py QUESTION.sql OUT.csv MEMORY_MIB THREADS SCRATCH database FILE

TABLES.json has the columns of each table with their types. Prints the seconds and the CPU seconds, without
those of starting Python."""
import json
import pathlib
import sys
import time

import duckdb

question, out, memory, threads, scratch, source, place, *tables = sys.argv[1:]
query = pathlib.Path(question).read_text()

start, cpu_start = time.perf_counter(), time.process_time()
config = {"memory_limit": f"{memory}MiB", "threads": int(threads), "temp_directory": scratch}
if source == "database":
    database = duckdb.connect(place, read_only=True, config=config)
else:
    database = duckdb.connect(config=config)
    for table, columns in json.loads(pathlib.Path(tables[0]).read_text()).items():
        database.execute(f"CREATE VIEW {table} AS FROM read_csv('{place}/{table}.csv', header = true, auto_detect = false, "
                         f"columns = {columns})")
database.execute(f"COPY ({query}) TO '{out}' (HEADER)")
print(time.perf_counter() - start, time.process_time() - cpu_start)
