"""Syntax trees that take a third of the memory: the same nodes, of subclasses of the same classes, with slots in place
of a dict each, and one object for each line number.

Making one takes nearly as long as parsing, so only those are that a large project would otherwise read again and again.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeVar

V = TypeVar("V")
KINDS = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
WITHOUT_PLACE = {ast.Module, ast.comprehension, ast.arguments, ast.withitem, ast.match_case}  # that hold others


def _slotted(kind: type[ast.AST]) -> type[ast.AST]:
    """With slots for all but what is seldom there: that is None in the class, and in a node's dict where it is set."""
    slots = (*(name for name in kind._fields if getattr(kind, name, name) is not None), *kind._attributes)
    return type(kind.__name__, (kind,), {"__slots__": slots, "__module__": __name__})


_COMPACT = {kind: _slotted(kind) for kind in KINDS if kind._attributes or kind in WITHOUT_PLACE}


def compact(tree: ast.Module, lines: int) -> ast.Module:
    """The same tree, of a text with so many lines. What has no place (`Load`, `Add`) is shared between trees."""
    numbers = list(range(lines + 2))
    top = _new(ast.Module)
    pending: list[tuple[ast.AST, ast.AST]] = [(tree, top)]
    pop, push, kinds = pending.pop, pending.append, _COMPACT
    while pending:
        old, new = pop()
        for name, value in old.__dict__.items():
            kind = value.__class__
            if value is None and getattr(new.__class__, name) is None:
                continue
            if kind is int:
                if 0 <= value < len(numbers):
                    value = numbers[value]
            elif kind is list:
                items = [_new(item.__class__) if item.__class__ in kinds else item for item in value]
                pending.extend([pair for pair in zip(value, items, strict=True) if pair[0] is not pair[1]])
                value = items
            elif kind in kinds:
                inner = _new(kind)
                push((value, inner))
                value = inner
            setattr(new, name, value)
    assert isinstance(top, ast.Module)
    return top


def _new(kind: type[ast.AST]) -> ast.AST:
    slotted = _COMPACT[kind]
    return slotted.__new__(slotted)


def by_kind(table: Mapping[type, V]) -> dict[type, V]:
    """A table by the class of a node, which has the compact classes, too."""
    return {**table, **{_COMPACT[kind]: found for kind, found in table.items() if kind in _COMPACT}}
