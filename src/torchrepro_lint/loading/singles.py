"""Whether an item that is taken from a list is the only one, or stands for what all of them share.

Looks at the expression around the place and at the tests of its function, nothing else.
"""

from __future__ import annotations

import ast

from torchrepro_lint.index import ModuleFacts, Scope

_WRAPPERS = frozenset({"iter", "list", "tuple", "sorted"})
_SHARED = frozenset({"parent", "parents", "suffix", "shape", "dtype", "ndim"})
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def is_single(value: ast.expr, scope: Scope) -> bool:
    """Whether the function makes sure that there is one item only: `assert len(found) == 1`."""
    value = unwrapped(value)
    text = ast.unparse(value)
    around = set(scope.facts.ancestors(value))
    for node in ast.walk(scope.function.node):
        match node:
            case ast.Assert(test=test) if _counts_one(test, text):
                return True
            case ast.If(test=test, body=[*_, last]) if _counts_one(test, text):
                if node in around or isinstance(last, _LEAVES):
                    return True
    return False


def unwrapped(node: ast.expr) -> ast.expr:
    """`x` of `iter(x)` or `list(x)`."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _WRAPPERS:
            return unwrapped(inner)
    return node


def _counts_one(test: ast.expr, text: str) -> bool:
    """Whether a test compares `len(text)` with 1."""
    for part in ast.walk(test):
        match part:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[counted]), comparators=[ast.Constant(value=1)]
            ) if ast.unparse(counted) == text:
                return True
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
