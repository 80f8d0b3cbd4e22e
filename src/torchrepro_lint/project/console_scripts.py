"""The functions that a project's packaging makes commands of: `[project.scripts]`, `console_scripts`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torchrepro_lint.project.modules import ModuleFinder


def console_scripts(root: Path, targets: Iterable[tuple[str, str]], finder: ModuleFinder) -> dict[str, list[str]]:
    """File -> the names of its functions that are commands, of which the packaging names module and function."""
    found: dict[str, list[str]] = {}
    for module, function in targets:
        place = finder.find(module, 0, str(root / "setup.py"))
        if place is not None and not place[1] and function not in found.setdefault(place[0], []):
            found[place[0]].append(function)
    return found
