"""A place in the program: an expression, and the scope in which its names are looked up."""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeAlias

from torchrepro_lint.index import Scope


class Site(NamedTuple):
    """An expression and the scope it is evaluated in."""

    node: ast.expr
    scope: Scope


CallSite: TypeAlias = "tuple[ast.Call, Scope]"
NodeSite: TypeAlias = "tuple[ast.AST, Scope]"


def start_of(node: ast.AST) -> tuple[int, int]:
    """Where an expression or statement begins: line and column."""
    return node.lineno, node.col_offset  # type: ignore[attr-defined]
