"""Fixes put into the text of a file: each whole or not at all, every other byte as it was.

Knows places in text; not which fixes are wanted, nor whether the result is still a program.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count

from torchrepro_lint.model import Edit, Fix
from torchrepro_lint.source import SourceFile

_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Applied:
    """The new text, the fixes that are in it, and those that are not, each in the order given."""

    text: str
    applied: tuple[Fix, ...]
    skipped: tuple[Fix, ...]


def apply_edits(source: SourceFile, fixes: Sequence[Fix]) -> Applied:
    """Put fixes into the text, first come first served; what is not edited stays as it is, byte for byte.

    A fix goes in whole or is skipped: because it overlaps an earlier one, or edits another file or a place
    that does not exist. Several fixes may share an edit (the same import), and insertions at one place stay
    in order. Newlines in a fix become those of the file.
    """
    accepted = _Accepted()
    applied: list[Fix] = []
    skipped: list[Fix] = []
    for fix in fixes:
        patches = _patches(source, fix.edits)
        (applied if patches is not None and accepted.take(patches) else skipped).append(fix)
    return Applied(accepted.spliced_into(source.text), tuple(applied), tuple(skipped))


@dataclass(frozen=True, slots=True, order=True)
class _Patch:
    """Replace text[start:end]; patches at one place go in the order of `turn`."""

    start: int
    end: int
    turn: int
    text: str = field(compare=False)

    def same(self, other: _Patch) -> bool:
        return (self.start, self.end, self.text) == (other.start, other.end, other.text)

    def overlaps(self, other: _Patch) -> bool:
        return self.start < other.end and other.start < self.end

    def clashes(self, other: _Patch) -> bool:
        """Whether both change the same text, or one changes text around the place where the other inserts.

        Two insertions at one place clash if one of them is half of a pair of brackets: only the fix that has
        the other half knows what the pair should hold.
        """
        if self.start == self.end == other.start == other.end:
            return _is_half_of_a_pair(self.text) or _is_half_of_a_pair(other.text)
        return self.overlaps(other)


def _is_half_of_a_pair(text: str) -> bool:
    return sum(map(text.count, "([{")) != sum(map(text.count, ")]}"))


@dataclass(slots=True)
class _Accepted:
    """Patches that do not clash, sorted."""

    patches: list[_Patch] = field(default_factory=list)
    groups: set[tuple[tuple[int, int, str], ...]] = field(default_factory=set)
    turns: Iterator[int] = field(default_factory=count)

    def take(self, group: tuple[tuple[int, int, str], ...]) -> bool:
        """Accept all patches of a fix, or none. What another fix does already is shared."""
        if group in self.groups:
            return True
        new: list[_Patch] = []
        for start, end, text in group:
            patch = _Patch(start, end, next(self.turns), text)
            neighbours = list(self._around(patch))
            if any(patch.clashes(other) and not patch.same(other) for other in neighbours):
                return False
            twins = [other for other in neighbours if patch.same(other)]
            if twins and _is_half_of_a_pair(text):
                return False
            if not twins:
                new.append(patch)
        if any(patch.overlaps(other) for patch, other in combinations(new, 2)):
            return False
        for patch in new:
            insort(self.patches, patch)
        self.groups.add(group)
        return True

    def _around(self, patch: _Patch) -> Iterator[_Patch]:
        """The accepted patches that could touch this one."""
        at = bisect_left(self.patches, _Patch(patch.start, patch.start, -1, ""))
        if at:
            yield self.patches[at - 1]
        while at < len(self.patches) and self.patches[at].start <= patch.end:
            yield self.patches[at]
            at += 1

    def spliced_into(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        for patch in self.patches:
            parts += (text[at : patch.start], patch.text)
            at = patch.end
        return "".join((*parts, text[at:]))


def _patches(source: SourceFile, edits: Sequence[Edit]) -> tuple[tuple[int, int, str], ...] | None:
    """The edits as offsets, in the order of the text; None when one is not for a place in this file."""
    patches: list[tuple[int, int, str]] = []
    for edit in edits:
        if edit.path != source.rel:
            return None
        try:
            start, end = source.offset(edit.range.start), source.offset(edit.range.end)
        except ValueError:
            return None
        if end < start:
            return None
        patches.append((start, end, _NEWLINE.sub(lambda _: source.newline, edit.text)))
    return tuple(sorted(patches, key=lambda patch: patch[:2]))
