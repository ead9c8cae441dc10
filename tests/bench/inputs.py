"""The inputs of the benchmarks: made when they are wanted, kept while they are, removed with everything else.

An input is a file of rows (peers/make_rows.cc, flowrun gen) or of text (tools/fetch-data), and, for peers that can't read
rows, the same rows as an uncompressed Parquet file. A file that has its name is whole; CHECK beside it is what
check_rows says of it."""
import contextlib
import dataclasses
import os
import pathlib
import subprocess

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parents[1]
ROW_BYTES = {"u64": 8, "rows16": 16, "rows32": 32, "records": 100}


class unavailable(Exception):
    """Why an input can't be had here."""


@dataclasses.dataclass(frozen=True)
class input_file:
    shape: str       # u64, rows16, rows32, records, lines
    keys: str        # uniform, zipf, sorted, reversed, few; gensort, text
    path: pathlib.Path
    num_rows: int
    num_bytes: int
    check: str       # what check_rows says: number and hash of the rows

    @property
    def parquet(self):
        return self.path.with_suffix(".parquet")


class inputs:
    def __init__(self, place, programs, flowrun, python, text):
        self.place = place
        self.programs = programs
        self.flowrun = flowrun
        self.python = python
        self.text = text
        place.mkdir(parents=True, exist_ok=True)

    def path_of(self, shape, keys, num_bytes):
        return self.place / f"{shape}-{keys}-{num_bytes}.input"

    def get(self, shape, keys, num_bytes):
        """Made if it isn't there. Of lines, at most as many bytes as there are."""
        path = self.path_of(shape, keys, num_bytes)
        if not path.exists():
            part = path.with_suffix(".part")
            part.unlink(missing_ok=True)
            self.make(shape, keys, num_bytes, part)
            part.rename(path)
        note = path.with_suffix(".check")
        if not note.exists():
            note.write_text(self.check_rows(shape, path, any_order=True))
        told = note.read_text()
        return input_file(shape, keys, path, int(told.split()[0]), path.stat().st_size, told)

    def make(self, shape, keys, num_bytes, path):
        if shape == "lines":
            self.make_lines(num_bytes, path)
        elif shape == "records":
            subprocess.run([self.flowrun, "gen", "records", "--rows", str(num_bytes // 100), "-o", path], check=True)
        else:
            row_bytes = ROW_BYTES[shape]
            subprocess.run([self.programs / "make_rows", keys, str(row_bytes // 8), str(num_bytes // row_bytes), path],
                           check=True)

    def make_lines(self, num_bytes, path):
        """The first lines of the text."""
        if self.text == ROOT / "data/text/lines.txt" and not self.text.exists():
            done = subprocess.run([ROOT / "tools/fetch-data"], text=True, capture_output=True)
            if done.returncode != 0:
                raise unavailable(f"no text: {done.stderr.strip()}")
        if not self.text.exists():
            raise unavailable(f"no text: {self.text} is missing")
        with open(self.text, "rb") as text, open(path, "wb") as out:
            left = num_bytes
            while left > 0 and (piece := text.read(min(left, 1 << 24))):
                out.write(piece)
                left -= len(piece)
            out.write(text.readline())  # whole lines
            os.fsync(out.fileno())

    def with_parquet(self, file):
        """Makes file.parquet, if it isn't there."""
        if file.shape != "lines" and not file.parquet.exists():
            part = file.path.with_suffix(".parquet-part")
            subprocess.run([self.python, BENCH / "peers/parquet_rows.py", "from-rows", file.shape, file.path, part],
                           check=True)
            part.rename(file.parquet)

    def remove(self, shape, keys, num_bytes):
        path = self.path_of(shape, keys, num_bytes)
        for suffix in (".input", ".check", ".parquet"):
            path.with_suffix(suffix).unlink(missing_ok=True)

    def clean(self):
        """Removes what earlier calls, which ended badly, have left."""
        for pattern in ("*.part", "*.parquet-part", "*.out", "*.out.parquet"):
            for path in self.place.glob(pattern):
                path.unlink()

    def check_rows(self, shape, path, any_order=False):
        """Number and hash of the rows of a sorted file; ValueError when it isn't sorted."""
        more = ["--any-order"] if any_order else []
        with contextlib.ExitStack() as stack:
            given, source = path, None
            if path.suffix == ".parquet":
                given = "-"
                source = stack.enter_context(subprocess.Popen(
                    [self.python, BENCH / "peers/parquet_rows.py", "to-rows", shape, path], stdout=subprocess.PIPE))
            done = subprocess.run([self.programs / "check_rows", shape, given, *more], text=True, capture_output=True,
                                  stdin=source.stdout if source else None)
            if source:
                source.stdout.close()
                if source.wait() != 0 and done.returncode == 0:
                    raise ValueError(f"{path} can't be read")
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        return done.stdout.strip()
