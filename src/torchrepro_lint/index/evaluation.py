"""What evaluating an expression runs, in order: its calls, innermost first. Knows nothing of what is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint.index.parents import children

if TYPE_CHECKING:
    from torchrepro_lint.index.facts import Scope


class Evaluated(NamedTuple):
    """A call; or a conditional expression, of which only a part is run and which is not looked into."""

    node: ast.Call | ast.IfExp
    scope: Scope


def evaluated(node: ast.AST, scope: Scope) -> tuple[Evaluated, ...]:
    """What is run, comprehensions in their own scopes; lambdas are not entered."""
    found: list[Evaluated] = []
    _collect(node, scope, found)
    return tuple(found)


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
