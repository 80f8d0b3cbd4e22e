"""Whether an item that is taken from a list is the only one, or stands for what all of them share.

Looks at the expression around the place and at the tests that are known there, nothing else.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.conditions import Condition, conditions
from torchrepro_lint.index import ModuleFacts, Scope

_WRAPPERS = frozenset({"iter", "list", "tuple", "sorted"})
_SHARED = frozenset({"parent", "parents", "suffix", "shape", "dtype", "ndim"})


def is_single(value: ast.expr, scope: Scope) -> bool:
    """Whether the tests on the way make sure that there is one item only: `assert len(found) == 1`."""
    text = ast.unparse(unwrapped(value))
    return any(_counts_one(condition, text) for condition in conditions(value, scope))


def unwrapped(node: ast.expr) -> ast.expr:
    """`x` of `iter(x)` or `list(x)`."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _WRAPPERS:
            return unwrapped(inner)
    return node


def _counts_one(condition: Condition, text: str) -> bool:
    """Whether `len(text)` is known to be 1 at most."""
    match condition.test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[counted]), ops=[op], comparators=[ast.Constant(value=1)]
        ) if ast.unparse(counted) == text:
            return isinstance(op, ast.Eq | ast.LtE if condition.holds else ast.NotEq | ast.Gt)
    return False


def is_shared(node: ast.expr, facts: ModuleFacts) -> bool:
    """Whether only what all items share is taken from one: that there is one, its folder, its suffix."""
    for _ in range(3):
        parent = facts.parents[node]
        match parent:
            case ast.Compare(comparators=[ast.Constant(value=None)]) | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Attribute(attr=attr) if attr in _SHARED:
                return True
            case ast.Call(func=ast.Attribute(attr="dirname") | ast.Name(id="dirname" | "bool")):
                return True
            case ast.Call():
                node = parent
            case _:
                return False
    return False
