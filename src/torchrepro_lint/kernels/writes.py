"""What is written into a tensor where it lies: by methods, and by assignments to its items. Judges nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.signatures import listed


def written_into(name: str, owner: Scope) -> Iterator[Site]:
    """The values that are written into a variable of `owner`, in source order."""
    facts = owner.facts
    for read in facts.reads(owner.node).of_name(name):
        scope = facts.scope_of(read)
        if scope.binding_scope(name) is owner:
            yield from (Site(value, scope) for value in _written(facts.parents[read], read, scope))


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
