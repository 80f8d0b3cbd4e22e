"""Syntax trees that take a third of the memory: the same nodes, of subclasses of the same classes, with slots in place
of a dict each, and one object for each line number.

Making one takes two thirds as long as parsing, so only those are that a large project would otherwise read again and
again.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, TypeVar

V = TypeVar("V")
KINDS = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
WITHOUT_PLACE = {ast.Module, ast.comprehension, ast.arguments, ast.withitem, ast.match_case}  # that hold others


def _is_seldom(kind: type[ast.AST], field: str) -> bool:
    """Whether a node mostly lacks a field: that is None in the class, and in a node's dict where it is set."""
    return getattr(kind, field, field) is None


def _slotted(kind: type[ast.AST]) -> type[ast.AST]:
    slots = (*(name for name in kind._fields if not _is_seldom(kind, name)), *kind._attributes)
    return type(kind.__name__, (kind,), {"__slots__": slots, "__module__": __name__})


_COMPACT = {kind: _slotted(kind) for kind in KINDS if kind._attributes or kind in WITHOUT_PLACE}
_FIELDS = {kind: [(name, _is_seldom(kind, name)) for name in kind._fields] for kind in _COMPACT}


def compact(tree: ast.Module, lines: int) -> ast.Module:
    """The same tree, of a text with so many lines. What has no place (`Load`, `Add`) is shared between trees."""
    numbers = list(range(lines + 2))
    kinds, all_fields, make = _COMPACT, _FIELDS, ast.AST.__new__
    top: Any = make(kinds[ast.Module])
    pending: list[tuple[Any, Any]] = [(tree, top)]
    pop, push = pending.pop, pending.append
    while pending:
        old, new = pop()
        values = old.__dict__
        if "lineno" in values:
            line, end = values["lineno"], values["end_lineno"]
            new.lineno = line = numbers[line] if 0 <= line <= lines else line
            new.end_lineno = line if end == line else numbers[end] if 0 <= end <= lines else end
            new.col_offset, new.end_col_offset = values["col_offset"], values["end_col_offset"]
        for name, is_seldom in all_fields[old.__class__]:
            value: Any = values.get(name)
            kind = value.__class__
            if kind in kinds:
                inner = make(kinds[kind])
                push((value, inner))
                value = inner
            elif kind is list:
                value = value.copy()  # which has no room to spare, as a list that grows does
                for place, item in enumerate(value):
                    kind = item.__class__
                    if kind in kinds:
                        value[place] = inner = make(kinds[kind])
                        push((item, inner))
            elif is_seldom and value is None:
                continue
            setattr(new, name, value)
    assert isinstance(top, ast.Module)
    return top


def by_kind(table: Mapping[type, V]) -> dict[type, V]:
    """A table by the class of a node, which has the compact classes, too."""
    return {**table, **{_COMPACT[kind]: found for kind, found in table.items() if kind in _COMPACT}}
