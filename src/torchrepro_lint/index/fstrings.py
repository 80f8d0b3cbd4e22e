"""Exact positions inside f-strings on Python 3.10 and 3.11, where `ast` reports wrong ones.

There the replacement fields are found again in the text, parsed alone, and their positions copied to the tree.
Where the text and the tree do not agree, the tree is left as it is. Not used from Python 3.12 on.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from torchrepro_lint.source import SourceFile

_STRING = r"""([A-Za-z]{0,2})('''|\"\"\"|'|")"""
_OPEN, _CLOSE = "([{", ")]}"


def repair_positions(node: ast.JoinedStr, source: SourceFile) -> None:
    """Correct the positions in `node`'s fields, nested format specs included."""
    fields = [v for v in node.values if isinstance(v, ast.FormattedValue)]
    if not any(isinstance(n, ast.Call | ast.Attribute) for f in fields for n in ast.walk(f)):
        return
    text, base = _slice(node, source)
    spans = [span for start, end, raw in _f_literals(text) for span in _expressions(text, start, end, raw)]
    flat = list(_flatten(fields))
    if len(spans) != len(flat):
        return
    for formatted, (start, end) in zip(flat, spans, strict=True):
        parsed = _parse_at(text[start:end], base + start, source)
        if parsed is not None and _same(parsed, formatted.value):
            for old, new in zip(ast.walk(formatted.value), ast.walk(parsed), strict=True):
                ast.copy_location(old, new)


def _same(parsed: ast.expr, original: ast.expr) -> bool:
    try:
        return ast.dump(parsed) == ast.dump(original)
    except RecursionError:
        return False


def _slice(node: ast.JoinedStr, source: SourceFile) -> tuple[str, int]:
    starts = source.line_starts

    def offset(line: int, byte_column: int) -> int:
        return starts[line - 1] + source.column(line, byte_column) - 1

    begin = offset(node.lineno, node.col_offset)
    return source.text[begin : offset(node.end_lineno or node.lineno, node.end_col_offset or 0)], begin


def _flatten(fields: list[ast.FormattedValue]) -> Iterator[ast.FormattedValue]:
    """Fields in the order in which their braces open."""
    for formatted in fields:
        yield formatted
        if isinstance(formatted.format_spec, ast.JoinedStr):
            inner = [v for v in formatted.format_spec.values if isinstance(v, ast.FormattedValue)]
            yield from _flatten(inner)


def _f_literals(text: str) -> Iterator[tuple[int, int, bool]]:
    """Body start, body end and rawness of each f-literal in an implicit concatenation."""
    at, string = 0, re.compile(_STRING)
    while (match := string.search(text, at)) is not None:
        comment = text.find("#", at, match.start())
        if comment >= 0:
            at = text.find("\n", comment)
            if at < 0:
                return
            continue
        prefix, quote = match.group(1).lower(), match.group(2)
        end = match.end()
        while not text.startswith(quote, end):
            if end >= len(text):
                return
            end += 2 if text[end] == "\\" else 1
        if "f" in prefix:
            yield match.end(), end, "r" in prefix
        at = end + len(quote)


def _expressions(text: str, at: int, end: int, raw: bool) -> Iterator[tuple[int, int]]:
    """Start and end of each field's expression in the f-literal body `text[at:end]`."""
    while at < end:
        if not raw and text[at : at + 3] == "\\N{":
            at = text.find("}", at, end) + 1 or end
        elif text[at : at + 2] in ("{{", "}}"):
            at += 2
        elif text[at] == "{":
            stop, close, spec = _field(text, at + 1, end)
            yield at + 1, stop
            if spec is not None:
                yield from _expressions(text, spec, close, raw)
            at = close + 1
        else:
            at += 1


def _field(text: str, start: int, end: int) -> tuple[int, int, int | None]:
    """End of the expression, place of the closing brace, start of the format spec if there is one."""
    depth, at, quote, stop = 0, start, "", -1
    while at < end:
        char = text[at]
        if quote:
            if text.startswith(quote, at):
                at, quote = at + len(quote) - 1, ""
        elif char in "'\"":
            quote = char * 3 if text.startswith(char * 3, at) else char
            at += len(quote) - 1
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE and depth:
            depth -= 1
        elif not depth and char == "}":
            return (at if stop < 0 else stop), at, None
        elif not depth and char in "!=" and stop < 0 and _ends_expression(text, at):
            stop = at
        elif not depth and char == ":":
            return (at if stop < 0 else stop), _spec_end(text, at + 1, end), at + 1
        at += 1
    return end, end, None


def _ends_expression(text: str, at: int) -> bool:
    """Whether `!` or `=` here is a conversion or self-documentation, not part of a comparison."""
    following = text[at + 1 : at + 2]
    if text[at] == "!":
        return following != "="
    return following != "=" and text[at - 1] not in "=!<>"


def _spec_end(text: str, at: int, end: int) -> int:
    depth = 0
    while at < end:
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            if not depth:
                return at
            depth -= 1
        at += 1
    return end


def _parse_at(expression: str, offset: int, source: SourceFile) -> ast.expr | None:
    """Parse `expression` and shift every position to where it stands in the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(f"({expression}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    place = source.position(offset)
    first_bytes = len(source.line(place.line)[: place.column - 1].encode()) - 1
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            for line, column in (("lineno", "col_offset"), ("end_lineno", "end_col_offset")):
                if getattr(node, line) == 1:
                    setattr(node, column, getattr(node, column) + first_bytes)
                setattr(node, line, getattr(node, line) + place.line - 1)
    return tree
