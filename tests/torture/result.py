"""What a part of the torture found: rows of the table in docs/reliability.md, and what is wrong."""

import concurrent.futures
import dataclasses
import os
import threading

from trial import workplace


@dataclasses.dataclass
class row:
    promise: str  # R1 …
    what: str
    figure: str


@dataclasses.dataclass
class result:
    rows: list
    problems: list  # texts


def on_all_cores(options, work, items):
    """work(workplace, item) for each item, each thread with a workplace of its own; yields what it returns."""
    own = threading.local()
    places = []

    def one(item):
        if not hasattr(own, "place"):
            own.place = workplace(options.flowrun, options.library)
            places.append(own.place)
        return work(own.place, item)

    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from threads.map(one, items)
    finally:
        for place in places:
            place.__exit__()


def sampled(count, most):
    """At most `most` of the numbers 1 … count, evenly, the first and the last among them."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})
