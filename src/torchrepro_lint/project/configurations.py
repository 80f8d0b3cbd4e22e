"""The configuration files of a project: which of them a path in the code may mean. Every look at one goes through
here, also at those that are not there.

Knows paths and names; what a file says is in its facts, as if it were code.
"""

# Strings instead of Path objects, as in `files`.
# ruff: noqa: PTH100, PTH118

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import Any

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.project.disk import is_file, speaks_of, yaml_reader
from torchrepro_lint.project.kinds import LISTED
from torchrepro_lint.project.listed import ANY, EVERY_YAML, YAML, listed_as
from torchrepro_lint.reading import CONFIGURATIONS
from torchrepro_lint.tracking import Tracker

MAX_CANDIDATES = 64


class Configurations:
    """`load` gives a file's facts, or None; `files` lists what the project has; `ask` puts a question of `disk`."""

    def __init__(
        self,
        root: Path,
        load: Callable[[str], ModuleFacts | None],
        files: Callable[[], Collection[Path]],
        ask: Callable[..., Any],
        tracker: Tracker,
    ) -> None:
        self._root = os.path.abspath(root)
        self._load = load
        self._files = files
        self._ask = ask
        self._tracker = tracker
        self.unread: set[Path] = set()

    def read(self, path: str) -> ModuleFacts | None:
        """What is in a file; None where there is none, or none that can be read."""
        path = os.path.normpath(path)
        if not path.endswith(CONFIGURATIONS) or not self._ask(is_file, path):
            return None
        if path.endswith(YAML):
            self._ask(yaml_reader)
        facts = self._load(path)
        if facts is None:
            self.unread.add(Path(path))
        return facts

    def meant(self, written: str, user: Path) -> list[ModuleFacts]:
        """What a path in the code of `user` may mean: relative to its own folder, or to one above in which programs
        are started. None where one of the files cannot be read."""
        found = [path for base in self._bases(user) for path in self._matching(os.path.join(base, written))]
        read = [self.read(path) for path in dict.fromkeys(found[:MAX_CANDIDATES])]
        known = [facts for facts in read if facts is not None]
        return known if len(known) == len(read) and len(found) <= MAX_CANDIDATES else []

    def every_yaml(self) -> list[ModuleFacts] | None:
        """The YAML files of the project that can be read; None where there are too many to look into."""
        found = self._every_yaml()
        if len(found) > MAX_CANDIDATES:
            return None
        return [facts for facts in map(self.read, found) if facts is not None]

    def mentions(self, word: str) -> bool:
        """Whether any YAML file of the project has a word."""
        return any(self._ask(speaks_of, path, word) for path in self._every_yaml())

    def _every_yaml(self) -> list[str]:
        found = listed_as(EVERY_YAML, self._root, self._listed)
        self._tracker.note((LISTED, EVERY_YAML), found)
        return found

    def _bases(self, user: Path) -> list[str]:
        folders = [str(user.parent), *map(str, user.parent.parents)]
        inside = [folder for folder in folders if folder == self._root or folder.startswith(self._root + os.sep)]
        return inside or folders[:1]

    def _matching(self, path: str) -> list[str]:
        path = os.path.normpath(path)
        if ANY not in path:
            return [path] if self._ask(is_file, path) else []
        found = listed_as(path, self._root, self._listed)
        self._tracker.note((LISTED, path), found)
        return found

    @cached_property
    def _listed(self) -> list[str]:
        return [str(path) for path in self._files()]
