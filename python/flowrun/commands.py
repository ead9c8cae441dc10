"""run, check and plan: a job as a path, a dict or YAML text, and the options of the command as keywords."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from contextlib import ExitStack
from typing import Callable, Mapping, Sequence, Union, cast

import numpy as np

from flowrun.errors import Fault, error_of, faults_in
from flowrun.jobs import Job, JobFile, has_file
from flowrun.outputs import PathOf, Result, TemporaryFolder
from flowrun.process import PathLike, Stream, carry_out, program_at
from flowrun.reports import Plan, Progress, Report, typed

Values = Union[Mapping[str, object], None]


def _text(value: object, name: str) -> str:
    if value is None:
        raise TypeError(f"{name!r} is None, and a value is needed; leave it out, and its default holds")
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{name!r} is {type(value).__name__}, and a text is needed; decode() makes one")
    if isinstance(value, np.generic):  # the types of NumPy
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(value, ensure_ascii=False)  # JSON is YAML
    return str(value)


def _as_job_text(path: str) -> str:
    """In a job, ${…} of a path stands for something."""
    return path.replace("$", "$$")


def _path_as_yaml(path: PathLike) -> str:
    """In quotes, since a path such as [x].csv would be a list of YAML."""
    return json.dumps(os.fsdecode(path), ensure_ascii=False)


def _words(
    command: str,
    job: str,
    params: Values,
    binary: PathLike | None,
    plugins: Sequence[PathLike],
    settings: Values,
    memory: int | str | None,
    threads: int | None,
    scratch: PathLike | Sequence[PathLike] | None,
    scratch_limit: int | str | None,
) -> list[str]:
    words = [program_at(binary), "--color=never", *(f"--plugin={os.fspath(path)}" for path in plugins), command, job]
    for name, value in (params or {}).items():
        words += ["-p", f"{name}={_text(value, name)}"]
    for name, value in (settings or {}).items():
        text = _path_as_yaml(value) if isinstance(value, os.PathLike) else _text(value, name)
        words += ["--set", f"{name}={text}"]
    if isinstance(scratch, (str, os.PathLike)):
        scratch = [scratch]
    for directory in scratch or ():
        words += ["-T", os.fspath(directory)]
    for option, given in (("--memory", memory), ("--threads", threads), ("--scratch-limit", scratch_limit)):
        if given is not None:
            words.append(f"{option}={given}")
    return words


def _must_keep_its_paths(job: Job, outputs: Mapping[str, PathLike | None]) -> None:
    if not has_file(job):
        raise ValueError(
            "with resume=True the job has to be the path of a file: a later run finds by it what this one leaves when it "
            "is stopped. Write the dict or the text to a file that stays, and give its path"
        )
    for node, path in outputs.items():
        if path is None:
            raise ValueError(
                f"with resume=True the output of {node!r} needs a path: a temporary file is another one in each run, and no "
                "later run could go on with it"
            )


def _warnings(messages: str) -> list[str]:
    mark = "flowrun: warning: "
    return [line[len(mark) :] for line in messages.splitlines() if line.startswith(mark)]


def run(
    job: Job,
    params: Values = None,
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: PathLike | Sequence[PathLike] | None = None,
    scratch_limit: int | str | None = None,
    resume: bool = False,
    verify: bool | None = None,
    plugins: Sequence[PathLike] = (),
    outputs: Mapping[str, PathLike | None] | None = None,
    settings: Values = None,
    progress: Callable[[Progress], object] | None = None,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    binary: PathLike | None = None,
) -> Result:
    """Runs a job: a path, a dict, or YAML text of several lines. Raises FlowrunError.

    `params` are what -p gives, `settings` what --set does: {"nodes.top.with.limit": 5}. `outputs` says where nodes write,
    {node: path}; None is a temporary file, which goes when nobody can read it any more. `progress` is called about once
    a second. `env` is added to the environment. A KeyboardInterrupt stops the job, which leaves nothing without `resume`.

    What a node writes to the path "-" is a temporary file as well, and is read from the result as others are; with
    `stdout`, sys.stdout, say, it goes there.

    With `resume` a run goes on where an earlier one of the same job was stopped. It finds the work of that run by the
    paths of the job and of its outputs: a ValueError is raised where one of them would be another in each run.
    """
    if resume:
        _must_keep_its_paths(job, outputs or {})
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="flowrun-report-"))
        kept = TemporaryFolder() if stdout is None or None in (outputs or {}).values() else None
        written: str | None = None
        if stdout is None and kept is not None:
            written = os.path.join(kept.name, ".standard-output")  # no node is called so
            stdout = stack.enter_context(open(written, "wb"))
        given = JobFile(job, stack)
        changes = dict(settings or {})
        for node, path in (outputs or {}).items():
            place = _as_job_text(os.path.join(kept.name, node)) if kept is not None and path is None else path
            changes[f"nodes.{node}.with.path"] = _path_as_yaml(cast(PathLike, place))
        words = _words("run", given.path, params, binary, plugins, changes, memory, threads, scratch, scratch_limit)
        report_file = os.path.join(folder, "report.json")
        words += [f"--report={report_file}", f"--progress={'json' if progress else 'none'}"]
        if resume:
            words.append("--resume")
        if verify is not None:
            words.append("--verify" if verify else "--no-verify")
        code, _, said = carry_out(words, cwd=cwd, env=env, stdin=stdin, stdout=stdout, progress=progress)
        report: Report | None = None
        if os.path.exists(report_file):
            with open(report_file, encoding="utf-8") as file:
                report = cast(Report, typed(json.load(file), Report))
        if code != 0 or report is None:
            faults = given.faults_for_caller(faults_in(said), outputs or ())
            raise error_of(code, said, report, faults)
        return Result(report, _warnings(said), PathOf(cwd, env, kept, written))


def check(
    job: Job,
    params: Values = None,
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: PathLike | Sequence[PathLike] | None = None,
    scratch_limit: int | str | None = None,
    files: bool = True,
    plugins: Sequence[PathLike] = (),
    settings: Values = None,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    binary: PathLike | None = None,
) -> list[Fault]:
    """All that is wrong with a job; an empty list if nothing is. `files`: looks at the files that it reads and writes."""
    with ExitStack() as stack:
        given = JobFile(job, stack)
        words = _words("check", given.path, params, binary, plugins, settings, memory, threads, scratch, scratch_limit)
        code, _, said = carry_out([*words, "-v", *([] if files else ["--no-files"])], cwd=cwd, env=env)
        faults = given.faults_for_caller(faults_in(said))
        if code not in (0, 65, 66, 73, 78) or (code != 0 and not faults):
            raise error_of(code, said, faults=faults)
        return faults if code != 0 else []


def plan(
    job: Job,
    params: Values = None,
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    scratch: PathLike | Sequence[PathLike] | None = None,
    scratch_limit: int | str | None = None,
    plugins: Sequence[PathLike] = (),
    settings: Values = None,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    binary: PathLike | None = None,
) -> Plan:
    """What a run would do and cost. Raises FlowrunError."""
    with ExitStack() as stack:
        given = JobFile(job, stack)
        words = _words("plan", given.path, params, binary, plugins, settings, memory, threads, scratch, scratch_limit)
        code, out, said = carry_out([*words, "--format=json"], cwd=cwd, env=env, stdout=subprocess.PIPE)
        if code != 0:
            raise error_of(code, said, faults=given.faults_for_caller(faults_in(said)))
        return cast(Plan, typed(json.loads(out), Plan))
