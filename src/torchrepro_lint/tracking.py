"""What an answer rests on: each question that was asked of the project while it was worked out.

The doors of a project (its files, its text, its folders) note each question with the answer that they gave. A memo
keeps with an answer the questions that it rests on, and passes them to whoever uses it again. So what a file's findings
rest on is known exactly, and they hold for as long as these questions have the same answers. Knows no question's
meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

V = TypeVar("V")
Question: TypeAlias = "tuple[str, ...]"
"""A kind, and what it is asked about."""
Outer: TypeAlias = "tuple[dict[int, tuple[int, ...]], int]"


Rests: TypeAlias = "tuple[int, ...] | int"
"""A set of questions, by their numbers: a few of them one after the other, many as one integer that has a bit for each.
Most sets are of a few out of tens of thousands."""
FEW = 128


class Tracker:
    """The questions that were asked so far, and those among them that the work at hand rests on."""

    is_on = True

    def __init__(self) -> None:
        self._parts: dict[int, tuple[int, ...]] = {}  # what the work at hand rests on: sets of a few, by identity,
        self._many = 0  # and one of many
        self.answers: dict[Question, Any] = {}
        self.order: list[Question] = []  # by their bits
        self._asked: dict[Question, tuple[int, ...]] = {}  # which bit each has
        self._numbered: dict[Question, int] = {}  # those that have a bit before they are asked
        self._sets: dict[int, int] = {}  # so that equal sets are kept once, and for good
        self._tuples: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._joined: dict[tuple[int, ...], tuple[int, ...]] = {}  # by the identities of what they are made of
        self.recall: Callable[[Question], list[Any] | None] = _nothing  # what an earlier run was answered, in a list

    def note(self, question: Question, answer: Any) -> None:
        """Take down that the work at hand has asked this, which has one answer as long as no file changes."""
        asked = self._asked.get(question)
        if asked is None:
            self.answers[question] = answer  # first, since a time limit may end the work at any point
            alone = (self._number(question),)
            asked = self._asked[question] = self._tuples.setdefault(alone, alone)
        self._parts[id(asked)] = asked

    def recalled(self, question: Question, form: Callable[[Any], V]) -> list[V] | None:
        """The answer of an earlier run, if it is known to be the same now; in a list."""
        found = self.recall(question)
        try:
            return None if found is None else [form(found[0])]
        except (TypeError, ValueError):  # nobody of us wrote it
            return None

    def forget_earlier_run(self) -> None:
        """Files are no more what they were on the disk."""
        self.recall = _nothing

    def learn(self, question: Question, answer: Any) -> int:
        """Take down what was asked elsewhere, on which the work at hand does not rest; the number of its bit."""
        outer = self.begin()
        self.note(question, answer)
        self.forget(outer)
        return self._asked[question][0]

    def rest_on(self, rests: Rests) -> None:
        """Let the work at hand rest on a set of questions, one that `end` has given where it is of a few: these are
        kept, so that each has an identity of its own."""
        if isinstance(rests, int):
            self._many |= rests
        elif rests:
            self._parts[id(rests)] = rests

    def expect(self, questions: Iterable[Question]) -> None:
        """Give these questions the first bits, in this order: sets of them have been kept."""
        self.order += questions
        self._numbered = {question: number for number, question in enumerate(self.order)}

    def reopen(self, questions: Iterable[Question]) -> None:
        """Take these as not asked yet, since a file has changed. They keep their bits."""
        for question in questions:
            if question in self._asked:
                self._numbered[question] = self._asked.pop(question)[0]
                del self.answers[question]

    def _number(self, question: Question) -> int:
        number = self._numbered.pop(question, None)
        if number is None:
            number = len(self.order)
            self.order.append(question)
        return number

    def knows(self, question: Question) -> bool:
        """Take down a question whose answer is known; whether it is."""
        asked = self._asked.get(question)
        if asked is None:
            return False
        self._parts[id(asked)] = asked
        return True

    def begin(self) -> Outer:
        """Begin to work out something; give the result to `end`."""
        outer = self._parts, self._many
        self._parts, self._many = {}, 0
        return outer

    def end(self, outer: Outer) -> Rests:
        """What the work since `begin` rests on: so does the work around it."""
        parts, many = self._parts, self._many
        self._parts, self._many = outer
        if not many and len(parts) <= 1:  # most work asks for one thing, or for nothing
            self._parts |= parts
            return next(iter(parts.values()), ())
        rests = None if many else self._joined.get(tuple(parts))
        if rests is None:
            few = set[int]().union(*parts.values())
            if many or len(few) > FEW:
                many |= bits(few)
                self._many |= many
                return self._sets.setdefault(many, many)
            found = tuple(sorted(few))
            rests = self._joined[tuple(parts)] = self._tuples.setdefault(found, found)
        self._parts[id(rests)] = rests
        return rests

    def forget(self, outer: Outer) -> None:
        """End work of which another question keeps the answer."""
        self._parts, self._many = outer

    @property
    def current(self) -> int:
        """What the work at hand rests on."""
        return self._many | bits(set().union(*self._parts.values()))

    def questions(self, rests: Rests) -> list[Question]:
        """The questions in a set."""
        return [self.order[number] for number in numbers(bits_of(rests))]


def _nothing(_: Question) -> None:
    return None


def numbers(rests: int) -> Iterator[int]:
    """Which bits a number has."""
    digits = bin(rests)[:1:-1]  # the lowest first: a text is searched, where arithmetic would copy all of it for each
    number = digits.find("1")
    while number >= 0:
        yield number
        number = digits.find("1", number + 1)


def bits(numbers: Iterable[int]) -> int:
    """The number that has these bits."""
    found = numbers if isinstance(numbers, Collection) else list(numbers)
    row = bytearray((max(found, default=0) >> 3) + 1)
    for number in found:
        row[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(row, "little")


def bits_of(rests: Rests) -> int:
    """A set as a number that has a bit for each question."""
    return bits(rests) if isinstance(rests, tuple) else rests


_NO_WORK: Outer = ({}, 0)


class Untracked(Tracker):
    """Takes nothing down, for a run that keeps no answers."""

    is_on = False

    def note(self, question: Question, answer: Any) -> None:  # noqa: ARG002
        return

    def knows(self, question: Question) -> bool:  # noqa: ARG002
        return True

    def begin(self) -> Outer:
        return _NO_WORK

    def end(self, outer: Outer) -> Rests:  # noqa: ARG002
        return ()


class _Resting:
    """An answer that rests on any question."""

    __slots__ = ("found", "rests")

    def __init__(self, found: Any, rests: Rests) -> None:
        self.found = found
        self.rests = rests


_NOTHING: Any = object()


class Memo(Generic[V]):
    """Answers, each with what it rests on."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._answers: dict[Hashable, V | _Resting] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._answers

    def get(self, key: Hashable, work: Callable[..., V], arguments: tuple[Any, ...] = ()) -> V:
        """The answer, worked out when it is first asked for."""
        known = self._answers.get(key, _NOTHING)
        if known.__class__ is _Resting:
            self._tracker.rest_on(known.rests)
            return known.found  # type: ignore[no-any-return]
        if known is not _NOTHING:
            return known  # type: ignore[no-any-return]
        if not self._tracker.is_on:
            found = self._answers[key] = work(*arguments)
            return found
        outer = self._tracker.begin()
        try:
            found = work(*arguments)
        finally:
            rests = self._tracker.end(outer)
        self._answers[key] = _Resting(found, rests) if rests else found
        return found

    def drop(self, key: Hashable) -> None:
        """Forget one answer, on which no other rests."""
        self._answers.pop(key, None)

    def clear(self) -> None:
        self._answers.clear()


__all__ = ["Memo", "Question", "Rests", "Tracker", "Untracked", "bits", "bits_of", "numbers"]
