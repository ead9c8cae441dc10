#!/usr/bin/env python3
"""The jobs under specs/jobs on large inputs: time, processor, memory, scratch and file I/O, and what matters for each.

    graph_jobs.py [NAME…] [--scale S] [--grid WIDTH] [--text FILE] [--megabytes N] [--text-memory MIB] [--skew3 PROGRAM]
                  [--runs N] [--check] [--limit SECONDS]

  bfs, components, components-stars, mst, triangles-count    R-MAT of 2^S nodes and 16 times as many edges, 512 MiB
  bfs-mm                                                     a grid of WIDTH x WIDTH nodes, 256 MiB
  bfs-grid                                                   bfs on a grid of half that width, 256 MiB
  suffix-array                                               the first N million bytes of FILE, MIB or 256 MiB

Beside components runs its peer, tests/bench/peers/union_find.cc: a loop over the edge file, written by hand. Beside
suffix-array runs STXXL's skew3, if there is one: PROGRAM is built of examples/applications/skew3.cpp in the sources of
STXXL 1.4.1; it gets the same memory, and a file beside our scratch. Job and peer take turns, must give the same, and the
last column has their ratio. --memory gives the jobs on R-MAT another budget.

Inputs are made by the jobs rmat-graph and grid-graph. "scans" is all I/O, on scratch and of files, in sizes of the input.
ms of an iteration: how long the nodes inside of the loop were busy. --check lets the job's checker look at the result
(not timed). A job that takes longer than --limit is ended and shown as such. Medians."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import flowrun_job  # noqa: E402
import measure  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_RMAT = ("bfs", "components", "components-stars", "mst", "triangles-count")
SPECS = {"bfs-grid": "bfs"}  # others are named as their spec
CHECKERS = {"bfs": "check-bfs", "bfs-mm": "check-bfs", "bfs-grid": "check-bfs", "components": "check-components", "mst": "check-mst",
            "components-stars": "check-components", "suffix-array": "check-suffix-array"}
WEIGHTED = """flowrun: 1
params: {input: {type: path, required: true}, out: {type: path, required: true}}
nodes:
  edges: {op: file.read_rows, with: {path: "${input}", type: {src: u32, dst: u32}}}
  w:     {op: map, in: edges, with: {src: src, dst: dst, w: "u32(hash64(7, src, dst))"}}
  write: {op: file.write_rows, in: w, with: {path: "${out}"}}
"""


def run(options, spec, parameters, memory):
    """The report; None when it takes too long."""
    with tempfile.TemporaryDirectory() as place:
        report = pathlib.Path(place) / "report.json"
        words = [options.build / "bin/flowrun", "run", spec, "-m", f"{memory}MiB", "--progress", "none", "-q", "--report",
                 report, "-T", options.dir / "scratch"]
        for name, value in parameters.items():
            words += ["-p", f"{name}={value}"]
        try:
            done = subprocess.run([str(word) for word in words], text=True, capture_output=True, timeout=options.limit)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            raise SystemExit(f"graph_jobs: {spec} failed:\n{done.stderr}")
        return json.loads(report.read_text())


def made(options, name, maker, **parameters):
    """An input file, made once."""
    path = options.dir / name
    if not path.exists():
        spec = maker if isinstance(maker, pathlib.Path) else ROOT / f"specs/jobs/{maker}.yaml"
        if run(options, spec, {**parameters, "out": path}, 1024) is None:
            raise SystemExit(f"graph_jobs: making {path} takes longer than --limit")
    return path


def problem(options, name):
    """(parameters, memory in MiB, what the work is counted in, how many of it)"""
    if name == "suffix-array":
        text = options.dir / f"text-{options.megabytes}"
        if not text.exists():
            with open(options.text, "rb") as source:
                text.write_bytes(source.read(options.megabytes * 1_000_000))
        return {"text": text}, options.text_memory, "byte", options.megabytes * 1_000_000
    if name in ("bfs-mm", "bfs-grid"):
        width = options.grid if name == "bfs-mm" else options.grid // 2
        nodes = width * width
        edges = made(options, f"grid-{width}", "grid-graph", nodes=nodes, width=width)
        return {"edges": edges, "nodes": nodes, "source": 0}, 256, "edge", edges.stat().st_size // 8
    edges = made(options, f"rmat-{options.scale}", "rmat-graph", scale=options.scale, edges=16 << options.scale)
    count = edges.stat().st_size // 8
    if name == "mst":
        spec = options.dir / "weighted.yaml"
        spec.write_text(WEIGHTED)
        edges = made(options, f"rmat-{options.scale}-w", spec, input=edges)
    parameters = {"edges": edges, "nodes": 1 << options.scale}
    if name == "bfs":
        parameters["source"] = 0
    return parameters, options.memory, "edge", count


def peer_command(options, name, parameters, memory, out):
    """(the words that run the peer, what it finds in its environment); None: there is none."""
    program = options.build / "bench/union_find"
    if name == "components" and program.exists():
        return [program, parameters["edges"], parameters["nodes"], out], {}
    if name == "suffix-array" and options.skew3:
        # Its vectors want 30 bytes a character more than its sorts, and files grow in any case.
        space = max(4, parameters["text"].stat().st_size * 160 >> 30)
        settings = options.dir / "stxxl.cfg"
        settings.write_text(f"disk={options.dir}/scratch/stxxl.tmp,{space}GiB,linuxaio unlink\n")
        environment = {"STXXLCFG": str(settings), "STXXLLOGFILE": "/dev/null", "STXXLERRLOGFILE": "/dev/null"}
        return [options.skew3, "-M", f"{memory}MiB", "-o", out, parameters["text"]], environment
    return None


def same_results(name, ours, theirs):
    """Whether the two files say the same; skew3 writes positions of 32 bits, and up to a whole block."""
    if name != "suffix-array":
        return ours.read_bytes() == theirs.read_bytes()
    rows = ours.stat().st_size // 5
    if theirs.stat().st_size < 4 * rows:
        return False
    at_once = 1 << 22
    with open(ours, "rb") as left, open(theirs, "rb") as right:
        for first in range(0, rows, at_once):
            count = min(at_once, rows - first)
            wide, narrow = left.read(5 * count), right.read(4 * count)
            if any(wide[4::5]) or any(wide[byte::5] != narrow[byte::4] for byte in range(4)):
                return False
    return True


def run_in_turn(options, name, spec, parameters, memory, out):
    """(reports of our runs, measurements of the peer's), which must write the same."""
    reports, peers = [], []
    theirs = out.with_suffix(".peer")
    peer = peer_command(options, name, parameters, memory, theirs)
    for _ in range(options.runs):
        reports.append(run(options, spec, {**parameters, "out": out}, memory))
        if peer is None or reports[-1] is None:
            continue
        theirs.unlink(missing_ok=True)
        peers.append(measure.run(peer[0], environment=peer[1], limit_seconds=options.limit))
        if peers[-1].exit_code != 0:
            raise SystemExit(f"graph_jobs: the peer of {name} failed:\n{peers[-1].output}")
        if not same_results(name, out, theirs):
            raise SystemExit(f"graph_jobs: {name} and its peer wrote different results")
    theirs.unlink(missing_ok=True)
    return reports, peers


def iterations(report):
    """"levels 6 (1.4 ms)": each loop, and how long what is inside of it was busy in each iteration"""
    told = {key: int(value) for key, value in flowrun_job.results(report).items() if key.endswith("iterations")}
    shown = []
    for key, number in told.items():
        loop = key.rsplit(".", 1)[0]
        busy = sum(node["busy_seconds"] for node in report["nodes"] if node["id"].startswith(loop + "."))
        shown.append(f"{loop} {number} ({busy * 1e3 / max(number, 1):.2f} ms)")
    return ", ".join(shown)


def input_bytes(parameters):
    return max(path.stat().st_size for path in parameters.values() if isinstance(path, pathlib.Path))


def file_bytes(report):
    return sum(int(node["file_read_bytes"]) + int(node["file_written_bytes"]) for node in report["nodes"])


def compared(reports, peers):
    """The peer's seconds and CPU seconds, and ours as multiples of them."""
    if not peers:
        return ""
    wall, cpu = (statistics.median(getattr(p, each) for p in peers) for each in ("wall_seconds", "cpu_seconds"))
    ours = [statistics.median(r[each] for r in reports) for each in ("wall_seconds", "cpu_seconds")]
    moved = [statistics.median(getattr(p, each) for p in peers) / 1e9 for each in ("written_bytes", "read_bytes")]
    return (f"{wall:.2f} s, {cpu:.2f} s of CPU: ours {ours[0] / wall:.2f} and {ours[1] / cpu:.2f} times that; "
            f"{moved[0]:.2f} GB written, {moved[1]:.2f} read")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--memory", type=int, default=512, help="MiB, of the jobs on R-MAT")
    parser.add_argument("--grid", type=int, default=4096)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--text-memory", type=int, default=256, help="MiB, of suffix-array")
    parser.add_argument("--skew3", type=pathlib.Path, help="the peer of suffix-array")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "data/text/lines.txt")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=900)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build/bench-data")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    (options.dir / "scratch").mkdir(parents=True, exist_ok=True)
    print("| job | work | s | s of CPU | MiB at most | scratch GB written, read | M units/s | scratch bytes a unit | scans | "
          "iterations (ms busy in each) | peer |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in options.names or [*ON_RMAT, "bfs-mm", "bfs-grid", "suffix-array"]:
        parameters, memory, unit, count = problem(options, name)
        out = options.dir / f"{name}.out"
        spec = ROOT / f"specs/jobs/{SPECS.get(name, name)}.yaml"
        reports, peers = run_in_turn(options, name, spec, parameters, memory, out)
        if None in reports:
            print(f"| {name} | {count / 1e6:.1f} M {unit}s | more than {options.limit:.0f} | | | | | | | | |", flush=True)
            continue

        def median(value, of=reports):
            return statistics.median(value(report) for report in of)
        written, read = (median(lambda r, way=way: flowrun_job.scratch_bytes(r)[way]) for way in (0, 1))
        seconds = median(lambda r: r["wall_seconds"])
        print(f"| {name} | {count / 1e6:.1f} M {unit}s | {seconds:.1f} | {median(lambda r: r['cpu_seconds']):.1f} | "
              f"{median(lambda r: int(r['peak_memory_bytes'])) / (1 << 20):.0f} of {memory} | {written / 1e9:.2f}, {read / 1e9:.2f} | "
              f"{count / seconds / 1e6:.2f} | {(written + read) / count:.1f} | "
              f"{(written + read + median(file_bytes)) / input_bytes(parameters):.1f} | {iterations(reports[0])} | "
              f"{compared(reports, peers)} |", flush=True)
        if options.check and name in CHECKERS:
            run(options, ROOT / f"specs/jobs/{CHECKERS[name]}.yaml", {**parameters, "result": out}, 1024)
        out.unlink()


if __name__ == "__main__":
    sys.exit(main())
