"""A CSV file of a web server, ten columns by header, scanned, filtered and summed, plain and compressed, beside DuckDB's
read_csv with the same types: the same file in the page cache, in turn. Each question names three columns or fewer. Of the
peer the time counts from when Python has started; of flowrun that of the whole process. bench.py runs it as `csv`."""
import os
import pathlib
import random
import shutil
import subprocess

import side_by_side
from side_by_side import MIB

PEERS = pathlib.Path(__file__).resolve().parent / "peers"
USUAL_MIB = 768
COMPRESSED_MIB = 256
COLUMNS = ("stamp", "day", "client", "method", "url", "status", "bytes", "seconds", "agent", "country")
JOB = """flowrun: 1
nodes:
  lines: {{op: file.read_csv, with: {{path: "{path}", columns: header, type: {{{type}}}}}}}
  some:  {{op: filter, in: lines, with: {{where: {where}}}}}
  total: {{op: reduce, in: some, with: {{let: {{total: {let}}}}}}}
"""
PLAIN = ("{status: u32, bytes: u64, method: string}", "\"status == 500 and method == 'GET'\"", "sum(bytes)",
         "status = 500 AND method = 'GET'", "sum(bytes)")
# (question, (type, filter and sum of flowrun, filter and sum of DuckDB), file, wanted of DuckDB's time)
QUESTIONS = (
    ("3 of 10 columns", PLAIN, "", "≤ 1.00"),
    ("dates", ("{stamp: timestamp, day: date, bytes: u64}", "\"day >= '2026-03-01' and hour(stamp) < 12\"",
               "\"sum(date_diff('day', date_trunc('month', day), day) + minute(stamp))\"",
               "day >= DATE '2026-03-01' AND hour(stamp) < 12", "sum(date_diff('day', date_trunc('month', day), day) + minute(stamp))"),
     "", "≤ 1.25"),
    ("a regular expression that filters", ("{url: string, bytes: u64}",
                                           "\"regex_matches(url, r'/item/\\\\d+\\\\.(html|json)$')\"", "sum(bytes)",
                                           r"regexp_matches(url, '/item/\d+\.(html|json)$')", "sum(bytes)"), "", "≤ 1.25"),
    ("a regular expression that extracts", ("{url: string, bytes: u64}", "\"bytes > 100\"",
                                            "\"sum(length(regex_extract(url, r'/item/(\\\\d+)', 1)))\"",
                                            "bytes > 100", r"sum(strlen(regexp_extract(url, '/item/(\d+)', 1)))"), "", "≤ 1.25"),
    ("3 of 10 columns, gzip", PLAIN, ".gz", "≤ 1.00"),
    ("3 of 10 columns, zstd", PLAIN, ".zst", "≤ 1.00"),
)


def make(path, num_bytes):
    """Lines of about 150 bytes; 200,000 different ones, again and again."""
    rng = random.Random(1)
    agents = ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0)"]

    def line():
        month, day = rng.randint(1, 12), rng.randint(1, 28)
        url = rng.choice(["/item/%d.html", "/item/%d.json", "/search?q=%d", "/static/%d.css"]) % rng.randrange(10**6)
        return (f"2026-{month:02}-{day:02}T{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}Z,2026-{month:02}-"
                f"{day:02},{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)},"
                f"{rng.choice(['GET', 'GET', 'GET', 'POST'])},{url},{rng.choice([200, 200, 200, 304, 404, 500])},"
                f"{rng.randrange(100_000)},{rng.random():.3f},{rng.choice(agents)},{rng.choice(['de', 'fr', 'at', 'us'])}\n")

    block = "".join(line() for _ in range(200_000)).encode()
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        file.write((",".join(COLUMNS) + "\n").encode())
        while file.tell() < num_bytes:
            file.write(block)
        os.fsync(file.fileno())  # or the first runs would share the disk with that
    part.rename(path)


def files_in(dir, num_bytes):
    """{end of the name: (path, bytes of text)}; one member of gzip, as its program writes it."""
    whole, piece = dir / "log.csv", dir / "piece.csv"
    make(whole, num_bytes)
    make(piece, min(num_bytes, COMPRESSED_MIB * MIB))
    for program in ("gzip", "zstd"):
        subprocess.run([program, "-k", "-f", *(["-q"] if program == "zstd" else []), str(piece)], check=True)
    sizes = {"": whole, ".gz": dir / "piece.csv.gz", ".zst": dir / "piece.csv.zst"}
    for path in sizes.values():
        path.read_bytes()  # into the page cache
    return {end: (path, whole.stat().st_size if end == "" else piece.stat().st_size) for end, path in sizes.items()}


def run(options):
    """Of bench.py."""
    dir = options.dir / "csv"
    dir.mkdir(parents=True, exist_ok=True)
    files = files_in(dir, int(options.gib * 1024 * MIB) if options.gib else USUAL_MIB * MIB)
    print(f"{files[''][1] / 1e6:.0f} MB of CSV with ten columns, {files['.gz'][1] / 1e6:.0f} MB of it compressed, on "
          f"{options.threads} threads; MB are those of the text\n")
    side_by_side.print_head()
    for question, (type, where, let, sql_where, sql_let), end, wanted in QUESTIONS:
        path, num_bytes = files[end]
        job = JOB.format(path=path, type=type[1:-1], where=where, let=let)
        contestants = {
            "Flowrun": lambda: side_by_side.flowrun(options.flowrun, job, "total.total", dir, options.threads, options.memory),
            "DuckDB": lambda: side_by_side.peer([options.python, PEERS / "csv_sum.py", path, options.threads, sql_where, sql_let])}
        side_by_side.answer(question, contestants, num_bytes, max(options.runs, 5), wanted)
    if not options.keep:
        shutil.rmtree(dir)
