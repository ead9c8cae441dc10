"""What the model of a cluster is fed with: a table of constants, each with where it comes from, and the machines of
published sorts. Bytes and seconds, if nothing else is said; GB is 10^9."""
import dataclasses
import types

GB = 10**9
TB = 10**12
KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

MEASURED = "measured 2026-11-26, Intel Xeon, 2 cores"  # by --measure
BEFORE = f"{MEASURED}, before exchange files had few samples"
ASSUMED = "assumed"


@dataclasses.dataclass(frozen=True)
class constant:
    value: float
    unit: str
    what: str
    source: str

    @property
    def is_assumed(self):
        return self.source.startswith(ASSUMED)


TABLE = {
    # Of Flowrun, on one core.
    "run_seconds": constant(2.5, "s/GB", "CPU of stage 1: reading, sorting, writing runs, 100-byte records", MEASURED),
    "merge_seconds": constant(1.9, "s/GB", "CPU of stage 2: reading ranges, merging, writing", MEASURED),
    "read_seconds": constant(0.0015, "s", "CPU for each range that is read", MEASURED),
    "start_seconds": constant(0.11, "s", "a task's start, its files and its end", MEASURED),
    "sample_seconds": constant(7.9e-08, "s", "the driver, for each sample and doubling of their number", MEASURED),
    "frame_seconds": constant(0.00079, "s", "the driver, for each frame it looks into", MEASURED),
    "sample_memory": constant(175, "B", "the driver's memory for each sample of 100 bytes", BEFORE),
    "run_memory": constant(1.14 * MIB, "B", "least memory of a merging task for each run", BEFORE),
    "sort_memory": constant(2.4, "", "memory that a sort needs to keep its input, by bytes of it", BEFORE),
    "sample_every": constant(4 * KIB, "B", "rows between two samples, at first", "cluster/exchange_file.cc"),
    "sample_bytes": constant(116, "B", "a sample in a file: a record and 16 bytes", "cluster/exchange_file.cc"),
    "samples_of_file": constant(8192, "", "most samples of a file", "cluster/exchange_file.cc"),
    "samples_of_driver": constant(4 << 20, "", "most samples that the driver keeps", "cluster/cut_points.cc"),
    "index_entry": constant(24, "B", "a frame in an index; 32 in memory", "cluster/exchange_file.h"),
    "frame_bytes": constant(256 * KIB, "B", "a frame of an exchange file", "cluster/exchange_write.cc"),
    "bound_bytes": constant(4, "B", "a cut of a run in a stage's file: a number of a row, up to 2^28",
                            "cluster/cluster.proto"),
    # Of what starts it.
    "session_seconds": constant(15, "s", "start of Spark: 14 to 16", "measured for the design, 2 cores, Spark 4.3"),
    "commit_seconds": constant(1e-3, "s", "the driver, for each task that is done", ASSUMED),
    # Of a node.
    "cores": constant(16, "", "cores of a node, each like one measured here", ASSUMED),
    "task_threads": constant(4, "", "of them, as many as help one task in stage 1", ASSUMED),
    "memory": constant(128 * GIB, "B", "memory of a node", ASSUMED),
    "memory_share": constant(0.75, "", "of it, what tasks may take", ASSUMED),
    "disk_read": constant(2.5 * GB, "B/s", "disks of a node", ASSUMED),
    "disk_write": constant(1.5 * GB, "B/s", "disks of a node", ASSUMED),
    "disk_room": constant(3.75 * TB, "B", "disks of a node", ASSUMED),
    "seek_seconds": constant(20e-6, "s", "of a node's disks for each range, several at once; a disk with an arm: 8 ms",
                             ASSUMED),
    "network": constant(1.25 * GB, "B/s", "of a node, each way", ASSUMED),
    "latency": constant(0.5e-3, "s", "of one read of the driver on the shared storage", ASSUMED),
    "straggle": constant(1.1, "", "how much later the last task of a stage ends", f"{ASSUMED}; SPsort's reading: 1.06"),
    "price": constant(1.37, "$/h", "a node for an hour", ASSUMED),
    "driver_memory": constant(128 * GIB, "B", "memory of the driver's machine", ASSUMED),
    # What can't be less.
    "least_range": constant(1 * MIB, "B", "a read with which a disk is busy rather than seeking", ASSUMED),
    # Storage beside the nodes, in place of their disks; 0: there is none.
    "outside_read": constant(0, "B/s", "storage beside the nodes, all together", ASSUMED),
    "outside_write": constant(0, "B/s", "the same", ASSUMED),
    "outside_seek": constant(0, "s", "the same, for each range", ASSUMED),
    "is_remote": constant(0, "", "1: an object store, which the nodes' networks alone limit", ASSUMED),
}


