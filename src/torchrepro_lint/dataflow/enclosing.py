"""The statements and blocks around a node, up to the function it lies in: without reading the rest of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchrepro_lint.dataflow.sites import start_of
from torchrepro_lint.index import LoopNode, ModuleFacts, Scope, children, descendants, last_name

_TEARDOWNS = frozenset({"tearDown", "tearDownClass", "asyncTearDown", "tearDownModule", "teardown", "teardown_method",
                         "teardown_class", "teardown_module", "teardown_function"})  # fmt: skip
_TWO_PARTS = frozenset({"fixture", "contextmanager", "asynccontextmanager"})
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
ONLY_BINDS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def ancestors(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Parent, grandparent, ... up to the function (or the module) that runs `node`."""
    function = scope.function.node
    for holder in scope.facts.ancestors(node) if node is not function else ():
        yield holder
        if holder is function:
            return


def inside(scope: Scope) -> Iterator[ast.AST]:
    """All nodes of the function (or the module) that `scope` lies in, in no particular order."""
    return descendants(scope.function.node)


def run_with(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of these statements in source order, without what the functions and classes hold that they define."""
    pending = list(reversed(body))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, DEFINITIONS):
            pending += reversed(children(node))


def arm_of(block: ast.AST, item: ast.AST) -> str | None:
    """The list of `block` that `item` stands in itself: `body`, `orelse`, ..."""
    for name in BLOCKS:
        listed = getattr(block, name, None)
        if isinstance(listed, list) and item in listed:
            return name
    return None


def block_of(facts: ModuleFacts, statement: ast.AST) -> list[ast.stmt]:
    """The list of statements that `statement` stands in."""
    holder = facts.parents[statement]
    name = arm_of(holder, statement)
    block: list[ast.stmt] = getattr(holder, name) if name in ("body", "orelse", "finalbody") else []
    return block


def cleans_up(node: ast.AST, scope: Scope) -> bool:
    """Whether a place undoes what was set up: in a test's `tearDown`, or after the `yield` of a pytest fixture or of a
    context manager."""
    function = scope.function
    if function.own_name in _TEARDOWNS:
        return True
    if not any(last_name(d) in _TWO_PARTS for d in function.decorators):
        return False
    here = start_of(scope.facts.statement(node))
    return any(isinstance(n, ast.Yield) and start_of(n) < here for n in inside(scope))


def is_in_body(part: ast.AST, block: LoopNode | ast.If) -> bool:
    """Whether a part of a loop or test is a statement of its body, by its place: bodies are long."""
    if not isinstance(part, ast.stmt) or not block.orelse:
        return isinstance(part, ast.stmt)
    end = block.orelse[0]
    return start_of(part) < start_of(end)


def loops_around(facts: ModuleFacts, node: ast.AST) -> Iterator[LoopNode]:
    """The loops of the same function that run `node` again and again, innermost first."""
    child = node
    for holder in facts.ancestors(node):
        if isinstance(holder, DEFINITIONS):
            return
        if isinstance(holder, LoopNode) and is_in_body(child, holder):
            yield holder
        child = holder


def outermost_loop(facts: ModuleFacts, node: ast.AST) -> ast.stmt | None:
    """The outermost loop of the same function that runs `node` again and again."""
    return next(reversed(list(loops_around(facts, node))), None)
