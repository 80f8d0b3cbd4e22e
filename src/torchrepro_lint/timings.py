"""Where the time of a run goes: by step, rule and file. What is measured within something else counts for both."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["step", "rule", "file"]


class Timings:
    """Seconds, by what took them."""

    def __init__(self) -> None:
        self.taken: dict[tuple[Kind, str], float] = {}
        self.known = 0  # files of which an earlier run's findings hold
        self.checked = 0

    @contextmanager
    def of(self, kind: Kind, name: str) -> Iterator[None]:
        """Count the time of a block."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add({(kind, name): time.perf_counter() - begin})

    def add(self, taken: Mapping[tuple[Kind, str], float]) -> None:
        """What was measured, here or in another process."""
        for what, seconds in taken.items():
            self.taken[what] = self.taken.get(what, 0.0) + seconds

    def longest(self, kind: Kind, most: int | None = None) -> list[tuple[str, float]]:
        """What took longest, first."""
        found = [(name, seconds) for (of, name), seconds in self.taken.items() if of == kind]
        return sorted(found, key=lambda item: (-item[1], item[0]))[:most]
