"""Which findings a comment silences, and which of our suppressions silenced nothing (TRP002).

Knows codes, prefixes and names of rules, and which lines belong together; not what any rule means, nor how
a finding is worded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint.elements import Position, Range
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.source import SourceFile, Suppression

if TYPE_CHECKING:
    from torchrepro_lint.model import Edit

UNUSED = "TRP002"
_SEPARATORS = ", \t"
_NEAR = 5  # lines: a comment that far from a finding of its rule may have been meant for it


class Unused(NamedTuple):
    """What silenced nothing in one suppression: `idle` selects rules that ran, `unknown` selects none.

    Both are as written; `places` are their indices among the comment's codes. `whole` says that the comment
    holds nothing else; `alone` that it stands between statements, where it can silence nothing; `meant_for` is the
    line near by of a finding that it would silence there, and `found` its rule.
    """

    item: Suppression
    places: tuple[int, ...] = ()
    idle: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    whole: bool = True
    alone: bool = False
    meant_for: int | None = None
    found: str = ""


class Suppressor:
    """The suppressions of one file, what each of them has silenced so far, and what they have not.

    `known` maps every code to its name; `enabled` are the codes judged in this run.
    """

    def __init__(
        self, source: SourceFile, facts: ModuleFacts | None, known: Mapping[str, str], enabled: Collection[str]
    ) -> None:
        self.source = source
        self.facts = facts
        self.known = known
        self.enabled = frozenset(enabled)
        self._complete = set(known) <= {*self.enabled, UNUSED}
        self._items = source.suppressions  # in order of lines
        self._selecting: dict[str, tuple[list[int], list[Suppression]]] = {}  # those in `_by_line` that select a rule
        self._silencing: dict[tuple[str, tuple[int, int] | None], list[Suppression]] = {}
        self._used: set[tuple[int, int | None]] = set()  # suppressions by their identity, and places among their codes
        self._counted: set[int] = set()  # groups in `_silencing`, by their identity
        self._reported: list[tuple[int, str]] = []
        self._meanings: dict[str, frozenset[str]] = {}
        self._below: dict[int, int | None] = {}

    def silences(self, code: str, line: int) -> bool:
        """Whether a finding of `code` that starts on `line` is suppressed; to be asked once for each."""
        silenced = self.covers(code, line)
        if not silenced and self._items:
            self._reported.append((line, code))
        return silenced

    def covers(self, code: str, line: int) -> bool:
        """Whether a comment asks for silence about `code` on `line`."""
        if not self._items:
            return False
        used = [self._use(found, code) for found in self._silencers(code, line)]
        return any(used)

    @cached_property
    def _by_line(self) -> tuple[list[int], list[Suppression]]:
        """Each suppression of a statement at its own line, and at that of the statement below it."""
        here = [(item.line, item) for item in self._items if item.kind != "ignore-file"]
        below = [(line, item) for _, item in here if (line := self._following(item)) is not None]
        found = sorted(here + below, key=lambda pair: pair[0])
        return [line for line, _ in found], [item for _, item in found]

    @cached_property
    def _above(self) -> list[tuple[int, Suppression]]:
        """The suppressions that stand above their statement, by its line."""
        return [(line, item) for line, item in zip(*self._by_line, strict=True) if line > item.line]

    def beside(self, edit: Edit) -> Edit | None:
        """The edit, where it would put lines between a suppression and the statement below it, put above both; None
        where it cannot be."""
        start, end = edit.range
        if start != end or self.touched(edit):
            return edit
        text = self.source.line(start.line)
        below = start.line + (start.column > len(text) > 0)  # the line that will come after what is put in
        for following, item in self._above[bisect_left(self._above, below, key=lambda pair: pair[0]) :]:
            if item.line >= below:
                break
            if start.line != following or start.column not in (1, item.range.start.column):
                return None
            place = Position(item.line, start.column)
            from dataclasses import replace  # slow to import, and few files have edits

            return replace(edit, range=Range(place, place))
        return edit

    def touched(self, edit: Edit) -> range:
        """The lines of this file that an edit changes; none where it only puts whole lines between them."""
        start, end = edit.range
        line = self.source.line(start.line)
        if start == end:
            *whole, rest = edit.text.splitlines(keepends=True) or [""]
            complete = rest.endswith(("\r", "\n")) or (whole and not rest.strip())
            above = complete and not line[: start.column - 1].strip()
            below = start.column > len(line) and edit.text.startswith(("\r", "\n"))
            return range(0) if above or below else range(start.line, start.line + 1)
        return range(start.line, end.line + (end.column > 1))

    def unused(self) -> list[Unused]:
        """What silenced nothing and could have; to be asked when every other finding has been judged.

        A plain noqa may be there for another tool and is never unused. A finding of TRP002 is suppressed like
        any other, except that a suppression of everything does not excuse itself.
        """
        items = self._items
        self._reported.sort()
        parts = [part for item in items if (part := self._unused_part(item, own=False))]
        left = [part for part in parts if not self._excused(part.item)]
        of_own = [item for item in items if item.codes and self._selects(item, UNUSED)]
        return left + [part for item in of_own if (part := self._unused_part(item, own=True))]

    def _silencers(self, code: str, line: int) -> tuple[list[Suppression], list[Suppression]]:
        """The suppressions of a rule for the whole file, and for the statement at a line."""
        if code not in self._selecting:
            at_lines = [(at, item) for at, item in zip(*self._by_line, strict=True) if self._selects(item, code)]
            self._selecting[code] = [at for at, _ in at_lines], [item for _, item in at_lines]
            of_file = [item for item in self._items if item.kind == "ignore-file"]
            self._silencing[code, None] = [item for item in of_file if self._selects(item, code)]
        lines, items = self._selecting[code]
        if not lines:
            return self._silencing[code, None], []
        first, last = statement = self._statement(line)
        if (code, statement) not in self._silencing:
            here = {id(item): item for item in items[bisect_left(lines, first) : bisect_right(lines, last)]}
            self._silencing[code, statement] = [*here.values()]
        return self._silencing[code, None], self._silencing[code, statement]

    def _selects(self, item: Suppression, code: str) -> bool:
        return item.codes is None or any(code in self._meant(selector) for selector in item.codes)

    def _use(self, found: list[Suppression], code: str) -> bool:
        """Every one of them is of use, and every selector that names the rule, also where one would have done; whether
        there are any."""
        if found and id(found) not in self._counted:
            self._counted.add(id(found))
            for item in found:
                places = [None] if item.codes is None else self._places(item.codes, code)
                self._used.update((id(item), place) for place in places)
        return bool(found)

    def _places(self, selectors: Sequence[str], code: str) -> Iterator[int]:
        return (place for place, selector in enumerate(selectors) if code in self._meant(selector))

    def _excused(self, unused: Suppression) -> bool:
        """Whether it is silenced itself, by another one or by naming TRP002."""
        found = self._silencers(UNUSED, unused.line)
        if not any(found) or all(item is unused and item.codes is None for group in found for item in group):
            return False
        for group in found:
            self._use(group, UNUSED)
        return True

    def _following(self, item: Suppression) -> int | None:
        """The line of the statement below a comment of our own that stands by itself, maybe with others."""
        if item.kind != "ignore" or not self._alone(item):
            return None
        passed, line, cells = [], item.line + 1, {first for first, _ in self.source.cells}
        while line not in self._below:
            passed.append(line)
            text = self.source.line(line).strip() if line <= len(self.source.line_starts) else ""
            if not text.startswith("#") or line in cells:
                self._below[line] = line if text and line not in cells else None
                break
            line += 1
        found = self._below[line]
        self._below.update(dict.fromkeys(passed, found))
        return found

    def _statement(self, line: int) -> tuple[int, int]:
        return statement_lines(self.source, self.facts, line)

    def _meant(self, selector: str) -> frozenset[str]:
        """The codes that a code, prefix or name selects."""
        if selector not in self._meanings:
            named = (code for code, name in self.known.items() if name == selector)
            begun = (code for code in self.known if selector.startswith("TRP") and code.startswith(selector))
            self._meanings[selector] = frozenset((*named, *begun))
        return self._meanings[selector]

    def _unused_part(self, item: Suppression, *, own: bool) -> Unused | None:
        """What `item` does not need, among its selectors of TRP002 itself (`own`) or among all others."""
        if item.codes is None:
            is_idle = not own and item.kind != "noqa" and self._complete and (id(item), None) not in self._used
            return self._placed(Unused(item), set(self.known)) if is_idle else None
        places = [
            place
            for place, selector in enumerate(item.codes)
            if (UNUSED in self._meant(selector)) is own and self._idle(item, place)
        ]
        if not places and (own or item.codes):
            return None
        line = self.source.line(item.line)
        idle: list[str] = []
        unknown: list[str] = []
        codes: set[str] = set()
        for place in places:
            meant, where = self._meant(item.codes[place]), item.code_ranges[place]
            (idle if meant else unknown).append(line[where.start.column - 1 : where.end.column - 1])
            codes |= meant
        whole = len(places) == len(item.codes) and not item.foreign
        return self._placed(Unused(item, tuple(places), tuple(idle), tuple(unknown), whole), codes)

    def _placed(self, unused: Unused, codes: Collection[str]) -> Unused:
        """With what can be said of where the comment stands."""
        line = unused.item.line
        first, end = (bisect_left(self._reported, (at, "")) for at in (line - _NEAR, line + _NEAR + 1))
        near = [(abs(at - line), at, code) for at, code in self._reported[first:end] if code in codes]
        _, at, code = min(near, default=(0, None, ""))
        alone = self._alone(unused.item) and self._following(unused.item) is None
        return unused._replace(alone=alone, meant_for=at, found=code) if alone or at is not None else unused

    def _idle(self, item: Suppression, place: int) -> bool:
        assert item.codes is not None
        selector = item.codes[place]
        meant = self._meant(selector)
        if not meant:  # in a noqa, a name that is not ours may be another tool's
            return item.kind != "noqa" or selector.startswith("TRP")
        return meant <= self.enabled and (id(item), place) not in self._used

    def _alone(self, item: Suppression) -> bool:
        if item.kind == "ignore-file" or self.source.line(item.line)[: item.range.start.column - 1].strip():
            return False
        return self._statement(item.line) == (item.line, item.line)


def statement_lines(source: SourceFile, facts: ModuleFacts | None, line: int) -> tuple[int, int]:
    """First and last line of the statement at `line`; a comment below a header belongs to what follows it."""
    first, last = facts.statement_lines(line) if facts is not None else (line, line)
    while last > first and (not (text := source.line(last).strip()) or text.startswith("#")):
        last -= 1
    return (first, last) if line <= last else (line, line)


def removal(source: SourceFile, unused: Unused) -> tuple[Range, str]:
    """Where what is unused is taken out, and what stays there; with it goes the comment when it holds
    nothing else, and a line left empty."""
    if not unused.whole:
        return _without_codes(source, unused.item, unused.places)
    place = unused.item.range
    line = source.line(place.start.line)
    before, after = line[: place.start.column - 1], line[place.end.column - 1 :]
    start, end = place.start, Position(place.end.line, len(line) - len(after.lstrip()) + 1)
    if not after.strip():
        start, end = Position(start.line, len(before.rstrip()) + 1), Position(end.line, len(line) + 1)
    if not before.strip() and not after.strip():
        is_last = place.end.line == len(source.line_starts)
        start, end = Position(start.line, 1), end if is_last else Position(end.line + 1, 1)
    return Range(start, end), ""


def _without_codes(source: SourceFile, item: Suppression, places: Collection[int]) -> tuple[Range, str]:
    """Drop these codes, each with the separator before it; the first in the list with the one after it."""
    text = source.slice(item.range)
    base = item.range.start.column
    kept: list[str] = []  # what stays behind `cut`, from its end
    cut = len(text)
    for place in sorted(places, reverse=True):
        start, end = (p.column - base for p in (item.code_ranges[place].start, item.code_ranges[place].end))
        kept.append(text[end:cut])
        cut = start
        while cut and text[cut - 1] in _SEPARATORS:
            cut -= 1
        if text[cut - 1] in ":[":
            cut = start
            while kept and not (rest := kept.pop().lstrip(_SEPARATORS)):
                pass
            kept.append(rest)
    return item.range, text[:cut] + "".join(reversed(kept))
