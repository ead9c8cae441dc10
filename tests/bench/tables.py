"""results.json and the README that is made of it: a table for each benchmark, the figures to reach, and how to repeat."""
import json
import pathlib
import subprocess

import machine
from trial import ALLOWANCE_MIB, MIB, median

BENCH = pathlib.Path(__file__).resolve().parent
PLOTS = (("wall", "Wall time"), ("cpu", "CPU time"), ("memory", "Peak memory"), ("io", "I/O volume"),
         ("bound", "Ratio to the disk's bound"))


def load(options):
    path = options.out / "results.json"
    return json.loads(path.read_text()) if path.exists() else {"versions": {}, "benchmarks": {}}


def add(options, name, record):
    """Takes the record in, in place of an older one of this benchmark, and writes the tables anew."""
    options.out.mkdir(parents=True, exist_ok=True)
    results = load(options)
    results["versions"] = machine.versions(options)
    results["benchmarks"][name] = record
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    publish(options, draw=False)


def shown(value, form):
    return "" if value is None else format(value, form)


def spread(runs):
    wall = [run["wall_seconds"] for run in runs]
    return f" ({min(wall):.1f} – {max(wall):.1f})" if len(wall) > 1 else ""


def told(record, found, name):
    """What a contestant was told, where that isn't the budget."""
    if name in ("DuckDB", "Polars") and found["told_mib"] and found["told_mib"] != record["memory_mib"]:
        return f", told {found['told_mib']} MiB"
    return ""


def line_of(record, mode, name, found, reference):
    if not found["runs"]:
        return f"| {name} | {found['failure'] or 'not run'} | | | | | | |"

    def of(field):
        return median(record, mode, name, field)
    giga = record["num_bytes"] / 1e9
    wall = of("wall_seconds")
    bound = record.get("bound_seconds")
    failure = f"; then {found['failure']}" if found["failure"] else ""
    cells = [f"{name}{told(record, found, name)}", f"{wall:.1f}{spread(found['runs'])}{failure}",
             f"{wall / reference:.2f}" if reference else "", f"{of('cpu_seconds') / giga:.2f}",
             f"{max(run['peak_rss_bytes'] for run in found['runs']) / MIB:.0f}",
             shown(of("cgroup_peak_bytes") and of("cgroup_peak_bytes") / MIB, ".0f"),
             f"{of('read_bytes') / 1e9:.1f}, {of('written_bytes') / 1e9:.1f}", shown(bound and bound / wall, ".2f")]
    return "| " + " | ".join(cells) + " |"


def benchmark_section(name, record):
    rows = f", {record['num_rows'] / 1e6:.1f} million" if record.get("num_rows") else ""
    lines = [f"### {name}: {record['title']}", "",
             f"{record['num_bytes'] / 1e9:.2f} GB{rows}, memory {record['memory_mib']} MiB; {record['date']}, commit "
             f"{record['commit']}, on {record['machine']['processor']}."]
    if record["disk"]:
        disk = {way: [found[way] for found in record["disk"]] for way in ("read", "write", "mixed")}
        said = ", ".join(f"{way} {min(rates) / 1e6:.0f} – {max(rates) / 1e6:.0f}" for way, rates in disk.items())
        lines[-1] += f" The disk, before, between and after: {said} MB/s; bound {record['bound_seconds']:.1f} s."
    if record.get("text"):
        lines.append(f"The text: the first {record['num_bytes'] / 1e9:.2f} GB of {record['text']} (tools/fetch-data).")
    for mode, contestants in record["modes"].items():
        ours = next((found for key, found in contestants.items() if key.startswith("flowrun") and found["runs"]), None)
        first = next(iter(contestants))
        reference = median(record, mode, first, "wall_seconds") if ours else None
        lines += ["", f"{record['mode_titles'][mode][0].upper()}{record['mode_titles'][mode][1:]}:", "",
                  f"| | wall s | / {first} | CPU s per GB | RSS MiB | cgroup MiB | GB read, written | bound / time |",
                  "|---|---|---|---|---|---|---|---|"]
        lines += [line_of(record, mode, key, found, reference) for key, found in contestants.items()]
    if record["figures"]:
        lines += ["", "| figure | | to reach |", "|---|---|---|"]
        lines += [f"| {what} | {shown(value, '.4g') or 'not measured'} | {wanted or ''} |"
                  for what, value, wanted in record["figures"]]
    return "\n".join([*lines, ""])


