"""The lines of source around a place that a rerun tells, of a file or of a notebook's cell."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrepro_lint.rerun.streams import Place


def lines_around(root: Path, place: Place, around: int = 0) -> list[tuple[int, str]]:
    """The line and so many above and below it, numbered; none where the source cannot be read."""
    path = root / place.path
    lines = linecache.getlines(str(path)) if place.cell is None else _cell(path, place.cell)
    first = max(place.line - around, 1)
    return [(first + n, line.rstrip()) for n, line in enumerate(lines[first - 1 : place.line + around])]


def _cell(path: Path, wanted: int) -> Sequence[str]:
    from torchrepro_lint.source.errors import SourceError
    from torchrepro_lint.source.notebook import join_cells

    try:
        joined = join_cells(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SourceError):
        return ()
    starts = [line for line, _ in joined.cells]
    bounds = dict(zip((cell for _, cell in joined.cells), zip(starts, [*starts[1:], None], strict=True), strict=True))
    first, end = bounds.get(wanted, (1, 1))
    return joined.text.splitlines()[first - 1 : None if end is None else end - 1]
