"""The comments that silence rules: `# noqa`, `# torchrepro: ignore` and `# torchrepro: ignore-file`.

Knows how they are written and where; not which statement one belongs to, nor whether its names exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from torchrepro_lint.model import Position, Range
from torchrepro_lint.source.lexemes import COMMENT, STRING

SuppressionKind = Literal["noqa", "ignore", "ignore-file"]

_MENTION = re.compile(r"#[^\S\r\n]*(?:noqa|torchrepro[^\S\r\n]*:)[^\r\n]*", re.IGNORECASE)
_STRING_OR_COMMENT = re.compile(rf"(?P<comment>{COMMENT})|{STRING}")
_F_STRING = re.compile(r"(?<!\w)(?:[ft]r?|r[ft])['\"]", re.IGNORECASE)
_NEWLINE = re.compile(r"\r\n|\r|\n")
_DIRECTIVE = re.compile(
    r"#\s*(?:(?P<noqa>noqa)(?![\w-])(?P<list>\s*:)?|torchrepro\s*:\s*(?P<ignore>ignore(?:-file)?)(?![\w-]))",
    re.IGNORECASE,
)
_NEXT_COMMENT = re.compile(r"\s*(?=\s#\s*[A-Za-z])")
_NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+"
_NOQA_ITEM = re.compile(rf"(?P<code>[A-Z]+[0-9]+|TRP)(?![\w-])|(?P<name>{_NAME})(?![\w-])", re.IGNORECASE)
_NOQA_SEPARATOR = re.compile(r"[\s,]+")
_OUR_CODE = re.compile(r"TRP[0-9]*", re.IGNORECASE)
_BRACKETED_ITEM = re.compile(r"[^,\]\s](?:[^,\]]*[^,\]\s])?")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One suppressing comment.

    `codes` are our codes (upper case), prefixes and rule names, None for everything; `code_ranges` has one
    place for each. `range` runs from the comment's `#` to its end, or to the next comment on the line.
    `foreign` is true when other tools' codes stand in the same `noqa`.
    """

    line: int
    kind: SuppressionKind
    codes: tuple[str, ...] | None
    range: Range
    code_ranges: tuple[Range, ...]
    foreign: bool = False


def find_suppressions(text: str) -> tuple[Suppression, ...]:
    """Every suppression in the comments of `text`, in order; a `noqa` for other tools only is left out."""
    places = [mention.start() for mention in _MENTION.finditer(text) if any(_parse(mention.group(), 1, 0))]
    if not places:
        return ()
    return tuple(
        item for line, column, comment in _comments(text, places) for item in _parse(comment, line, column)
    )


def _comments(text: str, places: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """(line, 0-based column, text) of the comments that could reach one of `places`."""
    if any(_F_STRING.search(text, *_line_of(text, place)) for place in places):
        yield from _tokenized_comments(text)
        return
    line, counted = 1, 0
    for token in _STRING_OR_COMMENT.finditer(text, 0, _line_of(text, places[-1])[1]):
        if token["comment"]:
            line += _newlines(text, counted, token.start())
            counted = token.start()
            yield line, counted - _line_of(text, counted)[0], token["comment"]


def _tokenized_comments(text: str) -> Iterator[tuple[int, int, str]]:
    """The same for any text, slowly: as far as Python can split it into tokens."""
    import io
    import tokenize

    readline = io.StringIO(text, newline=None).readline
    try:
        for token in tokenize.generate_tokens(readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _line_of(text: str, offset: int) -> tuple[int, int]:
    """Where the line around `offset` starts, and where its newline stands."""
    end = _NEWLINE.search(text, offset)
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    return start, end.start() if end else len(text)


def _newlines(text: str, start: int, end: int) -> int:
    if "\r" not in text:
        return text.count("\n", start, end)
    return len(_NEWLINE.findall(text, start, end))


def _parse(comment: str, line: int, column: int) -> Iterator[Suppression]:
    for match in _DIRECTIVE.finditer(comment):
        following = _NEXT_COMMENT.search(comment, match.end())
        end = following.start() if following else len(comment.rstrip())
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
            line,
            kind,
            None if items is None else tuple(_canonical(comment[start:stop]) for start, stop in items),
            _range(line, column, match.start(), end),
            tuple(_range(line, column, start, stop) for start, stop in items or ()),
            foreign,
        )


def _noqa_items(comment: str, start: int, end: int) -> tuple[list[tuple[int, int]] | None, bool]:
    """Our codes after `noqa:` and whether others stand among them; None when no code follows at all.

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


def _range(line: int, column: int, start: int, end: int) -> Range:
    return Range(Position(line, column + start + 1), Position(line, column + end + 1))
