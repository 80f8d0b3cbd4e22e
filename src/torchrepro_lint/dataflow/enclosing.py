"""The statements and blocks around a node, up to the function it lies in: without reading the rest of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.index.parents import descendants

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def ancestors(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Parent, grandparent, ... up to the function (or the module) that runs `node`."""
    function = scope.function.node
    for holder in scope.facts.ancestors(node) if node is not function else ():
        yield holder
        if holder is function:
            return


def statement(node: ast.AST, scope: Scope) -> ast.stmt:
    """The innermost statement that `node` is, or is part of."""
    if isinstance(node, ast.stmt):
        return node
    return next(a for a in ancestors(node, scope) if isinstance(a, ast.stmt))


def parent(node: ast.AST, scope: Scope) -> ast.AST | None:
    """What holds `node`."""
    return scope.facts.parents.get(node)


def inside(scope: Scope) -> Iterator[ast.AST]:
    """All nodes of the function (or the module) that `scope` lies in, in no particular order."""
    return descendants(scope.function.node)


def arm_of(block: ast.AST, item: ast.AST) -> str | None:
    """The list of `block` that `item` stands in itself: `body`, `orelse`, ..."""
    for name in BLOCKS:
        listed = getattr(block, name, None)
        if isinstance(listed, list) and any(one is item for one in listed):
            return name
    return None


def block_of(facts: ModuleFacts, statement: ast.AST) -> list[ast.stmt]:
    """The list of statements that `statement` stands in."""
    holder = facts.parents[statement]
    name = arm_of(holder, statement)
    block: list[ast.stmt] = getattr(holder, name) if name in ("body", "orelse", "finalbody") else []
    return block


def is_in_body(part: ast.AST, block: ast.For | ast.AsyncFor | ast.While | ast.If) -> bool:
    """Whether a part of a loop or test is a statement of its body, by its place: bodies are long."""
    if not isinstance(part, ast.stmt) or not block.orelse:
        return isinstance(part, ast.stmt)
    end = block.orelse[0]
    return (part.lineno, part.col_offset) < (end.lineno, end.col_offset)


def outermost_loop(facts: ModuleFacts, node: ast.AST) -> ast.stmt | None:
    """The outermost loop of the same function that runs `node` again and again."""
    found: ast.stmt | None = None
    child = node
    for parent in facts.ancestors(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            break
        if isinstance(parent, ast.For | ast.AsyncFor | ast.While) and is_in_body(child, parent):
            found = parent
        child = parent
    return found
