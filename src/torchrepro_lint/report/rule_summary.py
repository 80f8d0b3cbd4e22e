"""A rule on one screen: what it reports, one pair of examples, what to write instead, and what its fix may change.

Knows which parts of a card say that; how Markdown looks in a terminal is `rule_page`'s. Reads no file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from torchrepro_lint.cards import Card, Example
from torchrepro_lint.report.rule_page import INDENT, WIDEST, header, prose
from torchrepro_lint.report.terminal import Paint

SCREEN = 40
_SENTENCE = re.compile(r"(?<=[.:;]) (?=[A-Z`])")
_CUT = f"{INDENT * 2}...\n"
_TEXT_LINES = 4  # of the remedy, and of what is said about the fix


def render_summary(card: Card, *, color: bool, width: int) -> str:
    """The screen, ending in a newline: never more than SCREEN lines on a terminal of 80 columns or more."""
    paint = Paint(color)
    columns = min(width, WIDEST) - len(INDENT)
    sections = card.sections()
    below = [
        *_titled("Use instead", _opening(sections["Use instead"]) or card.help, columns, paint),
        *_titled("Fix safety", _opening(sections["Fix safety"]), columns, paint),
        f"\n`torchrepro-lint rule {card.code} --full` explains why it matters, and when the rule is silent.\n",
    ]
    above = list(header(card, min(width, WIDEST), paint))
    room = SCREEN - _count((*above, *below))
    return "".join((*above, *_pair(card, room, paint), *below))


def _titled(title: str, text: str, columns: int, paint: Paint) -> list[str]:
    """A heading and as many whole sentences below it as there is room for."""
    sentences = _SENTENCE.split(text)
    while len(sentences) > 1 and sum(1 for _ in prose(" ".join(sentences), columns)) > _TEXT_LINES:
        sentences.pop()
    lines = prose(re.sub(r"[:;]$", ".", " ".join(sentences)), columns)
    return ["\n", paint("strong", title) + "\n", *(INDENT + line for line in lines)]


def _opening(section: str) -> str:
    """The first paragraph of a section, empty where it begins with an example or a list."""
    first = section.strip().split("\n\n")[0]
    return "" if first.startswith(("`" * 3, "- ")) else " ".join(first.split())


# -- the pair of examples ----------------------------------------------------------------------
def _pair(card: Card, room: int, paint: Paint) -> Iterator[str]:
    """A program that is reported and what to write in its place, in at most `room` lines."""
    pairs = list(_pairs(card))
    if not pairs:
        return
    bad, better = next((pair for pair in pairs if _length(pair) <= room), pairs[0])
    half = max(room // 2, room - _lines(better))
    shown = _shown("Reported", bad, {(mark.file, mark.line) for mark in bad.marks()}, half)
    yield from _painted(shown, paint)
    label = "Not reported" if better.kind == "good" else "After the fix"
    yield from _painted(_shown(label, better, _changed(bad, better), room - _count(shown)), paint)


def _pairs(card: Card) -> Iterator[tuple[Example, Example]]:
    """Each reported program with what the fix makes of it; without any, the first with what the card recommends."""
    programs = card.examples()
    fixed = [(bad, after) for bad, after in pairwise(programs) if after.kind == "fixed"]
    yield from fixed
    first = next((program for program in programs if program.kind == "bad"), None)
    if first is not None and not fixed:
        yield from ((first, good) for good in programs if good.kind == "good" and good.line > first.line)


def _length(pair: tuple[Example, Example]) -> int:
    return sum(map(_lines, pair))


def _lines(example: Example) -> int:
    """How many lines the whole example takes, each file with a blank line and a label."""
    return sum(text.count("\n") + 2 for _, text in example.files)


def _changed(bad: Example, better: Example) -> set[tuple[str, int]]:
    """The lines of the better program that the other one lacks."""
    before = dict(bad.sources())
    found: set[tuple[str, int]] = set()
    for name, text in better.sources():
        matcher = SequenceMatcher(None, before.get(name, "").split("\n"), text.split("\n"), autojunk=False)
        for kind, _, _, start, end in matcher.get_opcodes():
            if kind != "equal":
                found |= {(name, number) for number in range(start + 1, end + 1)}
    return found


def _shown(label: str, example: Example, wanted: Collection[tuple[str, int]], room: int) -> Sequence[str]:
    """The example in at most `room` lines: the lines that are wanted, and as many around them as there is room for."""
    for around in (SCREEN, 4, 3, 2, 1, 0):
        parts = list(_parts(label, example, wanted, around))
        if _count(parts) <= room:
            return parts
    while _count(parts) >= room or not parts[-1].strip(" .\n"):
        parts.pop()
    return [*parts, _CUT]


def _parts(label: str, example: Example, wanted: Collection[tuple[str, int]], around: int) -> Iterator[str]:
    for name, text in example.files:
        lines = text.rstrip("\n").split("\n")
        near = [n for n in range(1, len(lines) + 1) if any(f == name and abs(n - m) <= around for f, m in wanted)]
        if near:
            yield "\n" + label + (f", in {name}" if len(example.files) > 1 else "") + ":\n"
            yield from _excerpt(lines, near)


def _excerpt(lines: Sequence[str], numbers: Sequence[int]) -> Iterator[str]:
    last = 0
    for number in numbers:
        if number > last + 1:
            yield _CUT if any(lines[last : number - 1]) else "\n"
        last = number
        yield f"{INDENT * 2}{lines[number - 1]}".rstrip() + "\n"
    if last < len(lines):
        yield _CUT


def _count(parts: Iterable[str]) -> int:
    return sum(part.count("\n") for part in parts)


def _painted(parts: Iterable[str], paint: Paint) -> Iterator[str]:
    for part in parts:
        yield "\n" + paint("note", part.strip("\n")) + "\n" if part.startswith("\n") and part.strip() else part
