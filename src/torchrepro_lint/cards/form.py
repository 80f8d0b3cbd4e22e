"""The fixed form of a card's Markdown: its headings, its fences, and the error for a card without that form.

Knows Markdown as far as cards use it; nothing of front matter, examples or rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

HEADINGS = (
    "What it does",
    "Why it matters",
    "Example",
    "Use instead",
    "Fix safety",
    "When it stays silent",
    "References",
)
FENCE = r"(`{3,})(.*)"


class CardError(ValueError):
    """A card that does not have the required form; the text names file, line and what is wrong."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")
        self.path = path
        self.line = line


def headings(lines: Sequence[str]) -> list[tuple[int, str]]:
    """(0-based line, title) of each `## ` heading outside fenced blocks."""
    found: list[tuple[int, str]] = []
    fence = ""
    for index, line in enumerate(lines):
        match = re.fullmatch(FENCE, line)
        if match and not fence:
            fence = match[1]
        elif fence and line.rstrip() == fence:
            fence = ""
        elif not fence and line.startswith("## "):
            found.append((index, line[3:].strip()))
    return found
