"""The n-th call fails, once or from then on, with each errno that fits, or moves half of what it should (R6, R8).

For every n, job and backend: no crash, no hang, the documented exit code, a message with the cause; outputs are right, or
as before; nothing is left behind.
"""

import dataclasses
import errno
import os
import re
import subprocess

from disturbed_run import BACKENDS, on_all_cores, workplace
from jobs import golden, small_jobs
from result import result, row

SHORT = "short"
# What may go wrong with a call: errno names, or SHORT.
EFFECTS = {
    "read": ("EIO", SHORT, "EINTR", "EAGAIN", "ENOMEM"),
    "write": ("EIO", "ENOSPC", SHORT, "EINTR", "EAGAIN", "EDQUOT", "EFBIG", "ENOMEM"),
    "open": ("EMFILE", "EACCES", "EIO", "ENOMEM", "EINTR", "ENOENT"),
    "open_unnamed": ("EOPNOTSUPP", "ENOSPC", "EIO", "EMFILE", "EINTR"),
    "fallocate": ("ENOSPC", "EIO", "EOPNOTSUPP", "EINTR"),
    "ftruncate": ("EIO", "EINTR"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT"),
    "sync_range": ("EIO",),
    "rename": ("EIO", "ENOSPC", "EACCES"),
    "link": ("EIO", "ENOSPC", "EPERM", "ENOENT"),
    "unlink": ("EIO",),
    "mkdir": ("ENOSPC", "EACCES"),
    "map": ("ENOMEM",),
    "populate": ("ENOMEM", "EFAULT", "EINTR", "EAGAIN"),
    "descriptor": ("EMFILE",),
    "thread": ("EAGAIN",),
    "allocation": ("ENOMEM",),
    "ring": ("ENOMEM", "EMFILE", "EPERM", "ENOSYS"),
    "submit": ("EAGAIN", "EBUSY", "EINTR", "ENOMEM"),
}
TRANSFERS = ("read", "write", "fallocate", "map", "populate", "thread", "ring", "submit", "descriptor", "sync_range")
CODES = {66, 73, 74, 75}
MEMORY = "out of memory|Cannot allocate memory|can't allocate"


@dataclasses.dataclass(frozen=True)
class failure:
    job: object
    backend: str
    call: str
    number: int
    effect: str
    ever: bool
    with_old: bool
    unnamed: bool = True  # O_TMPFILE can be had

    def rules(self):
        what = SHORT if self.effect == SHORT else getattr(errno, self.effect)
        rule = f"{self.call}:{self.number}:{what}{':ever' if self.ever else ''}"
        return rule if self.unnamed else f"{rule},open_unnamed:1:{errno.EOPNOTSUPP}:ever"

    def __str__(self):
        return f"{self.job.name}, {self.backend}: {self.rules()} ({self.effect})"

    def cause(self):
        """What the message must say, as a pattern."""
        if self.effect == SHORT:
            return ""
        number = errno.EIO if self.call == "populate" and self.effect == "EFAULT" else getattr(errno, self.effect)
        text = re.escape(os.strerror(number))
        if self.call == "allocation":  # pthread_create() says EAGAIN where it has no memory for the thread
            text += "|can't start an? (I/O )?thread"
        return f"{text}|{MEMORY}" if self.effect == "ENOMEM" else text

    def codes(self):
        if self.call == "allocation":
            return {75}
        if self.call == "thread":  # io_uring is refused where it was asked for
            return {74, 75}
        if self.call == "fsync":  # of a file on a full disk, or of names
            return {74} if self.effect == "EIO" else {73, 74}
        return {73, 75} if self.effect in ("ENOSPC", "EDQUOT", "EFBIG") else CODES


def sampled(count, most):
    """At most `most` of the numbers 1 … count, evenly, the first and the last among them."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})


def failures_of(job, backend, counts, options, unnamed=True):
    """Every n of every call; in the short form one effect for each n, in turn, and of very many n some."""
    turn = 0
    for call, effects in EFFECTS.items():
        most = options.most_of.get(call, options.most_calls)
        for number in sampled(counts.get(call, 0), most):
            turn += 1
            # The C++ library reads on for as long as a signal interrupts it, and no signal does so for ever.
            each = [(effect, ever) for effect in effects for ever in (False, True) if (effect, ever) != ("EINTR", True)]
            for effect, ever in [each[turn % len(each)]] if options.short else each:
                yield failure(job, backend, call, number, effect, ever, turn % 2 == 0, unnamed)


def problems_of(place, one):
    place.prepare(one.job, one.with_old)
    done = place.run(one.backend, one.rules())
    if done.hung:  # or is the machine only busy?
        place.prepare(one.job, one.with_old)
        done = place.run(one.backend, one.rules())
    # What can't be removed stays.
    found = place.wrong_with(done, one.cause(), one.codes(), may_leave=one.call == "unlink")
    names_file = re.search(r"\b(in/|out\b|scratch\b|job\.yaml)", done.said)
    if done.code > 0 and one.call in ("read", "write", "open", "rename", "link", "fsync", "ftruncate") and not names_file:
        found.append(f"no file is named: {done.said.strip()}")
    return str(one), found


def all_failures(options):
    with workplace(options.flowrun, options.library) as place:
        for at, job in enumerate(small_jobs(options.short)):
            place.prepare(job, False)
            for backend in BACKENDS:
                counts = place.counts(backend)
                if options.short and BACKENDS[at % 3] != backend:  # the calls that all backends make alike
                    counts = {call: n for call, n in counts.items() if call in TRANSFERS}
                yield from failures_of(job, backend, counts, options)
            # Where unnamed files can't be had, the others.
            if at % 3 == 0 or not options.short:
                without = {c: n for c, n in place.counts("threads", FAILING_CALLS=f"open_unnamed:1:{errno.EOPNOTSUPP}:ever").items()
                           if c in ("open", "link", "rename", "unlink", "fsync")}
                yield from failures_of(job, "threads", without, options, unnamed=False)
        if options.short:
            # A file without bytes is read as a stream, which waits until there are some, and once did for ever.
            job = golden("merge-strings")
            place.prepare(job, False)
            for number in range(1, place.counts("threads")["read"] + 1):
                yield failure(job, "threads", "read", number, "EAGAIN", ever=True, with_old=False)


# Calls on files that the library must know where the program makes them.
ON_FILES = re.compile(
    r"(p?readv?2?|p?writev?2?|p(read|write)v2?|open(at)?|creat|f?truncate|(posix_)?fallocate|f(data)?sync|sync(fs)?"
    r"|sync_file_range|rename(at2?)?|(sym)?link(at)?|unlink(at)?|remove|mkdir(at)?|mmap|madvise|copy_file_range|sendfile"
    r"|splice|msync|eventfd|pipe2?|pthread_create|io_uring_(submit.*|queue_init.*|wait.*|peek_batch_cqe))(64)?"
)


def symbols(path, which):
    """Of the dynamic ones, those that are defined or not."""
    listed = subprocess.run(["nm", "-D", which, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def unseen_calls(options):
    """What the program calls behind the library's back."""
    called = {name for name in symbols(options.flowrun, "--undefined-only") if ON_FILES.fullmatch(name)}
    return [f"the program calls {name}, of which the library knows nothing"
            for name in sorted(called - symbols(options.library, "--defined-only"))]


def run(options):
    options.most_calls = 40 if options.short else 10**6
    options.most_of = {"allocation": 60, "map": 12, "sync_range": 4} if options.short else {"allocation": 400}
    failures = list(all_failures(options))
    if options.only:
        failures = [one for one in failures if options.only in str(one)]
    problems = unseen_calls(options)
    for name, found in on_all_cores(options, problems_of, failures):
        if found:
            problems.append(f"{name}: " + "; ".join(found))
            print(f"- {problems[-1]}", flush=True)
    figure = f"{len(failures)} failures of {len({one.job.name for one in failures})} jobs: {len(problems)} wrong"
    return result([row("R6, R8", "n-th call fails × errno × backends", figure)], problems)
