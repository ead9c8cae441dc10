"""What a part of the torture found: rows of the table in docs/reliability.md, and what is wrong."""

import dataclasses


@dataclasses.dataclass
class row:
    promise: str  # R1 …
    what: str
    figure: str


@dataclasses.dataclass
class result:
    rows: list
    problems: list  # texts
