#!/usr/bin/env python3
"""How long a sort of records takes as tasks of a cluster, what it costs, and what limits it: a model of what
docs/design/cluster.md describes, fed with cluster_constants.py.

    cluster_model.py [--tb 10 --nodes 64] [--set NAME=VALUE …]    times, costs and limits; all tables without --tb
    cluster_model.py --measure --flowrun FILE [--dir DIR]         measures Flowrun's constants on this machine
    cluster_model.py --page                                       docs/design/cluster-model.md

M runs and P merging tasks are as many here, T, as --tasks divides. A stage takes as long as the busiest of a node's
processors, disks and network, all of which work at the same time. Every node has as much to do as any other."""
import argparse
import dataclasses
import math
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cluster_constants  # noqa: E402
from cluster_constants import GB, MIB  # noqa: E402

MOST_MESSAGE = 2**31  # of Protocol Buffers: a file with the cuts of a stage


@dataclasses.dataclass(frozen=True)
class shape:
    """How a job is divided."""
    tasks: int           # of each stage
    per_node: int        # of them at once on a node, whose cores and memory they share
    levels: int = 1      # 2: ranges are merged twice, first coarse ones of a part of the runs
    by_driver: bool = True  # it finds the row of each cut in each run, as it does today; else tasks find their own

    def waves(self, nodes):
        return math.ceil(self.tasks / (nodes * self.per_node))

    def idle(self, nodes):
        """By how much the last wave, which may be short, makes a stage longer."""
        return self.waves(nodes) * nodes * self.per_node / self.tasks

    def fan_in(self):
        """Runs of which a task reads a range."""
        return self.tasks ** (1 / self.levels)

    def range_bytes(self, num_bytes):
        return num_bytes / (self.tasks * self.fan_in())


@dataclasses.dataclass
class load:
    """What a stage does, on all nodes together: bytes, seconds of cores, and numbers."""
    cpu: float = 0
    cores: float = 1         # of a node, that can be used at once
    read: float = 0          # from where all see it
    written: float = 0
    scratch: float = 0       # written to a node's own disks, and read again
    unstored: float = 0      # read over the network, but from memory
    ranges: float = 0        # reads that start at a new place

    def seconds(self, c, nodes):
        """{resource: seconds}"""
        out = {"processors": self.cpu / (nodes * self.cores)}
        own = c.outside_read == 0 and not c.is_remote
        disk = self.scratch * (1 / c.disk_read + 1 / c.disk_write)
        if own:
            disk += self.read / c.disk_read + self.written / c.disk_write + self.ranges * c.seek_seconds
        out["disks"] = disk / nodes
        # Of what lies on all nodes' disks, a node has its share itself; the rest comes and goes, on both sides.
        through = self.read + self.written if own else max(self.read, self.written)
        away = (nodes - 1) / nodes if own else 1
        out["network"] = (through + self.unstored) * away / nodes / c.network
        if c.outside_read:
            out["storage"] = self.read / c.outside_read + self.written / c.outside_write + self.ranges * c.outside_seek
        return out


@dataclasses.dataclass
class prediction:
    shape: shape
    start: float = 0
    runs: float = 0        # stage 1
    cuts: float = 0        # the driver, between stages
    merges: float = 0      # stage 2, and 3 where there are two levels
    end: float = 0
    busiest: tuple = ()    # what stages 1 and 2 wait for
    range_bytes: float = 0
    driver_memory: float = 0
    task_memory: float = 0    # that a task has
    least_memory: float = 0   # that a merging task needs
    room: float = 0           # on the disks of a node
    spilled: float = 0        # share of the records that stage 1 writes to scratch, too
    limits: list = dataclasses.field(default_factory=list)

    @property
    def seconds(self):
        return self.start + self.runs + self.cuts + self.merges + self.end

    def cost(self, c, nodes):
        """The driver's machine counts as a node."""
        return self.seconds / 3600 * (nodes + 1) * c.price


def index_bytes(c, num_bytes):
    """Of all runs together, with an entry for each frame."""
    return num_bytes * c.index_entry / c.frame_bytes


def samples_of_run(c, piece):
    return min(piece / c.sample_every, c.samples_of_file)


def samples_of_driver(c, num_bytes, tasks):
    return min(tasks * samples_of_run(c, num_bytes / tasks), c.samples_of_driver)


