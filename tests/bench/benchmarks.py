"""What is measured: the list of benchmarks. Each names its input, its memory budget, who takes part, the bound that its
times are held against, and the figures that it is to reach."""
import dataclasses
import functools
from typing import Callable, Optional

import disk_bound
import flowrun_job
from trial import BUDGET, CACHED, MIB, PAGE_CACHE, PLAIN, median

GIB = 1 << 30
COLD = dataclasses.replace(PAGE_CACHE, name="cold", title="input cold")


@dataclasses.dataclass
class benchmark:
    name: str
    title: str
    num_bytes: int
    memory_mib: int
    take_part: Callable                 # (contestants, input file or None, benchmark) -> contestants
    shape: Optional[str] = None         # None: rows are made on the fly
    keys: str = "uniform"
    modes: tuple = (BUDGET, PAGE_CACHE)
    bound: Optional[Callable] = None    # (record, disk) -> seconds
    figures: Optional[Callable] = None  # record -> [(what, value, wanted or None)]
    expected: Optional[Callable] = None  # (options, files, benchmark, input file) -> what results must be

    @property
    def num_values(self):
        """Rows of u64 made on the fly."""
        return self.num_bytes // 8


def ratio(a, b):
    return None if a is None or b is None else a / b


def times_of(record, name, mode="budget"):
    return median(record, mode, name, "wall_seconds")


def ours_in(record):
    """flowrun sort where it took part, else the job."""
    told = record["modes"].get("budget", {})
    return next((name for name in ("flowrun sort", "flowrun") if told.get(name, {}).get("runs")), "flowrun")


def peer_and_bound(peer, least):
    """[peer's time / ours, the disk's bound / ours]: one of the two is to be reached."""
    def figures(record):
        ours = times_of(record, ours_in(record))
        wanted = f"≥ {least}" + (", or the bound" if peer == "STXXL" else "")
        found = [(f"{peer}'s time / flowrun's", ratio(times_of(record, peer), ours), wanted)]
        if peer == "STXXL":
            found.append(("the disk's bound / flowrun's time", ratio(record.get("bound_seconds"), ours), "≥ 0.85, or STXXL"))
        return found
    return figures


def figures_of_sorted(record):
    ours = times_of(record, "flowrun")
    copy = times_of(record, "flowrun copy")
    return [("runs on scratch", median(record, "budget", "flowrun", "sorted_runs"), "1 at most"),
            ("merge passes", median(record, "budget", "flowrun", "merge_passes"), "0 or 1"),
            ("copying the file / sorting it", ratio(copy, ours), "≥ 0.45"),
            ("copying the file / sorting it with sorted_by declared", ratio(copy, times_of(record, "flowrun declared")),
             "≥ 0.9")]


def figures_of_memory(record):
    vqsort = median(record, "plain", "vqsort", "sort_seconds")
    # The sorting itself is a task of its own, for which the node waits; nothing else makes it wait here.
    busy, waited = (median(record, "plain", "flowrun", f"sort_{what}_seconds") for what in ("busy", "blocked"))
    worked = None if busy is None else busy + waited
    values = record["num_bytes"] / 8e6
    return [("vqsort: million u64 a second", ratio(values, vqsort), None),
            ("vqsort / the sort node's time", ratio(vqsort, worked), "≥ 0.9"),
            ("the job generate → sort → hash / vqsort",
             ratio(median(record, "plain", "flowrun", "flowrun_wall_seconds"), vqsort), "≤ 2")]


def figures_of_passes(record):
    def of(field):
        return median(record, "budget", "flowrun", field)
    return [("input / memory", record["num_bytes"] / (record["memory_mib"] * MIB), None), ("runs", of("sorted_runs"), None),
            ("merge passes", of("merge_passes"), None), ("forming runs: seconds", of("forming_seconds"), None),
            ("merging: seconds a pass", of("pass_seconds"), None)]


def figures_of_scan(record):
    return [(f"flowrun's time / the loop's, {mode}", ratio(times_of(record, "flowrun", mode), times_of(record, "loop", mode)),
             None) for mode in ("cold", "cached")]


def figures_of_spill(record):
    def of(field):
        return median(record, "plain", "flowrun", field)
    return [("the disk's bound / flowrun's time", ratio(record.get("bound_seconds"), of("flowrun_wall_seconds")), None),
            ("stood still for scratch, writing: seconds", of("write_wait_seconds"), None),
            ("stood still for scratch, reading: seconds", of("read_wait_seconds"), None)]


def bound_of_sort(record, disk):
    return disk_bound.seconds_of_sort(record["num_bytes"], record["memory_mib"] * MIB, disk)


def bound_of_copy(record, disk):
    return disk_bound.seconds_of_copy(record["num_bytes"], record["memory_mib"] * MIB, disk)


def bound_of_spill(record, disk):
    written, read = (median(record, "plain", "flowrun", f"scratch_{way}_bytes") or 0 for way in ("written", "read"))
    return disk_bound.seconds_of_spill(written, read, disk)


def check_of_input(_options, _files, _benchmark, file):
    return file.check


def totals(options, job, rows, memory_mib):
    """Number and hash of the rows, as a job's report says."""
    report = flowrun_job.run(options.flowrun, job, {"rows": rows}, memory_mib, [options.dir / "scratch"])
    return " ".join(value for key, value in flowrun_job.results(report).items() if key.startswith("total."))


def hash_of(job, row_bytes):
    """Of rows made on the fly, not sorted. The jobs check the order of what they sort themselves."""
    return lambda options, _files, b, _file: totals(options, job, b.num_bytes // row_bytes, 64)


def hash_of_generated(options, _files, b, _file):
    """The same; sort_in_memory doesn't check its order, so it is checked here, once."""
    wanted = totals(options, "hash_u64", b.num_values, 64)
    if totals(options, "spill_u64", b.num_values, b.memory_mib) != wanted:
        raise SystemExit(f"bench: {b.name}: the sorted rows aren't those of the input")
    return wanted


def result_of_loop(options, _files, _benchmark, file):
    return disk_bound.output_of([options.programs / "read_filter_sum", file.path]).strip()


def sorters(makers, file, b):
    return makers.sorters(file, b.memory_mib, block_kib=stxxl_block_kib(b.num_bytes, b.memory_mib))


def stxxl_block_kib(num_bytes, memory_mib):
    """STXXL's block size in KiB: 2 MiB, or the largest with which one merge pass does; its runs are half the memory."""
    for kib in (2048, 1024, 512):
        runs = 2 * num_bytes / (memory_mib * MIB)
        if (runs + 40) * kib * 1024 <= memory_mib * MIB:
            return kib
    return 256


def sorted_ones(makers, file, b):
    return [makers.flowrun_file("sort_rows", file, b.memory_mib, shape="u64s"),
            makers.flowrun_file("sort_declared", file, b.memory_mib, name="flowrun declared"),
            makers.flowrun_file("copy_rows", file, b.memory_mib, name="flowrun copy"),
            *sorters(makers, file, b)[1:]]


def in_memory(makers, _file, b):
    return [makers.flowrun("sort_in_memory", b.memory_mib, {"rows": b.num_values}, options=("-j", "1")),
            makers.vqsort(b.num_values)]


def passes(makers, _file, b):
    return [makers.flowrun("spill_u64", b.memory_mib, {"rows": b.num_values}, progress="json")]


def spill(job, row_bytes):
    def make(makers, _file, b):
        return [makers.flowrun(job, b.memory_mib, {"rows": b.num_bytes // row_bytes})]
    return make


def scan(makers, file, b):
    out = makers.dir / "sum.out"
    return [makers.flowrun("scan_sum", b.memory_mib, {"input": file.path}, out=out,
                           result=lambda _: out.read_text().strip()), makers.loop(file)]


def queues(mode, bulk=None):
    """Ours in bulk, and one by one where that differs, beside STXXL's, which has no bulks."""
    def make(makers, _file, b):
        if mode == "random":
            ours = [makers.queue("flowrun bulk", "bulk", b.num_values, b.memory_mib),
                    makers.queue("flowrun", "one-by-one", b.num_values, b.memory_mib)]
        else:
            ours = [makers.queue("flowrun bulk", mode, b.num_values, b.memory_mib, bulk)]
        return [*ours, makers.queue("STXXL", mode, b.num_values, b.memory_mib, bulk)]
    return make


def figures_of_queue(wanted_bulk, wanted_single=None):
    """Of both halves together where items are random, of the rewriting alone else (Bulk-parallel queue, section 4)."""
    def seconds(record, name):
        halves = [median(record, "plain", name, field) for field in ("first_seconds", "second_seconds")]
        return halves[1] if wanted_single is None or None in halves else sum(halves)

    def figures(record):
        theirs = seconds(record, "STXXL")
        found = [("STXXL's time / flowrun's in bulk", ratio(theirs, seconds(record, "flowrun bulk")), wanted_bulk)]
        if wanted_single:
            found.append(("STXXL's time / flowrun's one by one", ratio(theirs, seconds(record, "flowrun")), wanted_single))
        return found
    return figures


def sum_of_random(options, _files, b, _file):
    return disk_bound.output_of([options.programs / "pq_bench", "sum", b.num_values, 1, options.dir]).strip()


def sum_of_ascending(_options, _files, b, _file):
    n = b.num_values
    return f"{n} {n * (n - 1) // 2 % (1 << 64)}"


def mis(makers, _file, b):
    """As in STXXL, section 9: rows of 16 bytes, half as many nodes as edges."""
    edges = b.num_bytes // 16
    out = makers.dir / "mis.out"
    return [makers.flowrun("mis", b.memory_mib, {"edges": edges, "nodes": edges // 2}, out=out),
            makers.stxxl_mis(edges, edges // 2, b.memory_mib)]


def hash_of_mis(options, _files, b, _file):
    """The set itself is checked by tests; here it must not depend on the memory."""
    edges = b.num_bytes // 16
    report = flowrun_job.run(options.flowrun, "mis", {"edges": edges, "nodes": edges // 2, "out": options.dir / "mis.out"},
                             4 * b.memory_mib, [options.dir / "scratch"])
    return " ".join(value for key, value in flowrun_job.results(report).items() if key.startswith("total."))


def figures_of_mis(record):
    return [("STXXL's time / flowrun's", ratio(times_of(record, "STXXL", "plain"), times_of(record, "flowrun", "plain")),
             "≥ 2")]


def all_queues(bytes_of, memory_mib):
    made = functools.partial(benchmark, num_bytes=bytes_of(2 * GIB), memory_mib=memory_mib, modes=(PLAIN,))
    found = [made(name="pq_random", title="priority queue: random u64 pushed, then popped", take_part=queues("random"),
                  figures=figures_of_queue("≥ 4", "≥ 2"), expected=sum_of_random),
             made(name="pq_asc_rbulk", title="priority queue: rewritten in random bulks up to 640,000",
                  take_part=queues("asc-rbulk-rewrite", 640_000), figures=figures_of_queue("≥ 2"),
                  expected=sum_of_ascending)]
    for thousands in (5, 80, 640, 5120):
        found.append(made(name=f"pq_bulk_{thousands}k", title=f"priority queue: rewritten in bulks of {thousands * 1000:,}",
                          take_part=queues("bulk-rewrite", thousands * 1000),
                          figures=figures_of_queue("≥ 2" if thousands >= 80 else None), expected=sum_of_ascending))
    return found


def all_benchmarks(gib, memory_mib):
    """{name: benchmark}; `gib` is None for the sizes of the tables in docs/benchmarks."""
    def bytes_of(default):
        return int(gib * GIB) if gib else default

    four = bytes_of(4 * GIB)
    files = functools.partial(benchmark, take_part=sorters, bound=bound_of_sort, expected=check_of_input)
    u64 = functools.partial(files, num_bytes=four, memory_mib=memory_mib, shape="u64")
    rows = functools.partial(files, num_bytes=four, memory_mib=memory_mib)
    made = functools.partial(benchmark, modes=(PLAIN,), bound=bound_of_spill, figures=figures_of_spill)
    listed = [
        u64(name="sort_u64", title="u64, uniform", figures=peer_and_bound("STXXL", 4)),
        u64(name="sort_zipf", title="u64, skewed (Zipf)", keys="zipf"),
        u64(name="sort_sorted", title="u64, sorted already", keys="sorted", take_part=sorted_ones,
            bound=bound_of_copy, figures=figures_of_sorted),
        u64(name="sort_reversed", title="u64, reversed", keys="reversed"),
        u64(name="sort_few", title="u64, 100 distinct values", keys="few"),
        rows(name="rows16", title="rows of 16 bytes, 8 of them the key", shape="rows16"),
        rows(name="rows32", title="rows of 32 bytes, 8 of them the key", shape="rows32"),
        rows(name="records", title="records of 100 bytes, 10 of them the key", shape="records", keys="gensort",
             num_bytes=bytes_of(4_000_000_000), figures=peer_and_bound("STXXL", 1.6)),
        rows(name="text", title="lines of text", shape="lines", keys="text", num_bytes=bytes_of(3_500_000_000),
             figures=peer_and_bound("GNU sort", 2)),
        u64(name="memory_half", title="u64, N/M = 2", memory_mib=max(1, four // 2 // MIB)),
        u64(name="memory_64th", title="u64, N/M = 64", memory_mib=max(1, four // 64 // MIB)),
        benchmark("passes", "u64 made on the fly, N/M = 4,096 or so: the sort has less than 1 MiB", four, 1, passes,
                  modes=(BUDGET,), figures=figures_of_passes,
                  expected=hash_of("hash_u64", 8)),
        benchmark("in_memory", "u64 made on the fly, sorted in memory by one thread", bytes_of(1 << 29),
                  max(256, bytes_of(1 << 29) * 5 // MIB), in_memory, modes=(PLAIN,), figures=figures_of_memory,
                  expected=hash_of_generated),
        made(name="spill_u64", title="u64 made on the fly, sorted over scratch, reduced", num_bytes=four,
             memory_mib=memory_mib, take_part=spill("spill_u64", 8), expected=hash_of("hash_u64", 8)),
        made(name="spill_records", title="records made on the fly, sorted over scratch, reduced",
             num_bytes=bytes_of(4_000_000_000), memory_mib=memory_mib, take_part=spill("spill_records", 100),
             expected=hash_of("hash_records", 100)),
        *all_queues(bytes_of, memory_mib),
        benchmark("mis", "a maximal independent set of 2^26 nodes and 2^27 random edges, made on the fly",
                  bytes_of(2 * GIB), memory_mib, mis, modes=(PLAIN,), figures=figures_of_mis, expected=hash_of_mis),
        rows(name="scan_sum", title="rows of 16 bytes: filter, map, sum", shape="rows16", take_part=scan,
             modes=(COLD, CACHED), bound=None, figures=figures_of_scan, expected=result_of_loop),
    ]
    return {b.name: b for b in listed}
