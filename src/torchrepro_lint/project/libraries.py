"""Libraries that lie inside the project, in their own repository or as a vendored copy: the names that others know
their functions and classes by.

Only what the catalogue describes has such a name, and only for files outside the library: inside it, code is code.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from torchrepro_lint import catalogue
from torchrepro_lint.index import Scope
from torchrepro_lint.project.text import ProjectText
from torchrepro_lint.tracking import Memo, Tracker

_KNOWN = frozenset({"function", "class"})


class Libraries:
    """Those of one project, found by the packages that its files lie in."""

    def __init__(self, text: ProjectText, tracker: Tracker) -> None:
        self._text = text
        self._known: Memo[dict[str, str]] = Memo(tracker)
        self._of: dict[Scope, str | None] = {}  # follows from the folders and the scope itself

    def forget(self) -> None:
        """Files have changed or were dropped."""
        self._of.clear()
        self._known.clear()

    @property
    def _folders(self) -> dict[str, str]:
        """Folder -> name, of the packages at the top of a library."""
        return self._known.get("folders", self._find_folders)

    def _find_folders(self) -> dict[str, str]:
        fronts = self._text.fronts(catalogue.libraries())
        return {f"{path.parent}{os.sep}": path.parent.name for path in fronts}

    def name_of(self, target: Scope, importer: Scope) -> str | None:
        """The name that the catalogue has for a function or class, or for the constructor of a class, seen from another
        file."""
        if not self._folders or target.kind not in _KNOWN:
            return None
        if target not in self._of:
            self._of[target] = self._find(target)
        found = self._of[target]
        return None if found is None or self._library(importer) == self._library(target) else found

    def _library(self, scope: Scope) -> str | None:
        path = str(scope.facts.source.path)
        return max((folder for folder in self._folders if path.startswith(folder)), key=len, default=None)

    def _find(self, target: Scope) -> str | None:
        owner, _, last = target.name.rpartition(".")
        if owner:
            is_constructor = last == "__init__" and target.parent is not None
            known = self._find(target.parent) if is_constructor and target.parent is not None else None
            return f"{known}.__init__" if known is not None else None
        folder = self._library(target)
        if folder is None:
            return None
        inside = target.facts.source.path.with_suffix("").relative_to(folder).parts
        return self._exported(target, [self._folders[folder], *inside], catalogue.libraries()[self._folders[folder]])

    def _exported(self, target: Scope, module: list[str], known: Collection[str]) -> str | None:
        """The name under which the module, or a package around it, has it."""
        while module:
            name = catalogue.canonical(".".join((*module, target.name)))
            if name in known:
                return name
            module = module[:-1]
        return None
