"""Scratch that doesn't give back what was written (R4): one flipped bit, the content of another block, or what the place
held before it was last written, in the n-th read. Each must end the job with an error that names disk and offset.

What nobody looks at, nobody can notice: a block that was read ahead and not needed (by a loop that ended, or a join whose
other side did). Then the outputs are right; those are told apart.
"""

import dataclasses
import random

from disturbed_run import BACKENDS, on_all_cores, workplace
from jobs import golden, small_jobs
from result import result, row

EFFECTS = ("flip", "flip", "other", "stale")
QUICK = ("split", "flat-map", "row-types", "diamond", "group-pairs", "loop-search", "partition", "pq-scan", "lookup")


@dataclasses.dataclass(frozen=True)
class damaged_read:
    job: object
    backend: str
    number: int
    effect: str
    seed: int

    def __str__(self):
        return f"{self.job.name}, {self.backend}, scratch_read:{self.number}:{self.effect}, seed {self.seed}"


def all_reads(options):
    jobs = [golden(name) for name in QUICK] if options.short else small_jobs(False)
    rng = random.Random(options.seed)
    runs = []
    with workplace(options.flowrun, options.library) as place:
        for job in jobs:
            place.prepare(job, False)
            runs += [(job, backend, place.counts(backend)["scratch_read"]) for backend in BACKENDS]
    runs = [one for one in runs if one[2]]  # some jobs of the long form have nothing on scratch
    for _ in range(-(-options.flips // len(runs))):
        for job, backend, num_reads in runs:
            seed = rng.randrange(10**9)
            yield damaged_read(job, backend, 1 + seed % num_reads, rng.choice(EFFECTS), seed)


def look(place, one):
    """What became of it: "detected", "unneeded", "nothing" (there was nothing to put there), or what is wrong."""
    place.prepare(one.job, False)
    log = place.beside / "damage"
    done = place.run(one.backend, f"scratch_read:{one.number}:{one.effect}",
                     FAILING_DAMAGE=str(log), FAILING_SEED=str(one.seed))
    happened = log.read_text().split() if log.exists() else ["nothing", "0", "0"]
    if happened[0] == "nothing" or done.code == 0:
        problems = place.wrong_with(done, only_success=True)
        return str(one), "; ".join(problems) or ("nothing" if happened[0] == "nothing" else "unneeded")
    where = f"scratch block damaged: scratch at offset {happened[1]}: "
    problems = place.wrong_with(done, where, {74})
    return str(one), "; ".join(problems) or "detected"


def run(options):
    # One in fifty finds nothing to put in the place of what was written.
    options.flips = 500 if options.short else 10_500
    problems, found = [], {"detected": 0, "unneeded": 0, "nothing": 0}
    for name, outcome in on_all_cores(options, look, all_reads(options)):
        if outcome in found:
            found[outcome] += 1
        else:
            problems.append(f"{name}: {outcome}")
            print(f"- {problems[-1]}", flush=True)
    figure = (f"{found['detected']} of {found['detected'] + len(problems)} detected, with disk and offset; "
              f"{found['unneeded']} more in blocks that were not needed")
    return result([row("R4", "flipped bits, swapped and stale blocks in scratch", figure)], problems)
