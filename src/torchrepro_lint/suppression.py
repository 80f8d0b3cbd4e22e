"""Which findings a comment silences, and which of our suppressions silenced nothing (TRP002)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.source import SourceFile, Suppression


@dataclass(slots=True)
class Suppressor:
    """The suppressions of one file, and what each of them has silenced so far.

    `known` maps every code to its name; `enabled` are the codes judged in this run.
    """

    source: SourceFile
    facts: ModuleFacts | None
    known: Mapping[str, str]
    enabled: Collection[str]
    _used: set[tuple[int, str | None]] = field(default_factory=set)

    def silences(self, code: str, line: int) -> bool:
        """Whether a finding of `code` that starts on `line` is suppressed."""
        hit = False
        first, last = self.facts.statement_lines(line) if self.facts is not None else (line, line)
        for i, item in enumerate(self.source.suppressions):
            if item.kind != "ignore-file" and not first <= item.line <= last:
                continue
            if item.codes is None:
                self._used.add((i, None))
                hit = True
            for selector in item.codes or ():
                if code in self._meant(selector):
                    self._used.add((i, selector))
                    hit = True
        return hit

    def _meant(self, selector: str) -> set[str]:
        """The codes that a code, prefix or name selects."""
        upper = selector.upper()
        return {c for c, name in self.known.items() if c.startswith(upper) or name == selector.lower()}

    def unused(self) -> list[tuple[Suppression, str | None, bool]]:
        """(suppression, selector, known) for each that silenced nothing and could have; a bare noqa never is."""
        found: list[tuple[Suppression, str | None, bool]] = []
        for i, item in enumerate(self.source.suppressions):
            if item.codes is None:
                complete = set(self.known) <= set(self.enabled) | {"TRP002"}
                if item.kind != "noqa" and (i, None) not in self._used and complete:
                    found.append((item, None, True))
                continue
            for selector in item.codes:
                meant = self._meant(selector)
                if not meant:
                    found.append((item, selector, False))
                elif meant <= set(self.enabled) and (i, selector) not in self._used:
                    found.append((item, selector, True))
        return found


def removal(source: SourceFile, item: Suppression, selectors: Collection[str]) -> Edit:
    """Take these selectors out of a suppression; the whole comment goes when nothing of it is left."""
    kept = [c for c in item.codes or () if c not in selectors]
    if kept or item.foreign:
        return _without_codes(source, item, selectors)
    line = source.line(item.range.start.line)
    before = line[: item.range.start.column - 1]
    after = line[item.range.end.column - 1 :]
    start = len(before.rstrip()) + 1 if not after.strip() else item.range.start.column
    return Edit(source.rel, Range(Position(item.range.start.line, start), item.range.end), "")


def _without_codes(source: SourceFile, item: Suppression, selectors: Collection[str]) -> Edit:
    """Drop each code with the separator that follows it, or that precedes it for the last one."""
    text = source.slice(item.range)
    base = item.range.start.column
    spans = [(r.start.column - base, r.end.column - base) for r in item.code_ranges]
    for code, (start, end) in reversed(list(zip(item.codes or (), spans, strict=True))):
        if code not in selectors:
            continue
        stop = end
        while stop < len(text) and text[stop] in ", ":
            stop += 1
        if stop < len(text) and text[stop] not in "])#":
            text = text[:start] + text[stop:]
        else:
            text = text[:start].rstrip(", ") + text[end:]
    return Edit(source.rel, item.range, text)
