"""What a job has written, as arrays and tables."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import shutil
import tempfile
import weakref
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO, Mapping, TextIO, cast

import numpy as np
import numpy.typing as npt

from flowrun.csv_files import CsvForm, may_be_missing
from flowrun.reports import OutputFile, Report
from flowrun.row_types import DATE, dates_of, dtype_of, is_odd, scale_of, widened, widened_column, with_dates

if TYPE_CHECKING:
    import pyarrow

# How a file is compressed, by its name, where the job doesn't say.
_ENDINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
# What can't be read as numbers by a name of NumPy's.
_ARROW = {"bool": "bool_", "u24": "uint32", "u40": "uint64", "u48": "uint64", "f32": "float32", "f64": "float64"}


class Output:
    """What a node of the job has written: file.write_npy, file.write_rows, file.write_csv, file.write_json_lines or
    file.write_lines; of others, file.write_protobuf, say, there is the path. A path that names columns
    ("out/{country}.csv") stands for several files: `files` has them, and array(), column() and table() read all."""

    def __init__(self, told: OutputFile, path: str, keeper: object = None, folder: PathOf | None = None):
        self._told = told
        self._folder = folder
        self.node = told["node"]
        self.op = told["op"]
        self.path = path
        self.state = told["state"]
        self.columns = [(column["name"], column["type"]) for column in told["columns"]]
        self.settings = {setting["name"]: setting["value"] for setting in told["with"]}
        self._missing = may_be_missing(self.settings)
        self._keeper = keeper  # a temporary folder lives as long as somebody may read in it

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind}" for name, kind in self.columns)
        return f"<flowrun.Output {self.node!r} {self.path!r} {{{columns}}}>"

    @property
    def is_partitioned(self) -> bool:
        """Whether the path names columns, and stands for a file for each of their values."""
        return bool(self._told.get("path_columns"))

    @property
    def files(self) -> dict[str, Output]:
        """The files by their paths, in the order in which their first rows came; of an output with one file this one."""
        if not self.is_partitioned or self._folder is None:
            return {self.path: self}
        listed = self._told["files"]
        if len(listed) < self._told["num_files"]:
            raise ValueError(
                f"{self.node!r} has written {self._told['num_files']} files, and the report lists {len(listed)} of them: "
                f"read the folder of {self.path}"
            )
        one_file = cast(OutputFile, {**self._told, "path_columns": [], "files": [], "num_files": 0})
        paths = [self._folder.of(file["path"]) for file in listed]
        return {path: Output(one_file, path, self._keeper) for path in paths}

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the rows in the file. TypeError where a column is text."""
        return self._load().dtype if self.op == "file.write_npy" else dtype_of(self.columns)

    @property
    def compression(self) -> str:
        """none, gzip, zstd, bzip2 or xz: as the job says, or the file's name."""
        said = self.settings.get("compression", "auto")
        if said != "auto":
            return said
        return next((how for ending, how in _ENDINGS.items() if self.path.endswith(ending)), "none")

    def _open(self) -> BinaryIO:
        """What is in the file, without its compression."""
        if self.compression == "none":
            return open(self.path, "rb")
        if self.compression == "zstd":
            return _zstd(self.path)
        opens: Any = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}[self.compression]
        return cast(BinaryIO, opens(self.path, "rb"))

    def _open_text(self) -> TextIO:
        return io.TextIOWrapper(self._open(), encoding="utf-8", errors="surrogateescape", newline="\n")

    def _load(self) -> npt.NDArray[Any]:
        """The array of a NumPy file, mapped into memory and read-only."""
        loaded: npt.NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return loaded

    def rows(self) -> npt.NDArray[Any]:
        """The rows of a row file or NumPy file as they lie there, mapped into memory and read-only; of a compressed file
        a copy. Rows of a plain array of NumPy have no names."""
        if self.op == "file.write_npy":
            return self._load()
        self._must_be("file.write_rows", "rows()", "array() or table()")
        if self.is_partitioned:
            raise TypeError(f"{self.node!r} has written several files: take rows() of one of `files`, or array()")
        if self.compression != "none":
            with self._open() as file:
                return np.frombuffer(file.read(), self.dtype)
        if os.path.getsize(self.path) == 0:  # which can't be mapped
            return np.empty(0, self.dtype)
        return np.memmap(self.path, self.dtype, mode="r")

    def array(self) -> npt.NDArray[Any]:
        """A structured array. Of a row file it is mapped into memory and nothing is copied, unless there are columns of
        24, 40 or 48 bits, which become numbers of 32 and 64, or dates, which become datetime64[D]. A NumPy file is what
        numpy.load gives: structured, or plain. A text file is read as a whole; its texts are Python's. Where its node has
        `missing`, the array is a masked one, and what is masked is zero or empty, as it is in a row of a job."""
        if self.is_partitioned:
            arrays = [file.array() for file in self.files.values()]
            if not arrays:
                return self._no_rows()
            joined: npt.NDArray[Any] = (np.ma if self._missing else np).concatenate(arrays)
            return joined
        if self.op == "file.write_npy":
            return self._load()
        if self.op == "file.write_rows":
            return with_dates(widened(self.rows()), (name for name, kind in self.columns if kind == "date"))
        return self._array_of_text()

    def column(self, name: str) -> npt.NDArray[Any]:
        """One column. Only dates, and the columns of 24, 40 and 48 bits, are copied, and those of a NumPy file are not."""
        if self.op == "file.write_npy":
            return self._npy_column(name)
        if self.is_partitioned or self.op != "file.write_rows":
            picked: npt.NDArray[Any] = self.array()[name]
            return picked
        rows = self.rows()
        of_rows: npt.NDArray[Any] = rows[name]
        if dict(self.columns)[name] == "date":
            return dates_of(of_rows)
        return widened_column(of_rows) if is_odd(rows.dtype[name]) else of_rows

    def _npy_column(self, name: str) -> npt.NDArray[Any]:
        loaded = self._load()
        if loaded.dtype.names is not None:
            of_fields: npt.NDArray[Any] = loaded[name]
            return of_fields
        place = [column for column, _ in self.columns].index(name)
        return loaded if loaded.ndim == 1 else loaded[:, place]

    def table(self) -> pyarrow.Table:
        """A pyarrow.Table. A row file with one column of 8, 16, 32 or 64 bits, or of bytes, is not copied."""
        try:
            import pyarrow
        except ImportError as missing:
            raise ImportError("table() needs pyarrow: pip install pyarrow; array() does without") from missing
        if self.is_partitioned:
            tables = [file.table() for file in self.files.values()]
            if tables:
                return pyarrow.concat_tables(tables)
            raise ValueError(f"{self.node!r} has written no file, since there were no rows")
        if self.op == "file.write_csv":
            return self._table_of_csv()
        if self.op == "file.write_lines":
            return pyarrow.table({self._line_column(): pyarrow.array(self._lines(), pyarrow.string())})
        if self.op == "file.write_json_lines":
            return self._table_of_json()
        return pyarrow.table({name: self._arrow_column(name, kind) for name, kind in self.columns})

    def _no_rows(self) -> npt.NDArray[Any]:
        if self.op == "file.write_lines":
            return np.empty(0, [(self._line_column(), "O")])
        if self.op == "file.write_rows":
            return with_dates(
                widened(np.empty(0, self.dtype)), (name for name, kind in self.columns if kind == "date")
            )
        return self._array_of([])

    def _must_be(self, op: str, what: str, instead: str) -> None:
        if self.op != op:
            raise TypeError(f"{self.node!r} is written by {self.op}, and {what} reads what {op} writes: take {instead}")

    def _arrow_column(self, name: str, kind: str) -> Any:
        import pyarrow

        column = self.column(name)
        if kind == "timestamp":
            return pyarrow.array(np.ascontiguousarray(column)).cast(pyarrow.timestamp("us", "UTC"))
        scale = scale_of(kind)
        if scale is not None:
            wide = np.empty((len(column), 2), "<i8")  # 128 bits, the lower half first
            wide[:, 0] = column
            wide[:, 1] = column >> 63
            return pyarrow.Array.from_buffers(
                pyarrow.decimal128(19, scale), len(column), [None, pyarrow.py_buffer(wide)]
            )
        if not kind.startswith("bytes["):
            return pyarrow.array(np.ascontiguousarray(column))
        width = column.dtype.itemsize
        dense = np.ascontiguousarray(column)
        return pyarrow.Array.from_buffers(
            pyarrow.binary(width), len(dense), [None, pyarrow.py_buffer(dense.view("u1"))]
        )

    def _table_of_csv(self) -> Any:
        import pyarrow

        types = {name: _arrow_type(kind) for name, kind in self.columns}
        form = CsvForm.of(self.settings)
        if self.compression == "none":
            return form.table(lambda: self.path, os.path.getsize(self.path), types)
        with self._open() as file:
            text = file.read()
        return form.table(lambda: pyarrow.BufferReader(text), len(text), types)

    def _json_rows(self) -> list[tuple[Any, ...]]:
        """Missing values are None. So are NaN and infinities, which were written as null."""
        paths = [_keys(self.settings.get(f"names.{name}"), name) for name, _ in self.columns]
        # A float would lose digits of a decimal.
        as_read = Decimal if any(scale_of(kind) is not None for _, kind in self.columns) else None
        rows = []
        with self._open_text() as file:
            for line in file:
                record, row = json.loads(line, parse_float=as_read, parse_int=_whole_number), []
                for keys in paths:
                    value = record
                    for key in keys:
                        value = value[key]
                    row.append(value)
                rows.append(tuple(row))
        return rows

    def _table_of_json(self) -> Any:
        import pyarrow

        rows = self._json_rows()
        table = {}
        for at, (name, kind) in enumerate(self.columns):
            values = [None if row[at] is None else _json_value(row[at], kind) for row in rows]
            if kind in ("date", "timestamp"):
                table[name] = pyarrow.array(np.array(values, _text_dtype(name, kind))).cast(_arrow_type(kind))
            elif scale_of(kind) is not None:
                decimals = [None if row[at] is None else Decimal(row[at]) for row in rows]
                table[name] = pyarrow.array(decimals, _arrow_type(kind))
            else:
                table[name] = pyarrow.array(values, _arrow_type(kind))
        return pyarrow.table(table)

    def _line_column(self) -> str:
        """Which column file.write_lines takes: the one that is named, the only text, or text."""
        texts = [name for name, kind in self.columns if kind == "string"]
        return self.settings.get("column", texts[0] if len(texts) == 1 else "text")

    def _lines(self) -> list[str]:
        delimiter = self.settings.get("delimiter", "\n").replace("\\0", "\0").replace("\\n", "\n")
        with self._open_text() as file:
            lines = file.read().split(delimiter)
        return lines[:-1] if lines[-1] == "" else lines

    def _array_of_text(self) -> npt.NDArray[Any]:
        if self.op == "file.write_protobuf":
            raise TypeError(
                f"{self.node!r} is written by file.write_protobuf: {self.path} has messages behind their lengths, "
                "which the classes that protoc makes read; file.write_npy and file.write_csv make arrays"
            )
        if self.op == "file.write_lines":
            return np.array([(line,) for line in self._lines()], [(self._line_column(), "O")])
        names, kinds = [name for name, _ in self.columns], [kind for _, kind in self.columns]
        if self.op == "file.write_json_lines":
            may_lack = [name in self._missing for name in names]
            return self._array_of([tuple(map(_json_value, row, kinds, may_lack)) for row in self._json_rows()])
        self._must_be("file.write_csv", "array()", "its own reader")
        with self._open_text() as file:
            texts = CsvForm.of(self.settings).rows(file, names)
            return self._array_of([tuple(map(_value, row, kinds)) for row in texts])

    def _array_of(self, rows: list[tuple[Any, ...]]) -> npt.NDArray[Any]:
        """None stands for a value that is missing."""
        dtype = np.dtype([(name, "O" if kind == "string" else _text_dtype(name, kind)) for name, kind in self.columns])
        if not self._missing:
            return np.array(rows, dtype)
        zeros = tuple(_zero(kind) for _, kind in self.columns)
        filled = [tuple(zero if value is None else value for value, zero in zip(row, zeros)) for row in rows]
        mask = np.array([tuple(value is None for value in row) for row in rows], np.ma.make_mask_descr(dtype))
        zero_row: Any = np.array(zeros, dtype)
        masked: npt.NDArray[Any] = np.ma.MaskedArray(np.array(filled, dtype), mask, fill_value=zero_row)
        return masked


