"""Patterns over paths, written as in a `.gitignore`: for excludes, per-file ignores, and `.gitignore`.

Pure text to regular expressions: knows no files. A pattern may come from a stranger's repository, so no expression
tries one combination after another: of several `*` or `**` each takes as little as it can and keeps it. Nothing is lost
by that, since a later one can take what an earlier one left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TypeVar

_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_NEVER = "(?!)"
_SPECIAL = frozenset("*?[\\")
_PATTERN = _SPECIAL | {"/"}
_T = TypeVar("_T")
_CLASS = r"(?s)\[(?P<not>[!^])?(?P<items>\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]"
_CLASS_ITEM = r"(?s)\[:(?P<posix>\w+):\]|\\(?P<escaped>.)|(?P<dash>-)|(?P<plain>.)"


class Globs:
    """An ordered list of patterns; the last one that matches decides.

    Paths are relative to the folder that the patterns belong to, with `/` and no `/` at either end.
    """

    __slots__ = ("_anchored", "_endings", "_ignores", "_literal", "_named")

    def __init__(self, patterns: Iterable[str]) -> None:
        named: list[tuple[int, str]] = []
        anchored: list[tuple[int, str]] = []
        numbers = count()
        self._ignores: list[bool] = []
        self._literal: dict[str, int] = {}  # what is matched by patterns that have nothing but plain characters
        self._endings: list[tuple[int, tuple[str, ...]]] = []  # of names, after a `*` alone
        for number, pattern in enumerate(patterns):
            ignores = not pattern.startswith("!")
            self._ignores.append(ignores)
            body = pattern if ignores else pattern[1:]
            by_name = "/" not in body.rstrip("/") and body.strip("/") != ""
            name = body.removesuffix("/").removeprefix("/")
            if by_name and _SPECIAL.isdisjoint(name):
                self._literal[f"{name}/"] = number
                if not body.endswith("/"):
                    self._literal[name] = number
            elif by_name and name[0] == _STAR and _PATTERN.isdisjoint(name[1:]):
                self._endings.append((number, (f"{name[1:]}/",) if body.endswith("/") else (name[1:], f"{name[1:]}/")))
            else:
                (named if by_name else anchored).append((number, _Translation(numbers).of(body)))
        self._named = _Alternatives(named)
        self._anchored = _Alternatives(anchored)

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        """True: matched; False: exempted by a `!` pattern; None: no pattern matches this path."""
        subject = path + "/" if is_dir else path
        by_path = self._anchored.last_match(subject)
        name = subject[path.rfind("/") + 1 :]
        by_ending = next((number for number, endings in reversed(self._endings) if name.endswith(endings)), -1)
        deciding = max(by_path, self._named.last_match(name), self._literal.get(name, -1), by_ending)
        return self._ignores[deciding] if deciding >= 0 else None

    def covers(self, path: str) -> bool:
        """Whether the file or one of the folders on the way to it is matched."""
        folders = [path[:at] for at, character in enumerate(path) if character == "/" and at > 0]
        return any(self.verdict(folder, True) for folder in folders) or bool(self.verdict(path, False))


class _Alternatives:
    """Patterns as one regular expression, the last one first."""

    __slots__ = ("_match",)

    def __init__(self, patterns: Sequence[tuple[int, str]]) -> None:
        whole = "|".join(f"(?P<p{number}>{expression})" for number, expression in reversed(patterns))
        self._match = re.compile(whole, re.DOTALL).fullmatch if patterns else None

    def last_match(self, subject: str) -> int:
        """The number of the last pattern that matches, -1 when none does."""
        match = self._match(subject) if self._match else None
        return int(match.lastgroup[1:]) if match and match.lastgroup else -1  # the outermost group ends last


def gitignore_patterns(text: str) -> Iterator[str]:
    """The patterns in the text of a `.gitignore`, comments and blank lines left out."""
    for line in text.removeprefix("\ufeff").split("\n"):
        line = line.removesuffix("\r")
        if not line.startswith("#"):
            line = _without_trailing_blanks(line)
            if line.strip("/!"):
                yield line


def _without_trailing_blanks(line: str) -> str:
    """A blank after a backslash stays."""
    text = line.rstrip(" ")
    escapes = len(text) - len(text.rstrip("\\"))
    return line[: len(text) + escapes % 2]


_STAR, _GLOBSTAR = "*", "**"
_Name = list[str]  # regular expressions of single characters, and _STAR


class _Translation:
    """A pattern as a regular expression for paths; `numbers` make the names of its groups unlike any other's."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers

    def of(self, pattern: str) -> str:
        """For the path, with `/` at its end if it is a folder."""
        only_folders = pattern.endswith("/")
        expression = self._path(list(_names(pattern.removesuffix("/").removeprefix("/"))))
        return expression + "(?<!/)" + ("/" if only_folders else "/?")  # no name is empty

    def _path(self, names: Sequence[_Name]) -> str:
        """`**` crosses folders; the names between two of them are looked for in the next place that has them."""
        first, *blocks = _divided(names, [_GLOBSTAR])
        start = f"{self._block(first)}/" if first and blocks else self._block(first)
        if not blocks:
            return start
        between = (self._kept(f"(?:.*?/)??{self._block(block)}/") for block in blocks[:-1] if block)
        last = f"(?:.*/)?{self._block(blocks[-1])}" if blocks[-1] else ".+"
        return start + "".join(between) + last

    def _block(self, names: Sequence[_Name]) -> str:
        return "/".join(map(self._name, names))

    def _name(self, name: _Name) -> str:
        """`*` stays within a name."""
        first, *parts = map("".join, _divided(name, _STAR))
        if not parts:
            return first
        between = (self._kept(f"[^/]*?{part}") for part in parts[:-1] if part)
        return f"{first}{''.join(between)}[^/]*{parts[-1]}"

    def _kept(self, expression: str) -> str:
        """Matched once, in the first way that fits: Python before 3.11 has no other notation for that."""
        group = f"k{next(self._numbers)}"
        return f"(?=(?P<{group}>{expression}))(?P={group})"


def _divided(items: Sequence[_T], separator: _T) -> list[list[_T]]:
    parts: list[list[_T]] = [[]]
    for item in items:
        if item == separator:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def _names(body: str) -> Iterator[_Name]:
    """The names between the slashes; `**` counts where it fills one."""
    name: _Name = []
    for part in _parts(body):
        if part == "/":
            yield _whole(name)
            name = []
        else:
            name.append(part)
    yield _whole(name)


def _whole(name: _Name) -> _Name:
    return [_GLOBSTAR] if len(name) > 1 and set(name) == {_STAR} else name


def _parts(body: str) -> Iterator[str]:
    """A regular expression for each character, `/`, and _STAR."""
    at = 0
    while at < len(body):
        character = body[at]
        at += 1
        if character == "[":
            group = re.compile(_CLASS).match(body, at - 1)
            yield _character_class(group) if group else _NEVER
            at = group.end() if group else len(body)
        elif character == "\\":
            yield re.escape(body[at]) if at < len(body) else _NEVER
            at += 1
        elif character in "*/":
            yield character
        else:
            yield "[^/]" if character == "?" else re.escape(character)


def _character_class(group: re.Match[str]) -> str:
    items = "".join(_class_item(item) for item in re.finditer(_CLASS_ITEM, group["items"]))
    expression = f"[{'^' if group['not'] else ''}{items}]"
    try:
        re.compile(expression)
    except re.error:
        return _NEVER
    return f"(?!/){expression}"


def _class_item(item: re.Match[str]) -> str:
    if item["posix"]:
        return _POSIX.get(item["posix"], "")
    if item["dash"]:
        return "-"
    return re.escape(item["escaped"] or item["plain"])
