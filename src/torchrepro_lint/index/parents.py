"""The tree of one file, downwards and upwards. Parents are worked out function by function: most functions are
never asked about. The nodes without a place (`Load`, `Add`) are shared between trees, and left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_PLACELESS = (ast.comprehension, ast.arguments, ast.withitem, ast.match_case)


class Parents:
    """What holds a node."""

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[ast.AST, ast.AST | None] = {tree: None}
        self._unread: list[ast.AST] = []  # functions whose inside is not known yet
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
        """The next function to look into for `node`, by its line; f-strings may give a wrong one, or none."""
        line = getattr(node, "lineno", 0)
        places = (i for i, f in enumerate(self._unread) if _first_line(f) <= line <= f.end_lineno)  # type: ignore[attr-defined]
        return self._unread.pop(next(places, -1))

    def _read(self, top: ast.AST) -> None:
        known, stack = self._known, [top]
        while stack:
            node = stack.pop()
            for child in children(node):
                known[child] = node
                is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                (self._unread if is_function else stack).append(child)


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


def _first_line(function: ast.AST) -> int:
    decorators: list[ast.expr] = function.decorator_list  # type: ignore[attr-defined]
    return decorators[0].lineno if decorators else function.lineno  # type: ignore[attr-defined]
