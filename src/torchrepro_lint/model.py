"""The data types of every layer: places in files, edits, fixes and findings.

Frozen data only, knows nothing of files, rules or output formats.
Lines and columns are 1-based, columns count characters (not bytes), ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from torchrepro_lint.elements import Certainty, Level, Position, Property, Range, Safety, Suppression, SuppressionKind

__all__ = [
    "Certainty",
    "Edit",
    "Finding",
    "Fix",
    "Level",
    "Location",
    "Position",
    "Property",
    "Range",
    "Related",
    "Safety",
    "Suppression",
    "SuppressionKind",
]


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
    """Edits that belong together: all are applied, or none. There are none where nobody has asked for them: all would
    be of the file `within`."""

    safety: Safety
    title: str
    edits: tuple[Edit, ...]
    within: str = ""

    @property
    def paths(self) -> set[str]:
        """The files that it changes."""
        return {edit.path for edit in self.edits} or {self.within}


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

    def numbered(self, fingerprint: str) -> Finding:
        """The same with its fingerprint; `replace` takes several times as long, and each finding gets one."""
        return Finding(
            self.code, self.name, self.level, self.certainty, self.message, self.location, self.properties,
            self.related, self.fix, fingerprint, self.help, self.statement,
        )  # fmt: skip

    @property
    def places(self) -> tuple[Location, ...]:
        """Its own, and those that it names besides."""
        return (self.location, *(item.location for item in self.related))

    @property
    def edited(self) -> set[str]:
        """The paths of the files that its fix changes."""
        return self.fix.paths if self.fix is not None else set()

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
