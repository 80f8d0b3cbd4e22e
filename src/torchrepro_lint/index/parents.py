"""The tree of one file, downwards and upwards. Parents are worked out statement by statement, along the way to the
node in question: most are never asked about. The nodes without a place (`Load`, `Add`) are shared between trees, and
left out."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any

from torchrepro_lint.index.compact import KINDS, WITHOUT_PLACE, by_kind

_PLAIN = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "module", "level", "asname",
                    "is_async", "simple", "rest", "type_ignores", "conversion", "kwd_attrs", "tag"})  # fmt: skip
_HELD: set[object] = set(by_kind(dict.fromkeys(kind for kind in KINDS if kind._attributes or kind in WITHOUT_PLACE)))


class _Holding(dict[type, tuple[str, ...]]):
    """The fields of a kind of node that may hold others; of a class that is derived from one, those of its base."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields = self[kind] = self[kind.__mro__[1]]
        return fields


_HOLDING = _Holding(
    by_kind({kind: tuple(name for name in kind._fields if name not in _PLAIN) for kind in KINDS} | {ast.Constant: ()})
)
_STATEMENTS: set[object] = set(by_kind(dict.fromkeys(kind for kind in KINDS if issubclass(kind, ast.stmt))))
_NONE: tuple[list[int], list[ast.stmt]] = [], []


class Parents:
    """What holds a node."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree: ast.AST = tree
        self._known: dict[ast.AST, ast.AST | None] = {tree: None}
        self._inside: dict[ast.AST, tuple[list[int], list[ast.stmt]]] = {}  # of what was read
        self._is_whole = False

    def __getitem__(self, node: ast.AST) -> ast.AST:
        found = self.get(node)
        if found is None:
            raise KeyError(node)
        return found

    def get(self, node: ast.AST) -> ast.AST | None:
        """What holds `node`; None for the module, and for a node of another file."""
        if node not in self._known and not self._is_whole:
            self._look_for(node)
        return self._known.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parent, grandparent, ... up to the module: all of these are known where the first is."""
        known, holder = self._known, self.get(node)
        while holder is not None:
            yield holder
            holder = known[holder]

    def adopt(self, node: ast.AST, instead_of: ast.AST) -> None:
        """Let a node that is not written anywhere have the place of another one."""
        self._known[node] = self.get(instead_of)

    def _look_for(self, node: ast.AST) -> None:
        """Read the statements on its line; f-strings may give a wrong one, or none: then all."""
        line, holders = getattr(node, "lineno", 0), [self._tree]
        for holder in holders:
            holders += self._around(holder, line)
        if node in self._known:
            return
        self._is_whole, holders = True, [self._tree]
        for holder in holders:
            holders += self._statements_of(holder)[1]

    def _around(self, holder: ast.AST, line: int) -> list[ast.AST]:
        """The statements right inside `holder` that a line is part of."""
        lines, statements = self._statements_of(holder)
        end = start = bisect_right(lines, line)
        while start and line <= (statements[start - 1].end_lineno or 0):
            start -= 1
        return [*statements[start:end]]

    def _statements_of(self, holder: ast.AST) -> tuple[list[int], list[ast.stmt]]:
        """What `holder` has of its own statements, by their lines."""
        known = self._inside.get(holder)
        if known is None:
            statements = self._read(holder)
            statements.sort(key=_first_line)
            known = self._inside[holder] = (list(map(_first_line, statements)), statements) if statements else _NONE
        return known

    def _read(self, top: ast.AST) -> list[ast.stmt]:
        """Take in what `top` holds, down to its own statements, which are given back."""
        known, stack = self._known, [top]
        statements: list[ast.stmt] = []
        while stack:
            node = stack.pop()
            for name in _HOLDING[node.__class__]:  # as in `children`: this is done for most findings
                value: Any = getattr(node, name, None)
                for child in value if value.__class__ is list else (value,):
                    kind = child.__class__
                    if kind in _HELD:
                        known[child] = node
                        if kind in _STATEMENTS:
                            statements.append(child)
                        elif _HOLDING[kind]:
                            stack.append(child)
        return statements


def children(node: ast.AST) -> list[ast.AST]:
    """What a node holds itself, in source order."""
    found: list[ast.AST] = []
    for name in _HOLDING[node.__class__]:
        value: Any = getattr(node, name, None)
        kind: type = value.__class__
        if kind in _HELD:
            found.append(value)
        elif value and kind is list:
            found += [child for child in value if child.__class__ in _HELD]
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """The node and all that it holds, the outer ones first, as `ast.walk` gives them, in half the time."""
    found = [node]
    for holder in found:
        if _HOLDING[holder.__class__]:
            found += children(holder)
    return found


def descendants(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes inside, the outer ones first."""
    return islice(walk(node), 1, None)


def calls_in(*nodes: ast.AST) -> Iterator[ast.Call]:
    """The calls that are written in these nodes, also in the functions that they define."""
    return (part for node in nodes for part in walk(node) if isinstance(part, ast.Call))


def names_in(*nodes: ast.AST) -> set[str]:
    """The names that stand in these nodes, read or bound."""
    return {part.id for node in nodes for part in walk(node) if isinstance(part, ast.Name)}


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno
