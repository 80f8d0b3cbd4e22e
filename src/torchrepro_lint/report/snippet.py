"""Source lines in a frame, with the ranges that matter underlined and labelled, as good compilers show them.

Knows lines and columns of one file (or one notebook cell), and cuts a line that does not fit to the part that matters;
nothing of rules, findings or fixes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from torchrepro_lint.elements import Level, Range
from torchrepro_lint.records import NamedTuple
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.terminal import Paint, Style, columns, lay_out

_WHOLE = 5  # a range of at most so many lines is shown whole
_LEAST = 20  # columns for the text, however narrow the terminal
CUT = "..."


class Annotation(NamedTuple):
    """A range and what to say of it; the primary one is what the finding is about."""

    range: Range
    label: str
    primary: bool


class Frame(NamedTuple):
    """How the lines of one snippet are drawn. `lines` are those of the file or the notebook cell."""

    lines: Sequence[str]
    annotations: Sequence[Annotation]
    level: Level
    gutter: int
    width: int
    paint: Paint

    def draw(self) -> list[str]:
        """The frame's rows, without newlines; none when there are no lines to show."""
        shown = self._shown()
        if not shown:
            return []
        previous = 0
        bar, edge = _Bar.over(self.annotations, self.lines), self._row("", "")
        rows = [edge]
        for number in shown:
            if previous and number > previous + 1:
                inside = bar is not None and bar.covers(previous + 1)
                rows.append(self._skip(inside, bar is not None))
            rows += self._line(number, bar)
            previous = number
        rows.append(edge)
        return rows

    def _shown(self) -> list[int]:
        shown: set[int] = set()
        for annotation in self.annotations:
            first = annotation.range.start.line
            last = min(_last_line(annotation.range), len(self.lines)) if annotation.primary else first
            if last == first:
                shown.add(first)
            elif last - first < _WHOLE:
                shown.update(range(first, last + 1))
            else:
                shown.update((first, first + 1, last))
        numbers = sorted([number for number in shown if 1 <= number <= len(self.lines)])
        single_gaps = [before + 1 for before, number in pairwise(numbers) if number == before + 2]
        return sorted([*numbers, *single_gaps]) if single_gaps else numbers

    def _row(self, number: str, text: str) -> str:
        return f"{self.paint('frame', number.rjust(self.gutter) + ' |')} {text}".rstrip()

    def _skip(self, inside: bool, barred: bool) -> str:
        edge = self.paint(self.level, " |") if inside else "  " if barred else ""
        return (self.paint("frame", f"{'...':<{self.gutter + 2}}") + edge).rstrip()

    def _line(self, number: int, bar: _Bar | None) -> list[str]:
        edge = bar.edge(number) if bar else ""
        row = Row(self.lines[number - 1], max(self.width - self.gutter - 3 - len(edge), _LEAST))
        here = [item for item in self.annotations if item.range.start.line == number]
        row.focus(*_span(here[0].range, row.length) if here else (0, 1))
        rows = [self._row(str(number), self.paint(self.level, edge) + row.text)]
        if bar and number == bar.first and not bar.flush:
            start, _ = row.place(bar.column, bar.column + 1)
            rows.append(self._row("", self.paint(self.level, " " + "_" * (start + 1) + "^")))
        for item in here:
            if not (bar and bar.annotation is item):
                rows += self._underline(item, row, self.paint(self.level, _edge_below(bar, number)))
        if bar and number == bar.last:
            _, end = row.place(0, bar.end_column)
            text = "|" + "_" * (end + 1) + "^"
            rows.append(self._row("", self._labelled(self.level, text, bar.annotation.label)))
        return rows

    def _underline(self, item: Annotation, row: Row, edge: str) -> list[str]:
        start, end = row.place(*_span(item.range, row.length))
        start = min(start, row.width - 1)  # the end of a line that fills the row
        style: Style | Level = self.level if item.primary else "related"
        marks = ("^" if item.primary else "-") * max(end - start, 1)
        label = visible(item.label)
        if not label or start + len(marks) + 1 + columns(label) <= row.width:
            return [self._row("", edge + " " * start + self._labelled(style, marks, label))]
        left = max(min(start, row.width - columns(label)), 0)
        return [
            self._row("", edge + " " * start + self.paint(style, marks)),
            self._row("", edge + " " * left + self.paint(style, label)),
        ]

    def _labelled(self, style: Style | Level, marks: str, label: str) -> str:
        return self.paint(style, f"{marks} {visible(label)}" if label else marks)


