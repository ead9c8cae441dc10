"""What the model of a cluster says, as tables and as a page."""
import math
import pathlib

import cluster_constants
import cluster_model as model
from cluster_constants import GB, GIB, KIB, MIB, PUBLISHED, TB

BENCH = pathlib.Path(__file__).resolve().parent
PAGE = BENCH.parents[1] / "docs/design/cluster-model.md"
SIZES = (1, 10, 100)  # TB
NODES = (8, 16, 32, 64, 128, 256, 512)
REFERENCE = (10, 64)  # of what one thing at a time is changed: TB, nodes
FAST_NETWORK = 6.25 * GB  # 50 Gbit/s


def seconds(value):
    return f"{value:,.0f} s" if value < 3 * 3600 else f"{value / 3600:,.1f} h"


def num_bytes(value):
    """With two digits; binary below a GiB."""
    for unit, size in (("EB", 10**18), ("PB", 10**15), ("TB", TB), ("GB", GB), ("MiB", MIB), ("KiB", KIB)):
        if value >= size:
            return f"{value / size:.2g} {unit}" if value < 10 * size else f"{value / size:,.0f} {unit}"
    return f"{value:.0f} B"


def shape(how):
    return f"{how.tasks:,}" + (f", {how.per_node} at once" if how.per_node > 1 else ", one at once")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def times(c, by_driver):
    rows = []
    for tb in SIZES:
        for nodes in NODES:
            p = model.best(c, tb * TB, nodes, by_driver=by_driver)
            rows.append([f"{tb} TB", nodes, shape(p.shape), seconds(p.runs), seconds(p.cuts), seconds(p.merges),
                         f"**{seconds(p.seconds)}**", f"{p.cost(c, nodes):,.0f} $",
                         f"{tb * TB / p.seconds / nodes / 1e6:,.0f}", ", ".join(p.busiest), num_bytes(p.range_bytes),
                         f"{p.spilled:.0%}", ", ".join(p.limits)])
    return table(["input", "nodes", "tasks, of a node", "stage 1", "cuts", "stage 2", "all", "cost", "MB/s each node",
                  "waits for", "range", "spilled", "beyond"], rows)


def memory(c):
    rows = []
    for tb in SIZES:
        for nodes in (8, 64, 512):
            p = model.best(c, tb * TB, nodes)
            rows.append([f"{tb} TB", nodes, num_bytes(tb * TB / p.shape.tasks), num_bytes(p.task_memory),
                         num_bytes(p.least_memory), num_bytes(p.room),
                         num_bytes(p.driver_memory)])
    return table(["input", "nodes", "a task's piece", "memory of a task", "of it, for runs' buffers", "disk of a node",
                  "memory of the driver"], rows)


def beside_published():
    rows = []
    for p in PUBLISHED:
        c = cluster_constants.constants(**p.hardware)
        own = p.own_seconds(c)
        today, less = (model.best(c, p.num_bytes, p.nodes, by_driver=by_driver) for by_driver in (True, False))
        rows.append([p.name, f"{num_bytes(p.num_bytes)}, {p.nodes} nodes", seconds(p.seconds), seconds(own),
                     f"{own / p.seconds:.2f}", seconds(less.seconds), f"{less.seconds / p.seconds:.1f}",
                     seconds(today.seconds), ", ".join(today.limits)])
    return table(["", "", "published", "its own way, by the model", "ratio", "Flowrun, rows by tasks", "ratio",
                  "Flowrun as it is", "beyond"], rows)