def _zero(kind: str) -> Any:
    """What a missing value is in a row of a job."""
    return "" if kind == "string" else b"" if kind.startswith("bytes[") else 0


def _zstd(path: str) -> BinaryIO:
    """Python has no zstd before 3.14; pyarrow has it."""
    try:
        import pyarrow
    except ImportError as missing:
        raise ImportError("an output that is compressed with zstd needs pyarrow: pip install pyarrow") from missing
    return cast(BinaryIO, pyarrow.CompressedInputStream(pyarrow.OSFile(path), "zstd"))


def _arrow_type(kind: str) -> Any:
    import pyarrow

    if kind == "string":
        return pyarrow.string()
    if kind.startswith("bytes["):
        return pyarrow.binary()
    if kind == "date":
        return pyarrow.date32()
    if kind == "timestamp":
        return pyarrow.timestamp("us", "UTC")
    scale = scale_of(kind)
    if scale is not None:
        return pyarrow.decimal128(19, scale)
    name = _ARROW.get(kind) or kind.replace("u", "uint", 1).replace("i", "int", 1 if kind[0] == "i" else 0)
    return getattr(pyarrow, name)()


def _keys(path: str | None, name: str) -> list[str]:
    """The keys of a path such as user.id, where \\. is a dot in a key and \\\\ a backslash."""
    if path is None:
        return [name]
    parts = re.findall(r"((?:[^.\\]|\\.)+)", path)
    return [re.sub(r"\\(.)", r"\1", part) for part in parts]


