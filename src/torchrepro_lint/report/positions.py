"""Places as other programs count them: lines of a notebook's JSON, columns in bytes, paths as URIs.

Knows no format and no finding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from torchrepro_lint.model import Location

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.source import SourceFile


class Lines(NamedTuple):
    """First and last line of a place in its file as it is on disk; columns only outside of notebooks."""

    first: int
    last: int
    columns: tuple[int, int] | None


class Files:
    """The files of a result, of which the last few are kept."""

    def __init__(self, result: Result) -> None:
        self.root = result.root
        self.source: Callable[[str], SourceFile | None] = lru_cache(maxsize=8)(result.source)
        self._cells: Callable[[str], Sequence[Sequence[int]]] = lru_cache(maxsize=8)(self._lines_of_cells)

    def lines(self, location: Location) -> Lines:
        """Where a place is in the file on disk."""
        start, end = location.range
        if location.cell is None:
            last = end.line - 1 if end.column == 1 and end.line > start.line else end.line
            return Lines(start.line, last, (start.column, end.column))
        lines = self._cells(location.path)[location.cell - 1 : location.cell] or ((1,),)
        first, last = (lines[0][min(line, len(lines[0])) - 1] for line in (start.line, end.line))
        return Lines(first, max(first, last), None)

    def _lines_of_cells(self, path: str) -> Sequence[Sequence[int]]:
        """For each cell of a notebook, the lines of its JSON that hold its lines."""
        source = self.source(path)
        if source is None or source.kind != "notebook":
            return ()
        from torchrepro_lint.fixing.cells import document_lines

        return document_lines(source)

    def byte_column(self, location: Location, line: int, column: int) -> int:
        """A 1-based column in UTF-8 bytes."""
        source = self.source(location.path)
        if source is None or location.cell is not None or line > len(source.line_starts):
            return column
        return len(source.line(line)[: column - 1].encode("utf-8", "replace")) + 1

    def text(self, location: Location) -> str:
        """The line of source that a place begins on, without its indentation; empty where it cannot be had."""
        source = self.source(location.path)
        line = location.range.start.line
        if source is not None and location.cell is not None:
            line += next((first for first, number in source.cells if number == location.cell), 1) - 1
        return source.line(line).strip() if source is not None and 1 <= line <= len(source.line_starts) else ""


def uri(path: str) -> str:
    """A relative path as a URI reference: a colon in its first part would be read as a scheme."""
    quoted = quote(os.fsencode(path))
    return f"./{quoted}" if ":" in quoted.partition("/")[0] else quoted


def whole(text: str) -> str:
    """Text that every reader of UTF-8 takes: halves of characters, as undecodable file names have, are replaced."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
