"""How suppressions are written: from the text of a comment to the rules that it names.

Knows the forms that flake8 and ruff accept for `noqa`, and our own; nothing of files.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from torchrepro_lint.elements import Range, Suppression, SuppressionKind, spanning

_DIRECTIVE = re.compile(
    r"#\s*(?:(?P<noqa>noqa)(?![\w-])(?P<list>\s*:)?|torchrepro\s*:\s*(?P<ignore>ignore(?:-file)?)(?![\w-]))",
    re.IGNORECASE,
)
_NEXT_COMMENT = re.compile(r"\s#\s*[A-Za-z]")
_NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+"
_NOQA_ITEM = re.compile(rf"(?P<code>[A-Z]+[0-9]+|TRP)(?![\w-])|(?P<name>{_NAME})(?![\w-])", re.IGNORECASE)
_NOQA_SEPARATOR = re.compile(r"[\s,]+")
_OUR_CODE = re.compile(r"TRP[0-9]*", re.IGNORECASE)
_BRACKETED_ITEM = re.compile(r"[^,\]\s](?:[^,\]]*[^,\]\s])?")


def parse(comment: str) -> Iterator[Suppression]:
    """The suppressions in a comment that is all of line 1; each ends where another comment starts."""
    found = list(_DIRECTIVE.finditer(comment))
    starts = sorted({match.start() for match in (*found, *_NEXT_COMMENT.finditer(comment))} | {len(comment)})
    for match in found:
        end = _without_blanks(comment, match.end(), starts[bisect_left(starts, match.end())])
        foreign = False
        items: list[tuple[int, int]] | None
        if match["noqa"]:
            kind: SuppressionKind = "noqa"
            items, foreign = _noqa_items(comment, match.end(), end) if match["list"] else (None, False)
            if foreign and not items:
                continue
        else:
            kind = "ignore-file" if match["ignore"].lower() == "ignore-file" else "ignore"
            items = _bracketed_items(comment, match.end(), end)
        yield Suppression(
            1,
            kind,
            None if items is None else tuple(_canonical(comment[start:stop]) for start, stop in items),
            spanning(1, match.start() + 1, 1, end + 1),
            tuple(spanning(1, start + 1, 1, stop + 1) for start, stop in items or ()),
            foreign,
        )


def moved(item: Suppression, line: int, column: int) -> Suppression:
    """The same in a comment that starts at `column` (0-based) of a line."""
    _, kind, codes, place, code_ranges, foreign = item
    ranges = tuple([_moved(each, line, column) for each in code_ranges])
    return Suppression(line, kind, codes, _moved(place, line, column), ranges, foreign)


def _moved(place: Range, line: int, column: int) -> Range:
    return spanning(line, place.start.column + column, line, place.end.column + column)


def _without_blanks(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _noqa_items(comment: str, start: int, end: int) -> tuple[list[tuple[int, int]] | None, bool]:
    """Our codes after `noqa:` and whether others are among them; None when no code follows at all.

    A word such as `well-known` after a blank is an explanation; a rule name follows the colon or a comma.
    """
    ours: list[tuple[int, int]] = []
    foreign = False
    separator = _NOQA_SEPARATOR.match(comment, start, end)
    at, may_be_name = (separator.end() if separator else start), True
    while item := _NOQA_ITEM.match(comment, at, end):
        if item["name"] and not may_be_name:
            break
        if item["name"] or _OUR_CODE.fullmatch(item["code"]):
            ours.append(item.span())
        else:
            foreign = True
        separator = _NOQA_SEPARATOR.match(comment, item.end(), end)
        if separator is None:
            break
        at, may_be_name = separator.end(), "," in separator.group()
    return (ours, foreign) if ours or foreign else (None, False)


def _bracketed_items(comment: str, start: int, end: int) -> list[tuple[int, int]] | None:
    """The items of `[...]`, None without brackets; a forgotten `]` ends where the comment does."""
    opening = re.compile(r"\s*\[").match(comment, start, end)
    if opening is None:
        return None
    closing = comment.find("]", opening.end(), end)
    stop = end if closing < 0 else closing
    return [item.span() for item in _BRACKETED_ITEM.finditer(comment, opening.end(), stop)]


def _canonical(item: str) -> str:
    return item.upper() if _OUR_CODE.fullmatch(item) else item.lower()
