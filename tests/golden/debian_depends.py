#!/usr/bin/env python3
"""The two answers of specs/examples/debian-depends.yaml, computed without flowrun.

    debian_depends.py --flowrun BIN      run the job into a temporary directory, compare, exit 0 or 1
    debian_depends.py --check DIR        compare DIR/top.csv and DIR/pairs.csv
    debian_depends.py --write DIR        write what is right to DIR

Shares nothing with the engine: sets, a Counter and Python's sort.
"""
import argparse
import collections
import itertools
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def answers(lines, num_pairs):
    """The content of top.csv and pairs.csv as bytes."""
    dependencies = collections.defaultdict(list)
    named = collections.Counter()
    for line in lines:
        package, dependency = line.rstrip(b"\n").split(b",")
        dependencies[package].append(dependency)
        named[dependency] += 1
    together = collections.Counter()
    for found in dependencies.values():
        together.update(itertools.combinations(sorted(found), 2))
    top = sorted(named.items(), key=lambda item: (-item[1], item[0]))
    pairs = sorted(together.items(), key=lambda item: (-item[1], item[0]))[:num_pairs]
    return (b"".join(b"%s,%d\n" % item for item in top),
            b"".join(b"%s,%s,%d\n" % (a, b, count) for (a, b), count in pairs))


def compare(path, right):
    """True when the file holds exactly `right`; says where it differs otherwise."""
    try:
        got = path.read_bytes()
    except OSError as cause:
        print(f"{path}: {cause.strerror}")
        return False
    if got == right:
        print(f"{path.name}: {right.count(10)} lines, as expected")
        return True
    got, right = got.split(b"\n"), right.split(b"\n")
    number, (a, b) = next((number, pair) for number, pair in enumerate(itertools.zip_longest(got, right), 1)
                          if pair[0] != pair[1])
    print(f"{path}:{number}: got {a}, expected {b} ({len(got) - 1} lines, expected {len(right) - 1})")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--flowrun", type=pathlib.Path, metavar="BIN")
    action.add_argument("--check", type=pathlib.Path, metavar="DIR")
    action.add_argument("--write", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--input", type=pathlib.Path, default=ROOT / "specs/examples/data/debian-depends.csv")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("rest", nargs="*", help="after --: more arguments for flowrun")
    options = parser.parse_args()

    with open(options.input, "rb") as lines:
        top, pairs = answers(lines, options.pairs)
    if options.write:
        (options.write / "top.csv").write_bytes(top)
        (options.write / "pairs.csv").write_bytes(pairs)
        return 0
    with tempfile.TemporaryDirectory(prefix="flowrun-debian-depends-") as temporary:
        where = options.check or pathlib.Path(temporary)
        if options.flowrun:
            command = [options.flowrun, ROOT / "specs/examples/debian-depends.yaml", "-p", f"input={options.input}",
                       "-p", f"out={where}", "-p", f"pairs={options.pairs}", *options.rest]
            subprocess.run([str(word) for word in command], check=True, cwd=ROOT)
        # Both are compared, so that one failure doesn't hide the other.
        right = [compare(where / "top.csv", top), compare(where / "pairs.csv", pairs)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
