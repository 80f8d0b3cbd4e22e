"""The tree of one file, downwards and upwards. Parents are worked out statement by statement, along the way to the
node in question: most are never asked about. The nodes without a place (`Load`, `Add`) are shared between trees, and
left out."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator

_PLACELESS = (ast.comprehension, ast.arguments, ast.withitem, ast.match_case)


class Parents:
    """What holds a node."""

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[ast.AST, ast.AST | None] = {tree: None}
        self._unread = self._read(tree)  # statements whose inside is not known yet, in source order

    def __getitem__(self, node: ast.AST) -> ast.AST:
        found = self.get(node)
        if found is None:
            raise KeyError(node)
        return found

    def get(self, node: ast.AST) -> ast.AST | None:
        """What holds `node`; None for the module, and for a node of another file."""
        while node not in self._known and self._unread:
            place = self._around(node)
            self._unread[place : place + 1] = self._read(self._unread[place])
        return self._known.get(node)

    def _around(self, node: ast.AST) -> int:
        """Which of them to look into for `node`, by its line; f-strings may give a wrong one, or none."""
        line = getattr(node, "lineno", 0)
        place = bisect_right(self._unread, line, key=_first_line) - 1
        is_inside = place >= 0 and line <= (self._unread[place].end_lineno or 0)
        return place if is_inside else len(self._unread) - 1

    def _read(self, top: ast.AST) -> list[ast.stmt]:
        """Take in what `top` holds, down to its own statements, which are returned unread, in source order."""
        known, stack = self._known, [top]
        statements: list[ast.stmt] = []
        while stack:
            node = stack.pop()
            for child in children(node):
                known[child] = node
                if isinstance(child, ast.stmt):
                    statements.append(child)
                else:
                    stack.append(child)
        return sorted(statements, key=_first_line)


def children(node: ast.AST) -> Iterator[ast.AST]:
    """What a node holds itself, in source order."""
    for value in node.__dict__.values():
        if value.__class__ is list:
            for child in value:
                if (isinstance(child, ast.AST) and child._attributes) or isinstance(child, _PLACELESS):
                    yield child
        elif isinstance(value, ast.AST) and (value._attributes or isinstance(value, _PLACELESS)):
            yield value


def descendants(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes inside, the outer ones first."""
    found = [node]
    for holder in found:
        inner = list(children(holder))
        found += inner
        yield from inner


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno
