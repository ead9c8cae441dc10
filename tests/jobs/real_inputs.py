#!/usr/bin/env python3
"""Jobs on real inputs.

    real_inputs.py --flowrun PROGRAM [--data DIR] [WHAT...]     WHAT: debian (the default), bible, wordnet

- debian: Debian's dependency graph, which lies in specs/examples/data: distances, components, degrees, independent set
  and triangles against the same in Python.
- bible: the suffix array of the King James Bible (tools/fetch-data bible) against libdivsufsort's.
- wordnet: how deep each noun of WordNet lies (tools/fetch-data wordnet) against the same in Python.
"""

import argparse
import ctypes
import ctypes.util
import pathlib
import sys
import tempfile

import references
from jobs_test import run
from rows import pack, unpack

ROOT = pathlib.Path(__file__).resolve().parents[2]


def result_of(flowrun, name, params, folder, widths, options=("-m", "64MiB")):
    code, said = run(flowrun, name, {**params, "out": folder / "out"}, folder, options)
    if code != 0:
        raise SystemExit(f"{name}: exit code {code}: {said}")
    return unpack((folder / "out").read_bytes(), widths)


def compare(name, found, expected):
    """1 if they differ."""
    print(f"{name}: {len(found)} rows, {'as expected' if found == expected else 'NOT as expected'}")
    return int(found != expected)


def debian(flowrun, data, folder):
    lines = (ROOT / "specs/examples/data/debian-depends.csv").read_text().splitlines()
    pairs = [tuple(line.split(",")) for line in lines]
    ids = {name: i for i, name in enumerate(sorted({name for pair in pairs for name in pair}))}
    edges = [(ids[a], ids[b]) for a, b in pairs]
    n = len(ids)
    (folder / "edges").write_bytes(pack(edges, [4, 4]))
    params = {"edges": folder / "edges", "nodes": n}
    failures = 0
    for name, source, expected in [
        ("bfs", "libc6", references.distances(n, edges, ids["libc6"])),
        ("bfs-mm", "libc6", references.distances(n, edges, ids["libc6"])),
        ("components", None, references.components(n, edges)),
        ("components-stars", None, references.components(n, edges)),
        ("degree", None, references.degrees(n, edges)),
        ("colouring", None, references.greedy_colours(n, edges)),
    ]:
        more = {} if source is None else {"source": ids[source]}
        failures += compare(name, result_of(flowrun, name, {**params, **more}, folder, [4, 4]), expected)
    failures += compare("mis", result_of(flowrun, "mis", params, folder, [4]), references.independent_set(n, edges))
    triangles = references.triangles(n, edges)
    failures += compare("triangles", result_of(flowrun, "triangles", params, folder, [4, 4, 4]), triangles)
    return failures


def bible(flowrun, data, folder):
    path = data / "bible/kjv.txt"
    library = ctypes.util.find_library("divsufsort")
    if not path.exists() or library is None:
        raise SystemExit("bible needs libdivsufsort, and tools/fetch-data bible")
    text = path.read_bytes()
    array = (ctypes.c_int32 * len(text))()
    if ctypes.CDLL(library).divsufsort(text, array, ctypes.c_int32(len(text))) != 0:
        raise SystemExit("libdivsufsort failed")
    expected = [(pos,) for pos in array]
    failures = 0
    for name in ["suffix-array", "suffix-array-doubling", "suffix-array-discarding"]:
        failures += compare(name, result_of(flowrun, name, {"text": path}, folder, [5], ("-m", "512MiB")), expected)
    return failures


def wordnet(flowrun, data, folder):
    path = data / "wordnet/hypernyms.u32x2"
    if not path.exists():
        raise SystemExit("wordnet needs tools/fetch-data wordnet")
    edges = unpack(path.read_bytes(), [4, 4])
    n = len((data / "wordnet/synsets.txt").read_text().splitlines())
    depth = [0] * n
    for above, node in sorted(edges, key=lambda edge: edge[1]):
        depth[node] = max(depth[node], depth[above] + 1)
    found = result_of(flowrun, "dag-longest-path", {"edges": path, "nodes": n}, folder, [4, 4])
    return compare("dag-longest-path", found, list(enumerate(depth)))


def main():
    kinds = {"debian": debian, "bible": bible, "wordnet": wordnet}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "data")
    parser.add_argument("what", nargs="*", metavar="WHAT")
    options = parser.parse_args()
    failures = 0
    for what in options.what or ["debian"]:
        if what not in kinds:
            parser.error(f"'{what}' is none of {', '.join(kinds)}")
        with tempfile.TemporaryDirectory(prefix="flowrun-jobs-") as temporary:
            failures += kinds[what](options.flowrun, options.data, pathlib.Path(temporary))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