def constants(**changes):
    """The values by name, some of them changed."""
    unknown = set(changes) - set(TABLE)
    if unknown:
        raise KeyError(f"no such constant: {', '.join(sorted(unknown))}")
    return types.SimpleNamespace(**{name: each.value for name, each in TABLE.items()} | changes)


def slower_cores(factor):
    names = ("run_seconds", "merge_seconds", "read_seconds", "start_seconds", "sample_seconds",
             "frame_seconds")
    return {name: TABLE[name].value * factor for name in names}


@dataclasses.dataclass(frozen=True)
class published:
    name: str
    num_bytes: float
    nodes: int
    seconds: float
    hardware: dict
    own_seconds: object  # of the constants: the least time of its own way, by bandwidths alone
    own_way: str
    why: str             # it and the model differ


def spsort_seconds(c):
    """Records go to their nodes as they are read, and from there to the output: shared disks move each byte twice."""
    return TB / c.outside_read + TB / c.outside_write


def tencent_seconds(c):
    """All records fit in memory: read and sent at the same time, then written."""
    each = 100 * TB / 512
    return max(each / c.disk_read, each / c.network) + each / c.disk_write


def exoshuffle_seconds(c):
    """Map: from the store, to the nodes of the ranges, merged and written to local disks; reduce: from there to the
    store. Everything at once."""
    each = 100 * TB / 40
    return max(2 * each / c.network, each / c.disk_write) + max(each / c.disk_read, each / c.network)


PUBLISHED = [
    published("SPsort 1999", TB, 400, 872,
              slower_cores(30) | {
                  "cores": 4, "memory": 1.5 * GIB, "network": 150e6,
                  "disk_read": 9e6, "disk_write": 9e6, "disk_room": 4e9,
                  "outside_read": 2.8 * GB, "outside_write": 2.25 * GB, "outside_seek": 10e-3 / 336,
                  "session_seconds": 0, "price": 0, "driver_memory": 1.5 * GIB},
              spsort_seconds, "one pass over the shared disks, 11/16 of the records once to local disks",
              "Without its start (872 of 1,057 s). The bandwidths are the paper's own, so its way must come out: what "
              "is missing is the end of the first phase, where nodes ended one after the other, and the wait between "
              "the phases. With rows by tasks, Flowrun takes about twice as long because runs go to the shared disks "
              "and back. A core is taken "
              "to be 30 times slower than one of today, which is a guess; the disks bind in any case, but for the "
              "driver."),
    published("Tencent 2016", 100 * TB, 512, 98.8,
              {"cores": 20, "memory": 512 * GIB, "disk_read": 10 * GB, "disk_write": 4.8 * GB, "disk_room": 4.8 * TB,
               "network": 12.5 * GB, "session_seconds": 0, "price": 0, "driver_memory": 512 * GIB},
              tencent_seconds, "one pass, all in memory",
              "Four NVMe disks a node; their rates (2.5 and 1.2 GB/s each) and a network at its full 100 Gbit/s are "
              "assumed, and neither will have been reached to the end. Flowrun writes and reads everything once more."),
    published("Exoshuffle 2022", 100 * TB, 40, 5378,
              {"cores": 16, "is_remote": 1, "session_seconds": 0},
              exoshuffle_seconds, "map and merge to local disks, reduce to the store",
              "The network of these machines is sold as up to 25 Gbit/s; the 1.25 GB/s that are assumed are less than "
              "the run must have had (465 MB/s of the result for each node are three times that over the network). "
              "The store's own limits are not in the model. Flowrun sends everything through the store once more."),
]


@dataclasses.dataclass(frozen=True)
class measured_run:
    num_bytes: float
    tasks: int
    seconds: tuple  # stage 1, cuts, stage 2: medians


# A larger job on the machine of the constants, with two tasks at once; and that machine, by flowrun bench-disk.
THIS_MACHINE = {"cores": 2, "memory": 24 * GIB, "memory_share": 4 / 24, "disk_read": 1.75 * GB, "disk_write": 2.58 * GB,
                "latency": 0, "network": 1e15, "session_seconds": 0, "commit_seconds": 0, "straggle": 1}
HERE = [
    measured_run(2 * GB, 4, (4.17, 0.06, 2.64)),
    measured_run(2 * GB, 16, (4.60, 0.27, 6.24)),
    measured_run(2 * GB, 32, (4.85, 0.83, 9.41)),
]