def by_tasks(c):
    tb, nodes = REFERENCE
    rows = []
    for per_node, waves in ((1, 1), (4, 1), (16, 1), (16, 2), (16, 4), (16, 8), (16, 16), (16, 32)):
        how = model.shape(nodes * per_node * waves, per_node)
        driver, part, two = (model.predict(c, tb * TB, nodes, model.dataclasses.replace(how, by_driver=w, levels=n))
                            for w, n in ((True, 1), (False, 1), (False, 2)))
        rows.append([f"{how.tasks:,}", per_node, num_bytes(tb * TB / how.tasks), f"{part.spilled:.0%}",
                     num_bytes(part.range_bytes), num_bytes(part.least_memory), seconds(driver.seconds),
                     seconds(part.seconds), num_bytes(two.range_bytes), seconds(two.seconds), ", ".join(part.limits)])
    return table(["tasks", "of a node at once", "piece", "spilled", "range", "buffers of a task", "as it is",
                  "rows by tasks", "range, two levels", "two levels", "beyond, one level"], rows)


def thresholds(c):
    rows = []
    for tb in SIZES:
        rows.append([f"{tb} TB", *(f"{model.most_tasks(c, tb * TB, n):,.0f}" for n in (1, 2)),
                     *(num_bytes(tb * TB / model.most_tasks(c, tb * TB, n)) for n in (1, 2)),
                     f"{model.MOST_MESSAGE / c.bound_bytes:,.0f}"])
    first = table(["input", "most tasks, one level", "two levels", "piece of a task, one level", "two levels",
                   "most cuts, tasks × runs"], rows)
    rows = [[f"{m} GiB", num_bytes(m * GIB / c.sort_memory),
             *(num_bytes(model.most_bytes_in_memory(c, m * GIB, n)) for n in (1, 2))] for m in (1, 2, 4, 8, 16, 32, 96)]
    return first, table(["memory of a task", "piece without scratch", "most input, one level", "two levels"], rows)


def sensitivities(c):
    """As it is; rows by tasks; and these with a network that doesn't bind. What changes most comes first."""
    tb, nodes = REFERENCE
    fast = cluster_constants.constants(**vars(c) | {"network": FAST_NETWORK})
    found = [{name: changed for name, *changed in model.sensitivity(of, tb * TB, nodes, by_driver)}
             for of, by_driver in ((c, True), (c, False), (fast, False))]
    cells = {name: [f"{value:.2f}" for each in found for value in each[name]]
             for name in cluster_constants.TABLE if name in found[0]}
    moves = {name: max(abs(math.log(float(value))) for value in cells[name]) for name in cells}
    names = sorted((name for name in cells if set(cells[name]) != {"1.00"}), key=lambda name: -moves[name])
    rest = [f"`{name}`" for name in cells if name not in names]
    heads = ["constant", "as it is: half", "twice", "rows by tasks: half", "twice", "and a fast network: half",
             "twice"]
    return table(heads, [[f"`{name}`", *cells[name]] for name in names]), ", ".join(rest)


def constants_table():
    def shown(each):
        return f"{each.value:,.6g}" if each.value < 1e6 else f"{each.value:.4g}"
    return table(["constant", "value", "", "what", "from"],
                 [[f"`{name}`", shown(each), each.unit, each.what, each.source]
                  for name, each in cluster_constants.TABLE.items()])


def this_machine():
    """What was measured here as a whole, and wasn't used for the constants; and the least and most that it took of
    what the model says."""
    rows, longer = [], []
    for run in cluster_constants.HERE:
        c = cluster_constants.constants(**cluster_constants.THIS_MACHINE)
        p = model.predict(c, run.num_bytes, 1, model.shape(run.tasks, 2))
        rows.append([num_bytes(run.num_bytes), run.tasks, *(f"{value:.1f} s" for pair in zip(
            (p.runs, p.cuts, p.merges), run.seconds) for value in pair),
            f"{(p.runs + p.cuts + p.merges) / sum(run.seconds):.2f}"])
        longer.append(sum(run.seconds) / (p.runs + p.cuts + p.merges))
    heads = ["input", "tasks", "stage 1: model", "measured", "cuts: model", "measured", "stage 2: model",
             "measured", "ratio"]
    return table(heads, rows), f"{min(longer):.1f} to {max(longer):.1f}"


