"""What findings are made of: levels, places, comments. `model` puts them together.

Apart from it since a run that finds nothing needs no more, and importing `dataclasses` takes as long as a quarter of
such a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, TypeAlias

from torchrepro_lint.records import NamedTuple

Property: TypeAlias = "str | int | float | bool | Sequence[Property] | Mapping[str, Property] | None"
"""What JSON can hold."""


class Level(str, Enum):
    """How much a finding matters: a `note` never fails a run."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """2 for an error, 1 for a warning, 0 for a note."""
        return {"error": 2, "warning": 1, "note": 0}[self.value]


class Certainty(str, Enum):
    """How sure a finding is: `depends` means on data or an option that only the run knows, and makes it a note."""

    CERTAIN = "certain"
    LIKELY = "likely"
    DEPENDS = "depends"

    @property
    def rank(self) -> int:
        """2 for certain, 1 for likely, 0 for what depends on the run."""
        return {"certain": 2, "likely": 1, "depends": 0}[self.value]


class Safety(str, Enum):
    """`safe`: can change only what the rule is about; `unsafe`: may raise, guess, or change what data mean."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class Position(NamedTuple):
    """A place between two characters: 1-based line, 1-based column in characters."""

    line: int
    column: int


class Range(NamedTuple):
    """From `start` up to, not including, `end`."""

    start: Position
    end: Position


def spanning(line: int, column: int, end_line: int, end_column: int, made: Callable[..., Any] = tuple.__new__) -> Range:
    """The range between two places, made at once: most work on a finding asks for some."""
    found: Range = made(Range, (made(Position, (line, column)), made(Position, (end_line, end_column))))
    return found


SuppressionKind = Literal["noqa", "ignore", "ignore-file"]


class Suppression(NamedTuple):
    """One suppressing comment.

    `codes` are our codes (upper case), prefixes and rule names, None for everything; `code_ranges` has one
    place for each. `range` runs from the comment's `#` to its end, or to the next comment on the line.
    `foreign` is true when other tools' codes stand in the same `noqa`.
    """

    line: int
    kind: SuppressionKind
    codes: tuple[str, ...] | None
    range: Range
    code_ranges: tuple[Range, ...]
    foreign: bool = False
