"""What the program tells as JSON, as dicts with types. Protocol Buffers write numbers of 64 bits as text in JSON: here
they are numbers again. What a newer program tells besides is left as it is."""

from __future__ import annotations

import typing
from typing import Any, Dict, List, TypedDict


class Progress(TypedDict, total=False):
    """About once a second, and at the end, when `status` is there."""

    ratio: typing.Optional[float]  # None: nothing is known of what is still to come
    ratio_known: bool
    phase: int
    phases: int
    activity: str
    rows: int
    rows_per_second: int
    elapsed_seconds: float
    bytes_read: int  # of input files
    bytes_read_per_second: int
    iterations: int  # of loops
    seconds_left: typing.Optional[float]
    status: str


class Column(TypedDict):
    name: str
    type: str


class Setting(TypedDict):
    name: str
    value: str


class PartFile(TypedDict):
    """One of the files of an output whose path names columns."""

    path: str
    rows: int
    bytes: int


# `with` is a word of Python, so this one is not written as a class.
OutputFile = TypedDict(
    "OutputFile",
    {
        "path": str,
        "state": str,
        "node": str,
        "op": str,
        "columns": List[Column],
        "with": List[Setting],
        "num_files": int,
        "files": List[PartFile],
        "path_columns": List[str],
    },
)


class Disk(TypedDict, total=False):
    path: str
    read_bytes: int
    written_bytes: int
    busy_seconds: float
    wait_seconds: float
    peak_used_bytes: int
    errors: int
    read_wait_seconds: float
    write_wait_seconds: float
    read_operations: int
    write_operations: int
    read_service_seconds: float
    write_service_seconds: float
    weight: float
    used_bytes: int
    limit_bytes: int
    in_flight: int


class Blocked(TypedDict):
    io: float
    memory: float
    input: float
    output: float


class Node(TypedDict):
    id: str
    op: str
    rows: int
    bytes: int
    busy_seconds: float
    blocked_seconds: Blocked
    rows_in: int
    rejected_rows: int
    file_read_bytes: int
    file_written_bytes: int
    fused_with: str
    counts: Dict[str, int]
    role: str
    inside: str
    iterations: int


class Verified(TypedDict):
    rows_in: int
    rows_out: int
    compared: str


class Sort(TypedDict, total=False):
    id: str
    runs: int
    merge_passes: int
    fan_in: int
    predicted_runs: int
    predicted_merge_passes: int
    compressed: bool
    run_bytes: int
    stored_run_bytes: int
    verified: Verified


class Totals(TypedDict, total=False):
    known: bool
    input_bytes: int
    scratch_written_bytes: int
    scratch_read_bytes: int
    output_bytes: int
    peak_scratch_bytes: int
    peak_memory_bytes: int


class ReportedValue(TypedDict):
    node: str
    name: str
    value: str


# `from` is a word of Python, too.
Edge = TypedDict(
    "Edge",
    {"from": str, "from_port": str, "to": str, "to_port": str, "kind": str, "rows": int, "bytes": int},
    total=False,
)


class ReportedPipeline(TypedDict):
    phase: int
    nodes: List[str]
    inside: str


class ReportedPhase(TypedDict, total=False):
    """On a cluster a stage, without the parts of the memory."""

    state: str
    start_seconds: float
    seconds: float
    nodes: List[str]
    memory_bytes: int
    batches_bytes: int
    held_bytes: int


class ReportedStage(TypedDict, total=False):
    """Tasks of a job on a cluster that ran side by side."""

    nodes: List[str]
    tasks: int
    seconds: float
    median_seconds: float
    slowest_seconds: float
    slowest_task: int
    slowest_because: str
    attempts: int
    phase: int
    inside: str
    tasks_done: int  # of a stage that has not ended
    tasks_at_work: int


class MemoryShare(TypedDict):
    node: str
    part: str
    phase: int
    given_bytes: int
    kept_bytes: int


class Parameter(TypedDict):
    name: str
    value: str


class Limit(TypedDict):
    kind: str
    name: str
    share: float
    setting: str
    gain: float
    detail: str


class Report(TypedDict):
    job: str
    status: str
    error: str
    wall_seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    memory_budget_bytes: int
    threads: int
    io_backend: str
    disks: List[Disk]
    nodes: List[Node]
    sorts: List[Sort]
    predicted: Totals
    actual: Totals
    prediction_known: bool
    results: List[ReportedValue]
    outputs: List[OutputFile]
    verdict: str
    limit: Limit
    format: int
    version: str
    host: str
    start: str
    end: str
    parameters: List[Parameter]
    phases: List[ReportedPhase]
    pipelines: List[ReportedPipeline]
    edges: List[Edge]
    memory: List[MemoryShare]
    stages: List[ReportedStage]


class Estimate(TypedDict, total=False):
    known: bool
    exact: bool
    rows: int
    bytes: int


class PlanOutput(TypedDict):
    name: str
    columns: List[Column]
    sorted_by: List[Dict[str, Any]]
    estimate: Estimate


class PlanInput(TypedDict):
    name: str
    from_node: int
    from_port: int
    stored: bool


class PlanNode(TypedDict):
    id: str
    op: str
    role: str
    elided: bool
    inputs: List[PlanInput]
    outputs: List[PlanOutput]
    facts: Dict[str, Any]


class PlanPhase(TypedDict):
    pipelines: List[int]
    memory_bytes: int
    batches_bytes: int
    held_bytes: int


class PlanSort(TypedDict):
    node: int
    known: bool
    rows: int
    bytes: int
    runs: int
    fan_in: int
    merge_passes: int
    written_bytes: int
    read_bytes: int
    block_bytes: int
    kept_bytes: int
    write_buffers: int
    read_buffers: int
    compressed: bool
    in_blocks: bool


class PlanMachine(TypedDict):
    memory_bytes: int
    threads: int
    disks: int
    block_bytes: int
    batch_bytes: int
    disk_depth: int


class Plan(TypedDict):
    job: str
    file: str
    machine: PlanMachine
    batch_bytes: int
    nodes: List[PlanNode]
    pipelines: List[Dict[str, Any]]
    queues: List[Dict[str, Any]]
    phases: List[PlanPhase]
    memory: List[Dict[str, Any]]
    sorts: List[PlanSort]
    predicted: Totals
    bodies: List[Dict[str, Any]]


def typed(value: Any, kind: Any) -> Any:
    """A value of JSON as the annotation says."""
    if kind is int and isinstance(value, str):
        return int(value)
    if kind is float and isinstance(value, (int, str)):
        return float(value)  # JSON has no other way to say NaN
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is list and isinstance(value, list):
        return [typed(item, inner[0]) for item in value]
    if origin is dict and isinstance(value, dict):
        return {key: typed(item, inner[1]) for key, item in value.items()}
    if typing.is_typeddict(kind) and isinstance(value, dict):
        kinds = typing.get_type_hints(kind)
        return {key: typed(item, kinds.get(key, Any)) for key, item in value.items()}
    return value
