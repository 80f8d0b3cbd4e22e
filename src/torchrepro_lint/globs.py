"""Patterns over paths, written as in a `.gitignore`: for excludes, per-file ignores, and `.gitignore`.

Pure text to regular expressions: knows no files. (Importing pathspec would cost every run 60 ms.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
_CLASS = r"(?s)\[(?P<not>[!^])?(?P<items>\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]"
_CLASS_ITEM = r"(?s)\[:(?P<posix>\w+):\]|\\(?P<escaped>.)|(?P<dash>-)|(?P<plain>.)"


class Globs:
    """An ordered list of patterns; the last one that matches decides.

    Paths are relative to the folder that the patterns belong to, with `/` and no `/` at either end.
    """

    __slots__ = ("_anchored", "_named")

    def __init__(self, patterns: Iterable[str]) -> None:
        named: list[tuple[int, bool, str]] = []
        anchored: list[tuple[int, bool, str]] = []
        for number, pattern in enumerate(patterns):
            ignores = not pattern.startswith("!")
            body = pattern if ignores else pattern[1:]
            by_name = "/" not in body.rstrip("/") and body.strip("/") != ""
            (named if by_name else anchored).append((number, ignores, _translate(body)))
        self._named = _Alternatives(named)
        self._anchored = _Alternatives(anchored)

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        """True: matched; False: exempted by a `!` pattern; None: no pattern matches this path."""
        subject = path + "/" if is_dir else path
        by_path = self._anchored.last_match(subject)
        by_name = self._named.last_match(subject[path.rfind("/") + 1 :])
        deciding = max(by_path, by_name)
        return deciding[1] if deciding[0] >= 0 else None

    def covers(self, path: str) -> bool:
        """Whether the file or one of the folders on the way to it is matched."""
        folders = [path[:at] for at, character in enumerate(path) if character == "/" and at > 0]
        return any(self.verdict(folder, True) for folder in folders) or bool(self.verdict(path, False))


class _Alternatives:
    """Patterns as one regular expression, the last one first."""

    __slots__ = ("_match", "_meanings")

    def __init__(self, patterns: list[tuple[int, bool, str]]) -> None:
        last_first = patterns[::-1]
        whole = "|".join(f"({expression})" for _, _, expression in last_first)
        self._meanings = [(number, ignores) for number, ignores, _ in last_first]
        self._match = re.compile(whole, re.DOTALL).fullmatch if patterns else None

    def last_match(self, subject: str) -> tuple[int, bool]:
        """(number of the pattern, whether it ignores), (-1, False) when none matches."""
        match = self._match(subject) if self._match else None
        return self._meanings[match.lastindex - 1] if match and match.lastindex else (-1, False)


def gitignore_patterns(text: str) -> Iterator[str]:
    """The patterns in the text of a `.gitignore`, comments and blank lines left out."""
    for line in text.removeprefix("\ufeff").split("\n"):
        line = line.removesuffix("\r")
        if not line.startswith("#"):
            line = re.sub(r"(?<!\\)((?:\\\\)*)[ ]+$", r"\1", line)
            if line.strip("/!"):
                yield line


def _translate(pattern: str) -> str:
    """A regular expression for the path, with `/` at its end if it is a folder."""
    only_folders = pattern.endswith("/")
    body = pattern.removesuffix("/").removeprefix("/")
    expression = "".join(_parts(body))
    return expression + "(?<!/)" + ("/" if only_folders else "/?")  # no name is empty


def _parts(body: str) -> Iterator[str]:
    at = 0
    while at < len(body):
        character = body[at]
        if character == "*":
            run = re.compile(r"\*+").match(body, at)
            assert run is not None
            text, at = _stars(body, at, run.end())
            yield text
        elif character == "[":
            group = re.compile(_CLASS).match(body, at)
            yield _character_class(group) if group else _NEVER
            at = group.end() if group else len(body)
        elif character == "\\":
            yield re.escape(body[at + 1]) if at + 1 < len(body) else _NEVER
            at += 2
        else:
            yield "[^/]" if character == "?" else re.escape(character)
            at += 1


def _stars(body: str, start: int, end: int) -> tuple[str, int]:
    """`*` stays within a name; `**` that fills a whole name crosses folders. Also where to go on."""
    fills_a_name = (start == 0 or body[start - 1] == "/") and (end == len(body) or body[end] == "/")
    if end - start < 2 or not fills_a_name:
        return "[^/]*", end
    if end == len(body):
        return (".+", end) if start else (".*", end)
    return "(?:.*/)?", end + 1


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
