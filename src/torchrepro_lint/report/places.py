"""Places as people and CI systems read them: paths relative to the current folder, cells of notebooks.

Knows no finding and no format.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from torchrepro_lint.model import Location


@lru_cache(maxsize=64)
def shown_path(root: Path, rel: str, cwd: Path) -> str:
    """The path of a project file from `cwd`, with `/`; absolute when that is shorter than climbing there."""
    absolute = root / rel
    try:
        relative = Path(os.path.relpath(absolute, cwd)).as_posix()
    except ValueError:  # another drive
        return absolute.as_posix()
    if relative.startswith("../") and len(relative) > len(absolute.as_posix()):
        return absolute.as_posix()
    return f"./{relative}" if relative.lstrip().startswith(":") else relative  # GitHub obeys a line that starts with ::


def shown_place(root: Path, location: Location, cwd: Path) -> str:
    """`path:line:column`, or `path:cell 3:line:column` in a notebook."""
    start = location.range.start
    cell = "" if location.cell is None else f"cell {location.cell}:"
    return f"{shown_path(root, location.path, cwd)}:{cell}{start.line}:{start.column}"