def probes(c, num_bytes, tasks):
    """Frames whose first rows are looked at, to find the one between two samples in which a row lies."""
    frames, samples = num_bytes / c.frame_bytes, samples_of_driver(c, num_bytes, tasks)
    return math.log2(max(1, frames / max(1, samples)))


def frames_of_cuts(c, num_bytes, tasks, fan_in):
    """That the driver reads: for each cut in each run. Where ranges are shorter than frames, it keeps the last one."""
    cuts = tasks * min(fan_in - 1, num_bytes / tasks / c.frame_bytes)
    return cuts * (1 + probes(c, num_bytes, tasks))


def driver_memory(c, num_bytes, tasks):
    """Samples, indices, and the last frame of each run."""
    indices = index_bytes(c, num_bytes) * 32 / 24
    return (samples_of_driver(c, num_bytes, tasks) * c.sample_memory + indices
            + tasks * min(c.frame_bytes, num_bytes / tasks))


def spilled_share(c, num_bytes, tasks, task_memory):
    """Of the records, what a sort in so much memory writes to scratch: all but what half of the memory holds."""
    piece = num_bytes / tasks
    return 0 if piece * c.sort_memory <= task_memory else max(0, 1 - task_memory / (2 * piece))


def written_run(c, num_bytes, tasks):
    return num_bytes + index_bytes(c, num_bytes) + tasks * samples_of_run(c, num_bytes / tasks) * c.sample_bytes


def run_load(c, num_bytes, how, spilled):
    return load(cpu=num_bytes / GB * c.run_seconds, cores=min(c.cores, how.per_node * c.task_threads), read=num_bytes,
                written=written_run(c, num_bytes, how.tasks), scratch=spilled * num_bytes)


def cuts_bytes(c, how):
    """Of a stage's file: a row's number for each cut and run, or a row for each cut."""
    return how.tasks * (how.fan_in() * c.bound_bytes if how.by_driver else c.sample_bytes)


def merge_load(c, num_bytes, how, is_last=True):
    """A task merges in one thread, so that as many cores work as there are tasks."""
    num_ranges = how.tasks * how.fan_in()
    index = index_bytes(c, num_bytes)
    all_indices = index * how.fan_in()  # T tasks read fan-in of the T runs' indices
    frames = min(num_ranges * c.frame_bytes, num_bytes * (how.fan_in() - 1))  # a range begins and ends within one
    bounds = how.tasks * cuts_bytes(c, how)  # each task reads all cuts
    # Tasks that find their own rows look for both ends of each range.
    probed = 0 if how.by_driver else 2 * num_ranges * probes(c, num_bytes, how.tasks)
    return load(cpu=num_bytes / GB * c.merge_seconds + num_ranges * c.read_seconds + probed * c.frame_seconds,
                cores=min(c.cores, how.per_node), read=num_bytes + max(0, frames) + probed * c.frame_bytes,
                written=num_bytes if is_last else written_run(c, num_bytes, how.tasks), unstored=all_indices + bounds,
                ranges=num_ranges + probed)


def cut_seconds(c, num_bytes, how, nodes):
    """The driver reads samples, sorts them, and looks into a frame of each run for each cut."""
    num_samples = samples_of_driver(c, num_bytes, how.tasks)
    out = num_samples * math.log2(max(2, num_samples)) * c.sample_seconds
    of_files = how.tasks * samples_of_run(c, num_bytes / how.tasks) * c.sample_bytes
    out += (of_files + index_bytes(c, num_bytes)) / c.network
    if how.by_driver:
        num_frames = frames_of_cuts(c, num_bytes, how.tasks, how.fan_in())
        out += num_frames * (c.frame_seconds + c.latency + c.frame_bytes / c.network)
    return out


