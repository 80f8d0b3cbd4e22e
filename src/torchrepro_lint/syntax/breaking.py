"""How an expression that has grown too long for its line is broken over several, as formatters do."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit

_PLAIN = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr


def within(facts: ModuleFacts, node: ast.expr, edits: Sequence[Edit], width: int) -> tuple[Edit, ...]:
    """These edits within `node`; where they make the line of a statement longer than `width`, what it assigns, returns
    or runs is laid out anew. A line that was longer before stays one."""
    whole = facts.statement(node)
    value = whole.value if isinstance(whole, _PLAIN) else None
    if value is None or whole.lineno != whole.end_lineno or any("\n" in edit.text for edit in edits):
        return tuple(edits)
    place = facts.range(value)
    line, begin = facts.source.line(whole.lineno), place.start.column - 1
    head, old, tail = line[:begin], line[begin : place.end.column - 1], line[place.end.column - 1 :]
    indent = line[: len(line) - len(line.lstrip())]
    new = _edited(old, begin, whole.lineno, edits)
    if new is None or tail.strip() or len(line) > width or len(head) + len(new) <= width:
        return tuple(edits)
    lines = _broken(new, indent, width)
    if lines is None:
        return tuple(edits)
    return (Edit(facts.source.rel, place, facts.source.newline.join(lines)),)


def _edited(text: str, begin: int, line: int, edits: Sequence[Edit]) -> str | None:
    """A part of a line from its column `begin` on, after edits that all lie in it."""
    for edit in sorted(edits, key=lambda e: e.range.start, reverse=True):
        (start, end) = edit.range
        first, last = start.column - 1 - begin, end.column - 1 - begin
        if start.line != line or end.line != line or first < 0 or last > len(text):
            return None
        text = text[:first] + edit.text + text[last:]
    return text


def _broken(text: str, indent: str, width: int) -> list[str] | None:
    """The lines of an expression, the first without its indentation; None where they would still be too long."""
    value = ast.parse(text, mode="eval").body
    inner = f"{indent}\t" if indent.endswith("\t") else f"{indent}    "
    if not text.isascii():  # places of trees count bytes
        return None
    match value:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            lines = ["(", *(f"{inner}{part}" for part in _branches(text, body, test, orelse)), f"{indent})"]
        case ast.ListComp() | ast.List() | ast.SetComp() | ast.DictComp():
            lines = _hung(text, 0, value, inner, indent, width)
        case ast.Call(func=function) if text[function.end_col_offset :].lstrip().startswith("("):
            lines = _hung(text, text.index("(", function.end_col_offset), value, inner, indent, width)
        case _:
            return None
    return lines if max(map(len, lines[1:])) <= width else None


def _branches(text: str, body: ast.expr, test: ast.expr, orelse: ast.expr) -> list[str]:
    return [
        text[: body.end_col_offset],
        f"if {text[test.col_offset : test.end_col_offset]}",
        f"else {text[orelse.col_offset :]}",
    ]


def _hung(text: str, bracket: int, value: ast.expr, inner: str, indent: str, width: int) -> list[str]:
    """What is between the outer brackets on lines of its own: on one, or for a comprehension on one for each part."""
    content = text[bracket + 1 : -1].strip()
    parts = [content]
    if len(inner) + len(content) > width and isinstance(value, ast.ListComp | ast.SetComp):
        starts = [value.elt.col_offset]
        for loop in value.generators:
            starts.append(text.rindex("for ", 0, loop.target.col_offset))
            starts += [text.rindex("if ", 0, test.col_offset) for test in loop.ifs]
        parts = [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text) - 1], strict=True)]
    return [text[: bracket + 1], *(f"{inner}{part}" for part in parts), f"{indent}{text[-1]}"]
