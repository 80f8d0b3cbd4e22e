"""One source line laid out in columns, cut to the part that matters where it does not fit.

Knows tabs and wide characters through `terminal`; nothing of ranges over several lines, labels or frames.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from torchrepro_lint.report.terminal import lay_out

CUT = "..."


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
        shift = len(CUT) - self._left if self._left else 0
        first, last = (min(max(self._column(character), self._left), self._right) + shift for character in (start, end))
        return first, last

    def _column(self, character: int) -> int:
        return self._starts[min(max(character, 0), len(self._starts) - 1)]
