"""The files that are read to answer questions about one checked file, and how many of them are kept for the next.

What an answer can see depends on the checked file alone, never on what was read for another one before it: a file
counts towards the bounds whether it is still held or not.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.program.outlines import Outline, outline_of
from torchrepro_lint.program.search_path import SearchPath, search_path_of

MAX_LINES_HELD = 50_000  # between two checked files: about 55 MB of syntax trees
MAX_LINES_READ = 90_000  # for one checked file; beyond, what lies in other files is unknown
MAX_OUTLINES = 3_000  # files looked at for what importing them runs


class Files:
    """Reads files once for each checked file. `read` gives None for one that cannot be read."""

    def __init__(self, read: Callable[[Path], ModuleFacts | None]) -> None:
        self._read = read
        self._held: OrderedDict[str, ModuleFacts | None] = OrderedDict()
        self._in_use: dict[str, ModuleFacts | None] = {}
        self._lines_in_use = 0
        self._lines_held = 0
        self._outlines: dict[str, Outline | None] = {}
        self._outlined: set[str] = set()
        self._search_paths: dict[str, SearchPath] = {}

    @property
    def is_exhausted(self) -> bool:
        """Whether so much was read for the file now checked that no more is."""
        return self._lines_in_use > MAX_LINES_READ or len(self._outlined) > MAX_OUTLINES

    def load(self, path: str) -> ModuleFacts | None:
        """The facts of a file; None for a folder, a file that cannot be read, or one too many."""
        if path in self._in_use:
            return self._in_use[path]
        if self.is_exhausted:
            return None
        if path in self._held:
            facts = self._held.pop(path)
            self._lines_held -= _lines(facts)
        else:
            facts = self._read_now(path)
        self._in_use[path] = facts
        self._lines_in_use += _lines(facts)
        return facts

    def outline(self, path: str) -> Outline | None:
        """What importing a file runs, in short; None for one that cannot be read, or one too many."""
        if self.is_exhausted:
            return None
        self._outlined.add(path)
        if path not in self._outlines:
            if path not in self._in_use and path not in self._held:
                self._held[path] = self._read_now(path)
                self._lines_held += _lines(self._held[path])
            facts = self._in_use.get(path) or self._held.get(path)
            self._outlines[path] = outline_of(facts) if facts is not None else None
        return self._outlines[path]

    def _read_now(self, path: str) -> ModuleFacts | None:
        facts = None if os.path.isdir(path) else self._read(Path(path))
        self._search_paths[path] = search_path_of(facts) if facts is not None else SearchPath()
        return facts

    def search_path(self, path: str) -> SearchPath:
        """What a file adds to `sys.path`; of one that was never read, it is read now."""
        if path not in self._search_paths:
            self._held[path] = self._read_now(path)
            self._lines_held += _lines(self._held[path])
        return self._search_paths[path]

    def release(self) -> None:
        """The next file is checked: keep what was used last, up to the bound, and free the rest."""
        for path, facts in self._in_use.items():
            self._held[path] = facts
            if facts is not None:
                facts.forget_parents()
        self._lines_held += self._lines_in_use
        self._in_use, self._lines_in_use = {}, 0
        self._outlined.clear()
        while self._lines_held > MAX_LINES_HELD:
            _, facts = self._held.popitem(last=False)
            self._lines_held -= _lines(facts)
            if facts is not None:
                facts.release()

    def forget(self, path: str) -> None:
        """The file has changed: read it anew when it is next asked for."""
        self._lines_held -= _lines(self._held.pop(path, None))
        self._lines_in_use -= _lines(self._in_use.pop(path, None))
        self._outlines.pop(path, None)


def _lines(facts: ModuleFacts | None) -> int:
    return facts.lines if facts is not None else 0
