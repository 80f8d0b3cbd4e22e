"""Which files of the project import others, read from their text alone: no file is parsed for the question."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING

from torchrepro_lint.project.kinds import IMPORTS

if TYPE_CHECKING:
    from torchrepro_lint.project.modules import ModuleFinder
    from torchrepro_lint.project.text import ProjectText

MAX_USERS = 32  # files that use others, nearest first
_IMPORT = r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)|import[ \t]+([\w., \t]+))"


def imported(path: Path, text: ProjectText, finder: ModuleFinder) -> frozenset[str]:
    """The files of the project that a file imports."""
    return text.imports.get(path, lambda: frozenset(_imported(path, text, finder)))


def _imported(path: Path, text: ProjectText, finder: ModuleFinder) -> Iterator[str]:
    for module in text.derived(IMPORTS, path, modules_in):
        level = len(module) - len(module.lstrip("."))
        place = finder.find(module.lstrip("."), level, str(path), module.lstrip(".").count("."))
        if place is not None:
            yield place[0]


def imports_beside(path: Path, text: ProjectText, finder: ModuleFinder) -> bool:
    """Whether a file imports what lies beside it by its name alone, which a file of a package cannot: only one that is
    started there."""
    folder = path.parent
    others = [p.relative_to(folder) for p in map(_path, imported(path, text, finder)) if p.is_relative_to(folder)]
    beside = {other.parts[0].removesuffix(".py") for other in others}
    named = {module.partition(".")[0] for module in text.derived(IMPORTS, path, modules_in)}
    return bool(beside & named - {folder.name})


def modules_in(text: str) -> tuple[str, ...]:
    """The modules, and what may be modules, that the import statements of a text name; with their dots."""
    return tuple(dict.fromkeys(map(intern, _modules_in(text))))  # the same ones all over a project


def imports_in(content: bytes) -> tuple[str, ...]:
    """What `modules_in` finds in a file that is read as the project's text is."""
    return modules_in(content.decode(errors="replace"))


def _modules_in(text: str) -> Iterator[str]:
    for match in re.finditer(_IMPORT, text, re.MULTILINE):
        if match[3]:
            yield from (part.split()[0] for part in match[3].split(",") if part.strip())
        else:
            dot = "" if match[1].endswith(".") else "."
            yield match[1]
            yield from (f"{match[1]}{dot}{name}" for name in re.findall(r"(?:^|[,(])\s*(\w+)", match[2]))


def users(given: Collection[Path], text: ProjectText, finder: ModuleFinder) -> list[Path]:
    """The files that use the given ones, directly first, then through others."""
    found: dict[Path, None] = {}
    pending = list(given)
    while pending and len(found) < MAX_USERS:
        near: set[Path] = set()
        for path in pending:
            name = path.parent.name if path.stem == "__init__" else path.stem
            others = set(text.mentioning(name) or ()) - set(given) - set(found) - near
            near |= {p for p in others if str(path) in imported(p, text, finder)}
        pending = sorted(near)
        found.update(dict.fromkeys(pending))
    return list(found)[:MAX_USERS]


def reachable(start: Path, text: ProjectText, finder: ModuleFinder) -> frozenset[Path]:
    """The files that `start` imports, directly or through each other, and itself."""
    return text.reachable.get(start, lambda: frozenset(map(_path, _reachable(start, text, finder))))


def _reachable(start: Path, text: ProjectText, finder: ModuleFinder) -> set[str]:
    found: set[str] = set()
    pending = {str(start)}
    while pending:
        found |= pending
        pending = {other for path in pending for other in imported(_path(path), text, finder)} - found
    return found


@lru_cache(maxsize=65536)
def _path(name: str) -> Path:
    """One object for each: to make a path and its hash takes longer than all else here."""
    return Path(name)
