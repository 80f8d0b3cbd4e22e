"""A result as it is told from another folder: the paths of its files, and of all places that findings name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from torchrepro_lint.discover import named_from
from torchrepro_lint.engine import Result
from torchrepro_lint.fixing.diff import renamed
from torchrepro_lint.model import Finding, Fix, Location


class Moved:
    """The parts of a result of one project, for a folder that has several."""

    def __init__(self, result: Result, root: Path) -> None:
        self.result = result
        self.name = named_from(root, result.root)
        self._root = root

    def rel(self, rel: str) -> str:
        """The path of a file."""
        return named_from(self._root, self.result.root / rel)

    def told(self, problem: str) -> str:
        """What could not be done, with the project in which."""
        return f"{self.name}: {problem}"

    def diffs(self) -> Iterable[tuple[str, str]]:
        """The changes of files."""
        return [(self.rel(rel), renamed(diff, self.rel(rel))) for rel, diff in self.result.diffs]

    def finding(self, finding: Finding) -> Finding:
        """A finding, with all places that it names."""
        return replace(
            finding,
            location=self._location(finding.location),
            related=tuple(replace(item, location=self._location(item.location)) for item in finding.related),
            fix=self._fix(finding.fix) if finding.fix is not None else None,
        )

    def _location(self, location: Location) -> Location:
        return replace(location, path=self.rel(location.path))

    def _fix(self, fix: Fix) -> Fix:
        edits = tuple(replace(edit, path=self.rel(edit.path)) for edit in fix.edits)
        return replace(fix, edits=edits, within=self.rel(fix.within) if fix.within else "")
