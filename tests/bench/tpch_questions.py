"""The questions of TPC-H: jobs/tpch/qNN.yaml, a job, beside qNN.sql, both with the parameters that the job declares; their
answers, and how two answers are compared."""
import csv
import datetime
import io
import itertools
import math
import pathlib
import re
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent / "jobs/tpch"
NAMES = sorted(path.stem for path in FOLDER.glob("q*.yaml"))
TABLES = {
    "region": "r_regionkey INTEGER, r_name VARCHAR, r_comment VARCHAR",
    "nation": "n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER, n_comment VARCHAR",
    "supplier": "s_suppkey INTEGER, s_name VARCHAR, s_address VARCHAR, s_nationkey INTEGER, s_phone VARCHAR, "
                "s_acctbal DECIMAL(15,2), s_comment VARCHAR",
    "part": "p_partkey INTEGER, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size INTEGER, "
            "p_container VARCHAR, p_retailprice DECIMAL(15,2), p_comment VARCHAR",
    "partsupp": "ps_partkey INTEGER, ps_suppkey INTEGER, ps_availqty INTEGER, ps_supplycost DECIMAL(15,2), ps_comment VARCHAR",
    "customer": "c_custkey INTEGER, c_name VARCHAR, c_address VARCHAR, c_nationkey INTEGER, c_phone VARCHAR, "
                "c_acctbal DECIMAL(15,2), c_mktsegment VARCHAR, c_comment VARCHAR",
    "orders": "o_orderkey INTEGER, o_custkey INTEGER, o_orderstatus VARCHAR, o_totalprice DECIMAL(15,2), o_orderdate DATE, "
              "o_orderpriority VARCHAR, o_clerk VARCHAR, o_shippriority INTEGER, o_comment VARCHAR",
    "lineitem": "l_orderkey INTEGER, l_partkey INTEGER, l_suppkey INTEGER, l_linenumber INTEGER, l_quantity DECIMAL(15,2), "
                "l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag VARCHAR, "
                "l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, "
                "l_shipmode VARCHAR, l_comment VARCHAR",
}
PARAMETER = re.compile(r"^  (\w+): +\{type: \w+, default: (\"[^\"]*\"|[^,}]*)", re.MULTILINE)


def columns_of(table):
    """{column: SQL type}"""
    return dict(column.split() for column in TABLES[table].split(", "))


def parameters(name):
    """{parameter: its default} of a question's job."""
    declared = (FOLDER / f"{name}.yaml").read_text().split("\nnodes:")[0]
    return {found[1]: found[2].strip('"') for found in PARAMETER.finditer(declared) if found[1] not in ("data", "out")}


def sql(name, values):
    """The question in SQL, with `values` for some of its parameters."""
    all_values = {**parameters(name), **values}
    return re.sub(r"\$\{(\w+)\}", lambda found: str(all_values[found[1]]), (FOLDER / f"{name}.sql").read_text())


def for_sqlite(text):
    """The same for SQLite, whose dates are texts."""
    def moved(found):
        day = datetime.date.fromisoformat(found[1])
        amount, unit = int(found[2] + found[3]), found[4]
        if unit == "DAY":
            return f"'{day + datetime.timedelta(amount)}'"
        month = day.month - 1 + amount * (12 if unit == "YEAR" else 1)
        return f"'{day.replace(year=day.year + month // 12, month=month % 12 + 1)}'"

    text = re.sub(r"DATE '([\d-]+)' ([+-]) INTERVAL '(\d+)' (DAY|MONTH|YEAR)", moved, text)
    text = re.sub(r"EXTRACT\(YEAR FROM (\w+)\)", r"CAST(strftime('%Y', \1) AS INTEGER)", text)
    return text.replace("DATE '", "'")


def run_job(flowrun, name, data, out, values, options=()):
    """Runs the job; what it prints where it fails is the error."""
    words = [flowrun, "run", FOLDER / f"{name}.yaml", "-q", "-p", f"data={data}", "-p", f"out={out}", *options]
    for parameter, value in values.items():
        words += ["-p", f"{parameter}={value}"]
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: exit code {done.returncode}\n{done.stderr}")


def answer(text):
    """(header, rows) of an answer written as CSV."""
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], rows[1:]


def same(one, other):
    """Equal texts, or numbers that differ by no more than sums of floats do from exact ones."""
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-9)
    except ValueError:
        return False


def difference(ours, theirs):
    """What tells two answers apart, rows in turn; None where nothing does."""
    if ours[0] != theirs[0]:
        return f"columns {', '.join(ours[0])} instead of {', '.join(theirs[0])}"
    for number, (one, other) in enumerate(itertools.zip_longest(ours[1], theirs[1]), 1):
        if one is None or other is None or len(one) != len(other) or not all(map(same, one, other)):
            return f"row {number} is {one} instead of {other}"
    return None if theirs[1] else "no rows: the question tells nothing"
