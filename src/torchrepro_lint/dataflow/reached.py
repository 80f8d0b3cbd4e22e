"""What leads on from one thing to others, such as the functions that a function calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reached(starts: Iterable[T], beyond: Callable[[T], Iterable[T]], bound: float = float("inf")) -> Iterator[T]:
    """What can be reached from `starts`, and these: each once, the nearest first, until so many are known."""
    found = list(starts)
    known = set(found)
    for item in found:  # which grows
        if len(known) >= bound:
            return
        yield item
        new = [other for other in dict.fromkeys(beyond(item)) if other not in known]
        known.update(new)
        found += new
