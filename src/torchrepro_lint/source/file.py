"""The text of one file and the places in it; the way in for bytes from disk, stdin or a test.

Lines end at CRLF, CR and LF only, as they do for Python's own tokenizer; nothing here parses code.
"""

from __future__ import annotations

import errno
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torchrepro_lint.elements import Position, Range, Suppression
from torchrepro_lint.reading import CONFIGURATIONS, PLOTS, NotRegularError, digest, read_regular
from torchrepro_lint.source import decoding
from torchrepro_lint.source.digests import code_digest
from torchrepro_lint.source.errors import SourceError
from torchrepro_lint.source.suppressions import find_suppressions

if TYPE_CHECKING:
    from torchrepro_lint.model import Location

Kind = Literal["python", "stub", "notebook", "configuration"]
_KINDS: dict[str, Kind] = {".pyi": "stub", ".ipynb": "notebook", **dict.fromkeys(CONFIGURATIONS, "configuration")}
_NEWLINE = re.compile(r"\r\n|\r|\n")
_CONTINUING = re.compile(rb"[\x80-\xbf]")
_UNBROKEN = frozenset("\"'#")
MAX_SIZE = 10_000_000  # bytes; the largest file that we know of is generated and has a tenth of that
MAX_CONFIGURATION = 256_000  # a larger YAML or JSON file holds data, and reading it takes seconds


class SourceFile:
    """A decoded file: `text` keeps its newlines and has no byte order mark.

    `path` is absolute, `rel` relative to the project root with `/`. The text of a notebook is its Python
    code cells joined in order; `cells` has (first line in `text`, 1-based number among all cells) for each, and
    `document` is the JSON around them. Otherwise `document` is the text itself. `digest` names the bytes; `is_read` is
    told whenever anything is taken from the text, and `is_searched` of what it is asked for; `whole` is the text too,
    unobserved. In one that `is_rewritten`, other words stand for what this Python cannot read: none may get into a fix.
    """

    __slots__ = (
        "_hangs",
        "_line",
        "_line_starts",
        "_longest_line",
        "_longest_plain",
        "_newline",
        "_suppressions",
        "_wide",
        "bom",
        "cells",
        "digest",
        "document",
        "encoding",
        "is_read",
        "is_rewritten",
        "is_searched",
        "kind",
        "path",
        "rel",
        "whole",
    )

    def __init__(
        self,
        path: Path,
        rel: str,
        text: str,
        *,
        encoding: str = "utf-8",
        bom: bool = False,
        cells: tuple[tuple[int, int], ...] = (),
        document: str | None = None,
        digest: str = "",
        is_rewritten: bool = False,
    ) -> None:
        self.is_rewritten = is_rewritten
        self.path = path
        self.rel = rel
        self.whole = text
        self.digest = digest
        self.is_read: Callable[[], None] | None = None
        self.is_searched: Callable[[str, bool], None] | None = None
        self.encoding = encoding
        self.bom = bom
        self.kind: Kind = _KINDS.get(path.suffix, "python")
        self.cells = cells
        self.document = text if document is None else document
        self._line_starts: list[int] | None = None
        self._longest_line: int | None = None
        self._longest_plain: int | None = None
        self._hangs: bool | None = None
        self._newline: str | None = None
        self._suppressions: tuple[Suppression, ...] | None = None
        self._line = (0, "")  # the last one that was asked for: a line may be long, and have many findings
        self._wide: dict[int, list[int]] = {}  # by line: where bytes are that continue a character

    def __repr__(self) -> str:
        return f"SourceFile({self.rel!r}, {len(self.whole)} characters)"

    @property
    def text(self) -> str:
        """All of the text."""
        if self.is_read is not None:
            self.is_read()
        return self.whole

    def matches(self, pattern: str) -> bool:
        """Whether a regular expression is found anywhere in the text: all that some files are asked for."""
        found = re.search(pattern, self.whole) is not None
        if self.is_searched is not None:
            self.is_searched(pattern, found)
        return found

    @property
    def code_digest(self) -> str:
        """A name for the code in the file, whatever comments and empty lines are between it."""
        return (code_digest(self.whole) if self.kind == "python" else None) or self.digest

    @property
    def line_starts(self) -> list[int]:
        """The offset of each line's first character; a final newline starts one more, empty, line."""
        text = self.text
        if self._line_starts is None:
            self._line_starts = _line_starts(text)
        return self._line_starts

    @property
    def longest_line(self) -> int:
        """The number of characters of the longest line."""
        text = self.text
        if self._longest_line is None:
            self._longest_line = max(map(len, text.splitlines()), default=0)
        return self._longest_line

    @property
    def longest_plain_line(self) -> int:
        """The same of those without a text or a comment, which a formatter leaves as long as it is."""
        text = self.text
        if self._longest_plain is None:
            self._longest_plain = max((len(t) for t in text.splitlines() if _UNBROKEN.isdisjoint(t)), default=0)
        return self._longest_plain

    @property
    def hangs(self) -> bool:
        """Whether most calls that the file breaks have nothing behind their bracket."""
        text = self.text
        if self._hangs is None:
            lines = text.splitlines()
            behind = sum(line.endswith(",") and line.count("(") > line.count(")") for line in lines)
            self._hangs = sum(line.endswith("(") for line in lines) > behind
        return self._hangs

    @property
    def newline(self) -> str:
        """The newline that most lines of the file end with; of equals, the first in CRLF, LF, CR."""
        text = self.text
        if self._newline is None:
            self._newline = _dominant_newline(text)
        return self._newline

    @property
    def suppressions(self) -> tuple[Suppression, ...]:
        """The comments that silence rules, in order."""
        text = self.text
        if self._suppressions is None:
            plain = self.kind == "configuration"
            self._suppressions = find_suppressions(text, lambda: self.line_starts, plain=plain)
        return self._suppressions

    def position(self, offset: int) -> Position:
        """The place of the character at `offset`, which may be the end of the text."""
        if not 0 <= offset <= len(self.text):
            raise ValueError(f"offset {offset} is outside {self!r}")
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    def offset(self, position: Position) -> int:
        """The index in `text` of the character at `position`; ValueError for a place that is not there."""
        starts = self.line_starts
        line, column = position.line, position.column
        if 1 <= line <= len(starts) and column >= 1:
            found = starts[line - 1] + column - 1
            if found < (starts[line] if line < len(starts) else len(self.text) + 1):
                return found
        raise ValueError(f"line {line}, column {column} is outside {self!r}")

    def slice(self, range: Range) -> str:
        """The text between the two ends."""
        return self.text[self.offset(range.start) : self.offset(range.end)]

    def line(self, number: int) -> str:
        """The text of a line (1-based) without its newline."""
        starts, text = self.line_starts, self.whole
        known, line = self._line
        if known == number:
            return line
        end = starts[number] if number < len(starts) else len(text)
        line = text[starts[number - 1] : end]
        if line.endswith("\r\n"):
            line = line[:-2]
        elif line.endswith(("\r", "\n")):
            line = line[:-1]
        self._line = number, line
        return line

    def column(self, line: int, byte: int) -> int:
        """The column of the character at a byte of a line's UTF-8, which is what `ast` counts."""
        if line not in self._wide:
            self._wide[line] = [found.start() for found in _CONTINUING.finditer(self.line(line).encode())]
        wide = self._wide[line]
        return min(byte - bisect_left(wide, byte), len(self.line(line))) + 1

    def lines(self) -> list[str]:
        """Every line without its newline."""
        return _NEWLINE.split(self.text)

    def location(self, range: Range) -> Location:
        """Where a person finds `range`: in a notebook, the cell and the lines within it."""
        from torchrepro_lint.model import Location  # slow to import, and most files have no findings

        if not self.cells:
            return Location(self.rel, range)
        index = max(bisect_right(self.cells, (range.start.line, len(self.text) + 1)) - 1, 0)
        first, number = self.cells[index]
        start = Position(range.start.line - first + 1, range.start.column)
        end = Position(range.end.line - first + 1, range.end.column)
        return Location(self.rel, Range(start, end), number)

    def with_text(self, text: str, *, is_rewritten: bool = False) -> SourceFile:
        """The same file with other characters at the same places of its code."""
        return SourceFile(self.path, self.rel, text, encoding=self.encoding, bom=self.bom, cells=self.cells,
                          document=self.document, digest=self.digest, is_rewritten=is_rewritten)  # fmt: skip

    def encode(self, document: str) -> bytes:
        """`document` as this file would hold it: same encoding, byte order mark put back."""
        return decoding.encode(document, self.encoding, self.bom)


