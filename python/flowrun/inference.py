"""infer: what is in a file, and the source that reads it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List, Mapping, Sequence, TypedDict, cast

from flowrun.errors import error_of
from flowrun.process import PathLike, Stream, carry_out, program_at


class _InferredColumn(TypedDict):
    name: str
    type: str
    missing: int


class InferredColumn(_InferredColumn, total=False):
    header: str  # what the file calls it
    missing_texts: List[str]
    told_by: str  # the bool column that says where it is missing
    least: str
    most: str
    notes: List[str]


class _SeenRows(TypedDict):
    seen: int
    all_seen: bool


class SeenRows(_SeenRows, total=False):
    about: int  # of all rows, where not all were seen


class Inferred(TypedDict):
    """`types` and `nodes` are those of a job; `yaml` is the same as text, with comments."""

    format: str
    node: str
    paths: List[str]
    rows: SeenRows
    columns: List[InferredColumn]
    notes: List[str]
    questions: List[str]  # what the file doesn't tell, and how it was decided
    types: Dict[str, Dict[str, str]]
    nodes: Dict[str, Dict[str, Any]]
    yaml: str


def infer(
    path: PathLike | Sequence[PathLike],
    *,
    rows: int | None = None,
    bytes: int | str | None = None,
    all: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    descriptors: PathLike | None = None,
    message: str | None = None,
    name: str | None = None,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    stdin: Stream = None,
    binary: PathLike | None = None,
) -> Inferred:
    """Looks into a file, several of one source, a pattern, or standard input ("-"). Raises FlowrunError.

    A sample of up to `rows` rows and `bytes` of text is looked at, or with `all` everything. `format`, `delimiter` and
    `header` are for what the file shows wrongly, `descriptors` and `message` for files of Protocol Buffers, `name` is
    that of the node.
    """
    paths = [os.fspath(p) for p in ([path] if isinstance(path, (str, os.PathLike)) else path)]
    words = [program_at(binary), "--color=never", "infer", "--json"]
    given = {"--rows": rows, "--bytes": bytes, "--as": format, "--delimiter": delimiter, "--name": name}
    given |= {"--descriptors": None if descriptors is None else os.fspath(descriptors), "--message": message}
    words += [f"{option}={value}" for option, value in given.items() if value is not None]
    if header is not None:
        words.append(f"--header={'yes' if header else 'no'}")
    if all:
        words.append("--all")
    words += [f"./{p}" if p.startswith("-") and p != "-" else p for p in paths]  # a file, and no option
    code, out, said = carry_out(words, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE)
    if code != 0:
        raise error_of(code, said)
    return cast(Inferred, json.loads(out))
