#!/usr/bin/env python3
"""The peer of the sorting benchmarks in DuckDB: Parquet to sorted Parquet, or lines to sorted lines.

    duckdb_sort.py INPUT OUTPUT SCRATCH_DIRECTORY MEMORY_MIB THREADS

Lines, when INPUT doesn't end in .parquet, are CSV of one column with a delimiter that doesn't occur."""
import sys

import duckdb

LINES = """read_csv('{}', header = false, auto_detect = false, delim = '\x01', quote = '', escape = '', new_line = '\\n',
                     columns = {{'key': 'VARCHAR'}})"""


def main():
    source, out, scratch, memory, threads = sys.argv[1:]
    database = duckdb.connect(config={"memory_limit": f"{memory}MiB", "threads": int(threads),
                                      "temp_directory": scratch, "preserve_insertion_order": False})
    if source.endswith(".parquet"):
        database.execute(f"COPY (SELECT * FROM read_parquet('{source}') ORDER BY key) TO '{out}' "
                         "(FORMAT parquet, COMPRESSION uncompressed)")
    else:
        database.execute(f"COPY (SELECT * FROM {LINES.format(source)} ORDER BY key) TO '{out}' "
                         "(FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '')")


if __name__ == "__main__":
    main()
