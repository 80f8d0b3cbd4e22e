"""What running code runs, in order: the calls in an expression, innermost first, and the statements of a block that do
anything at all. Most of a module and of a class only define. Knows nothing of what is called."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchrepro_lint.index.facts import Scope
from torchrepro_lint.index.parents import children

_ALWAYS = (ast.Import, ast.ImportFrom, ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith,
           ast.Match, ast.Return, ast.Raise)  # fmt: skip


class Evaluated(NamedTuple):
    """A call; or a conditional expression, of which only a part is run and which is not looked into."""

    node: ast.Call | ast.IfExp
    scope: Scope


def evaluated(node: ast.AST, scope: Scope) -> tuple[Evaluated, ...]:
    """What evaluating `node` runs, in order; comprehensions in their own scopes, lambdas are not entered."""
    known: dict[ast.AST, tuple[Evaluated, ...]] = scope.facts.evaluated
    if node not in known:
        found: list[Evaluated] = []
        _collect(node, scope, found)
        known[node] = tuple(found)
    return known[node]


def _collect(node: ast.AST, scope: Scope, found: list[Evaluated]) -> None:
    if isinstance(node, ast.Name | ast.Constant | ast.Lambda):
        return
    if isinstance(node, ast.IfExp):
        found.append(Evaluated(node, scope))
        return
    inner = scope.children.get(node, scope)
    for child in children(node):
        _collect(child, inner, found)
    if isinstance(node, ast.Call):
        found.append(Evaluated(node, scope))


def steps(body: list[ast.stmt], scope: Scope) -> tuple[ast.stmt, ...]:
    """The statements of a block, which lie in `scope`, that do anything when it runs: call, import, branch or leave."""
    if not body:
        return ()
    known: dict[ast.stmt, tuple[ast.stmt, ...]] = scope.facts.steps
    if body[0] not in known:
        known[body[0]] = tuple(statement for statement in body if _does_something(statement, scope))
    return known[body[0]]


def _does_something(node: ast.stmt, scope: Scope) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return any(evaluated(part, scope) for part in (*node.decorator_list, *node.args.defaults))
        case ast.ClassDef():
            return bool(steps(node.body, scope.children.get(node, scope)))
    return isinstance(node, _ALWAYS) or bool(evaluated(node, scope))