def introduction(results):
    machines = dict.fromkeys("; ".join(f"{what}: {text}" for what, text in record["machine"].items())
                             for record in results["benchmarks"].values())
    where = "".join(f"\n- {each}" for each in machines)
    programs = ", ".join(f"{program} {version}" for program, version in results["versions"].items())
    return f"""# Benchmarks

Made by `make bench`; results.json has every run. Compare within a table: not all were made on the same machine.
{where}

Programs: {programs}.

- **The same for all**: inputs, memory budget, threads, disk. Contestants take turns, first the one, then the other way round; the middle one of the runs counts, and (least – most) shows the spread.
- **Memory**: the whole process is in a memory cgroup of the budget + {ALLOWANCE_MIB} MiB, page cache included, so that the page cache helps nobody; and once more all run without it. DuckDB and Polars take more than they are told: in the cgroup, where the budget itself makes them thrash, they are told 3/4, 1/2, then 1/4 of it, until they survive. Who doesn't, or can't do a job at all, is shown with the reason.
- **No files**: where rows are made on the fly, a process holds all memory but the budget and 2 GiB, and what is free is touched before every run; a virtual machine's host takes free pages away, and giving them back takes its time (runs before 2026-11-22: touched only).
- **Cold**: caches are emptied before every run. Times include fsync of the output, whoever does it.
- **Verified**: the order and a hash of every output's rows, by a program that has nothing of Flowrun (`tests/bench/peers/check_rows.cc`). Lines in order with the right hash are byte for byte what they should be.
- **Formats**: Flowrun and STXXL read and write rows. DuckDB and Polars read and write the same rows as uncompressed Parquet. Text is text for all. GNU sort has LC_ALL=C.
- **STXXL**: stream::sort through Linux AIO, direct, with OpenMP, blocks of 2 MiB (smaller where one merge pass would not do otherwise), its scan buffers part of the budget.
- **CPU s per GB** are of input. **GB read, written** are what the kernel counts for the process. **Bound**: the least time of the disk for reading N, writing N, and for what doesn't fit in half the memory writing and reading it once more, at the mixed bandwidth that `flowrun bench-disk` measures in the same run (sort_sorted: reading N and writing N).

To repeat: `pip install duckdb polars pyarrow numpy` (on Debian in a virtual environment), then `make bench`, as root and on a quiet machine with 40 GB of free disk; `make bench BENCH="sort_u64 records text --runs 3"` picks, `make bench BENCH="--gib 0.1 --memory 32"` is a rehearsal, `tests/bench/bench.py --list` lists.
"""


def publish(options, draw):
    """README.md, and with `draw` the plots, from results.json."""
    results = load(options)
    sections = [benchmark_section(name, record) for name, record in results["benchmarks"].items()]
    drawn = draw and draw_plots(options)
    pictures = [f"![{title}]({name}.svg)" for name, title in PLOTS if (options.out / f"{name}.svg").exists()]
    (options.out / "README.md").write_text("\n".join(
        [introduction(results), "## Plots\n\nIn the memory cgroup.\n", "\n\n".join(pictures), "\n## Tables\n", *sections]
        if pictures or drawn else [introduction(results), "## Tables\n", *sections]))


def draw_plots(options):
    """By Debian's Python, which has Debian's matplotlib."""
    done = subprocess.run(["/usr/bin/python3", BENCH / "draw_benchmarks.py", options.out / "results.json", options.out],
                          text=True, capture_output=True)
    if done.returncode != 0:
        print(f"bench: no plots: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return done.returncode == 0
