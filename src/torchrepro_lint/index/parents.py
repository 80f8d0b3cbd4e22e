"""The tree of one file, downwards and upwards. Parents are worked out function by function, and for the module's own
tables statement by statement: most are never asked about. The nodes without a place (`Load`, `Add`) are shared between
trees, and left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_LATER = (ast.FunctionDef, ast.AsyncFunctionDef)
_LATER_IN_MODULE = (*_LATER, ast.Assign, ast.AnnAssign, ast.Expr)
_PLACELESS = (ast.comprehension, ast.arguments, ast.withitem, ast.match_case)


class Parents:
    """What holds a node."""

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[ast.AST, ast.AST | None] = {tree: None}
        self._unread: list[ast.AST] = []  # functions and statements whose inside is not known yet
        self._read(tree)

    def __getitem__(self, node: ast.AST) -> ast.AST:
        found = self.get(node)
        if found is None:
            raise KeyError(node)
        return found

    def get(self, node: ast.AST) -> ast.AST | None:
        """What holds `node`; None for the module, and for a node of another file."""
        while node not in self._known and self._unread:
            self._read(self._around(node))
        return self._known.get(node)

    def _around(self, node: ast.AST) -> ast.AST:
        """The next of them to look into for `node`, by its line; f-strings may give a wrong one, or none."""
        line = getattr(node, "lineno", 0)
        places = (i for i, f in enumerate(self._unread) if _first_line(f) <= line <= f.end_lineno)  # type: ignore[attr-defined]
        return self._unread.pop(next(places, -1))

    def _read(self, top: ast.AST) -> None:
        known, stack = self._known, [top]
        while stack:
            node = stack.pop()
            for child in children(node):
                known[child] = node
                later = _LATER_IN_MODULE if node.__class__ is ast.Module else _LATER
                (self._unread if isinstance(child, later) else stack).append(child)


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


def _first_line(unread: ast.AST) -> int:
    decorators: list[ast.expr] = getattr(unread, "decorator_list", [])
    return decorators[0].lineno if decorators else unread.lineno  # type: ignore[attr-defined]
