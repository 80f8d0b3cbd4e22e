"""The comments of a file and their places, from its text alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from torchrepro_lint.source.lexemes import COMMENT, STRING

_STRING_OR_COMMENT = re.compile(rf"(?P<comment>{COMMENT})|{STRING}")
_F_STRING = re.compile(r"(?<!\w)(?:[ft]r?|r[ft])['\"]", re.IGNORECASE)


def comments_to(text: str, line_starts: Sequence[int], places: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """(line, 0-based column, text) of every comment on the lines that hold `places`, and possibly others."""
    lines = {bisect_right(line_starts, place) for place in places}
    ends = [*line_starts[1:], len(text)]
    if any(_F_STRING.search(text, line_starts[line - 1], ends[line - 1]) for line in lines):
        yield from _tokenized_comments(text)
        return
    for token in _STRING_OR_COMMENT.finditer(text, 0, ends[max(lines) - 1]):
        if token["comment"]:
            line = bisect_right(line_starts, token.start())
            if line in lines:
                yield line, token.start() - line_starts[line - 1], token["comment"]


def plain_comments_to(text: str, line_starts: Sequence[int], places: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """The same for YAML and TOML: from each place that is no part of a word to the end of its line."""
    for place in places:
        line = bisect_right(line_starts, place)
        start, end = line_starts[line - 1], line_starts[line] if line < len(line_starts) else len(text)
        if place == start or text[place - 1] in " \t":
            yield line, place - start, text[place:end].rstrip("\r\n")


def _tokenized_comments(text: str) -> Iterator[tuple[int, int, str]]:
    """The comments of any text, as far as Python's tokenizer gets; slow."""
    import io
    import tokenize

    readline = io.StringIO(text, newline=None).readline
    try:
        for token in tokenize.generate_tokens(readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        return
