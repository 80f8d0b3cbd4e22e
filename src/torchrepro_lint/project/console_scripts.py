"""The functions that a project's packaging makes commands of: `[project.scripts]`, `console_scripts`.

Reads pyproject.toml, setup.cfg and setup.py as text; what is put together at build time is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from torchrepro_lint.project.modules import ModuleFinder
from torchrepro_lint.reading import OutOfReachError, Reach

_SECTION = re.compile(r"^\[(?:project\.(?:gui-)?scripts|tool\.poetry\.scripts)\][^\n]*\n(.*?)(?=^\[|\Z)", re.M | re.S)
_LISTED = re.compile(r"console_scripts[\"']?\s*[:=](.*?)(?:\]|^\S|\Z)", re.M | re.S)
_TARGET = re.compile(r"=\s*[\"']?([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)")


Refused = Callable[[Path, str], None]


def console_scripts(root: Path, finder: ModuleFinder, reach: Reach, refused: Refused) -> dict[str, list[str]]:
    """File -> the names of its functions that are commands. `refused` is told of what cannot be read."""
    found: dict[str, list[str]] = {}
    for module, function in _targets(root, reach, refused):
        place = finder.find(module, 0, str(root / "setup.py"))
        if place is not None and not place[1] and function not in found.setdefault(place[0], []):
            found[place[0]].append(function)
    return found


def _targets(root: Path, reach: Reach, refused: Refused) -> Iterator[tuple[str, str]]:
    for name, part in (("pyproject.toml", _SECTION), ("setup.cfg", _LISTED), ("setup.py", _LISTED)):
        try:
            text = reach.read(root / name).decode("utf-8", errors="replace")
        except (FileNotFoundError, IsADirectoryError, OutOfReachError):
            continue
        except OSError as error:
            refused(root / name, error.strerror or str(error))
            continue
        for section in part.findall(text):
            yield from _TARGET.findall(section)
