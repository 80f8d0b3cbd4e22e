"""Which files of the project an import runs, in order, whether or not they were imported before. No state, no order
of programs: worked out once for all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchrepro_lint.index import Scope
from torchrepro_lint.project.modules import ModuleFinder
from torchrepro_lint.project.outlines import Outline


class Imports:
    """Answers for one program, as long as its files are held."""

    def __init__(self, finder: ModuleFinder) -> None:
        self._finder = finder
        self._by_statement: dict[ast.stmt, tuple[str, ...]] = {}
        self._by_file: dict[str, tuple[str, ...]] = {}

    def by(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> tuple[str, ...]:
        """The files that a statement imports."""
        if node not in self._by_statement:
            self._by_statement[node] = self.named(_names(node), str(scope.facts.source.path))
        return self._by_statement[node]

    def by_file(self, path: str, outline: Outline) -> tuple[str, ...]:
        """The files that one with this outline imports at its top level."""
        if path not in self._by_file:
            self._by_file[path] = self.named(outline.imports, path)
        return self._by_file[path]

    def named(self, wanted: Iterable[tuple[str, int]], importer: str) -> tuple[str, ...]:
        """The files that these names mean, each with its level, where `importer` imports them."""
        found = (self._finder.find(name, level, importer) for name, level in wanted)
        return tuple(dict.fromkeys(place[0] for place in found if place is not None))


def _names(node: ast.Import | ast.ImportFrom) -> list[tuple[str, int]]:
    if isinstance(node, ast.Import):
        return [(alias.name, 0) for alias in node.names]
    base = node.module or ""
    names = [f"{base}.{alias.name}".strip(".") for alias in node.names if alias.name != "*"] or [base]
    return [(name, node.level) for name in names]
