"""Insert, replace, wrap and remove whole statements and expressions, in the file's own indentation."""

from __future__ import annotations

import ast

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Position, Range


def replace(facts: ModuleFacts, node: ast.AST, text: str) -> Edit:
    """Put `text` in the place of `node`."""
    return Edit(facts.source.rel, facts.range(node), text)


def wrap(facts: ModuleFacts, node: ast.expr, before: str, after: str) -> tuple[Edit, Edit]:
    """Put text on both sides of an expression, e.g. `sorted(` and `)`."""
    place = facts.range(node)
    start, end = Range(place.start, place.start), Range(place.end, place.end)
    return Edit(facts.source.rel, start, before), Edit(facts.source.rel, end, after)


def insert_before(facts: ModuleFacts, statement: ast.stmt, *lines: str) -> Edit:
    """Put statements on lines of their own above `statement` (above its decorators).

    Where the statement shares its line with others, they go before it on that line, with semicolons.
    """
    decorators = getattr(statement, "decorator_list", None)
    anchor = decorators[0] if decorators else statement
    place = facts.range(anchor).start
    indent = facts.source.line(place.line)[: place.column - 1]
    if decorators:
        at = indent.rfind("@")
        indent, place = indent[:at], Position(place.line, at + 1)
    if indent.strip("\ufeff \t\f"):
        return Edit(facts.source.rel, Range(place, place), "".join(f"{line}; " for line in lines))
    newline = facts.source.newline
    return Edit(facts.source.rel, Range(place, place), "".join(f"{line}{newline}{indent}" for line in lines))


def insert_first(facts: ModuleFacts, owner: ast.stmt, *lines: str) -> Edit:
    """Put statements at the top of the body of a function, loop or `if`, below a docstring."""
    body: list[ast.stmt] = owner.body  # type: ignore[attr-defined]
    if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef) and _is_docstring(body[0]):
        if len(body) == 1:
            end = facts.range(body[0]).end
            indent = facts.source.line(body[0].lineno)[: facts.range(body[0]).start.column - 1]
            newline = facts.source.newline
            return Edit(facts.source.rel, Range(end, end), "".join(f"{newline}{indent}{line}" for line in lines))
        return insert_before(facts, body[1], *lines)
    return insert_before(facts, body[0], *lines)


def remove(facts: ModuleFacts, node: ast.stmt) -> Edit:
    """Take out a statement; its line goes when nothing else is on it."""
    place = facts.range(node)
    before = facts.source.line(place.start.line)[: place.start.column - 1]
    after = facts.source.line(place.end.line)[place.end.column - 1 :]
    if before.strip() or after.strip():
        return Edit(facts.source.rel, place, "pass")
    starts = facts.source.line_starts
    if place.end.line >= len(starts):
        return Edit(facts.source.rel, Range(Position(place.start.line, 1), place.end), "")
    return Edit(facts.source.rel, Range(Position(place.start.line, 1), Position(place.end.line + 1, 1)), "")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
