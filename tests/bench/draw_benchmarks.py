#!/usr/bin/env python3
"""Draws what bench.py measured in the memory cgroup: one SVG each for wall time, CPU, memory, I/O and the disk's bound.

    draw_benchmarks.py RESULTS.json FOLDER
"""
import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "flowrun"  # the same input gives the same bytes
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
import matplotlib.pyplot as plt  # noqa: E402

# In this order and these colours everywhere; who took part in nothing is left out.
PROGRAMS = {"flowrun": "#0b5fa5", "flowrun sort": "#5aa7e0", "STXXL": "#d9822b", "GNU sort": "#7f7f7f",
            "DuckDB": "#e3c800", "Polars": "#7b4ea3"}


def middle(runs, value):
    return statistics.median(value(run) for run in runs)


# plot: (title, axis, (record, runs) -> value or None)
PLOTS = {
    "wall": ("Wall time", "s per GB of input", lambda record, runs:
             middle(runs, lambda run: run["wall_seconds"]) / record["num_bytes"] * 1e9),
    "cpu": ("CPU time", "s per GB of input", lambda record, runs:
            middle(runs, lambda run: run["cpu_seconds"]) / record["num_bytes"] * 1e9),
    "memory": ("Peak memory", "resident set [MiB]", lambda record, runs:
               max(run["peak_rss_bytes"] for run in runs) / (1 << 20)),
    "io": ("I/O volume", "read and written / input", lambda record, runs:
           middle(runs, lambda run: run["read_bytes"] + run["written_bytes"]) / record["num_bytes"]),
    "bound": ("Ratio to the disk's bound (1: nothing could be faster)", "bound / time", lambda record, runs:
              record["bound_seconds"] / middle(runs, lambda run: run["wall_seconds"]) if record.get("bound_seconds")
              else None),
}


def draw(name, records, folder):
    title, label, value = PLOTS[name]
    taking_part = [program for program in PROGRAMS
                   if any(record["modes"]["budget"].get(program, {}).get("runs") for record in records.values())]
    figure, axes = plt.subplots(figsize=(7.2, 1.2 + 0.2 * len(records) * (len(taking_part) + 1)), layout="constrained")
    height = 1 / (len(taking_part) + 1)
    for number, program in enumerate(taking_part):
        places, values = [], []
        for place, record in enumerate(records.values()):
            runs = record["modes"]["budget"].get(program, {}).get("runs")
            if runs and (found := value(record, runs)) is not None:
                places.append(place + (number - (len(taking_part) - 1) / 2) * height)
                values.append(found)
        bars = axes.barh(places, values, height, color=PROGRAMS[program], label=program)
        axes.bar_label(bars, fmt="%.3g", fontsize="x-small", padding=2)
    axes.set_yticks(range(len(records)), list(records))
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set_xlabel(label)
    axes.set_title(title)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize="small")
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    benchmarks = json.loads(pathlib.Path(sys.argv[1]).read_text())["benchmarks"]
    folder = pathlib.Path(sys.argv[2])
    # Those with peers, sizes and times that can be compared: of one merge pass, from file to file.
    records = {name: record for name, record in benchmarks.items()
               if "budget" in record["modes"] and record.get("num_rows")}
    if records:
        for name in PLOTS:
            draw(name, records, folder)


if __name__ == "__main__":
    main()
