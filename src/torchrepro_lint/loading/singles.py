"""Whether an item that is taken from a list is the only one, or stands for what all of them share.

Looks at the expression around the place and at the tests of its function, nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.index.parents import descendants

_WRAPPERS = frozenset({"iter", "list", "tuple", "sorted"})
_SHARED = frozenset({"parent", "parents", "suffix", "shape", "dtype", "ndim"})
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def is_single(value: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether the function makes sure that there is one item only: `assert len(found) == 1`."""
    value = unwrapped(value)
    tests = _tests_for_one(scope.function, program).get(ast.unparse(value), ())
    if not tests:
        return False
    around = set(scope.facts.ancestors(value))
    return any(isinstance(t, ast.Assert) or t in around or isinstance(t.body[-1], _LEAVES) for t in tests)


@remembered
def _tests_for_one(function: Scope, program: Program) -> dict[str, list[ast.Assert | ast.If]]:  # noqa: ARG001
    """The statements of a function that compare `len(x)` with 1, by what `x` is."""
    found: dict[str, list[ast.Assert | ast.If]] = {}
    for node in descendants(function.node):
        if isinstance(node, ast.Assert | ast.If):
            for text in _counted(node.test):
                found.setdefault(text, []).append(node)
    return found


def unwrapped(node: ast.expr) -> ast.expr:
    """`x` of `iter(x)` or `list(x)`."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _WRAPPERS:
            return unwrapped(inner)
    return node


def _counted(test: ast.expr) -> Iterator[str]:
    """What `len` is taken of, where that is compared with 1."""
    for part in ast.walk(test):
        match part:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[counted]), comparators=[ast.Constant(value=1)]
            ):
                yield ast.unparse(counted)


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
