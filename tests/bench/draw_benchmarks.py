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
    # Each benchmark has a bar for everyone who did it, and nothing for others.
    bars = {program: ([], []) for program in taking_part}
    ticks, place = [], 0
    for record in records.values():
        told = record["modes"]["budget"]
        values = {program: value(record, told[program]["runs"]) for program in taking_part
                  if told.get(program, {}).get("runs")}
        values = {program: found for program, found in values.items() if found is not None}
        for number, (program, found) in enumerate(values.items()):
            bars[program][0].append(place + number)
            bars[program][1].append(found)
        ticks.append(place + (len(values) - 1) / 2)
        place += len(values) + 1
    figure, axes = plt.subplots(figsize=(7.2, 1.4 + 0.17 * place), layout="constrained")
    for program, (places, values) in bars.items():
        drawn = axes.barh(places, values, 0.95, color=PROGRAMS[program], label=program)
        axes.bar_label(drawn, fmt="%.3g", fontsize="x-small", padding=2)
    axes.set_yticks(ticks, list(records))
    axes.invert_yaxis()
    axes.margins(x=0.08, y=0.01)
    axes.set_xlabel(label)
    axes.set_title(title)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize="small", ncols=3, loc="upper center", bbox_to_anchor=(0.45, -0.9 / figure.get_figheight()))
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
