"""What an answer rests on: each question that was asked of the project while it was worked out.

The doors of a project (its files, its text, its folders) note each question with the answer that they gave. A memo
keeps with an answer the questions that it rests on, and passes them to whoever uses it again. So what a file's findings
rest on is known exactly, and they hold for as long as these questions have the same answers. Knows no question's
meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

V = TypeVar("V")
Question: TypeAlias = "tuple[str, ...]"
"""A kind, and what it is asked about."""


class Tracker:
    """The questions that were asked so far. A set of them is a number with one bit for each: `current` has those that
    the work at hand rests on."""

    is_on = True

    def __init__(self) -> None:
        self.current = 0
        self.answers: dict[Question, Any] = {}
        self.order: list[Question] = []  # by their bits
        self._asked: dict[Question, int] = {}  # which bit each has: the bit itself may take kilobytes
        self._numbered: dict[Question, int] = {}  # those that have a bit before they are asked
        self._sets: dict[int, int] = {}  # so that equal sets are kept once
        self.recall: Callable[[Question], list[Any] | None] = _nothing  # what an earlier run was answered, in a list

    def note(self, question: Question, answer: Any) -> None:
        """Take down that the work at hand has asked this, which has one answer as long as no file changes."""
        number = self._asked.get(question)
        if number is None:
            self.answers[question] = answer  # first, since a time limit may end the work at any point
            number = self._asked[question] = self._number(question)
        self.current |= 1 << number

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
        return self._asked[question]

    def rest_on(self, questions: int) -> int:
        """Let the work at hand rest on a set of questions, which is given back."""
        outer = self.begin()
        self.current = questions
        return self.end(outer)

    def expect(self, questions: Iterable[Question]) -> None:
        """Give these questions the first bits, in this order: sets of them have been kept."""
        self.order += questions
        self._numbered = {question: number for number, question in enumerate(self.order)}

    def reopen(self, questions: Iterable[Question]) -> None:
        """Take these as not asked yet, since a file has changed. They keep their bits."""
        for question in questions:
            if question in self._asked:
                self._numbered[question] = self._asked.pop(question)
                del self.answers[question]

    def _number(self, question: Question) -> int:
        number = self._numbered.pop(question, None)
        if number is None:
            number = len(self.order)
            self.order.append(question)
        return number

    def knows(self, question: Question) -> bool:
        """Take down a question whose answer is known; whether it is."""
        number = self._asked.get(question)
        if number is None:
            return False
        self.current |= 1 << number
        return True

    def begin(self) -> int:
        """Begin to work out something; give the result to `end`."""
        outer, self.current = self.current, 0
        return outer

    def end(self, outer: int) -> int:
        """What the work since `begin` rests on: so does the work around it."""
        own = self.current
        self.current = outer | own
        return self._sets.setdefault(own, own) if own else 0

    def forget(self, outer: int) -> None:
        """End work of which another question keeps the answer."""
        self.current = outer

    def questions(self, rests: int) -> list[Question]:
        """The questions in a set."""
        return [self.order[number] for number in numbers(rests)]


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
    found = list(numbers)
    digits = bytearray(b"0") * (max(found, default=0) + 1)
    for number in found:
        digits[number] = ord("1")
    return int(digits[::-1], 2)


class Untracked(Tracker):
    """Takes nothing down, for a run that keeps no answers."""

    is_on = False

    def note(self, question: Question, answer: Any) -> None:  # noqa: ARG002
        return

    def knows(self, question: Question) -> bool:  # noqa: ARG002
        return True


class Memo(Generic[V]):
    """Answers, each with what it rests on."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._answers: dict[Hashable, tuple[V, int]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._answers

    def get(self, key: Hashable, work: Callable[[], V]) -> V:
        """The answer, worked out when it is first asked for."""
        known = self._answers.get(key)
        if known is not None:
            self._tracker.current |= known[1]
            return known[0]
        outer = self._tracker.begin()
        try:
            found = work()
        finally:
            rests = self._tracker.end(outer)
        self._answers[key] = found, rests
        return found

    def clear(self) -> None:
        self._answers.clear()


__all__ = ["Memo", "Question", "Tracker", "Untracked"]
