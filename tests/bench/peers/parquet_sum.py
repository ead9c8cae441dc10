#!/usr/bin/env python3
"""The revenue of a Parquet file of line items, by a peer: a scan, a filter and a sum.

    parquet_sum.py duckdb|polars FILE THREADS     prints seconds, without those of starting Python, and the sum
"""
import os
import sys
import time

who, path, threads = sys.argv[1:]
os.environ["POLARS_MAX_THREADS"] = threads


def duckdb_sum():
    import duckdb
    start = time.perf_counter()
    database = duckdb.connect(config={"threads": int(threads)})
    found = database.execute("SELECT sum(extendedprice * (1 - discount)) FROM read_parquet(?) WHERE quantity < 25", [path])
    return found.fetchone()[0], start


def polars_sum():
    import polars
    start = time.perf_counter()
    column = polars.col
    found = polars.scan_parquet(path).filter(column("quantity") < 25) \
        .select((column("extendedprice") * (1 - column("discount"))).sum()).collect(engine="streaming")
    return found.item(), start


total, began = {"duckdb": duckdb_sum, "polars": polars_sum}[who]()
print(time.perf_counter() - began, total)
