"""Runs Flowrun jobs from Python.

    import flowrun
    result = flowrun.run("degree.yaml", {"input": "edges.txt"}, memory="4GiB", outputs={"write": None})
    rows = result["write"].array()          # a structured NumPy array, mapped from the file
    table = result["write"].table()         # a pyarrow.Table, where pyarrow is installed
    result.report["wall_seconds"]

The work is done by the program `flowrun`: the one that an argument names, else the environment variable FLOWRUN, else the
one on PATH.
"""

from flowrun.commands import check, plan, run
from flowrun.errors import (
    BadDataError,
    Fault,
    FlowrunError,
    InputMissingError,
    InternalError,
    JobError,
    OutputError,
    ProgramNotFoundError,
    ReadWriteError,
    ResourcesError,
    StoppedError,
    UsageError,
)
from flowrun.inference import Inferred, InferredColumn, infer
from flowrun.outputs import Output, Result
from flowrun.reports import Plan, Progress, Report
from flowrun.row_types import dtype_of, row_type_of, widened

__all__ = [
    "BadDataError",
    "Fault",
    "FlowrunError",
    "Inferred",
    "InferredColumn",
    "InputMissingError",
    "InternalError",
    "JobError",
    "Output",
    "OutputError",
    "Plan",
    "ProgramNotFoundError",
    "Progress",
    "ReadWriteError",
    "Report",
    "ResourcesError",
    "Result",
    "StoppedError",
    "UsageError",
    "check",
    "dtype_of",
    "infer",
    "plan",
    "row_type_of",
    "run",
    "widened",
]
