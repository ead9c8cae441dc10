#!/usr/bin/env python3
"""What columns by header cost: CPU seconds of one thread, in turn, each pair beside the other in the same minute.

    csv_columns.py --flowrun PROGRAM [--before PROGRAM] [--dir DIR] [--rounds N]

3 of 300 columns beside splitting the lines alone; 3 of 10 by header beside all 10 by position; with --before, all 10 by
position beside what that program takes."""
import argparse
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile

MIB = 1 << 20


def make(path, columns, rng, size):
    """About `size` bytes of numbers of up to eight digits, and a text in every fourth column."""
    lines = [",".join(f"text{rng.randrange(10**4)}" if i % 4 == 0 else str(rng.randrange(10 ** rng.randint(1, 8)))
                      for i in range(columns)) + "\n" for _ in range(max(200, 10_000 // columns))]
    block = "".join(lines)
    with open(path, "w") as file:
        file.write(",".join(f"c{i}" for i in range(columns)) + "\n")
        for _ in range(size // len(block)):
            file.write(block)


def job(dir, name, source):
    path = dir / f"{name}.yaml"
    path.write_text(f"flowrun: 1\nnodes:\n  rows: {source}\n"
                    "  n: {op: reduce, in: rows, with: {let: {n: count()}}}\n")
    return path


def cpu_seconds(program, path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "-q", "-j", "1", path], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(what, one, other, rounds):
    pairs = [(cpu_seconds(*one), cpu_seconds(*other)) for _ in range(rounds + 1)][1:]
    print(f"{what}: {statistics.median(a / b for a, b in pairs):.2f} x "
          f"({min(a for a, _ in pairs):.3f} s beside {min(b for _, b in pairs):.3f} s)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True)
    parser.add_argument("--before")
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as place:
        dir = pathlib.Path(place)
        rng = random.Random(1)
        wide, ten = dir / "wide.csv", dir / "ten.csv"
        make(wide, 300, rng, 256 * MIB)
        make(ten, 10, rng, 192 * MIB)
        program = options.flowrun
        all_ten = ", ".join(f"c{i}: {'u32' if i % 4 else 'string'}" for i in range(10))
        lines = job(dir, "lines", f"{{op: file.read_lines, with: {{path: {wide}}}}}")
        some = job(dir, "some", f"{{op: file.read_csv, with: {{path: {wide}, columns: header, "
                   "type: {c7: u32, c150: u32, c289: u32}}}")
        position = job(dir, "position", f"{{op: file.read_csv, with: {{path: {ten}, header: true, type: {{{all_ten}}}}}}}")
        header = job(dir, "header", f"{{op: file.read_csv, with: {{path: {ten}, columns: header, "
                     "type: {c1: u32, c5: u32, c8: string}}}")
        compare("3 of 300 columns beside the lines alone", (program, some), (program, lines), options.rounds)
        compare("3 of 10 by header beside 10 by position", (program, header), (program, position), options.rounds)
        if options.before:
            compare("10 by position beside the same before", (program, position), (options.before, position), options.rounds)


if __name__ == "__main__":
    main()
