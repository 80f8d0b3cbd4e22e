"""What the folders of a project hold, as far as imports go: which file or folder a module is in one, and which file a
folder is as a package."""

from __future__ import annotations

import os

from torchrepro_lint.reading import Reach
from torchrepro_lint.tracking import Tracker

# The kinds under which questions are noted.
OF_FOLDERS = CHILD, PACKAGE, FILLED, BUILT = ("child", "package", "filled", "built")
MAX_DEPTH, MAX_FOLDERS = 4, 4096  # where modules are looked for in one without `__init__.py`
_BUILDS = frozenset({"setup.py", "pyproject.toml"})


class Folders:
    """Looks into each folder once; `reach` is how far links are followed."""

    def __init__(self, reach: Reach, tracker: Tracker) -> None:
        self.reach = reach
        self.tracker = tracker
        self._found: dict[tuple[str, str, str], str | None] = {}
        self._entries: dict[str, frozenset[str]] = {}

    def child(self, folder: str, name: str) -> str | None:
        """The file or folder that is the module `name` in a folder."""
        key = (CHILD, folder, name)
        if key not in self._found:
            self._found[key] = self._search(folder, name)
        found = self._found[key]
        self.tracker.note(key, found)
        return found

    def _search(self, folder: str, name: str) -> str | None:
        entries = self._names_in(folder)
        file = f"{name}.py"
        if name not in entries and file not in entries:  # as most names are not in most folders
            return None
        path = os.path.join(folder, name)
        if name in entries and "__init__.py" in self._names_in(path):
            return path
        if file in entries:
            return path + ".py"
        return path if self._holds_python(path) else None  # a namespace package

    def package(self, path: str) -> str:
        """The file that a folder is as a package; a folder that is none, and a file, are what they are."""
        found = os.path.join(path, "__init__.py") if "__init__.py" in self._names_in(path) else path
        self.tracker.note((PACKAGE, path), found)
        return found

    def is_filled(self, folder: str) -> bool:
        """Whether there is anything in a folder."""
        found = bool(self._names_in(folder))
        self.tracker.note((FILLED, folder), found)
        return found

    def built(self, folder: str) -> str:
        """The names of the folders in a folder that a package is built from, with `/` between them."""
        key = (BUILT, folder, "")
        found = self._found.get(key)
        if found is None:
            inside = (n for n in sorted(self._names_in(folder)) if "." not in n)
            found = self._found[key] = "/".join(n for n in inside if self._names_in(os.path.join(folder, n)) & _BUILDS)
        self.tracker.note((BUILT, folder), found)
        return found

    def _holds_python(self, folder: str) -> bool:
        """Whether there are modules in a folder, or some folders further down: `src/model/parts/network.py`."""
        level, left = [folder], MAX_FOLDERS
        for _ in range(MAX_DEPTH):
            held = [(at, self._names_in(at)) for at in level[:left]]
            if any(n.endswith(".py") for _, names in held for n in names):
                return True
            left -= len(held)
            level = [os.path.join(at, n) for at, names in held for n in sorted(names) if "." not in n]
        return False

    def _names_in(self, folder: str) -> frozenset[str]:
        """What is in a folder of the project; nothing in one to which a link leads out of it."""
        if folder not in self._entries:
            try:
                names = os.listdir(folder) if self.reach.includes(folder) else []
            except OSError:
                names = []
            self._entries[folder] = frozenset(names)
        return self._entries[folder]
