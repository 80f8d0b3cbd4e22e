"""What is done to a tensor where it lies: what methods and assignments to its items write into it, and whether it is
made to require a gradient. Judges nothing."""

from __future__ import annotations

import ast
from itertools import islice

from torchrepro_lint.dataflow import Site, remembered_in_file
from torchrepro_lint.dataflow.reaching_definitions import reads
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.signatures import listed, requires_grad

MAX_WRITES = 64  # into one variable: nobody writes more, and a gradient comes with one of the first


@remembered_in_file
def written_into(name: str, owner: Scope) -> list[Site]:
    """The values that are written into a variable of `owner`, in source order: the first of them."""
    parents = owner.facts.parents
    found = (Site(v, scope) for read, scope in reads(name, owner) for v in _written(parents[read], read, scope))
    return list(islice(found, MAX_WRITES))


@remembered_in_file
def is_made_to_require_gradient(name: str, owner: Scope) -> bool:
    """Whether a variable of `owner` is, for certain: `image.requires_grad = True`, `image.requires_grad_()`."""
    parents = owner.facts.parents
    for read, _ in reads(name, owner):
        match parents[read], parents.get(parents[read]):
            case ast.Attribute(attr="requires_grad", ctx=ast.Store()), ast.Assign(value=ast.Constant(value=True)):
                return True
            case ast.Attribute(attr="requires_grad_"), ast.Call() as call if requires_grad(call, otherwise=True):
                return True
    return False


def _written(holder: ast.AST, read: ast.expr, scope: Scope) -> list[ast.expr]:
    parents = scope.facts.parents
    match holder, parents.get(holder):
        case ast.Attribute(attr=method), ast.Call(func=function, args=args, keywords=keywords):
            is_write = function is holder and method in listed("methods", "writes_in")
            return [*args, *(k.value for k in keywords)] if is_write else []
        case ast.Subscript(value=value), ast.Assign(targets=targets, value=written) if value is read:
            return [written] if holder in targets else []
        case ast.Subscript(value=value), ast.AugAssign(target=target, value=written) if value is read:
            return [written] if target is holder else []
    return []
