"""Changed code put back into the JSON of a notebook: the strings of the edited cells change, and no other byte.

A cell's source is a string, or a list of strings, mostly one for each line. Works on the characters of those strings
as they are written, escapes and all. Knows places in the joined code; not what the code means.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from torchrepro_lint.source import SourceFile

_NEWLINE = re.compile(r"\r\n|\r|\n")
_SPACE = re.compile(r"[ \t\r\n]*")
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_LINE_FEEDS = ("\\n", "\\u000a", "\\u000A")


def in_one_cell(source: SourceFile, start: int, end: int) -> bool:
    """Whether text[start:end] of the joined code lies in one cell."""
    first, last = _cell_bounds(source, start)
    return first <= start and end <= last


def document_lines(source: SourceFile) -> Sequence[Sequence[int]]:
    """For each cell of the notebook, the lines of its JSON that hold the lines of the cell: one for all of them where
    the cell is one string."""
    document = source.document
    ends = [newline.end() for newline in _NEWLINE.finditer(document)]
    return [[bisect_right(ends, at) + 1 for at in _lines_of(document, start)] for start in _sources(document)]


def _lines_of(document: str, at: int) -> Iterator[int]:
    """Where each line of the cell whose source begins at `at` is written."""
    if at < 0 or document[at] != "[":
        yield at
        return
    start = at
    for start, _ in _items(document, at):
        yield from [start] * str(_decode(document, start)[0]).count("\n")
    yield start


def rewrite_cells(source: SourceFile, patches: Iterable[tuple[int, int, str]]) -> str:
    """The notebook's JSON with each text[start:end] of its code replaced; each patch lies in one cell."""
    by_cell: dict[int, list[tuple[int, int, str]]] = {}
    for start, end, text in patches:
        index = _cell_index(source, start)
        first, _ = _cell_bounds(source, start)
        by_cell.setdefault(index, []).append((start - first, end - first, text))
    document = source.document
    values = _sources(document)
    for index in sorted(by_cell, reverse=True):
        place = values[source.cells[index][1] - 1]
        written = _Written.read(document, place)
        for patch in reversed(by_cell[index]):
            written.replace(*patch)
        document = document[: written.start] + written.text() + document[written.end :]
    return document


def _cell_index(source: SourceFile, offset: int) -> int:
    line = source.position(offset).line
    return max(bisect_right(source.cells, (line, len(source.document) + 1)) - 1, 0)


def _cell_bounds(source: SourceFile, offset: int) -> tuple[int, int]:
    """Where the cell at `offset` begins and ends in the joined code."""
    index = _cell_index(source, offset)
    starts = source.line_starts
    following = source.cells[index + 1][0] - 1 if index + 1 < len(source.cells) else None
    return starts[source.cells[index][0] - 1], starts[following] if following is not None else len(source.text)


