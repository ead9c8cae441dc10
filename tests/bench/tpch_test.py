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


# What holds of the tables; each counts exceptions.
FACTS = {
    "a part has four suppliers":
        "SELECT COUNT(*) FROM (SELECT 1 FROM partsupp GROUP BY ps_partkey HAVING COUNT(DISTINCT ps_suppkey) <> 4)",
    "what is sold has been offered":
        "SELECT COUNT(*) FROM lineitem WHERE NOT EXISTS "
        "(SELECT 1 FROM partsupp WHERE ps_partkey = l_partkey AND ps_suppkey = l_suppkey)",
    "every third customer has no orders": "SELECT COUNT(*) FROM orders WHERE o_custkey % 3 = 0",
    "orders have lines": "SELECT COUNT(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)",
    "lines are shipped after the order and come after that":
        "SELECT COUNT(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
        "WHERE l_shipdate <= o_orderdate OR l_receiptdate <= l_shipdate",
    "an order's price is that of its lines":
        "SELECT COUNT(*) FROM (SELECT o_totalprice, SUM(l_extendedprice * (1 + l_tax) * (1 - l_discount)) AS price FROM lineitem "
        "JOIN orders ON l_orderkey = o_orderkey GROUP BY o_orderkey) WHERE ABS(o_totalprice - price) > 0.00501",
    "an order's status is that of its lines":
        "SELECT COUNT(*) FROM (SELECT o_orderstatus, MIN(l_linestatus) AS low, MAX(l_linestatus) AS high FROM lineitem "
        "JOIN orders ON l_orderkey = o_orderkey GROUP BY o_orderkey) "
        "WHERE o_orderstatus <> CASE WHEN low = high THEN low ELSE 'P' END",
}


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
        for fact, exceptions in FACTS.items():
            if found := database.execute(exceptions).fetchone()[0]:
                print(f"the tables: {fact}: {found} exceptions")
                failed += 1
        for name in options.questions:
            values = VALUES.get(name, {})
            questions.run_job(options.flowrun, name, data, out, values, ["-m", "256MiB", "-j", "3", "-T", place])
            questions.run_job(options.flowrun, name, data, spilled, values,
                              ["-m", "64MiB", "-j", "1", "-T", place, "--force-spill", "--block-size", "4KiB",
                               "--batch-size", "4KiB"])
            problem = questions.difference(questions.answer(out.read_text()), answer_of(database, name, values))
            if not problem and spilled.read_bytes() != out.read_bytes():
                problem = "from scratch come other bytes"
            print(f"{name}: {problem or 'ok'}", flush=True)
            failed += problem is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
