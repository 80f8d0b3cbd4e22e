"""Where an object that one call constructs is called itself: `criterion = CrossEntropyLoss(); criterion(x, y)`.

Follows it through names, `self` attributes and arguments of project functions. Judges nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.enclosing import inside, parent
from torchrepro_lint.dataflow.reaching_definitions import reaching
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.uses import Uses
from torchrepro_lint.index import Scope

MAX_SITES = 64


def calls_of(call: Call, uses: Uses) -> list[tuple[ast.Call, Scope]]:
    """The calls of the object that `call` makes, as far as it can be followed."""
    found: list[tuple[ast.Call, Scope]] = []
    seen: set[int] = set()
    pending = [Site(call.node, call.scope)]
    while pending and len(seen) < MAX_SITES:
        site = pending.pop(0)
        if id(site.node) in seen:
            continue
        seen.add(id(site.node))
        holder = parent(site.node, site.scope)
        if isinstance(holder, ast.Call) and holder.func is site.node:
            found.append((holder, site.scope))
        else:
            pending.extend(_next(site, holder, uses))
    return found


def _next(site: Site, holder: ast.AST | None, uses: Uses) -> Iterator[Site]:
    match holder:
        case ast.IfExp() | ast.BoolOp() | ast.NamedExpr():
            yield Site(holder, site.scope)
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _of_target(target, holder, site.scope, uses)
        case ast.AnnAssign(target=target):
            yield from _of_target(target, holder, site.scope, uses)
        case ast.Call() if not (isinstance(holder.func, ast.Attribute) and holder.func.value is site.node):
            yield from uses.in_callee(holder, site.node, site.scope) or ()
        case ast.keyword():
            outer = parent(holder, site.scope)
            if isinstance(outer, ast.Call):
                yield from uses.in_callee(outer, site.node, site.scope) or ()
        case ast.Attribute(attr="to" | "cuda" | "cpu" | "train" | "float" | "half" | "double"):
            outer = parent(holder, site.scope)
            if isinstance(outer, ast.Call) and outer.func is holder:
                yield Site(outer, site.scope)
        case ast.Return() if site.scope.function.kind == "function":
            yield from uses.results(site.scope.function)


def _of_target(target: ast.expr, statement: ast.stmt, scope: Scope, uses: Uses) -> Iterator[Site]:
    """Where what is assigned is read. Within a function, and on `self`, without reading the whole file."""
    owner = scope.binding_scope(target.id) if isinstance(target, ast.Name) else None
    if isinstance(target, ast.Name) and owner is not None and owner.function.kind == "function":
        yield from _in_function(target.id, statement, owner)
    elif isinstance(target, ast.Attribute) and scope.is_self(target.value):
        yield from _called_on_self(target.attr, scope)
    else:
        yield from uses.of_target(target, statement, scope)


def _in_function(name: str, statement: ast.stmt, owner: Scope) -> Iterator[Site]:
    for node in inside(owner):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            seen = reaching(owner.bindings[name], node, owner, owner)
            if any(binding.node is statement for binding in seen):
                yield Site(node, owner)


def _called_on_self(attribute: str, scope: Scope) -> Iterator[Site]:
    owner = scope.method_class
    for call, where in scope.facts.calls.get(attribute, ()):
        function = call.func
        if isinstance(function, ast.Attribute) and where.is_self(function.value) and where.method_class is owner:
            yield Site(function, where)