@dataclass(slots=True)
class _Written:
    """A cell's source as it is in the JSON, at document[start:end].

    `characters` are those of all its strings, as written; `breaks` says after how many of them a string ends, and
    what stands between it and the next one.
    """

    start: int
    end: int
    head: str
    tail: str
    characters: list[str]
    breaks: list[tuple[int, str]]
    separator: str | None
    ascii_only: bool

    @classmethod
    def read(cls, document: str, start: int) -> _Written:
        _, end = _decode(document, start)
        if document[start] == '"':
            places, separator = [(start, end)], None
        else:
            places = [(at, stop) for at, stop in _items(document, start) if document[at] == '"']
            separator = ""
        characters: list[str] = []
        breaks: list[tuple[int, str]] = []
        for (_, stop), following in zip([(0, 0), *places], places, strict=False):
            if characters or stop:
                breaks.append((len(characters), document[stop : following[0]]))
            characters += _CHARACTER.findall(document, following[0] + 1, following[1] - 1)
        head, tail = document[start : places[0][0]], document[places[-1][1] : end]
        if separator is not None:
            separator = breaks[0][1] if breaks else "," + (head[1:] or " ")
        return cls(start, end, head, tail, characters, breaks, separator, document.isascii())

    def replace(self, start: int, end: int, text: str) -> None:
        """Put `text` for the characters from `start` to `end`; the newline that the joined code adds to the last
        line is not one of them."""
        length = len(self.characters)
        if not text and start < length < end and self._ends_line(start):
            start -= 1  # the last line goes: the one before it has no line feed then
        start, end = min(start, length), min(end, length)
        added = [self._escaped(character) for character in text]
        self.characters[start:end] = added
        after = start + len(added)
        goes = end == length and not added  # then nothing may end where the cell now ends
        breaks = [(at, between) for at, between in self.breaks if at <= start and not (goes and at == start)]
        if self.separator is not None:
            opens_line = start == end == length and self._ends_line(start)
            lines = [start] * opens_line + [start + i for i, c in enumerate(added, 1) if c == "\\n"]
            separator = breaks[-1][1] if breaks else self.separator  # as the line above it
            breaks += [(at, separator) for at in lines if at < len(self.characters)]
        for at, between in self.breaks:
            moved = at - end + after
            still_ends = start < at == end and self._ends_line(moved) and moved not in [b for b, _ in breaks]
            if still_ends or at > max(start, end):
                breaks.append((moved, between))
        self.breaks = breaks

    def _ends_line(self, at: int) -> bool:
        return at > 0 and self.characters[at - 1] in _LINE_FEEDS

    def _escaped(self, character: str) -> str:
        return json.dumps(character, ensure_ascii=self.ascii_only)[1:-1]

    def text(self) -> str:
        parts = [self.head, '"']
        at = 0
        for place, between in self.breaks:
            parts += (*self.characters[at:place], '"', between, '"')
            at = place
        return "".join((*parts, *self.characters[at:], '"', self.tail))


# -- places in JSON, which is known to be well-formed ---------------------------------------------------------
def _sources(document: str) -> Sequence[int]:
    """Where the source of each cell begins, by the cell's number; -1 for a cell without one."""
    found: list[int] = []
    for cell in _cells(document):
        members = _members(document, cell)
        found.append(members.get("source", members.get("input", -1)))
    return found


def _cells(document: str) -> Iterator[int]:
    top = _members(document, _skip(document, 0))
    if "cells" in top and document[top["cells"]] == "[":
        yield from (at for at, _ in _items(document, top["cells"]))
        return
    for sheet, _ in _items(document, top["worksheets"]):
        cells = _members(document, sheet).get("cells") if document[sheet] == "{" else None
        if cells is not None and document[cells] == "[":
            yield from (at for at, _ in _items(document, cells))


def _members(document: str, at: int) -> dict[str, int]:
    """Where the value of each key of the object at `at` begins; of equal keys the last counts."""
    found: dict[str, int] = {}
    at = _skip(document, at + 1)
    while document[at] != "}":
        key, at = _decode(document, at)
        at = _skip(document, _skip(document, at) + 1)
        found[str(key)] = at
        at = _next(document, _decode(document, at)[1])
    return found


def _items(document: str, at: int) -> Iterator[tuple[int, int]]:
    """Where each item of the list at `at` begins and ends."""
    at = _skip(document, at + 1)
    while document[at] != "]":
        _, end = _decode(document, at)
        yield at, end
        at = _next(document, end)


def _next(document: str, at: int) -> int:
    """Past the comma after a value, if there is one."""
    at = _skip(document, at)
    return _skip(document, at + 1) if document[at] == "," else at


def _skip(document: str, at: int) -> int:
    space = _SPACE.match(document, at)
    assert space is not None
    return space.end()


def _decode(document: str, at: int) -> tuple[object, int]:
    value, end = json.JSONDecoder().raw_decode(document, at)
    return value, end
