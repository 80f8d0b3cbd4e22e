"""Fixes applied to the text of files: each whole or not at all, every other byte unchanged.

A fix may edit several files; it is one unit. Knows places in text; not which fixes are wanted, nor whether the
result is still a program.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count

from torchrepro_lint.fixing.cells import in_one_cell, rewrite_cells
from torchrepro_lint.model import Edit, Fix
from torchrepro_lint.source import SourceFile

_NEWLINE = re.compile(r"\r\n|\r|\n")
_IMPORT = re.compile(r"(?P<above>\s*)(?:import|from) (?P<module>[\w.]+)[^\r\n;]*(?P<below>\s*)")
_FIRST = (-1, 0, False, "", 0)
_Group = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """What the files that change then hold, by path; the fixes that are in them, and those that are not, each
    in the order given."""

    documents: Mapping[str, str]
    applied: tuple[Fix, ...]
    skipped: tuple[Fix, ...]


def apply_edits(source_of: Callable[[str], SourceFile | None], fixes: Sequence[Fix]) -> Applied:
    """Put fixes into the text, first come first served; what is not edited stays as it is, byte for byte.

    A fix goes in whole or is skipped: because it overlaps an earlier one, or edits a file that `source_of` does
    not give or a place that does not exist. Several fixes may share an edit (the same import), and insertions at
    one place stay in order. Newlines in a fix become those of the file.
    """
    files: dict[str, _Accepted] = {}
    applied: list[Fix] = []
    skipped: list[Fix] = []
    for fix in fixes:
        (applied if _take(fix, files, source_of) else skipped).append(fix)
    changed = {path: file.document() for path, file in files.items()}
    return Applied(
        {path: text for path, text in changed.items() if text != files[path].source.document},
        tuple(applied),
        tuple(skipped),
    )


def _take(fix: Fix, files: dict[str, _Accepted], source_of: Callable[[str], SourceFile | None]) -> bool:
    """Accept a fix in every file that it edits, or in none."""
    parts: list[tuple[_Accepted, _Group, list[_Patch]]] = []
    for path in dict.fromkeys(edit.path for edit in fix.edits):
        source = files[path].source if path in files else source_of(path)
        if source is None:
            return False
        file = files.setdefault(path, _Accepted(source))
        group = _patches(source, [edit for edit in fix.edits if edit.path == path])
        new = file.fitting(group) if group is not None else None
        if group is None or new is None:
            return False
        parts.append((file, group, new))
    for file, group, new in parts:
        file.add(group, new)
    return True


@dataclass(frozen=True, slots=True, order=True)
class _Patch:
    """Replace text[start:end]; patches at one place go in the order of `turn`."""

    start: int
    end: int
    turn: tuple[int, int, bool, str, int]
    text: str = field(compare=False)

    def same(self, other: _Patch) -> bool:
        return (self.start, self.end, self.text) == (other.start, other.end, other.text)

    def overlaps(self, other: _Patch) -> bool:
        return self.start < other.end and other.start < self.end

    def stands_with(self, others: Sequence[_Patch]) -> bool:
        """Whether both are imports of one kind, at one place, on the same side of a blank line."""
        return any((o.start, o.end, o.turn[:3]) == (self.start, self.end, self.turn[:3]) for o in others)

    def clashes(self, other: _Patch) -> bool:
        """Whether both change the same text, or one changes text around the place where the other inserts.

        Two insertions at one place clash unless both are whole lines: how arguments are laid out depends on one
        another, and of half a pair of brackets only the fix with the other half knows what it should hold.
        """
        if self.start == self.end == other.start == other.end:
            return not (_is_whole_lines(self.text) and _is_whole_lines(other.text))
        return self.overlaps(other)


def _place_of_import(text: str) -> tuple[int, int, bool, str]:
    """Where a text goes among those at one place: imports first, those of the standard library before others, in
    order; of these, one with a blank line below before the others, one with a blank line above behind them."""
    found = _IMPORT.fullmatch(text)
    if found is None:
        return 1, 0, False, ""
    apart = [len(_NEWLINE.findall(found[part])) > 1 for part in ("above", "below")]
    module = found["module"]
    return 0, apart[0] - apart[1], module.partition(".")[0] not in sys.stdlib_module_names, module.lower()


def _in_blocks(patches: Sequence[_Patch]) -> Iterator[tuple[int, int, str]]:
    """The patches, without the blank lines that imports of one kind at one place would have between them."""
    for i, patch in enumerate(patches):
        text = patch.text
        if patch.turn[1] < 0 and patch.stands_with(patches[i + 1 : i + 2]):
            text = text.removesuffix(_NEWLINE.findall(text)[-1])
        if patch.turn[1] > 0 and i and patch.stands_with(patches[i - 1 : i]):
            text = text.removeprefix(_NEWLINE.findall(text)[0])
        yield patch.start, patch.end, text


def _is_whole_lines(text: str) -> bool:
    return _NEWLINE.search(text) is not None and not _is_half_of_a_pair(text)


def _is_half_of_a_pair(text: str) -> bool:
    return sum(map(text.count, "([{")) != sum(map(text.count, ")]}"))


@dataclass(slots=True)
class _Accepted:
    """Patches of one file that do not clash, sorted."""

    source: SourceFile
    patches: list[_Patch] = field(default_factory=list)
    groups: set[_Group] = field(default_factory=set)
    turns: Iterator[int] = field(default_factory=count)

    def fitting(self, group: _Group) -> list[_Patch] | None:
        """What a fix adds to the accepted patches, None where it clashes; equal patches of two fixes are shared."""
        if group in self.groups:
            return []
        new: list[_Patch] = []
        for start, end, text in group:
            patch = _Patch(start, end, (*_place_of_import(text), next(self.turns)), text)
            neighbours = list(self._around(patch))
            if any(patch.clashes(other) and not patch.same(other) for other in neighbours):
                return None
            twins = [other for other in neighbours if patch.same(other)]
            if twins and _is_half_of_a_pair(text):
                return None
            if not twins:
                new.append(patch)
        return None if any(patch.overlaps(other) for patch, other in combinations(new, 2)) else new

    def add(self, group: _Group, new: Sequence[_Patch]) -> None:
        """Accept them."""
        for patch in new:
            insort(self.patches, patch)
        self.groups.add(group)

    def _around(self, patch: _Patch) -> Iterator[_Patch]:
        """The accepted patches that could touch this one."""
        at = bisect_left(self.patches, _Patch(patch.start, patch.start, _FIRST, ""))
        if at:
            yield self.patches[at - 1]
        while at < len(self.patches) and self.patches[at].start <= patch.end:
            yield self.patches[at]
            at += 1

    def document(self) -> str:
        """What the file then holds."""
        patches = list(_in_blocks(self.patches))
        return rewrite_cells(self.source, patches) if self.source.kind == "notebook" else self._spliced(patches)

    def _spliced(self, patches: Sequence[tuple[int, int, str]]) -> str:
        text = self.source.text
        parts: list[str] = []
        at = 0
        for start, end, new in patches:
            parts += (text[at:start], new)
            at = end
        return "".join((*parts, text[at:]))


def _patches(source: SourceFile, edits: Sequence[Edit]) -> _Group | None:
    """The edits as offsets, in the order of the text; None when one is not for a place in this file."""
    patches: list[tuple[int, int, str]] = []
    for edit in edits:
        try:
            start, end = source.offset(edit.range.start), source.offset(edit.range.end)
        except ValueError:
            return None
        if end < start or (source.kind == "notebook" and not in_one_cell(source, start, end)):
            return None
        patches.append((start, end, _NEWLINE.sub(lambda _: source.newline, edit.text)))
    return tuple(sorted(patches, key=lambda patch: patch[:2]))
