"""The files that are read to answer questions, and how many of them are kept when the next file is checked.

What an answer says never depends on what is held: a file that was freed is read again.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.project.contents import Outline, outline_from, outline_of
from torchrepro_lint.project.kinds import CODE, MATCHES, OUTLINE, SAYS, SEARCH_PATH, TEXT
from torchrepro_lint.project.search_path import SearchPath, may_set_path, search_path_from, search_path_of
from torchrepro_lint.tracking import Question, Tracker, Untracked

V = TypeVar("V")
# More trees than these are made compact, which takes longer, in a project of more code than this.
PLAIN_LINES = 5_000  # about 7 MB of syntax trees
PLAIN_FOR_FEW = 80_000  # where only a few files are checked
PLAIN_BYTES = 3_500_000  # about 85,000 lines, so 120 MB of trees


class Bounds(NamedTuple):
    """When more lines than `held` are, the least recently used files are freed until `kept` are left, so that this is
    rare: all that was worked out is forgotten with them."""

    held: int
    kept: int


COMPACT = Bounds(270_000, 220_000)  # about 170 MB
VAST = Bounds(190_000, 150_000)  # where one file may make many others be read that are not kept in any case
WHOLE = Bounds(640_000, 520_000)  # about 400 MB, where files that were freed are read again and again
FREE_MEMORY = 2_000_000_000  # bytes that must be left for that


class Files:
    """Reads files. `read` gives None for one that cannot be read, and `content` raises OSError; `is_own` says whether a
    module that a file names is one of the project, `size` how many bytes of code that has, infinitely many where it is
    more than can be held."""

    def __init__(
        self,
        read: Callable[[Path], ModuleFacts | None],
        content: Callable[[Path], bytes],
        is_own: Callable[..., bool],
        size: Callable[[], float] = lambda: 0.0,
        tracker: Tracker | None = None,
    ) -> None:
        self._tracker = tracker or Untracked()
        self._read = read
        self._content = content
        self._is_own = is_own
        self._size = size
        self._held: OrderedDict[str, ModuleFacts | None] = OrderedDict()  # the least recently used first
        self._used: dict[str, None] = {}  # since the last release
        self._lines = 0
        self._read_once: set[str] = set()
        self._first = self._again = 0  # lines that were read for the first time, and after they had been freed
        self._holds_more = False
        self._said: dict[str, dict[Question, Any]] = {}  # what the code of each file says in short
        self.is_for_few = False

    @property
    def are_many(self) -> bool:
        """Whether the next file's tree should be compact, since many will be held."""
        return self._lines > (PLAIN_FOR_FEW if self.is_for_few else PLAIN_LINES) and self._size() > PLAIN_BYTES

    @property
    def _bounds(self) -> Bounds:
        if self._lines > VAST.held and self._size() == float("inf"):
            return VAST
        return WHOLE if self._holds_more else COMPACT

    def load(self, path: str) -> ModuleFacts | None:
        """The facts of a file; None for a folder and a file that cannot be read."""
        if path not in self._held:
            facts = self._held[path] = None if os.path.isdir(path) else self._read(Path(path))
            self._count(path, _lines(facts))
            if facts is not None:
                facts.is_own = lambda module, **how: self._is_own(module, path, **how)
            if self._tracker.is_on:
                self._track(path, facts)
        self._used[path] = None
        self._tracker.knows((CODE, path))
        return self._held[path]

    def _count(self, path: str, lines: int) -> None:
        self._lines += lines
        if path in self._read_once:
            self._again += lines
        else:
            self._first += lines
            self._read_once.add(path)

    def says(self, path: str, question: Callable[..., V], *about: str) -> V | None:
        """What a file's code says in answer to a question of `contents`; None for one that cannot be read. Whoever asks
        rests on the answer, not on the code."""
        asked = (SAYS, path, question.__name__, *about)
        found: V | None = self._noted(asked, _as_said, lambda: self._find_said(path, question, about))
        return found

    def load_if(self, path: str, may: Callable[..., bool], *about: str) -> ModuleFacts | None:
        """The facts of a file of which the code says that it may matter; else None, on which alone the asker rests."""
        asked = (SAYS, path, may.__name__, *about)
        if not self._tracker.is_on or self._answer(asked, _as_said, lambda: self._find_said(path, may, about)):
            return self.load(path)  # to ask is for what is kept alone
        self.says(path, may, *about)
        return None

    def _find_said(self, path: str, question: Callable[..., V], about: tuple[str, ...]) -> V | None:
        facts = self.load(path)
        return question(facts, *about) if facts is not None else None

    def _track(self, path: str, facts: ModuleFacts | None) -> None:
        """Note the file's code, and its whole text when that is read."""
        outer = self._tracker.begin()
        known = self._tracker.recalled((CODE, path), _as_said)
        if known is None:
            known = [facts.source.code_digest if facts is not None else None]
        self._tracker.note((CODE, path), known[0])
        if facts is not None:
            source, tracker = facts.source, self._tracker
            text, content = (TEXT, path), source.digest
            source.is_read = lambda: tracker.note(text, content)
            source.is_searched = lambda pattern, found: tracker.note((MATCHES, path, pattern), found)
        self._tracker.forget(outer)

    def outline(self, path: str) -> Outline | None:
        """What importing a file runs, in short; None for one that cannot be read."""
        return self._noted((OUTLINE, path), outline_from, lambda: self._find_outline(path))

    def _noted(self, question: Question, form: Callable[[Any], V], find: Callable[[], V]) -> V:
        """The answer to a question, on which whoever asks rests."""
        found = self._answer(question, form, find)
        self._tracker.note(question, found)
        return found

    def _answer(self, question: Question, form: Callable[[Any], V], find: Callable[[], V]) -> V:
        """What is known of a file, else what an earlier run found. Nobody rests on what is read to find it."""
        said = self._said.setdefault(question[1], {})
        if question not in said:
            outer = self._tracker.begin()
            recalled = self._tracker.recalled(question, form)
            said[question] = recalled[0] if recalled is not None else find()
            self._tracker.forget(outer)
        found: V = said[question]
        return found

    def _find_outline(self, path: str) -> Outline | None:
        is_new = path not in self._held
        facts = self.load(path)
        found = outline_of(facts) if facts is not None else None
        if is_new and self._lines > self._bounds.held:
            self._said[path][SEARCH_PATH, path] = search_path_of(facts) if facts is not None else SearchPath()
            self._used.pop(path)
            self._free(path)
        return found

    def search_path(self, path: str) -> SearchPath:
        """What a file adds to `sys.path`."""
        return self._noted((SEARCH_PATH, path), search_path_from, lambda: self._find_search_path(path))

    def _find_search_path(self, path: str) -> SearchPath:
        facts = self.load(path) if path in self._held or self._may_set_path(path) else None
        return search_path_of(facts) if facts is not None else SearchPath()

    def _may_set_path(self, path: str) -> bool:
        try:
            return may_set_path(self._content(Path(path)))
        except OSError:
            return False

    def release(self) -> bool:
        """The next file is checked: free what was not used for long, if too much is held. Says whether it did."""
        for path in self._used:
            self._held.move_to_end(path)
        self._used.clear()
        if self._lines > self._bounds.held and self._again > self._first // 3:
            from torchrepro_lint.pool import free_memory  # few projects are that large

            self._holds_more = self._holds_more or free_memory() > FREE_MEMORY
        if self._lines <= self._bounds.held:
            return False
        kept = self._bounds.kept
        while self._lines > kept:
            self._free(next(iter(self._held)))
        return True

    def _free(self, path: str) -> None:
        facts = self._held.pop(path)
        self._lines -= _lines(facts)
        if facts is not None:
            facts.release()

    def forget(self, path: str) -> None:
        """The file has changed: read it anew when it is next asked for."""
        self._lines -= _lines(self._held.pop(path, None))
        self._used.pop(path, None)
        self._said.pop(path, None)


def _as_said(row: Any) -> Any:
    return tuple(map(_as_said, row)) if isinstance(row, list) else row


def _lines(facts: ModuleFacts | None) -> int:
    return facts.lines if facts is not None else 0
