"""What a disk could hold after a power failure (R1, R8): everything that was synced, and any part of the rest.

The library keeps a journal of what a job does to files and names (interposed/journal.h). From it follows, for each moment,
what each final name could stand for afterwards: the file that it was last synced to, or any that it was given since; and
what these files could hold: what was last synced, or, when they were changed since, anything. That has to be the right
output or what was there before; and once the job has said that it succeeded, only the right output, in directories whose
names are synced, too.
"""

import dataclasses
import errno
import pathlib

from disturbed_run import BACKENDS, OLD, on_all_cores
from jobs import small_jobs
from result import result, row

BEFORE = "the file of before"


@dataclasses.dataclass(frozen=True)
class journey:
    job: object
    backend: str
    with_old: bool
    unnamed: bool
    more: tuple = ()

    def __str__(self):
        return (f"{self.job.name}, {self.backend}, {'replacing' if self.with_old else 'new'} outputs"
                f"{'' if self.unnamed else ', without unnamed files'}{' '.join(('', *self.more))}")


class disk:
    """What is certain, and what is possible."""

    def __init__(self, place):
        self.root, self.copies = place.root, place.beside
        self.names = {}  # path: inode, as the program sees it
        self.synced = {}  # path: inode, certain
        self.possible = {}  # path: inodes (or None) that it was given since
        self.content = {BEFORE: OLD}  # inode: bytes, as last synced
        self.unsure = set()  # inodes that changed since
        self.new_directories = set()  # whose names are not synced
        if place.with_old:
            for name in place.job.outputs:
                self.names[f"out/{name}"] = self.synced[f"out/{name}"] = BEFORE

    def path(self, text):
        given = pathlib.Path(text)
        return str(given.relative_to(self.root)) if given.is_absolute() else str(given)

    def bind(self, path, inode):
        self.names[path] = inode
        self.possible.setdefault(path, set()).add(inode)

    def sync_names(self, directory):
        below = [path for path in {*self.names, *self.possible} if str(pathlib.Path(path).parent) == directory]
        for path in below:
            self.synced[path] = self.names.get(path)
            self.possible.pop(path, None)
        self.new_directories = {d for d in self.new_directories if str(pathlib.Path(d).parent) != directory}

    def take(self, line):
        what, *words = line.split()
        if what == "dirty":
            self.unsure.add(words[0])
        elif what == "synced":
            self.content[words[0]] = (self.copies / f"copy-{words[1]}").read_bytes()
            self.unsure.discard(words[0])
        elif what == "bound":
            self.bind(self.path(words[1]), words[0])
        elif what == "renamed":
            old, new = self.path(words[0]), self.path(words[1])
            self.bind(new, self.names.pop(old, None))
            self.possible.setdefault(old, set()).add(None)
        elif what == "exchanged":
            old, new = self.path(words[0]), self.path(words[1])
            here, there = self.names.get(old), self.names.get(new)
            self.bind(new, here)
            self.bind(old, there)
        elif what == "unbound":
            self.names.pop(self.path(words[0]), None)
            self.possible.setdefault(self.path(words[0]), set()).add(None)
        elif what == "directory":
            self.new_directories.add(self.path(words[0]))
        elif what == "names":
            self.sync_names(self.path(words[0]))
        else:
            raise ValueError(line)

    def could_be(self, path):
        """"right"'s bytes, OLD, None for no file, or "anything", for each file that the name could stand for."""
        for inode in {self.synced.get(path), *self.possible.get(path, ())}:
            if inode is None:
                yield None
            else:
                yield "anything" if inode in self.unsure else self.content.get(inode, "anything")


def wrong_now(place, held):
    for name, right in place.job.outputs.items():
        for content in held.could_be(f"out/{name}"):
            if content is None and not place.with_old or content == right or content == OLD and place.with_old:
                continue
            yield f"out/{name} could {'be gone' if content is None else 'hold anything' if content == 'anything' else 'be wrong'}"


def wrong_at_the_end(place, held):
    for name, right in place.job.outputs.items():
        if list(held.could_be(f"out/{name}")) != [right]:
            yield f"out/{name} is not certain though the job succeeded"
    for directory in sorted(held.new_directories):
        if directory.split("/")[0] == "out":
            yield f"the name of the new directory {directory} is not synced though the job succeeded"


def travel(place, one):
    """Each moment of a run: how many, and what is wrong."""
    place.prepare(one.job, one.with_old)
    rules = "" if one.unnamed else f"open_unnamed:1:{errno.EOPNOTSUPP}:ever"
    done = place.run(one.backend, rules, one.more, FAILING_JOURNAL=str(place.beside))
    problems = place.wrong_with(done, only_success=True)
    held = disk(place)
    lines = (place.beside / "log").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        held.take(line)
        problems += [f"after '{line}' ({number}): {text}" for text in wrong_now(place, held)]
    problems += wrong_at_the_end(place, held)
    return one, len(lines), list(dict.fromkeys(problems))


def run(options):
    jobs = small_jobs(options.short)
    journeys = [
        journey(job, backend, with_old, unnamed)
        for job in jobs
        for backend in BACKENDS
        for with_old in (False, True)
        for unnamed in (True, False)
    ]
    # The check must be able to fail: without syncs nothing is certain.
    journeys.append(journey(jobs[1], "threads", True, True, ("--no-sync",)))
    problems, moments = [], 0
    for one, count, found in on_all_cores(options, travel, journeys):
        if one.more:
            found = [] if found else ["nothing is found to be wrong without syncs: this test sees nothing"]
        else:
            moments += count
        if found:
            problems.append(f"{one}: " + "; ".join(found[:5]))
            print(f"- {problems[-1]}", flush=True)
    figure = f"{moments} moments of {len(journeys) - 1} runs: {len(problems)} wrong"
    return result([row("R1, R8", "power failures: unsynced data and names dropped", figure)], problems)
