"""The statements and blocks around a node, up to the function it lies in: without reading the rest of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from torchrepro_lint.index import Scope

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def ancestors(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Parent, grandparent, ... up to the function (or the module) that runs `node`."""
    parents = _parents(scope.function)
    while (parent := parents.get(node)) is not None:
        yield parent
        node = parent


def statement(node: ast.AST, scope: Scope) -> ast.stmt:
    """The innermost statement that `node` is, or is part of."""
    if isinstance(node, ast.stmt):
        return node
    return next(a for a in ancestors(node, scope) if isinstance(a, ast.stmt))


def parent(node: ast.AST, scope: Scope) -> ast.AST | None:
    """What holds `node`."""
    return _parents(scope.function).get(node)


def inside(scope: Scope) -> Iterator[ast.AST]:
    """All nodes of the function (or the module) that `scope` lies in, in no particular order."""
    return iter(_parents(scope.function))


def arm_of(block: ast.AST, item: ast.AST) -> str | None:
    """The list of `block` that `item` stands in itself: `body`, `orelse`, ..."""
    for name in BLOCKS:
        listed = getattr(block, name, None)
        if isinstance(listed, list) and any(one is item for one in listed):
            return name
    return None


def _parents(function: Scope) -> Mapping[ast.AST, ast.AST]:
    return function.facts.parents if function.kind == "module" else _within(function.node)


@lru_cache(maxsize=64)
def _within(function: ast.AST) -> Mapping[ast.AST, ast.AST]:
    found: dict[ast.AST, ast.AST] = {}
    pending = [function]
    while pending:
        holder = pending.pop()
        for value in vars(holder).values():
            children = value if value.__class__ is list else (value,)
            for child in children:
                if isinstance(child, ast.AST):
                    found[child] = holder
                    pending.append(child)
    return found
