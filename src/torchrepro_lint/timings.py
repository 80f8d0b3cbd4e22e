"""Where the time of a run goes: by step, program, rule and file. What is measured within something else counts for
both, but for what is asked of a program as a whole: whichever file asks first, it is no file's and no rule's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["step", "program", "rule", "file"]


class Timings:
    """Seconds, by what took them."""

    def __init__(self) -> None:
        self.taken: dict[tuple[Kind, str], float] = {}
        self.known = 0  # files of which an earlier run's findings hold
        self.checked = 0
        self._apart = 0.0  # seconds within the block that is measured, which are not its own

    @contextmanager
    def of(self, kind: Kind, name: str, *, apart: bool = False) -> Iterator[None]:
        """Count the time of a block; what is `apart`, for nothing around it."""
        outer, self._apart = self._apart, 0.0
        begin = time.perf_counter()
        try:
            yield
        finally:
            whole = time.perf_counter() - begin
            self.add({(kind, name): whole - self._apart})
            self._apart = outer + (whole if apart else self._apart)

    def add(self, taken: Mapping[tuple[Kind, str], float]) -> None:
        """What was measured, here or in another process."""
        for what, seconds in taken.items():
            self.taken[what] = self.taken.get(what, 0.0) + seconds

    def longest(self, kind: Kind, most: int | None = None) -> list[tuple[str, float]]:
        """What took longest, first."""
        found = [(name, seconds) for (of, name), seconds in self.taken.items() if of == kind]
        return sorted(found, key=lambda item: (-item[1], item[0]))[:most]
