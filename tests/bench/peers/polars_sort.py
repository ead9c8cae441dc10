#!/usr/bin/env python3
"""The peer of the sorting benchmarks in Polars, its streaming engine: Parquet to sorted Parquet, or lines to sorted lines.

    polars_sort.py INPUT OUTPUT

Memory, threads and scratch come from the environment (tests/bench/contestants.py). Lines, when INPUT doesn't end in
.parquet, are CSV of one column with a delimiter that doesn't occur."""
import sys

import polars


def main():
    source, out = sys.argv[1:]
    if source.endswith(".parquet"):
        polars.scan_parquet(source).sort("key").sink_parquet(out, compression="uncompressed", engine="streaming")
    else:
        polars.scan_csv(source, has_header=False, separator="\x01", quote_char=None, schema={"key": polars.String}) \
            .sort("key").sink_csv(out, include_header=False, separator="\x01", quote_style="never", engine="streaming")


if __name__ == "__main__":
    main()
