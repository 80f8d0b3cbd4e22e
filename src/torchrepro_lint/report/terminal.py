"""Text on a terminal: styles, and how many columns a text takes.

Knows widths and the codes of styles; nothing of findings or source files.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from torchrepro_lint.elements import Level
from torchrepro_lint.records import NamedTuple
from torchrepro_lint.report.escaping import visible

Style = Literal["error", "warning", "note", "frame", "related", "strong", "help"]

_CODES: dict[Style, str] = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "frame": "1;34",
    "related": "34",
    "strong": "1",
    "help": "1;32",
}
_TAB = 4


class Paint(NamedTuple):
    """Wraps text in a style's escape codes, or leaves it alone when `color` is false."""

    color: bool

    def __call__(self, style: Style | Level, text: str) -> str:
        if not self.color or not text:
            return text
        name: Style = style.value if isinstance(style, Level) else style
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m"


def columns(text: str) -> int:
    """How many columns a text takes that has no tabs or control characters."""
    return len(text) if text.isascii() else sum(map(_width, text))


@lru_cache(maxsize=4)  # a line of a megabyte may have thousands of findings
def lay_out(line: str) -> tuple[Sequence[str], Sequence[int]]:
    """Each character as it is shown, and the 0-based column it starts in; the last column ends the line."""
    if "\t" not in line:
        line = visible(line)
    if line.isascii() and line.isprintable():
        return line, range(len(line) + 1)
    cells: list[str] = []
    starts = [0]
    for character, safe in zip(line, visible(line), strict=True):
        at = starts[-1]
        shown = " " * (_TAB - at % _TAB) if character == "\t" else safe
        cells.append(shown)
        starts.append(at + columns(shown))
    return cells, starts


def _width(character: str) -> int:
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
