#!/usr/bin/env python3
"""The jobs of tests/bench/jobs/tpch answer as SQLite does, on tables of scale 0.01, and the same bytes
when everything goes to scratch.

    tpch_test.py --flowrun PROGRAM [QUESTION...]"""
import argparse
import csv
import pathlib
import sqlite3
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tpch_data  # noqa: E402
import tpch_questions as questions  # noqa: E402

SCALE = 0.01
# What gives more rows here than the values for scale 1 would.
VALUES = {"q11": {"fraction": 0.001}, "q18": {"quantity": 250}}
INDEXES = ["lineitem (l_orderkey)", "lineitem (l_partkey, l_suppkey)", "orders (o_custkey)", "partsupp (ps_partkey, ps_suppkey)",
           *(f"{table} ({key})" for table, key in (("orders", "o_orderkey"), ("customer", "c_custkey"), ("part", "p_partkey"),
                                                   ("supplier", "s_suppkey")))]
KINDS = {"INTEGER": int, "DECIMAL(15,2)": float, "VARCHAR": str, "DATE": str}


def loaded(data):
    database = sqlite3.connect(":memory:")
    database.execute("PRAGMA case_sensitive_like = ON")
    for table in questions.TABLES:
        columns = questions.columns_of(table)
        kinds = [KINDS[kind] for kind in columns.values()]
        database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        with open(data / f"{table}.csv", newline="") as file:
            rows = csv.reader(file)
            assert next(rows) == list(columns), table
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})",
                                 ([kind(field) for kind, field in zip(kinds, row)] for row in rows))
    for index, what in enumerate(INDEXES):
        database.execute(f"CREATE INDEX index{index} ON {what}")
    database.execute("ANALYZE")
    return database


def answer_of(database, name, values):
    found = database.execute(questions.for_sqlite(questions.sql(name, values)))
    header = [column[0] for column in found.description]
    return header, [[str(value) for value in row] for row in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("questions", nargs="*", default=questions.NAMES)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="flowrun-tpch-") as temporary:
        place = pathlib.Path(temporary)
        data, out, spilled = place / "data", place / "out.csv", place / "spilled.csv"
        tpch_data.make(data, SCALE)
        database = loaded(data)
        for name in options.questions:
            values = VALUES.get(name, {})
            questions.run_job(options.flowrun, name, data, out, values, ["-m", "256MiB", "-j", "3", "-T", place])
            questions.run_job(options.flowrun, name, data, spilled, values,
                              ["-m", "64MiB", "-j", "1", "-T", place, "--force-spill", "--block-size", "4KiB", "--batch-size", "4KiB"])
            problem = questions.difference(questions.answer(out.read_text()), answer_of(database, name, values))
            if not problem and spilled.read_bytes() != out.read_bytes():
                problem = "from scratch come other bytes"
            print(f"{name}: {problem or 'ok'}", flush=True)
            failed += problem is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
