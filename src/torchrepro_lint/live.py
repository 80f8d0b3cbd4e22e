"""A project that is checked again and again while it is edited: only what a change concerns is worked out anew.

Each file's findings are kept with the questions that they rest on, as a cache keeps them; after a change those files
are stale of which any question has another answer. Texts from an editor stand in for what is on the disk. Prints
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from torchrepro_lint.cache.states import States
from torchrepro_lint.cache.validity import SEARCHES, Listing, Validity, plain
from torchrepro_lint.discover import NATIVE_SUFFIXES, SUFFIXES
from torchrepro_lint.engine import Request, Result, Run, check_files, finish
from torchrepro_lint.model import Finding
from torchrepro_lint.project.folders import OF_FOLDERS
from torchrepro_lint.project.kinds import IMPORTS, OF_A_FILE
from torchrepro_lint.project.text import CONTENT, HAS
from torchrepro_lint.reading import CONFIGURATIONS
from torchrepro_lint.tracking import Question, bits, bits_of, numbers

WATCHED = ".gitignore", ".cfg", ".txt", ".sh", *SUFFIXES, *CONFIGURATIONS, *NATIVE_SUFFIXES  # what answers rest on
_OF_ONE = (*OF_A_FILE, IMPORTS, HAS, CONTENT)  # questions that are about one file


class Live:
    """The findings of what a request is about, which is asked for anew at each restart. `texts` are the open files;
    `stale` those whose findings are yet to be worked out, the most wanted first."""

    def __init__(self, request: Callable[[], Request], texts: Mapping[Path, str] | None = None) -> None:
        self._request = request
        self.texts = dict(texts or {})
        self.restart()

    def restart(self) -> None:
        """Begin anew: files have come or gone, or settings have changed."""
        self.run = Run(self._request()._replace(cache=None, jobs=None), self.texts)  # None: questions are noted
        self.stale: dict[Path, None] = {}
        self._findings: dict[Path, list[Finding]] = {}
        self._rests: dict[Path, int] = {}
        self._listed = frozenset(map(str, self.run.files))
        self._states = States({}, self._content, self._open)
        for path in self._listed:  # before anything is read: what changes from now on shows
            self._states.of(path)
        self._make_stale(self.run.files, first=self.texts)

    def change(self, changed: Mapping[Path, str | None]) -> None:
        """These files now hold other texts; None for what is on the disk. They are the next to be checked."""
        for path, text in changed.items():
            self.texts.pop(path, None)
            if text is not None:
                self.texts[path] = text
            self.run.change(path, text)
        self._states = States({**self._states.known, **self._states.found}, self._content, self._open)
        listing = Listing(self._listed, self._listed, self._states)
        for path in map(Path, listing.moved - set(map(str, changed))):  # nobody has told
            self.run.change(path, self.texts.get(path))
        moved = listing.moved | set(map(str, changed))
        if not moved:
            return
        broken = self._broken(listing, moved)
        itself = map(Path, moved & self._listed)  # a text that cannot be parsed has no code that could be another
        self._make_stale((*itself, *(path for path, rests in self._rests.items() if rests & broken)), first=changed)

    def changed_on_disk(self, paths: Iterable[Path]) -> None:
        """These files have come, gone or changed there."""
        files = [path for path in paths if path.name.endswith(WATCHED) and path not in self.texts]
        if all(path in self.run.files and path.is_file() for path in files):
            self.change(dict.fromkeys(files))
        else:
            self.restart()

    def check_next(self) -> Path:
        """Work out the findings of the most wanted file."""
        path, tracker = next(iter(self.stale)), self.run.tracker
        outer = tracker.begin()
        self._findings |= check_files(self.run, [path])
        self._rests[path] = bits_of(tracker.end(outer))
        del self.stale[path]
        return path

    def result(self) -> Result:
        """What is known by now, as a run would report it."""
        return finish(self.run, self._findings)

    def _broken(self, listing: Listing, moved: Collection[str]) -> int:
        """The questions that have other answers, now that these files have changed."""
        tracker = self.run.tracker
        before = dict(tracker.answers)
        tracker.reopen(question for question in before if _is_about(question, moved))
        order = list(tracker.order)
        asked = [n for n, question in enumerate(order) if question in before and _may_change(question, moved)]
        answers: list[Any] = [None] * len(order)
        for number in asked:
            answers[number] = _plain(order[number], before[order[number]])
        run = self.run
        validity = Validity(order, answers, listing, run.folders, lambda: run.program.project, run.listed)
        broken = validity.broken(bits(asked))
        tracker.reopen(question for question in tracker.questions(broken) if not _is_about(question, moved))
        bad = set(numbers(broken))
        for number, question in ((number, order[number]) for number in asked if number not in bad):
            if question not in tracker.answers:  # nobody asks it again before the next edit
                tracker.learn(question, before[question])
            elif question[0] in SEARCHES:  # the next edit goes by what it finds now
                tracker.answers[question] = _plain(question, validity.renewed(question, answers[number]))
        return broken

    def _make_stale(self, paths: Iterable[Path], first: Collection[Path]) -> None:
        stale = {*self.stale, *paths}
        self.stale = dict.fromkeys(sorted(stale, key=lambda path: (path not in first, path)))

    @property
    def _open(self) -> Collection[str]:
        return frozenset(map(str, self.texts))

    def _content(self, path: str) -> bytes | None:
        text = self.texts.get(Path(path))
        return text.encode(errors="surrogatepass") if text is not None else self.run.content(path)


def _may_change(question: Question, files: Collection[str]) -> bool:
    """Whether other texts of these files may give a question another answer. None comes or goes without a restart."""
    kind = question[0]
    return question[1] in files if kind in _OF_ONE else kind not in OF_FOLDERS


def _plain(question: Question, answer: Any) -> Any:
    """An answer in the form in which they are compared; of a search a set, in which few files are found quickly."""
    if question[0] in SEARCHES:
        return answer if isinstance(answer, frozenset) else frozenset(map(str, answer))
    return plain(answer)


def _is_about(question: Question, files: Collection[str]) -> bool:
    return question[0] in OF_A_FILE and question[1] in files
