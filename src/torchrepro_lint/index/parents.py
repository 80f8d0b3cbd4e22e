"""The tree of one file, downwards and upwards. Parents are worked out statement by statement, along the way to the
node in question: most are never asked about. The nodes without a place (`Load`, `Add`) are shared between trees, and
left out."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from torchrepro_lint.index.compact import KINDS, WITHOUT_PLACE, by_kind

_PLAIN = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "module", "level", "asname",
                    "is_async", "simple", "rest", "type_ignores", "conversion", "kwd_attrs", "tag"})  # fmt: skip
_HELD: set[object] = set(by_kind(dict.fromkeys(kind for kind in KINDS if kind._attributes or kind in WITHOUT_PLACE)))
_HOLDING = by_kind(
    {kind: tuple(name for name in kind._fields if name not in _PLAIN) for kind in KINDS} | {ast.Constant: ()}
)


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

    def adopt(self, node: ast.AST, instead_of: ast.AST) -> None:
        """Let a node that is not written anywhere have the place of another one."""
        self._known[node] = self.get(instead_of)

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


def children(node: ast.AST) -> list[ast.AST]:
    """What a node holds itself, in source order."""
    found: list[ast.AST] = []
    for name in _HOLDING[node.__class__]:
        value: Any = getattr(node, name, None)
        kind: type = value.__class__
        if kind in _HELD:
            found.append(value)
        elif kind is list:
            found += [child for child in value if child.__class__ in _HELD]
    return found


def descendants(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes inside, the outer ones first."""
    found = [node]
    for holder in found:
        inner = children(holder)
        found += inner
        yield from inner


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno
