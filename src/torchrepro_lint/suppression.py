"""Which findings a comment silences, and which of our suppressions silenced nothing (TRP002).

Knows codes, prefixes and names of rules, and which lines belong together; not what any rule means, nor how
a finding is worded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.source import SourceFile, Suppression

UNUSED = "TRP002"
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
        self.enabled = enabled
        self._used: set[tuple[Suppression, int | None]] = set()
        self._reported: list[tuple[str, int]] = []
        self._meanings: dict[str, frozenset[str]] = {}

    def silences(self, code: str, line: int) -> bool:
        """Whether a finding of `code` that starts on `line` is suppressed; to be asked once for each."""
        silenced = self.covers(code, line)
        if not silenced:
            self._reported.append((code, line))
        return silenced

    def covers(self, code: str, line: int) -> bool:
        """Whether a comment asks for silence about `code` on `line`."""
        return bool([item for item in self.source.suppressions if self._silences(item, code, line)])

    def beside(self, edit: Edit) -> Edit | None:
        """The edit, where it would put lines between a suppression and the statement below it, put above both; None
        where it cannot be."""
        start, end = edit.range
        if start != end or self.touched(edit):
            return edit
        text = self.source.line(start.line)
        below = start.line + (start.column > len(text) > 0)  # the line that will come after what is put in
        for item in self.source.suppressions:
            following = self._following(item)
            if following is None or not item.line < below <= following:
                continue
            if start.line != following or start.column not in (1, item.range.start.column):
                return None
            place = Position(item.line, start.column)
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
        items = self.source.suppressions
        parts = [part for item in items if (part := self._unused_part(item, own=False))]
        left = [part for part in parts if not self._excused(part.item)]
        return left + [part for item in items if (part := self._unused_part(item, own=True))]

    def _silences(self, item: Suppression, code: str, line: int) -> bool:
        if item.kind != "ignore-file":
            first, last = self._statement(line)
            if not (first <= item.line <= last or first <= (self._following(item) or 0) <= last):
                return False
        if item.codes is None:
            self._used.add((item, None))
            return True
        hits = [place for place, selector in enumerate(item.codes) if code in self._meant(selector)]
        self._used.update((item, place) for place in hits)
        return bool(hits)

    def _excused(self, unused: Suppression) -> bool:
        others = [o for o in self.source.suppressions if o is not unused or o.codes is not None]
        return bool([other for other in others if self._silences(other, UNUSED, unused.line)])

    def _following(self, item: Suppression) -> int | None:
        """The line of the statement below a comment of our own that stands by itself, maybe with others."""
        if item.kind != "ignore" or not self._alone(item):
            return None
        line, cells = item.line + 1, {first for first, _ in self.source.cells}
        while line <= len(self.source.line_starts) and line not in cells:
            text = self.source.line(line).strip()
            if not text.startswith("#"):
                return line if text else None
            line += 1
        return None

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
            complete = set(self.known) <= {*self.enabled, UNUSED}
            idle = not own and item.kind != "noqa" and complete and (item, None) not in self._used
            return self._placed(Unused(item), set(self.known)) if idle else None
        places = [
            place
            for place, selector in enumerate(item.codes)
            if (UNUSED in self._meant(selector)) is own and self._idle(item, place)
        ]
        if not places and (own or item.codes):
            return None
        written = {place: self.source.slice(item.code_ranges[place]) for place in places}
        unused = Unused(
            item,
            tuple(places),
            idle=tuple(text for place, text in written.items() if self._meant(item.codes[place])),
            unknown=tuple(text for place, text in written.items() if not self._meant(item.codes[place])),
            whole=len(places) == len(item.codes) and not item.foreign,
        )
        return self._placed(unused, {code for place in places for code in self._meant(item.codes[place])})

    def _placed(self, unused: Unused, codes: Collection[str]) -> Unused:
        """With what can be said of where the comment stands."""
        line = unused.item.line
        near = [(abs(at - line), at, code) for code, at in self._reported if code in codes and abs(at - line) <= _NEAR]
        _, at, code = min(near, default=(0, None, ""))
        alone = self._alone(unused.item) and self._following(unused.item) is None
        return unused._replace(alone=alone, meant_for=at, found=code)

    def _idle(self, item: Suppression, place: int) -> bool:
        assert item.codes is not None
        selector = item.codes[place]
        meant = self._meant(selector)
        if not meant:  # in a noqa, a name that is not ours may be another tool's
            return item.kind != "noqa" or selector.startswith("TRP")
        return meant <= set(self.enabled) and (item, place) not in self._used

    def _alone(self, item: Suppression) -> bool:
        if item.kind == "ignore-file" or self._statement(item.line) != (item.line, item.line):
            return False
        return not self.source.line(item.line)[: item.range.start.column - 1].strip()


def statement_lines(source: SourceFile, facts: ModuleFacts | None, line: int) -> tuple[int, int]:
    """First and last line of the statement at `line`; a comment below a header belongs to what follows it."""
    first, last = facts.statement_lines(line) if facts is not None else (line, line)
    while last > first and (not (text := source.line(last).strip()) or text.startswith("#")):
        last -= 1
    return (first, last) if line <= last else (line, line)


def removal(source: SourceFile, unused: Unused) -> Edit:
    """Take out what is unused; with it the comment when it holds nothing else, and a line left empty."""
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
    return Edit(source.rel, Range(start, end), "")


def _without_codes(source: SourceFile, item: Suppression, places: Collection[int]) -> Edit:
    """Drop these codes, each with the separator before it; the first in the list with the one after it."""
    text = source.slice(item.range)
    base = item.range.start.column
    for place in sorted(places, reverse=True):
        start, end = (p.column - base for p in (item.code_ranges[place].start, item.code_ranges[place].end))
        before, after = text[:start], text[end:]
        kept = before.rstrip(", \t")
        text = before + after.lstrip(", \t") if kept.endswith((":", "[")) else kept + after
    return Edit(source.rel, item.range, text)
