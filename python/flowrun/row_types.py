"""Row types of Flowrun and structured dtypes of NumPy: the same bytes, packed, little endian."""

from __future__ import annotations

import re
from typing import Any, Iterable

import numpy as np
import numpy.typing as npt

_NUMBERS = {
    "bool": "?",
    "u8": "u1",
    "u16": "<u2",
    "u32": "<u4",
    "u64": "<u8",
    "i8": "i1",
    "i16": "<i2",
    "i32": "<i4",
    "i64": "<i8",
    "f32": "<f4",
    "f64": "<f8",
    "timestamp": "<M8[us]",
}
# A date is a number of days of 32 bits; NumPy has dates of 64.
_DAYS = np.dtype("<i4")
DATE = np.dtype("<M8[D]")
# NumPy has no numbers of these widths: their bytes, and what holds them as numbers.
_ODD = {"u24": (3, "<u4"), "u40": (5, "<u8"), "u48": (6, "<u8")}
_WIDE = {width: number for width, number in _ODD.values()}


def scale_of(kind: str) -> int | None:
    """S of decimal[S]; None for every other type.

    >>> scale_of("decimal[2]")
    2
    """
    found = re.fullmatch(r"decimal\[(\d+)\]", kind)
    return int(found[1]) if found else None


def dtype_of(columns: Iterable[tuple[str, str]]) -> np.dtype[Any]:
    """The dtype of a row file with these columns, (name, type) each.

    u24, u40 and u48 are fields of bytes, which `widened` makes numbers of. bytes[N] is S<N>: equal where all bytes are
    equal, but NumPy takes zero bytes at the end off when it gives a single value. timestamp is datetime64[us]; date is a
    field of i4, the days since 1970-01-01, which `with_dates` makes datetime64[D] of. decimal[S] is i8, a number of units of
    10^-S. Text has no fixed width: TypeError.

    >>> dtype_of([("id", "u32"), ("ok", "bool"), ("key", "bytes[3]")]).itemsize
    8
    """
    fields: list[Any] = []
    for name, kind in columns:
        if kind in _NUMBERS:
            fields.append((name, _NUMBERS[kind]))
        elif kind == "date":
            fields.append((name, _DAYS))
        elif scale_of(kind) is not None:
            fields.append((name, "<i8"))
        elif kind in _ODD:
            fields.append((name, "u1", (_ODD[kind][0],)))
        elif found := re.fullmatch(r"bytes\[(\d+)\]", kind):
            fields.append((name, f"S{found[1]}"))
        else:
            raise TypeError(
                f"column {name!r} is of type {kind}, for which there is no field of fixed width in NumPy: "
                "write it with file.write_csv and read it with table()"
            )
    return np.dtype(fields)


def row_type_of(dtype: npt.DTypeLike) -> dict[str, str]:
    """The row type that a job has to name to read arrays of a dtype, which must be packed and little endian.

    >>> row_type_of([("src", "<u4"), ("weight", "<f8")])
    {'src': 'u32', 'weight': 'f64'}
    """
    exact = np.dtype(dtype)
    if exact.names is None or exact.fields is None:
        raise TypeError(f"{exact} has no columns: a structured dtype, such as [('key', '<u8')], has")
    kinds = {np.dtype(code): name for name, code in _NUMBERS.items()}
    out: dict[str, str] = {}
    end = 0
    for name in exact.names:
        field, offset = exact.fields[name][:2]
        if offset != end:
            raise TypeError(f"there is padding before column {name!r}: make the dtype without align=True")
        end = offset + field.itemsize
        odd = [kind for kind, (width, _) in _ODD.items() if field.subdtype == (np.dtype("u1"), (width,))]
        if field in kinds:
            out[name] = kinds[field]
        elif field.kind == "S" and field.itemsize > 0:
            out[name] = f"bytes[{field.itemsize}]"
        elif odd:
            out[name] = odd[0]
        else:
            raise TypeError(f"column {name!r} is of dtype {field}, which no column of Flowrun is")
    if end != exact.itemsize:
        raise TypeError("there is padding behind the last column: make the dtype without align=True")
    return out


def is_odd(field: np.dtype[Any]) -> bool:
    return field.subdtype is not None and field.subdtype[0] == np.dtype("u1") and field.itemsize in _WIDE


def widened_column(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(n, 3), (n, 5) or (n, 6) bytes as n numbers: a copy."""
    width = column.shape[1]
    number = np.dtype(_WIDE[width])
    out = np.zeros(len(column), number)
    out.view("u1").reshape(len(column), number.itemsize)[:, :width] = column
    return out


def dates_of(days: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Days since 1970-01-01 as datetime64[D]: a copy."""
    return days.astype("<i8").view(DATE)


def with_dates(rows: npt.NDArray[Any], names: Iterable[str]) -> npt.NDArray[Any]:
    """The rows with these columns, of days, as datetime64[D]: the same array if there are none, else a copy."""
    dates = set(names)
    if not dates:
        return rows
    fields = rows.dtype.names or ()
    out = np.empty(len(rows), [(name, DATE if name in dates else rows.dtype[name]) for name in fields])
    for name in fields:
        out[name] = dates_of(rows[name]) if name in dates else rows[name]
    return out


def widened(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The rows with u24 as u32, and u40 and u48 as u64: the same array if there are none, else a copy."""
    fields = {name: rows.dtype[name] for name in rows.dtype.names or ()}
    if not any(map(is_odd, fields.values())):
        return rows
    wide = [(name, np.dtype(_WIDE[field.itemsize]) if is_odd(field) else field) for name, field in fields.items()]
    out = np.empty(len(rows), wide)
    for name, field in fields.items():
        out[name] = widened_column(rows[name]) if is_odd(field) else rows[name]
    return out
