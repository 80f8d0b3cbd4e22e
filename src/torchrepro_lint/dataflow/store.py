"""Where everything that was worked out about a program is kept, so that one change of a file forgets all of it.

No other module keeps answers that speak of syntax trees or scopes: a file that changes, or is freed to save memory,
makes such answers wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from torchrepro_lint.project.kinds import CUT, NAMED
from torchrepro_lint.tracking import Memo, Tracker

Question = ParamSpec("Question")
Answer = TypeVar("Answer")


class Store:
    """Tables of answers, by what is asked, each with what it rests on; how often a bound kept a question from being
    answered; and what rests on names alone, by what they decided."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self._of_trees: dict[Hashable, Memo[Any]] = {}
        self._of_texts: dict[Hashable, Memo[Any]] = {}
        self.cuts: dict[str, set[Hashable]] = {}
        self.names: dict[str, set[Hashable]] = {}

    def table(self, of: Hashable) -> Memo[Any]:
        """The answers to one kind of question. Ask for it each time: it does not outlive a change."""
        known = self._of_trees.get(of)
        if known is None:
            known = self._of_trees[of] = Memo(self.tracker)
        return known

    def text_table(self, of: Hashable) -> Memo[Any]:
        """The same for answers that speak of files and texts only, and so hold when a syntax tree is freed."""
        known = self._of_texts.get(of)
        if known is None:
            known = self._of_texts[of] = Memo(self.tracker)
        return known

    def free(self) -> None:
        """Syntax trees were freed to save memory."""
        self._of_trees.clear()

    def forget(self) -> None:
        """A file has changed."""
        self._of_trees.clear()
        self._of_texts.clear()
        self.names.clear()

    def cut(self, what: str, where: Hashable) -> None:
        """A bound was hit: `what` was not worked out to the end at `where`, which is counted once."""
        self.cuts.setdefault(what, set()).add(where)
        self.tracker.note((CUT, what, repr(where)), None)

    def decided_by_name(self, what: str, where: Hashable) -> None:
        """An answer rests on what something is called, and on nothing that is known of it; `where` is counted once."""
        self.names.setdefault(what, set()).add(where)
        self.tracker.note((NAMED, what, repr(where)), None)


def remembered(ask: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """Keep what a function answers until a file changes. Its last argument is the program, the others are hashable;
    all are passed by position."""
    return _remembered(ask, Store.table)


def remembered_last(ask: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """The same for the last question only: the next one is about another file, and its answer is large."""
    return _remembered(ask, Store.table, keeps_all=False)


def remembered_of_texts(ask: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """The same for what speaks of files and texts only: see `Store.text_table`."""
    return _remembered(ask, Store.text_table)


def _remembered(
    ask: Callable[Question, Answer], table: Callable[[Store, Hashable], Memo[Any]], *, keeps_all: bool = True
) -> Callable[Question, Answer]:
    @wraps(ask)
    def answer(*arguments: Any) -> Answer:
        known = table(arguments[-1].store, ask)
        key = arguments[:-1]
        if not keeps_all and key not in known:
            known.clear()
        found: Answer = known.get(key, ask, arguments)
        return found

    return cast("Callable[Question, Answer]", answer)
