#!/usr/bin/env python3
"""Draws what disk_simulation printed: one SVG per figure.

    draw_simulation.py FIGURES.csv FOLDER
"""
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "flowrun"  # the same input gives the same bytes
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
import matplotlib.pyplot as plt  # noqa: E402

# figure: (title, x, y, scale of x, y starts at 0)
FIGURES = {
    "figure6": ("One disk: sorting 2 GiB", "element size [bytes]", "time [s]", "log", True),
    "figure7": ("Eight disks: sorting 2 GiB", "element size [bytes]", "time [s]", "log", True),
    "figure8": ("Eight disks: sorting 16 GiB", "element size [bytes]", "time [s]", "log", True),
    "figure9": ("Input time of merging 16 GiB", "read buffer used for prefetching [%]", "time [s]", "linear", False),
    "figure10": ("Merging 16 GiB", "read buffer used for prefetching [%]", "time [s]", "linear", False),
    "figure11": ("Merging 16 GiB", "read buffer r [blocks]", "time [s]", "log", False),
    "figure12": ("Merging 16 GiB with 188 buffers", "write buffers [blocks]", "time [s]", "linear", False),
    "figure13": ("Sorting by block size", "block size [MiB]", "time per element [ns]", "log", True),
    "figure14": ("Sorting by input size", "input [GiB]", "time per element [ns]", "log", True),
    "overlap": ("Merging 4 GiB: what asynchronous transfers are worth", "computation / I/O", "time [s]", "linear", True),
    "order_forming": ("Forming runs of 4 GiB on two disks", "computation", "time [s]", "linear", True),
    "order_merging": ("Merging 4 GiB on two disks", "computation", "time [s]", "linear", True),
    "sweep_n": ("Merging: input size N", "N [GiB]", "time [s]", "log", True),
    "sweep_m": ("Merging 8 GiB: memory M", "M [MiB]", "time [s]", "log", True),
    "sweep_b": ("Merging 8 GiB: block size B", "B [KiB]", "time [s]", "log", True),
    "sweep_d": ("Merging 8 GiB: disks D", "D", "time [s]", "log", True),
}
MARKERS = "osD^v*Px"


def read(path):
    """{figure: {series: ([x], [y])}} in the order of the file."""
    figures = {}
    with open(path, newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for figure, series, x, y in rows:
            points = figures.setdefault(figure, {}).setdefault(series, ([], []))
            points[0].append(float(x))
            points[1].append(float(y))
    return figures


def draw(name, series, folder):
    title, x_label, y_label, scale, from_zero = FIGURES[name]
    plot, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for number, (label, (xs, ys)) in enumerate(series.items()):
        dashed = label.startswith(("naive", "max(", "transfers"))
        axes.plot(xs, ys, label=label, marker=None if dashed else MARKERS[number % len(MARKERS)], markersize=4,
                  linestyle="--" if dashed else "-")
    if scale == "log":
        axes.set_xscale("log", base=2)
        ticks = sorted({x for xs, _ in series.values() for x in xs})
        if len(ticks) <= 10:
            axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    if name == "sweep_n" or name == "sweep_d":
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    elif from_zero:
        axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    if len(series) > 1:
        axes.legend(fontsize="small")
    plot.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(plot)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    figures = read(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, series in figures.items():
        draw(name, series, folder)
    print(f"{len(figures)} figures in {folder}")


if __name__ == "__main__":
    main()
