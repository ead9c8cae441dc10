"""The programs that are compared: how each is called for a job, how what it gives is verified, and why it can't.

A peer that is told its memory but takes more (its budget covers a part of it only) would not survive in the memory
cgroup; so DuckDB and Polars are told less and less until they do, and the table says what they were told."""
import dataclasses
import functools
import json
import pathlib
import shutil
import subprocess
from typing import Callable, Optional

import flowrun_job

BENCH = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20


@dataclasses.dataclass
class contestant:
    name: str
    command: Optional[Callable] = None      # the MiB it is told to use -> the words of its command
    result: Optional[Callable] = None       # measurement -> what it computed; ValueError when that is wrong by itself
    output: Optional[pathlib.Path] = None
    told_mib: tuple = ()                    # in turn, until one works
    environment: Optional[Callable] = None  # the MiB it is told to use -> variables
    extras: Optional[Callable] = None       # measurement -> more figures of a run, by name
    unable: str = ""                        # why it isn't run


def figures_of(report):
    """The figures of a flowrun report that the tables may want."""
    written, read = flowrun_job.scratch_bytes(report)
    waited = flowrun_job.waited_seconds(report)
    found = {"flowrun_wall_seconds": report["wall_seconds"], "scratch_written_bytes": written, "scratch_read_bytes": read,
             "write_wait_seconds": waited[0], "read_wait_seconds": waited[1]}
    for sort in report["sorts"]:
        busy, blocked = flowrun_job.node_seconds(report, sort["id"])
        found |= {"sorted_runs": int(sort["runs"]), "merge_passes": int(sort["merge_passes"]),
                  "fan_in": int(sort["fan_in"]), "sort_busy_seconds": busy,
                  "sort_blocked_seconds": blocked}
    return found


def phase_seconds(output):
    """From `--progress json`: when the second phase of a job began; the lines come once a second."""
    for line in output.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            if told.get("phase", 0) >= 2:
                return told["elapsed_seconds"]
    return None


class contestants:
    """Makes contestants for one input (a file, or None for rows made on the fly) and a memory budget."""

    def __init__(self, options, files):
        self.options = options
        self.files = files
        self.dir = options.dir
        self.scratch = options.dir / "scratch"
        self.report = options.dir / "report.json"

    @functools.cached_property
    def flowrun_sorts_text(self):
        done = subprocess.run([self.options.flowrun, "sort", "--help"], text=True, capture_output=True)
        return done.returncode == 0 and "-S" in done.stdout

    @functools.cache
    def python_lacks(self, module):
        """Why the peers' Python can't use a module; empty when it can."""
        for needed in (module, "pyarrow", "numpy"):
            done = subprocess.run([self.options.python, "-c", f"import {needed}"], capture_output=True)
            if done.returncode != 0:
                return f"not installed here: pip install {needed}"
        return ""

    def checked(self, shape, path):
        return lambda _: self.files.check_rows(shape, path)

    def flowrun(self, job, memory_mib, parameters, *, name="flowrun", out=None, result=None, progress=None, options=()):
        """A job; `result` by default is what its report says."""
        more = [*options, "--progress", progress] if progress else list(options)

        def read_report():
            return json.loads(self.report.read_text())

        def extras(m):
            found = figures_of(read_report())
            if progress and (first := phase_seconds(m.output)):
                found["forming_seconds"] = first
                found["pass_seconds"] = (found["flowrun_wall_seconds"] - first) / max(1, found["merge_passes"])
            return found

        def computed(_):
            return " ".join(value for key, value in flowrun_job.results(read_report()).items() if key.startswith("total."))
        given = dict(parameters)
        if out:
            given["out"] = out
        return contestant(name, lambda mib: flowrun_job.command(self.options.flowrun, job, given, mib, [self.scratch],
                                                                self.report, more),
                          result or computed, out, (memory_mib,), extras=extras)

    def flowrun_file(self, job, file, memory_mib, *, name="flowrun", **parameters):
        out = self.dir / f"{name.replace(' ', '-')}.out"
        return self.flowrun(job, memory_mib, {"input": file.path, **parameters}, name=name, out=out,
                            result=self.checked(file.shape, out))

    def flowrun_sort_command(self, file, memory_mib):
        """`flowrun sort`, with GNU sort's options."""
        out = self.dir / "flowrun-sort.out"
        if not self.flowrun_sorts_text:
            return None
        return contestant("flowrun sort", lambda mib: [self.options.flowrun, "sort", file.path, "-o", out, "-S", f"{mib}M",
                                                       "-T", self.scratch, f"--parallel={self.options.threads}"],
                          self.checked(file.shape, out), out, (memory_mib,))

    def stxxl(self, file, memory_mib, block_kib=2048):
        program = self.options.programs / "stxxl_sort"
        if not program.exists():
            return contestant("STXXL", unable="not installed here: tools/setup --bench")
        if file.shape == "lines":
            return contestant("STXXL", unable="sorts rows of fixed width only")
        out = self.dir / "stxxl.out"
        return contestant("STXXL", lambda mib: [program, file.shape, file.path, out, self.scratch, mib, block_kib],
                          self.checked(file.shape, out), out, (memory_mib,))

    def gnu_sort(self, file, memory_mib):
        if file.shape != "lines":
            return contestant("GNU sort", unable="sorts lines only")
        if shutil.which("sort") is None:
            return contestant("GNU sort", unable="not installed here")
        out = self.dir / "gnu-sort.out"
        return contestant("GNU sort", lambda mib: ["sort", "-S", f"{mib}M", f"--parallel={self.options.threads}", "-T",
                                                   self.scratch, "-o", out, file.path],
                          self.checked(file.shape, out), out, (memory_mib,), environment=lambda _: {"LC_ALL": "C"})

    def in_python(self, name, module, file, memory_mib, words, environment=None):
        if name in self.options.without:
            return contestant(name, unable="left out of this one")
        lacks = self.python_lacks(module)
        if lacks:
            return contestant(name, unable=lacks)
        self.files.with_parquet(file)
        out = self.dir / f"{module}.out{'' if file.shape == 'lines' else '.parquet'}"
        source = file.path if file.shape == "lines" else file.parquet
        told = tuple(memory_mib * share // 8 for share in (8, 6, 4, 2))
        return contestant(name, lambda mib: [self.options.python, BENCH / f"peers/{module}_sort.py", source, out,
                                             *words(mib)],
                          self.checked(file.shape, out), out, told, environment=environment)

    def duckdb(self, file, memory_mib):
        return self.in_python("DuckDB", "duckdb", file, memory_mib,
                              lambda mib: [self.scratch, mib, self.options.threads])

    def polars(self, file, memory_mib):
        return self.in_python("Polars", "polars", file, memory_mib, lambda mib: [], lambda mib: {
            "POLARS_MAX_THREADS": str(self.options.threads), "POLARS_OVERRIDE_TOTAL_MEMORY_MB": str(mib),
            "POLARS_OOC_MEMORY_BUDGET_MB": str(mib), "POLARS_OOC_SPILL_DIR": str(self.scratch)})

    def sorters(self, file, memory_mib, block_kib=2048):
        """Everyone who might sort this file."""
        if file.shape == "lines":
            ours = [self.flowrun_sort_command(file, memory_mib), self.flowrun_file("sort_lines", file, memory_mib)]
            if self.options.text_command == "job" or ours[0] is None:
                ours = ours[1:]
            elif self.options.text_command == "sort":
                ours = ours[:1]
        else:
            shape = {"u64": "u64s"}.get(file.shape, file.shape)
            ours = [self.flowrun_file("sort_rows", file, memory_mib, shape=shape)]
        return ours + [self.stxxl(file, memory_mib, block_kib), self.gnu_sort(file, memory_mib),
                       self.duckdb(file, memory_mib), self.polars(file, memory_mib)]

    def loop(self, file):
        """The peer of scan_sum."""
        return contestant("loop", lambda _: [self.options.programs / "read_filter_sum", file.path],
                          lambda m: m.output.strip(), None, (0,))

    def queue(self, name, mode, num_items, memory_mib, bulk=None):
        """One of the two programs that fill and drain a priority queue: both print what they popped as JSON."""
        ours = name.startswith("flowrun")
        program = self.options.programs / ("pq_bench" if ours else "stxxl_pq")
        if not program.exists():
            return contestant(name, unable="not installed here: tools/setup --bench")
        more = [self.options.threads] if ours else []
        if bulk:
            more.append(bulk)

        def printed(m):
            return json.loads(m.output.splitlines()[-1])
        return contestant(name, lambda mib: [program, mode, num_items, mib, self.scratch, *more],
                          lambda m: printed(m)["popped"], None, (memory_mib,),
                          extras=lambda m: {key: value for key, value in printed(m).items() if key != "popped"})

    def stxxl_mis(self, num_edges, num_nodes, memory_mib):
        """It answers another question on the same amount of data: listing 8 is right for undirected edges only."""
        program = self.options.programs / "stxxl_mis"
        if not program.exists():
            return contestant("STXXL", unable="not installed here: tools/setup --bench")
        return contestant("STXXL", lambda mib: [program, num_edges, num_nodes, mib, self.scratch], None, None, (memory_mib,),
                          extras=lambda m: json.loads(m.output.splitlines()[-1]))

    def vqsort(self, num_values):
        return contestant("vqsort", lambda _: [self.options.programs / "vqsort_u64", num_values], None, None, (0,),
                          extras=lambda m: {"sort_seconds": float(m.output)})
