"""Code that runs only while a model is in training mode, by the tests of a flag around it or above it.

Reads syntax only: what the flag is set to is not followed.
"""

from __future__ import annotations

import ast

from torchrepro_lint.index import FunctionNode, ModuleFacts

_FLAGS = frozenset({"training", "is_training", "is_train"})


def only_in_training(node: ast.AST, facts: ModuleFacts) -> bool:
    """Whether `node` stands under `if self.training:`, or below `if not self.training: return`, in its function."""
    child = node
    for parent in facts.ancestors(node):
        match parent:
            case ast.If(test=test, body=body):
                if child is not test and _needs(test, is_on=child in body):
                    return True
            case ast.IfExp(test=test, body=chosen):
                if child is not test and _needs(test, is_on=child is chosen):
                    return True
        if _left_before(child, parent):
            return True
        if isinstance(parent, FunctionNode | ast.Lambda | ast.ClassDef):
            return False
        child = parent
    return False


def _needs(test: ast.expr, *, is_on: bool) -> bool:
    """Whether a test that came out true (`is_on`), or false, says that the flag is set."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _needs(operand, is_on=not is_on)
        case ast.BoolOp(op=operator, values=values):
            return isinstance(operator, ast.And) is is_on and any(_needs(v, is_on=is_on) for v in values)
    return is_on and getattr(test, "attr", getattr(test, "id", "")) in _FLAGS


def _left_before(statement: ast.AST, parent: ast.AST) -> bool:
    """Whether an `if` above, in the same block, leaves where the flag is not set."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            above = block[: block.index(statement)]
            return any(
                isinstance(n, ast.If) and isinstance(n.body[-1], ast.Return) and _needs(n.test, is_on=False)
                for n in above
            )
    return False
