"""What fixes would change, as a unified diff."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.report.terminal import Paint, Style

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_STYLES: dict[str, Style] = {"---": "strong", "+++": "strong", "@@": "note", "-": "error", "+": "help"}


def render_diff(result: Result, *, color: bool) -> Iterator[str]:
    """The diff of each changed file, as it is or with colours."""
    paint = Paint(color)
    for _, diff in result.diffs:
        yield "".join(_colored(line, paint) for line in diff.splitlines(keepends=True)) if color else diff


def _colored(line: str, paint: Paint) -> str:
    text = line.rstrip("\r\n")
    for start, style in _STYLES.items():
        if text.startswith(start):
            return paint(style, text) + line[len(text) :]
    return line
