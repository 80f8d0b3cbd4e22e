"""One measurement against another: which verdicts have changed, and what deterministic algorithms cost here and there.

Knows measurements of both ends; nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchrepro_lint.evidence import Measured, pace
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.matrix import environment_of, name_of
from torchrepro_lint.report.summary import counted


class Pair(NamedTuple):
    """The same operation on both ends; None where it was not measured."""

    name: str
    before: Measured | None
    now: Measured | None

    @property
    def changed(self) -> bool:
        """Whether both were measured and do not say the same."""
        return self.before is not None and self.now is not None and self.before.verdict != self.now.verdict


def pairs(before: Sequence[Measured], now: Sequence[Measured]) -> list[Pair]:
    """By operation, device and arguments, sorted."""
    ends = [{(name_of(item), item.device): item for item in items} for items in (before, now)]
    keys = sorted({*ends[0], *ends[1]})
    return [
        Pair(f"{name} ({device.upper()})", ends[0].get(key), ends[1].get(key)) for key in keys for name, device in [key]
    ]


def comparison(before: Sequence[Measured], now: Sequence[Measured]) -> Iterator[str]:
    """Verdicts that have changed, then the slowdowns of both ends side by side."""
    found = pairs(before, now)
    where = sorted({environment_of(item) for item in before})
    yield f"Against {visible(' and '.join(where)) or 'nothing that was measured'}:\n"
    for pair in found:
        if pair.changed and pair.before and pair.now:
            yield f"  {visible(pair.name)}: {_told(pair.before)} there, {_told(pair.now)} here\n"
    for pair in found:
        if pair.before and pair.now and (pair.before.slowdown or pair.now.slowdown):
            yield f"  {visible(pair.name)}: deterministic path {_pace(pair.before)} there, {_pace(pair.now)} here\n"
    both = sum(pair.before is not None and pair.now is not None for pair in found)
    changed = sum(pair.changed for pair in found)
    alone = [sum(pair.before is None for pair in found), sum(pair.now is None for pair in found)]
    yield f"{counted(changed, 'verdict')} changed of {both}; {alone[0]} measured here alone, {alone[1]} there alone.\n"


def _told(item: Measured) -> str:
    return f"{item.verdict} ({item.distinct} of {item.repeats})" if item.distinct > 1 else item.verdict


def _pace(item: Measured) -> str:
    return "not timed" if item.slowdown is None else pace(item.slowdown)