class _Bar(NamedTuple):
    """The bar left of a primary range of several lines; `flush` when only indent precedes it."""

    annotation: Annotation
    first: int
    last: int
    column: int
    end_column: int
    flush: bool

    @staticmethod
    def over(annotations: Sequence[Annotation], lines: Sequence[str]) -> _Bar | None:
        for item in annotations:
            first, last = item.range.start.line, min(_last_line(item.range), len(lines))
            if not item.primary or last <= first:
                continue
            column = item.range.start.column - 1
            end = item.range.end.column - 1 if item.range.end.line == last else len(lines[last - 1])
            flush = not lines[first - 1][:column].strip()
            return _Bar(item, first, last, column, max(end - 1, 0), flush)
        return None

    def covers(self, number: int) -> bool:
        return self.first < number <= self.last

    def edge(self, number: int) -> str:
        """The two columns left of a line's text."""
        if number == self.first and self.flush:
            return "/ "
        return "| " if self.covers(number) else "  "


def _edge_below(bar: _Bar | None, number: int) -> str:
    """The two columns left of the row under a line's text."""
    if bar is None:
        return ""
    return "| " if bar.first <= number < bar.last else "  "


def _last_line(where: Range) -> int:
    """The last line that the range has a character on."""
    if where.end.column == 1 and where.end.line > where.start.line:
        return where.end.line - 1
    return where.end.line


def _span(where: Range, length: int) -> tuple[int, int]:
    """0-based first and last-plus-one character of the range on its first line."""
    start = where.start.column - 1
    end = where.end.column - 1 if where.end.line == where.start.line else length
    return start, max(end, start + 1)


# -- one line ----------------------------------------------------------------------------------------------------------
class Row:
    """One line laid out in columns, and the part of it that fits."""

    def __init__(self, line: str, width: int) -> None:
        self.length = len(line)
        self.width = width
        self._cells, self._starts = lay_out(line.rstrip())
        self._left = 0
        self._right = self._starts[-1]
        self.text = ""

    def focus(self, start: int, end: int) -> None:
        """Show the line; one that is too long is cut around its characters `start` to `end`."""
        if self._starts[-1] <= self.width:
            self.text = "".join(self._cells)
            return
        first, last = self._column(start), self._column(end)
        self._left = 0
        if last > self.width - len(CUT):
            room = max(self.width - 2 * len(CUT) - (last - first), self.width // 4)
            self._left = max(min(first - room // 2, self._starts[-1] - self.width + len(CUT)), 0)
        shift = len(CUT) if self._left else 0
        whole = self._starts[-1] - self._left + shift <= self.width
        self._right = self._starts[-1] if whole else self._left + self.width - shift - len(CUT)
        kept = slice(bisect_left(self._starts, self._left), bisect_right(self._starts, self._right) - 1)
        middle = "".join(self._cells[kept])
        self.text = CUT * bool(self._left) + middle + ("" if whole else CUT)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The shown columns of the characters `start` to `end`, kept inside what is shown."""
        first, last = self._column(start), self._column(end)
        if self._left == 0 and self._right == self._starts[-1]:
            return first, last
        shift = len(CUT) - self._left if self._left else 0
        first, last = [min(max(column, self._left), self._right) + shift for column in (first, last)]
        return first, last

    def _column(self, character: int) -> int:
        starts = self._starts
        return starts[character] if 0 <= character < len(starts) else starts[-1 if character > 0 else 0]
