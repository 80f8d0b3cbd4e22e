"""Text on a terminal: styles, and how many columns a text takes.

Knows characters and escape codes; nothing of findings or source files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from torchrepro_lint.model import Level

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
_BIDIRECTIONAL = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Paint(NamedTuple):
    """Wraps text in a style's escape codes, or leaves it alone when `color` is false."""

    color: bool

    def __call__(self, style: Style | Level, text: str) -> str:
        if not self.color or not text:
            return text
        name: Style = style.value if isinstance(style, Level) else style
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m"


def visible(text: str) -> str:
    """`text` on one line, without control characters that a terminal would act on."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def columns(text: str) -> int:
    """How many columns a text takes that has no tabs or control characters."""
    return len(text) if text.isascii() else sum(map(_width, text))


def lay_out(line: str) -> tuple[Sequence[str], Sequence[int]]:
    """Each character as it is shown, and the 0-based column it starts in; the last column ends the line."""
    if line.isascii() and line.isprintable():
        return line, range(len(line) + 1)
    cells: list[str] = []
    starts = [0]
    for character in line:
        at = starts[-1]
        shown = " " * (_TAB - at % _TAB) if character == "\t" else _shown(character)
        cells.append(shown)
        starts.append(at + columns(shown))
    return cells, starts


def _shown(character: str) -> str:
    number = ord(character)
    if number < 0x20:
        return " " if character in "\t\n\r" else chr(0x2400 + number)
    if 0x7F <= number < 0xA0 or character in _BIDIRECTIONAL or character in "\u2028\u2029":
        return "\ufffd"
    return character


def _width(character: str) -> int:
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
