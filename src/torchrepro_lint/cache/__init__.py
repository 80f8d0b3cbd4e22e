"""What an earlier run found, for as long as it holds: each answer is kept with the questions that it rests on, and
these with their answers. An answer is given again where each of its questions would be answered as it was.

Nothing that is kept decides what is right: whatever cannot be read, or is not in form, is worked out anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchrepro_lint.cache import storage
from torchrepro_lint.cache.states import State, States
from torchrepro_lint.cache.validity import SEARCHES, Listing, Validity, plain
from torchrepro_lint.project.folders import Folders
from torchrepro_lint.project.kinds import CODE, IMPORTS, OF_A_FILE, OUTLINE, SAYS, SEARCH_PATH, TEXT
from torchrepro_lint.project.text import TOO_LARGE
from torchrepro_lint.records import NamedTuple
from torchrepro_lint.tracking import Question, Rests, Tracker, bits, bits_of, numbers

if TYPE_CHECKING:
    from torchrepro_lint.project.project import Project

FORMAT = 3
_RECALLED = (CODE, OUTLINE, SEARCH_PATH, IMPORTS, SAYS)  # what is asked of many files that are read for nothing else
_TOGETHER = 512  # questions in a line
_IDLE = 3  # times as many questions as are of use: then the others are left out


class _Kept(NamedTuple):
    """What an earlier run kept."""

    states: dict[str, State]
    listing: list[str]
    questions: list[Question]
    answers: list[Any]
    entries: dict[str, tuple[str, str]]  # by key, as JSON: a set of questions in hexadecimal, and an answer as JSON


class Cache:
    """The answers of one project under one `context`, which names all that they rest on besides files. `listing` gives
    the project's Python files, `read` a file's bytes if it may be read."""

    def __init__(
        self,
        folder: Path,
        context: str,
        tracker: Tracker,
        *,
        listing: Callable[[], Collection[Path]],
        read: Callable[[str], bytes | None],
        folders: Folders,
        project: Callable[[], Project],
        listed: Callable[[str], Sequence[str]],
    ) -> None:
        self.hits = 0
        self.misses = 0
        self._folder = folder
        self._context = context
        self._tracker = tracker
        self._kept = _kept(storage.read(folder, context), context)
        self._new: dict[str, tuple[int, Any]] = {}
        self._is_news = False
        self._states = States(self._kept.states, read)
        self._listing = Listing(map(str, listing()), self._kept.listing, self._states)
        self._validity = Validity(self._kept.questions, self._kept.answers, self._listing, folders, project, listed)
        tracker.expect(self._kept.questions)
        tracker.recall = self.recall
        for path in self._listing.now:  # before anything is read: what changes from now on shows
            self._states.of(path)

    def answer(self, key: str) -> Any:
        """The answer that was kept under a key and holds; None for none. Whoever asks rests on what it rests on."""
        name = json.dumps(key)
        if name in self._kept.entries:
            rests, answer = self._kept.entries[name]
            try:
                questions = int(rests, 16)
                if questions.bit_length() <= len(self._kept.questions) and not self._validity.broken(questions):
                    found = json.loads(answer)
                    self.hits += 1
                    self._tracker.rest_on(questions)
                    return found
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
                pass
        self.misses += 1
        return None

    def recall(self, question: Question) -> list[Any] | None:
        """The answer that a question had, in a list, where that is known to be the same now without working it out:
        of a file that has not changed, and of a search, which is asked again of the files that have."""
        number = self._numbers.get(question)
        if number is None:
            return None
        answer = self._kept.answers[number]
        if question[0] == TOO_LARGE:
            return [self._listing.is_too_large]
        if question[0] in SEARCHES:
            return [self._validity.renewed(question, answer)] if self._is_searched else None
        is_same = question[0] in _RECALLED and not self._states.changed(question[1:2])
        return [answer] if is_same and (question[0] != IMPORTS or self._is_searched) else None

    @cached_property
    def _is_searched(self) -> bool:
        """Whether the project's text was and is small enough to be searched."""
        before = self._numbers.get((TOO_LARGE,))
        return before is not None and self._kept.answers[before] is False and not self._listing.is_too_large

    @cached_property
    def _numbers(self) -> dict[Question, int]:
        return {question: number for number, question in enumerate(self._kept.questions)}

    def keep(self, key: str, rests: Rests, answer: Any, *, is_news: bool = True) -> None:
        """Keep an answer, which JSON can hold; one that is no news only if others are written."""
        self._new[key] = (bits_of(rests), answer)
        self._is_news |= is_news

    def save(self) -> None:
        """Write what is new to the disk, unless a file has changed while it was worked out."""
        if not self._is_news and not self._states.is_news:
            return
        try:
            lines = self._lines()
            first = next(lines)  # by now every file has been looked at
            if self._states.hold():
                storage.write(self._folder, self._context, chain([first], lines))
        except (KeyError, ValueError):  # a file has come or gone meanwhile
            return

    # -- what is written --------------------------------------------------------------------------------------------
    def _lines(self) -> Iterator[str]:
        entries = {json.dumps(key): (rests, json.dumps(answer)) for key, (rests, answer) in self._new.items()}
        broken = self._validity.broken((1 << len(self._kept.questions)) - 1)
        for key, (kept_rests, answer) in self._kept.entries.items():
            if key not in entries and not int(kept_rests, 16) & broken:
                entries[key] = (int(kept_rests, 16), answer)
        entries, order = self._without_idle(entries)
        kept = dict(zip(self._kept.questions, self._kept.answers, strict=True))
        asked = self._tracker.answers
        answers = [asked[q] if q in asked else self._validity.renewed(q, kept[q]) for q in order]
        files = sorted({*self._listing.now, *(q[1] for q in order if q[0] in OF_A_FILE)})
        numbered = {path: number for number, path in enumerate(files)}
        rows = [[path, *self._row(path)] for path in files]
        listing = sorted(numbered[path] for path in self._listing.now)
        yield json.dumps([FORMAT, self._context])
        yield from map(json.dumps, (rows, listing))
        for begin in range(0, len(order), _TOGETHER):  # all of them in one text take a tenth of what the run takes
            row = zip(order[begin : begin + _TOGETHER], answers[begin : begin + _TOGETHER], strict=True)
            yield json.dumps([_question(question, answer, numbered) for question, answer in row])
        for key, (rests, answer) in entries.items():
            yield f"{key}\t{rests:x}\t{answer}"

    def _row(self, path: str) -> tuple[str, Any, int]:
        """A file's state. One that is no part of the listing was looked at after it was read: it must be old, or the
        same."""
        state = self._states.of(path)
        is_young = state.digest and state.signature is None
        if is_young and path not in self._listing.now and state.digest not in self._read(path):
            raise ValueError(path)
        return (state.digest, state.signature, state.size)

    def _read(self, path: str) -> list[Any]:
        """The names of what was read of a file, as far as it is named by its bytes."""
        return [self._tracker.answers.get((kind, path)) for kind in (CODE, TEXT)]

    def _without_idle(self, entries: dict[str, tuple[int, str]]) -> tuple[dict[str, tuple[int, str]], list[Question]]:
        """The entries with their questions numbered anew, where most questions are of no use any more."""
        order, used = self._tracker.order, 0
        for rests, _ in entries.values():
            used |= rests
        if len(order) < _IDLE * used.bit_count() + 100:
            return entries, order
        places = {old: new for new, old in enumerate(numbers(used))}
        renumbered = {
            key: (bits(places[number] for number in numbers(rests)), answer) for key, (rests, answer) in entries.items()
        }
        return renumbered, [order[number] for number in places]


def _question(question: Question, answer: Any, numbered: dict[str, int]) -> list[Any]:
    if question[0] in SEARCHES:
        return [*question, [numbered[str(path)] for path in answer]]
    return [*question, plain(answer)]


def _kept(lines: list[str] | None, context: str) -> _Kept:
    """What was written; nothing where it is not in form."""
    try:
        if lines is not None and json.loads(lines[0]) == [FORMAT, context]:
            return _parsed(lines)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError):
        pass
    return _Kept({}, [], [], [], {})


def _parsed(lines: list[str]) -> _Kept:
    rows, listing = map(json.loads, lines[1:3])
    first = next((number for number, line in enumerate(lines) if line.startswith('"')), len(lines))
    questions = [question for line in lines[3:first] for question in json.loads(line)]
    files = [path for path, *_ in rows]
    states = {
        path: State(digest, tuple(signature) if signature else None, size) for path, digest, signature, size in rows
    }
    entries = {}
    for line in lines[first:]:
        key, rests, answer = line.split("\t", 2)
        entries[key] = (rests, answer)
    answers = [[files[number] for number in a] if q[0] in SEARCHES else a for *q, a in questions]
    return _Kept(states, [files[number] for number in listing], [tuple(q) for *q, _ in questions], answers, entries)