def one(c, tb, nodes):
    out = []
    for by_driver, name in ((True, "as it is"), (False, "rows by tasks")):
        p = model.best(c, tb * TB, nodes, by_driver=by_driver)
        out.append(f"{tb:g} TB on {nodes} nodes, {name}: {seconds(p.seconds)}, {p.cost(c, nodes):,.0f} $; "
                   f"{shape(p.shape)}; stage 1 {seconds(p.runs)}, cuts {seconds(p.cuts)}, stage 2 {seconds(p.merges)}; "
                   f"waits for {', '.join(p.busiest)}; ranges of {num_bytes(p.range_bytes)}"
                   + (f"; beyond: {', '.join(p.limits)}" if p.limits else ""))
    return "\n".join(out)


def tables(c):
    return "\n\n".join([times(c, True), times(c, False), memory(c), by_tasks(c), *thresholds(c), sensitivities(c)[0]])


def two_levels(c):
    """From how many tasks on they are faster than one."""
    tb, nodes = REFERENCE

    def found(constants):
        waves = model.crossing(constants, tb * TB, nodes, 16)
        return f"from {waves * nodes * 16:,} tasks on" if waves else "for no number of tasks that was tried"
    arms = cluster_constants.constants(seek_seconds=8e-3)
    return f"{found(c)}; on disks with arms (`seek_seconds=8e-3`), {found(arms)}"


def page():
    c = cluster_constants.constants()
    tb, nodes = REFERENCE
    today, less = (model.best(c, tb * TB, nodes, by_driver=by_driver) for by_driver in (True, False))
    small_today, small_less = (model.best(c, TB, nodes, by_driver=by_driver) for by_driver in (True, False))
    hundred = model.best(c, 100 * TB, 512, by_driver=False)
    hundred_today = model.best(c, 100 * TB, 512)
    index_share = model.index_bytes(c, 1)
    one_level, in_memory = thresholds(c)
    here, longer = this_machine()
    changes, nothing = sensitivities(c)
    # 2,000 tasks instead of 1,000, on ten nodes.
    exoshuffle_range = (1038 - 675) / ((2000**2 - 1000**2) / 10)
    return (BENCH / "cluster_page.md.in").read_text().format(
        tb=tb, nodes=nodes, today=seconds(today.seconds), less=seconds(less.seconds),
        cost=f"{less.cost(c, nodes):,.0f} $",
        small_today=seconds(small_today.seconds), small_less=seconds(small_less.seconds),
        small_cuts=seconds(small_today.cuts), cuts=seconds(today.cuts), today_tasks=f"{today.shape.tasks:,}",
        driver_wants=num_bytes(today.driver_memory), index_share=f"{index_share:.4%}",
        many_indices=f"{1 / index_share:,.0f}", hundred_today=seconds(hundred_today.seconds),
        hundred_less=seconds(hundred.seconds), hundred_cuts=seconds(hundred_today.cuts),
        hundred_tasks=f"{hundred.shape.tasks:,}", hundred_range=num_bytes(hundred.range_bytes),
        all_cores=f"{8192:,}", range_of_all_cores=num_bytes(tb * TB / 8192**2),
        constants=constants_table(), this_machine=here, longer=longer, times_today=times(c, True),
        times_less=times(c, False),
        memory=memory(c), run_memory=num_bytes(c.run_memory), sort_memory=f"{c.sort_memory:.1f}",
        published=beside_published(),
        published_notes="\n".join(f"- **{p.name}** ({p.own_way}). {p.why}" for p in PUBLISHED),
        exoshuffle_nodes=f"{40 * 5378 / 3600 * c.price:,.0f} $", least_range=num_bytes(c.least_range),
        frame=num_bytes(c.frame_bytes), one_level=one_level, in_memory=in_memory, by_tasks=by_tasks(c),
        two_levels=two_levels(c), exoshuffle_range=f"{exoshuffle_range * 8 * 1e3:.0f} ms",
        own_range=f"{c.read_seconds * 1e3:.1f} ms", changes=changes, nothing=nothing,
        fast=f"{FAST_NETWORK / GB:g} GB/s")
