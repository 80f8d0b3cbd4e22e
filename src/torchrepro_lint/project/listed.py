"""Which of a project's configuration files a path with unknown parts may be. Knows names alone, since a run of which
everything is known asks it, too."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

ANY = "\0"
"""Stands in a path for a part that is not known."""
YAML = (".yaml", ".yml")
EVERY_YAML = f"{ANY}.yaml"


def listed_as(path: str, root: str, names: Sequence[str]) -> list[str]:
    """Those of the names that a path may be."""
    if path == EVERY_YAML:
        return [name for name in names if name.endswith(YAML)]
    known = os.path.splitext(path.removeprefix(root))[0].replace(ANY, "").strip("./\\-_")  # noqa: PTH122
    if not known:  # any file at all
        return []
    first, *_, last = parts = path.split(ANY)
    near = [name for name in names if name.startswith(first) and name.endswith(last)]
    pattern = re.compile(r"[^/\\]*".join(map(re.escape, parts))) if near else None
    return [name for name in near if pattern is not None and pattern.fullmatch(name)]
