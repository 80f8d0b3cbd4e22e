"""The data types of every layer: places in files, edits, fixes and findings.

Frozen data only. Imports nothing of ours, knows nothing of files, rules or output formats.
Lines and columns are 1-based, columns count characters (not bytes), ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Location:
    """A range in a file; `path` is relative to the project root with `/`, `cell` a 1-based notebook cell.

    In a notebook, lines count from the top of the cell.
    """

    path: str
    range: Range
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a finding is based on, e.g. "seeded here"."""

    location: Location
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text in `range` of the file at `path` by `text`."""

    path: str
    range: Range
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all are applied, or none."""

    safety: Safety
    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong at one place.

    `statement` is the statement that it starts in, without layout and comments; `fingerprint` stays the same as long
    as rule, file and statement do. `help` says what to do by hand, with a fix or without.
    """

    code: str
    name: str
    level: Level
    certainty: Certainty
    message: str
    location: Location
    properties: Mapping[str, Property] = field(default_factory=lambda: MappingProxyType({}))
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    fingerprint: str = ""
    help: str | None = None
    statement: str = ""

    @property
    def measured(self) -> str:
        """What a run of the operation showed, in words; empty where that is not known."""
        evidence = self.properties.get("evidence")
        return str(evidence["words"]) if isinstance(evidence, Mapping) else ""

    @property
    def sort_key(self) -> tuple[str, int, Position, str, str]:
        """By path, cell, place, code and message: the one order used everywhere."""
        where = self.location
        return (where.path, where.cell or 0, where.range.start, self.code, self.message)


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