def predict(c, num_bytes, nodes, how):
    waves, idle = how.waves(nodes), how.idle(nodes)
    out = prediction(how, start=c.session_seconds, range_bytes=how.range_bytes(num_bytes))
    out.task_memory = c.memory * c.memory_share / how.per_node
    out.spilled = spilled_share(c, num_bytes, how.tasks, out.task_memory)

    def stage(work):
        took = work.seconds(c, nodes)
        busiest = max(took, key=took.get)
        out.busiest += (busiest,)
        return (took[busiest] * idle + waves * c.start_seconds) * c.straggle

    out.runs = stage(run_load(c, num_bytes, how, out.spilled))
    for level in range(how.levels):
        out.cuts += cut_seconds(c, num_bytes, how, nodes)
        out.merges += stage(merge_load(c, num_bytes, how, level == how.levels - 1))
    out.end = (1 + how.levels) * how.tasks * c.commit_seconds
    out.driver_memory = driver_memory(c, num_bytes, how.tasks)
    out.least_memory = how.fan_in() * c.run_memory
    # Input, runs and output; nobody removes the input, and runs stay until the last task has read them.
    out.room = (3 + out.spilled) * num_bytes / nodes
    if out.driver_memory > c.driver_memory:
        out.limits.append("driver")
    if out.least_memory > out.task_memory:
        out.limits.append("buffers")
    if cuts_bytes(c, how) > MOST_MESSAGE:
        out.limits.append("cuts")
    if c.outside_read == 0 and not c.is_remote and out.room > c.disk_room:
        out.limits.append("room")
    return out


def shapes(c, nodes, levels=(1,), by_driver=True):
    """What may be tried: some tasks on a node at once, some times after each other."""
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= c.cores]
    for per_node in counts:
        for waves in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256):
            for level in levels:
                yield shape(nodes * per_node * waves, per_node, level, by_driver)


def best(c, num_bytes, nodes, levels=(1,), by_driver=True):
    """The fastest of those that a merging task's memory allows."""
    all_ = [predict(c, num_bytes, nodes, how) for how in shapes(c, nodes, levels, by_driver)]
    return min(all_, key=lambda p: (bool(set(p.limits) & {"buffers", "cuts"}), p.seconds))


def most_tasks(c, num_bytes, levels=1):
    """With more of them, ranges are shorter than the least that a disk should be asked for: N / T^(1 + 1/levels)."""
    return (num_bytes / c.least_range) ** (1 / (1 + 1 / levels))


def most_bytes_in_memory(c, task_memory, levels=1):
    """The input of which tasks, of so much memory, sort pieces without scratch and still read ranges that are long
    enough: with pieces of s bytes, N / s tasks, s = N / most_tasks."""
    piece = task_memory / c.sort_memory
    return piece * (piece / c.least_range) ** levels


def crossing(c, num_bytes, nodes, per_node):
    """The least number of waves from which two levels are faster than one, or None."""
    for waves in range(1, 2049):
        how = shape(nodes * per_node * waves, per_node, 1, False)
        one, two = (predict(c, num_bytes, nodes, dataclasses.replace(how, levels=n)).seconds for n in (1, 2))
        if two < one:
            return waves
    return None


def sensitivity(c, num_bytes, nodes, by_driver):
    """[(name, with half of it, with twice of it)]: how many times as long it takes; the shape is chosen anew."""
    base = best(c, num_bytes, nodes, by_driver=by_driver).seconds
    out = []
    for name in cluster_constants.TABLE:
        value = getattr(c, name)
        if value == 0 or name in ("straggle", "memory_share", "is_remote", "price", "disk_room"):
            continue  # shares and factors, and what changes no time
        others = [cluster_constants.constants(**vars(c) | {name: value * factor}) for factor in (0.5, 2)]
        changed = [best(other, num_bytes, nodes, by_driver=by_driver).seconds for other in others]
        out.append((name, changed[0] / base, changed[1] / base))
    return sorted(out, key=lambda row: -max(abs(math.log(row[1])), abs(math.log(row[2]))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tb", type=float, help="of input")
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="another value of a constant")
    parser.add_argument("--page", action="store_true", help="write docs/design/cluster-model.md")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--flowrun", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/tmp/flowrun-cluster-model"))
    parser.add_argument("--gb", type=float, default=1, help="that are sorted to measure")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    import cluster_page
    if options.measure:
        import cluster_measure
        if options.flowrun is None:
            parser.error("--measure needs --flowrun")
        cluster_measure.measure(options.flowrun.resolve(), options.dir, int(options.gb * GB), options.rounds)
        return
    try:
        changes = dict(each.split("=", 1) for each in options.set)
        c = cluster_constants.constants(**{name: float(value) for name, value in changes.items()})
    except (KeyError, ValueError) as problem:
        parser.error(f"--set: {problem}")
    if options.page:
        cluster_page.PAGE.write_text(cluster_page.page())
    elif options.tb:
        print(cluster_page.one(c, options.tb, options.nodes))
    else:
        print(cluster_page.tables(c))


if __name__ == "__main__":
    main()
