"""The program at work: where it lies, how it is started, heard and stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from typing import IO, Any, Callable, Mapping, Sequence, Union

from flowrun.errors import Fault, ProgramNotFoundError
from flowrun.reports import Progress

PathLike = Union[str, "os.PathLike[str]"]
Stream = Union[None, int, IO[Any]]


def program_at(given: PathLike | None = None) -> str:
    """The argument, else the environment variable FLOWRUN, else PATH."""
    wanted = os.fspath(given) if given is not None else os.environ.get("FLOWRUN") or "flowrun"
    found = shutil.which(wanted)
    if found is None:
        advice = "install it, or name it: binary=…, or the environment variable FLOWRUN"
        raise ProgramNotFoundError([Fault(f"there is no program {wanted!r}", advice=advice)], 127)
    return os.path.abspath(found)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """As Ctrl-C does: the job is taken down, and leaves nothing. Whoever presses it again will not wait for that."""
    try:
        child.send_signal(signal.SIGINT)
        child.communicate()
    except BaseException:
        child.kill()
        child.wait()
        raise


def carry_out(
    words: Sequence[str],
    *,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    progress: Callable[[Progress], object] | None = None,
) -> tuple[int, bytes, str]:
    """Exit code, standard output where it was piped, and what was said on standard error but for progress."""
    # In a session of its own, so that a Ctrl-C at the terminal reaches it once, from here. It ends with this thread, also
    # where Python is killed and can't stop it.
    child = subprocess.Popen(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {}), "FLOWRUN_END_WITH_PARENT": "1"},
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    said: list[str] = []
    try:
        if stdout == subprocess.PIPE:  # then nobody reads the progress, and one pipe must not fill while the other is read
            out, err = child.communicate()
            return child.returncode, out, err.decode(errors="replace")
        assert child.stderr is not None
        for line in child.stderr:
            if progress is not None and line.startswith(b"{"):
                told: Progress = json.loads(line)
                progress(told)
            else:
                said.append(line.decode(errors="replace"))
        child.wait()
    except BaseException:
        _stop(child)
        raise
    finally:
        if child.stderr is not None:
            child.stderr.close()
    return child.returncode, b"", "".join(said)