def read_source(path: Path, rel: str, limit: int = MAX_SIZE) -> SourceFile:
    """Read a file of at most `limit` bytes; raises SourceError when it cannot be read or decoded."""
    if path.suffix == ".ipynb":
        limit *= PLOTS
    elif path.suffix in CONFIGURATIONS:
        limit = min(limit, MAX_CONFIGURATION)
    try:
        data = read_regular(path, limit)
    except NotRegularError as error:
        what = f"cannot be read: {error.strerror}; the path - reads the standard input"
        raise SourceError(what) from None
    except OSError as error:
        may_grow = error.errno == errno.EFBIG and path.suffix not in CONFIGURATIONS
        hint = "; the setting max-file-size allows more" if may_grow else ""
        raise SourceError(f"cannot be read: {error.strerror or error}{hint}") from None
    return source_from_bytes(data, path, rel)


def source_from_bytes(data: bytes, path: Path, rel: str) -> SourceFile:
    """The same for bytes that came another way, such as stdin."""
    name = digest(data)
    if path.suffix == ".ipynb":
        return _notebook(decoding.decode_utf8(data), path, rel, name)
    decoded = decoding.decode(data)
    return SourceFile(path, rel, decoded.text, encoding=decoded.encoding, bom=decoded.bom, digest=name)


def source_from_text(text: str, path: Path, rel: str) -> SourceFile:
    """The same for text that is decoded already; written back, it is UTF-8."""
    bom = text.startswith("\ufeff")
    decoded = decoding.Decoded(text.removeprefix("\ufeff"), "utf-8", bom)
    name = digest(text.encode(errors="surrogatepass"))
    if path.suffix == ".ipynb":
        return _notebook(decoded, path, rel, name)
    decoding.refuse_null(decoded.text)
    return SourceFile(path, rel, decoded.text, bom=bom, digest=name)


def _notebook(decoded: decoding.Decoded, path: Path, rel: str, name: str) -> SourceFile:
    from torchrepro_lint.source.notebook import join_cells

    joined = join_cells(decoded.text)
    cells, document = joined.cells, decoded.text
    return SourceFile(path, rel, joined.text, bom=decoded.bom, cells=cells, document=document, digest=name,
                      is_rewritten=joined.is_rewritten)  # fmt: skip


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(match.end() for match in _NEWLINE.finditer(text))]
    starts = [0, *accumulate(map(len, text.replace("\n", " \n").split("\n")))]  # the space replaces the newline
    starts.pop()
    return starts


def _dominant_newline(text: str) -> str:
    if "\r" not in text:
        return "\n"
    crlf = text.count("\r\n")
    counts = {"\r\n": crlf, "\n": text.count("\n") - crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda newline: counts[newline])
