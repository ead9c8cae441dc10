"""What went wrong, with its places: the exit code of the program decides which exception it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowrun.reports import Report


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong. `line` and `column` count from 1, columns in bytes; 0 where there is no place. `path` is the
    place in a job that is a dict, as `settings` names it: nodes.sorted.with.by.0."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    expected: str = ""
    advice: str = ""
    path: str = ""

    def __str__(self) -> str:
        place = self.path or self.file + (f":{self.line}:{self.column}" if self.line else "")
        lines = [f"{place}: {self.message}" if place else self.message]
        lines += [f"  expected: {self.expected}"] if self.expected else []
        lines += [f"  help: {self.advice}"] if self.advice else []
        return "\n".join(lines)


class FlowrunError(Exception):
    """The program ended with `exit_code`. `report` is there where the job had begun."""

    def __init__(self, faults: list[Fault], exit_code: int = 0, messages: str = "", report: Report | None = None):
        super().__init__("\n".join(map(str, faults)) or messages or f"flowrun ended with exit code {exit_code}")
        self.faults = faults
        self.exit_code = exit_code
        self.messages = messages  # all that it said on standard error, as it stood there
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle makes the exception of in another process; by itself it would take the message alone."""
        return type(self), (self.faults, self.exit_code, self.messages, self.report), self.__dict__


class UsageError(FlowrunError):
    """An option has a wrong value."""


class BadDataError(FlowrunError):
    """The content of an input is wrong."""


class InputMissingError(FlowrunError):
    """A job or an input is not there, or can't be read."""


class InternalError(FlowrunError):
    """A bug in flowrun."""


class OutputError(FlowrunError):
    """An output can't be made, or its disk is full."""


class ReadWriteError(FlowrunError):
    """Reading or writing failed."""


class ResourcesError(FlowrunError):
    """Out of scratch or memory: again with more."""


class JobError(FlowrunError):
    """The job is wrong; `faults` has what is. Of many that say the same it has three; check() gives all."""


class StoppedError(FlowrunError):
    """A signal stopped the program."""


class ProgramNotFoundError(FlowrunError):
    """There is no program flowrun."""


_BY_CODE: dict[int, type[FlowrunError]] = {
    64: UsageError,
    65: BadDataError,
    66: InputMissingError,
    70: InternalError,
    73: OutputError,
    74: ReadWriteError,
    75: ResourcesError,
    78: JobError,
    129: StoppedError,
    130: StoppedError,
    143: StoppedError,
}

# "job.yaml:7:9: error: …", "--set a=b: error: …" and "flowrun: error: …", or an internal error.
_FAULT = re.compile(r"(?:(?P<place>\S.*?)(?::(?P<line>\d+):(?P<column>\d+))?: )?(?:internal )?error: (?P<message>.*)")
_PLACE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)", re.DOTALL)


def faults_in(messages: str) -> list[Fault]:
    """The faults of what the program has said on standard error."""
    out: list[Fault] = []
    for line in messages.splitlines():
        if not line.startswith(" ") and (found := _FAULT.fullmatch(line)):
            place, message = found["place"] or "", found["message"]
            at_line, at_column = int(found["line"] or 0), int(found["column"] or 0)
            if place == "flowrun":  # of data: the message begins with its place, if it has one
                place = ""
                if inner := _PLACE.fullmatch(message):
                    place, message = inner["file"], inner["message"]
                    at_line, at_column = int(inner["line"]), int(inner["column"])
            out.append(Fault(message, place, at_line, at_column))
        elif out and (more := re.fullmatch(r"  (expected|help): (.*)", line)):
            last = out[-1]
            expected, advice = (more[2], last.advice) if more[1] == "expected" else (last.expected, more[2])
            out[-1] = Fault(last.message, last.file, last.line, last.column, expected, advice)
    return out


def error_of(
    exit_code: int, messages: str, report: Report | None = None, faults: list[Fault] | None = None
) -> FlowrunError:
    """`faults`: those of the messages, where the caller knows their places by other names."""
    kind = StoppedError if exit_code < 0 else _BY_CODE.get(exit_code, FlowrunError)
    return kind(faults_in(messages) if faults is None else faults, exit_code, messages, report)
