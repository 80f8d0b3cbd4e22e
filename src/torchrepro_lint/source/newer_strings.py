"""Formatted strings as Python reads them since 3.12, written so that an older Python reads the rest of the file: a text
within a replacement field that uses the quotes of the string around it, or a backslash, becomes a name of the same
length, and what goes over several lines an empty tuple. Knows quotes, brackets and comments; nothing else.
"""

from __future__ import annotations

import re

MAX_NESTED = 8  # formatted strings within one another
_OPENS = re.compile(r"(?<!\w)(?P<prefix>[A-Za-z]{0,2})(?P<quote>'''|\"\"\"|'|\")")
_TOKEN = re.compile(r"#[^\n]*|(?<!\w)[A-Za-z]{0,2}(?:'''|\"\"\"|'|\")")
_IN_LINE = re.compile(r"[^\r\n]")


class _Unclear(Exception):
    """What the text means cannot be told."""


def written_for_older(text: str) -> str:
    """The same text, as long, with names for what an older Python cannot read in formatted strings; the text itself
    where that is nothing, or cannot be told."""
    try:
        spans = _unreadable(text)
    except _Unclear:
        return text
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], _instead(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def _instead(literal: str) -> str:
    if "\n" in literal:
        return f"({_IN_LINE.sub(' ', literal[1:-1])})"
    return "_" * len(literal)


def _unreadable(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    position = 0
    while (found := _TOKEN.search(text, position)) is not None:
        is_comment = found[0].startswith("#")
        position = found.end() if is_comment else _end_of_literal(text, found.start(), spans, 0)
    return spans


def _end_of_literal(text: str, start: int, spans: list[tuple[int, int]], depth: int) -> int:
    """Where the literal ends that begins here; what stands in its fields and cannot be read is added to `spans`."""
    opens = _OPENS.match(text, start)
    if opens is None or depth > MAX_NESTED:
        raise _Unclear
    prefix, quote = opens["prefix"].lower(), opens["quote"]
    position, is_formatted, is_raw = opens.end(), "f" in prefix, "r" in prefix
    inner: list[tuple[int, int]] = []
    broken = 0  # fields that go over several lines
    while position < len(text):
        if text.startswith(quote, position):
            end = position + len(quote)
            spans += [(start, end)] if broken and len(quote) == 1 else inner
            return end
        character = text[position]
        if character == "\\" and not (is_raw and is_formatted):
            position += 2
        elif character == "\n" and len(quote) == 1:
            raise _Unclear
        elif is_formatted and text.startswith(("{{", "}}"), position):
            position += 2
        elif is_formatted and character == "{":
            end = _end_of_field(text, position + 1, quote, inner, depth)
            broken += "\n" in text[position:end]
            position = end
        else:
            position += 1
    raise _Unclear


def _end_of_field(text: str, position: int, quote: str, spans: list[tuple[int, int]], depth: int) -> int:
    """Where a replacement field of a string with these quotes ends, behind its bracket."""
    brackets = 0
    while position < len(text):
        character = text[position]
        if character == "}" and not brackets:
            return position + 1
        if character in "#\\":
            raise _Unclear
        if _OPENS.match(text, position) is not None:
            inner: list[tuple[int, int]] = []
            end = _end_of_literal(text, position, inner, depth + 1)
            literal = text[position:end]
            spans += [(position, end)] if quote in literal or "\\" in literal else inner
            position = end
            continue
        brackets += (character in "([{") - (character in ")]}")
        position += 1
    raise _Unclear
