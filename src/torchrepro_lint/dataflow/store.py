"""Where everything that was worked out about a program is kept, so that one change of a file forgets all of it.

No other module keeps answers that speak of syntax trees or scopes: a file that changes, or is freed to save memory,
makes such answers wrong. What is worked out from one file alone is kept with its facts, and goes with these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.project.kinds import CUT, NAMED
from torchrepro_lint.tracking import Memo, Tracker

Question = ParamSpec("Question")
Answer = TypeVar("Answer")


class Tables(dict[Hashable, Memo[Any]]):
    """Answers by the kind of question. One that is asked for is there: a finding asks for dozens of them."""

    def __init__(self, tracker: Tracker) -> None:
        super().__init__()
        self._tracker = tracker

    def __missing__(self, of: Hashable) -> Memo[Any]:
        made = self[of] = Memo[Any](self._tracker)
        return made


class Store:
    """Tables of answers, by what is asked, each with what it rests on; how often a bound kept a question from being
    answered; and what rests on names alone, by what they decided. Those `of_trees` speak of syntax trees; those
    `of_texts` only of files and texts, and so hold when a tree is freed."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.of_trees = Tables(tracker)
        self.of_texts = Tables(tracker)
        self.cuts: dict[str, set[Hashable]] = {}
        self.names: dict[str, set[Hashable]] = {}

    def table(self, of: Hashable) -> Memo[Any]:
        """The answers to one kind of question. Ask for it each time: it does not outlive a change."""
        return self.of_trees[of]

    def free(self) -> None:
        """Syntax trees were freed to save memory."""
        self.of_trees.clear()

    def forget(self) -> None:
        """A file has changed."""
        self.of_trees.clear()
        self.of_texts.clear()
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

    @wraps(ask)
    def answer(*arguments: Any) -> Answer:
        return arguments[-1].store.of_trees[ask].get(arguments[:-1], ask, arguments)  # type: ignore[no-any-return]

    return cast("Callable[Question, Answer]", answer)


def remembered_last(ask: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """The same for the last question only: the next one is about another file, and its answer is large."""

    @wraps(ask)
    def answer(*arguments: Any) -> Answer:
        known = arguments[-1].store.of_trees[ask]
        if arguments[:-1] not in known:
            known.clear()
        return known.get(arguments[:-1], ask, arguments)  # type: ignore[no-any-return]

    return cast("Callable[Question, Answer]", answer)


def remembered_of_texts(ask: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """The same for what speaks of files and texts only."""

    @wraps(ask)
    def answer(*arguments: Any) -> Answer:
        return arguments[-1].store.of_texts[ask].get(arguments[:-1], ask, arguments)  # type: ignore[no-any-return]

    return cast("Callable[Question, Answer]", answer)


def remembered_in_file(ask: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """Keep what a function answers from the facts of one file alone as long as these are held. Its last argument is the
    file or a scope in it, the others are hashable; all are passed by position."""

    @wraps(ask)
    def answer(*arguments: Any) -> Answer:
        facts = arguments[-1] if isinstance(arguments[-1], ModuleFacts) else arguments[-1].facts
        known = facts.kept.setdefault(ask, {})
        if arguments not in known:
            known[arguments] = ask(*arguments)  # type: ignore[call-arg]
        return known[arguments]  # type: ignore[no-any-return]

    return cast("Callable[Question, Answer]", answer)
