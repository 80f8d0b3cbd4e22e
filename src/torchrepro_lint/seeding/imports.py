"""Which files of the project an import runs, in order, whether or not they were imported before: those that do more at
their top level than define and import. Worked out once for all programs."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator

from torchrepro_lint.index import Scope
from torchrepro_lint.project.contents import only_defines
from torchrepro_lint.project.files import Files
from torchrepro_lint.project.modules import ModuleFinder
from torchrepro_lint.tracking import Memo, Tracker


class Imports:
    """Answers for one program, as long as its files are held."""

    def __init__(self, finder: ModuleFinder, files: Files, tracker: Tracker) -> None:
        self._finder = finder
        self._files = files
        self._active: Memo[tuple[str, ...]] = Memo(tracker)

    def by(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> tuple[str, ...]:
        """The files that a statement runs."""
        return self.named(_names(node), str(scope.facts.source.path))

    def named(self, wanted: Iterable[tuple[str, int]], importer: str) -> tuple[str, ...]:
        """The files that importing these names runs, each with its level, where `importer` imports them."""
        return tuple(dict.fromkeys(a for path in self._meant(wanted, importer) for a in self._run_by(path)))

    def around(self, path: str) -> tuple[str, ...]:
        """The files that are run before one that is started as a module, by the packages that it is in."""
        depth = path.removeprefix(self._finder.root).count(os.sep) - 1
        return self.named([("", level) for level in range(depth, 0, -1)], path)

    def _meant(self, wanted: Iterable[tuple[str, int]], importer: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for name, level in wanted for path in self._modules(name, level, importer)))

    def _modules(self, name: str, level: int, importer: str) -> Iterator[str]:
        """The file that a name means, after those of the packages that it is in."""
        place = self._finder.find(name, level, importer, name.count("."))
        if place is None:
            return
        parts = name.removesuffix(f".{place[1]}").split(".") if place[1] else name.split(".")
        for end in range(1, len(parts)):
            package = self._finder.find(".".join(parts[:end]), level, importer)
            if package is not None and package[0] != importer:
                yield package[0]
        yield place[0]

    def _run_by(self, path: str) -> tuple[str, ...]:
        """The file itself if it is active, which runs its own imports; else the active ones that it imports, directly
        or through others that are not."""
        return self._active.get(path, lambda: tuple(self._active_from(path)))

    def _active_from(self, path: str) -> Iterator[str]:
        seen, pending = {path}, [path]
        while pending:
            current = pending.pop()
            outline = self._files.outline(current)
            if outline is None:
                continue
            if outline.active or not all(self._only_defines(*name, current) for name in outline.called):
                yield current
                continue
            new = [p for p in self._meant(outline.imports, current) if p not in seen]
            seen.update(new)
            pending += reversed(new)

    def _only_defines(self, name: str, level: int, importer: str) -> bool:
        """Whether what a file imports by this name is a function of the project, a call of which runs no others."""
        place = self._finder.find(name, level, importer)
        return place is not None and bool(self._files.says(place[0], only_defines, place[1]))


def _names(node: ast.Import | ast.ImportFrom) -> list[tuple[str, int]]:
    if isinstance(node, ast.Import):
        return [(alias.name, 0) for alias in node.names]
    base = node.module or ""
    names = [f"{base}.{alias.name}".strip(".") for alias in node.names if alias.name != "*"] or [base]
    return [(name, node.level) for name in names]
