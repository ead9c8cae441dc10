"""A job as the caller gives it, the file that the program reads, and where in the job a fault is."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Iterable, Iterator, Mapping, Union

from flowrun.errors import Fault

Job = Union[str, "os.PathLike[str]", Mapping[str, Any]]

# What faults have in the place of the name of a file that the caller never saw.
_NAMELESS = "<job>"


def has_file(job: Job) -> bool:
    """Whether it is a path; else it is a dict, or a text of several lines."""
    return isinstance(job, os.PathLike) or (isinstance(job, str) and "\n" not in job)


class JobFile:
    """The file of a job; that of a dict or a text goes with the stack."""

    def __init__(self, job: Job, stack: ExitStack):
        self._is_given = has_file(job)
        self._paths: list[str] = []  # of a dict: what is in each line of the file
        if isinstance(job, (str, os.PathLike)) and self._is_given:
            given = os.fspath(job)
            self.path = f"./{given}" if given.startswith("-") and given != "-" else given  # a file, and no option
            return
        text = job if isinstance(job, str) else json.dumps(job, ensure_ascii=False, indent=1)
        if not isinstance(job, str):
            self._paths = list(_paths_of_lines(job, ""))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flowrun-job-"))
        self.path = os.path.join(folder, "job.yaml")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def faults_for_caller(self, faults: Iterable[Fault], outputs: Iterable[str] = ()) -> list[Fault]:
        """The faults with places that the caller knows: no temporary file, and no line of a text that he didn't write.
        `outputs` are the nodes whose paths are arguments."""
        by_word = {f"--set nodes.{node}.with.path=": f"outputs.{node}" for node in outputs}
        return [self._fault_for_caller(fault, by_word) for fault in faults]

    def _fault_for_caller(self, fault: Fault, by_word: Mapping[str, str]) -> Fault:
        for word, name in by_word.items():
            if fault.file.startswith(word):
                return replace(fault, file="", path=name)
        if self._is_given or fault.file != self.path:
            return fault
        if not self._paths:
            return replace(fault, file=_NAMELESS)
        path = self._paths[fault.line - 1] if 0 < fault.line <= len(self._paths) else ""
        return replace(fault, file="" if path else _NAMELESS, line=0, column=0, path=path)


def _paths_of_lines(value: object, path: str) -> Iterator[str]:
    """What each line of json.dumps(value, indent=1) has, as --set names it: nodes.sorted.with.by.0."""
    yield path
    if not isinstance(value, (Mapping, list, tuple)) or not value:
        return
    for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _paths_of_lines(inner, f"{path}.{key}" if path else str(key))
    yield path
