"""What the tests around a place say there: `mode` is not "reflect" in the `else` of `if mode == "reflect":`.

Reads branches of one function, and those that leave it before; knows nothing of the values themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.dataflow.enclosing import ancestors, arm_of
from torchrepro_lint.index import Scope

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def tests(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that are known where `node` runs, and how each came out; innermost first."""
    child = node
    for block in ancestors(node, scope):
        if isinstance(block, ast.If | ast.IfExp) and child is not block.test:
            yield from _parts(block.test, child is block.body or arm_of(block, child) == "body")
        yield from _left_before(child, block)
        child = block


def _left_before(statement: ast.AST, block: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """`if mode == "linear": return ...` before `statement`."""
    name = arm_of(block, statement)
    for earlier in getattr(block, name) if name is not None else ():
        if earlier is statement:
            return
        if isinstance(earlier, ast.If) and isinstance(earlier.body[-1], _LEAVES) and not earlier.orelse:
            yield from _parts(earlier.test, False)


def _parts(test: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a test that came out for certain when the whole did."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _parts(inner, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            for value in values:
                yield from _parts(value, holds)
        case _:
            yield test, holds


def equal_to(node: ast.expr, place: ast.AST, scope: Scope) -> object | None:
    """The constant that `node` is known to equal at `place`."""
    for test, holds in tests(place, scope):
        match test:
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=value)]):
                if isinstance(op, ast.Eq if holds else ast.NotEq) and ast.dump(left) == ast.dump(node):
                    return value
    return None


def unequal_to(node: ast.expr, place: ast.AST, scope: Scope) -> list[object]:
    """The constants that `node` is known not to equal at `place`."""
    found: list[object] = []
    for test, holds in tests(place, scope):
        match test:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if ast.dump(left) == ast.dump(node):
                if isinstance(op, ast.NotEq | ast.NotIn if holds else ast.Eq | ast.In):
                    listed = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
                    found += [item.value for item in listed if isinstance(item, ast.Constant)]
    return found


def exclude(first: tuple[ast.AST, Scope], second: tuple[ast.AST, Scope]) -> bool:
    """Whether two places of one class run under opposite values of an attribute: in the arms of `if self.causal:`."""
    if first[1].method_class is None or first[1].method_class is not second[1].method_class:
        return False
    one, two = (
        {(ast.dump(test), holds) for test, holds in tests(node, scope) if _of_self(test, scope)}
        for node, scope in (first, second)
    )
    return any((test, not holds) in two for test, holds in one)


def _of_self(test: ast.expr, scope: Scope) -> bool:
    return isinstance(test, ast.Attribute) and scope.is_self(test.value)