def _json_value(value: Any, kind: str, may_be_missing: bool = False) -> Any:
    """In an array a float that JSON doesn't have, which was written as null, is NaN, unless it may be missing."""
    if value is None and may_be_missing:
        return None
    if kind.startswith("f"):
        return float("nan") if value is None else float(value)
    scale = scale_of(kind)
    if scale is not None:
        return int(Decimal(value).scaleb(scale))
    return _value(value, kind) if isinstance(value, str) else value


def _text_dtype(name: str, kind: str) -> Any:
    if kind == "date":
        return DATE
    wide = {"u24": "u32", "u40": "u64", "u48": "u64"}.get(kind, kind)
    return dtype_of([(name, wide)])[name]


def _value(text: str | None, kind: str) -> Any:
    if text is None or kind == "string":
        return text
    if kind == "bool":
        return text == "true"
    if kind.startswith("bytes["):
        return text.encode("utf-8", "surrogateescape")
    if kind == "date":
        return np.datetime64(text, "D")
    if kind == "timestamp":
        return np.datetime64(text.removesuffix("Z"), "us")
    if kind.startswith("decimal["):
        return int(text.replace(".", ""))  # all digits of the scale are there
    return float(text) if kind.startswith("f") else int(text)


class Result(Mapping[str, Output]):
    """A job that has succeeded: `result["write"]` is what the node `write` has written, `report` what was done."""

    def __init__(self, report: Report, warnings: list[str], folder: PathOf):
        self.report = report
        self.warnings = warnings
        self._outputs = {
            told["node"]: Output(told, folder.of(told["path"]), folder.temporary, folder)
            for told in report["outputs"]
            if told["node"]
        }

    def __getitem__(self, node: str) -> Output:
        if node not in self._outputs:
            raise KeyError(f"{node!r} has written no file; these nodes have: {', '.join(self._outputs) or 'none'}")
        return self._outputs[node]

    def __iter__(self) -> Any:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)


def _whole_number(text: str) -> float:
    """A float that is -0.0 is written as -0, and no integer is."""
    return -0.0 if text == "-0" else int(text)


def _remove_as(process: int, folder: str) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class TemporaryFolder:
    """Goes when the last output in it does. Arrays that are mapped from its files stay as they are. A copy in a process
    that was forked from this one is none of its outputs."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="flowrun-rows-")
        weakref.finalize(self, _remove_as, os.getpid(), self.name)


class PathOf:
    """Paths as the report has them, from here: it is told relative to the job's folder, and masks the environment."""

    def __init__(
        self,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        temporary: TemporaryFolder | None,
        standard_output: str | None = None,
    ):
        self.temporary = temporary
        self._standard_output = standard_output  # the file that stands for it; None: somebody else has it
        self._cwd = os.path.abspath(cwd or ".")
        self._environment = {**os.environ, **(env or {})}

    def of(self, path: str) -> str:
        if path in ("-", "/dev/stdout"):  # the report has the second
            return self._standard_output or path
        whole = re.sub(r"\$\{env:([^}]*)\}", lambda name: self._environment.get(name[1], name[0]), path)
        return os.path.join(self._cwd, whole)
