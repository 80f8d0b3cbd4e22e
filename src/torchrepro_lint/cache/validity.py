"""Whether the questions of an earlier run have the answers that they had, each looked into as cheaply as can be.

What was asked about one file holds while its bytes are the same, and may where they are not: a comment changes no code.
What was asked of all the project's text is asked again of the files alone that are others now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchrepro_lint.cache.states import States
from torchrepro_lint.project import disk, text
from torchrepro_lint.project.folders import BUILT, CHILD, FILLED, PACKAGE, Folders
from torchrepro_lint.project.importers import modules_in
from torchrepro_lint.project.kinds import (
    CODE,
    COUNTED,
    IMPORTS,
    LISTED,
    MATCHES,
    NATIVE,
    OUTLINE,
    SAYS,
    SEARCH_PATH,
    TEXT,
)
from torchrepro_lint.reading import digest
from torchrepro_lint.tracking import Question, numbers

if TYPE_CHECKING:
    from torchrepro_lint.project.project import Project

_EXACT = (text.MENTIONING, text.USING, text.CONTAINING, text.DEFINING, text.DERIVING, text.FRONTS)
SEARCHES = (*_EXACT, text.DEFINES, text.DERIVES, text.MATCH)


class Listing:
    """The Python files of the project now and in the earlier run, and which of them have other bytes."""

    def __init__(self, now: Iterable[str], before: Iterable[str], states: States) -> None:
        self.now = frozenset(now)
        self.before = frozenset(before)
        self.states = states
        self.moved = (self.now ^ self.before) | states.changed(self.now & self.before)

    @cached_property
    def contents(self) -> Mapping[str, bytes]:
        """What the files hold that have moved and are still there."""
        found = ((path, self.states.read(path)) for path in sorted(self.moved & self.now))
        return {path: data for path, data in found if data is not None and len(data) <= text.MAX_BYTES}

    @cached_property
    def words(self) -> Mapping[str, Collection[bytes]]:
        """Their identifiers."""
        return {path: text.words(data) for path, data in self.contents.items()}

    @cached_property
    def definitions(self) -> Mapping[str, Collection[bytes]]:
        """The names that they define."""
        return {path: text.definitions(data) for path, data in self.contents.items()}

    @cached_property
    def is_too_large(self) -> bool:
        """Whether there is too much text to be searched."""
        sizes = (self.states.of(path).size for path in self.now)
        return sum(size for size in sizes if size <= text.MAX_BYTES) > text.MAX_BYTES  # a larger file is not read


class Validity:
    """Judges sets of the earlier run's questions, each question once. `listed` gives the configuration files that
    a path with unknown parts may be."""

    def __init__(
        self,
        questions: Sequence[Question],
        answers: Sequence[Any],
        listing: Listing,
        folders: Folders,
        project: Callable[[], Project],
        listed: Callable[[str], Sequence[str]],
    ) -> None:
        self._questions = questions
        self._answers = answers
        self._listing = listing
        self._folders = folders
        self._project = project
        self._listed = listed
        self._in_folders: Mapping[str, Callable[..., Any]] = {
            CHILD: folders.child, PACKAGE: folders.package, FILLED: folders.is_filled, BUILT: folders.built
        }  # fmt: skip
        self._judged = 0
        self._bad = 0

    def broken(self, rests: int) -> int:
        """Those of a set of questions that have another answer."""
        new = rests & ~self._judged
        if new:
            outer = self._folders.tracker.begin()
            try:
                for number in numbers(new):
                    if not self._holds(self._questions[number], self._answers[number]):
                        self._bad |= 1 << number
            finally:
                self._folders.tracker.forget(outer)
            self._judged |= new
        return rests & self._bad

    def _holds(self, question: Question, answer: Any) -> bool:
        kind, *about = question
        if kind in self._in_folders:  # half of all
            return bool(self._in_folders[kind](*about) == answer)
        if kind in COUNTED:
            return True
        if kind == TEXT:
            return bool(self._listing.states.of(about[0]).digest == answer)
        if kind in (CODE, OUTLINE, SEARCH_PATH):
            return not self._listing.states.changed(about[:1]) or self._of_file(kind, about[0]) == answer
        if kind == SAYS:
            return not self._listing.states.changed(about[:1]) or plain(self._said(*about)) == answer
        if kind == MATCHES:
            return not self._listing.states.changed(about[:1]) or self._matches(*about) is answer
        if kind in (IMPORTS, text.HAS):
            return about[0] not in self._listing.moved or self._of_text(kind, *about) == answer
        if kind == text.CONTENT:
            return about[0] not in self._listing.moved or self._content(about[0]) == answer
        if kind == NATIVE:
            return bool(self._native() == answer)
        if kind == LISTED:
            return bool(self._listed(about[0]) == answer)
        if kind == text.TOO_LARGE:
            return self._listing.is_too_large is answer
        if kind in SEARCHES:
            return not self._listing.moved or self._found_alike(kind, about, answer)
        return bool(plain(disk.QUESTIONS[kind](self._folders.reach, *about)) == answer)

    def _of_file(self, kind: str, path: str) -> Any:
        files, tracker = self._project().files, self._project().tracker
        outer = tracker.begin()
        match kind:
            case "code":
                files.load(path)
            case "outline":
                files.outline(path)
            case _:
                files.search_path(path)
        tracker.forget(outer)
        return plain(tracker.answers.get((kind, path)))

    def _said(self, path: str, question: str, *about: str) -> Any:
        """What a file's code says now."""
        from torchrepro_lint.project.contents import QUESTIONS  # a run in which nothing has changed asks nothing
        from torchrepro_lint.rng.usual_seed import seeds_spoken_of

        project = self._project()
        outer = project.tracker.begin()
        asked = {**QUESTIONS, seeds_spoken_of.__name__: seeds_spoken_of}[question]
        found = project.files.says(path, asked, *about)
        project.tracker.forget(outer)
        return found

    def _matches(self, path: str, pattern: str) -> bool | None:
        """What a search of a file's text finds now; None where there is none."""
        tracker = self._project().tracker
        outer = tracker.begin()
        facts = self._project().load(path)
        tracker.forget(outer)
        return re.search(pattern, facts.source.whole) is not None if facts is not None else None

    def _of_text(self, kind: str, path: str, *pattern: str) -> Any:
        content = b"" if self._listing.is_too_large else self._listing.contents.get(path, b"")
        if kind == IMPORTS:
            return plain(modules_in(content.decode(errors="replace")))
        return _compiled(*pattern).search(content) is not None

    def _content(self, path: str) -> str:
        return digest(b"" if self._listing.is_too_large else self._listing.contents.get(path, b""))

    def _native(self) -> Any:
        tracker = self._project().tracker
        outer = tracker.begin()
        _ = self._project().native_texts
        tracker.forget(outer)
        return tracker.answers.get((NATIVE,))

    def renewed(self, question: Question, answer: Any) -> Any:
        """What an earlier answer is by now: of a search, the files that it would find."""
        kind, *about = question
        if kind not in SEARCHES or not self._listing.moved:
            return answer
        moved = self._listing.moved
        found = sorted(path for path in self._listing.contents if self._finds(kind, about, path))
        if not found and moved.isdisjoint(answer):
            return answer
        return [*(path for path in answer if path not in moved), *found]

    def _found_alike(self, kind: str, about: Sequence[str], answer: Sequence[str]) -> bool:
        """Whether a search finds the files that it found, or any where it is only asked for that."""
        now = self.renewed((kind, *about), answer)
        return now is answer or (set(now) == set(answer) if kind in _EXACT else bool(now) is bool(answer))

    def _finds(self, kind: str, about: Sequence[str], path: str) -> bool:
        listing = self._listing
        word = about[0].encode(errors="surrogateescape") if about else b""
        if kind == text.MENTIONING and about[0].isidentifier():
            return word in listing.words[path]
        if kind == text.FRONTS:
            return text.is_front(Path(path), about)
        if kind in (text.DEFINES, text.DEFINING):
            return word in listing.definitions[path]
        if kind == text.USING:
            return text.uses(word, listing.contents[path])
        if kind in (text.DERIVES, text.DERIVING):
            return word in text.bases(listing.contents[path])
        if kind == text.MATCH:
            pattern, flags, *signs = about
            return text.matches(_compiled(pattern, flags), listing.contents[path], [s.encode() for s in signs])
        return word in listing.contents[path]


def _compiled(pattern: str, flags: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), int(flags))


def plain(answer: Any) -> Any:
    """An answer as JSON would give it back."""
    if isinstance(answer, list | tuple):
        return [plain(part) for part in answer]
    return str(answer) if isinstance(answer, Path) else answer
