"""Which statements of a block do anything when it runs: those that call, import, branch or leave. Most of a module and
of a class only define. Knows nothing of what is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrepro_lint.index.facts import Scope

_ALWAYS = (ast.Import, ast.ImportFrom, ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith,
           ast.Match, ast.Return, ast.Raise)  # fmt: skip


def steps(body: list[ast.stmt], scope: Scope) -> tuple[ast.stmt, ...]:
    """Those of the statements, which lie in `scope`."""
    return tuple(statement for statement in body if _does_something(statement, scope))


def _does_something(node: ast.stmt, scope: Scope) -> bool:
    facts = scope.facts
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return any(facts.evaluated(part, scope) for part in (*node.decorator_list, *node.args.defaults))
        case ast.ClassDef():
            return bool(facts.steps(node.body, scope.children.get(node, scope)))
    return isinstance(node, _ALWAYS) or bool(facts.evaluated(node, scope))
