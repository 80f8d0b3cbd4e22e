"""Where an object that one call constructs is called itself: `criterion = CrossEntropyLoss(); criterion(x, y)`.

Follows it through names, `self` attributes and arguments of project functions. Judges nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.index import Scope
from torchrepro_lint.program.calls import Call
from torchrepro_lint.program.uses import Site, Uses

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
        parent = site.scope.facts.parents.get(site.node)
        if isinstance(parent, ast.Call) and parent.func is site.node:
            found.append((parent, site.scope))
        else:
            pending.extend(_next(site, parent, uses))
    return found


def _next(site: Site, parent: ast.AST | None, uses: Uses) -> Iterator[Site]:
    match parent:
        case ast.IfExp() | ast.BoolOp() | ast.NamedExpr():
            yield Site(parent, site.scope)
        case ast.Assign(targets=targets):
            for target in targets:
                yield from uses.of_target(target, parent, site.scope)
        case ast.AnnAssign(target=target):
            yield from uses.of_target(target, parent, site.scope)
        case ast.Call():
            if isinstance(parent.func, ast.Attribute) and parent.func.value is site.node:
                return
            yield from uses.in_callee(parent, site.node, site.scope) or ()
        case ast.keyword():
            outer = site.scope.facts.parents.get(parent)
            if isinstance(outer, ast.Call):
                yield from uses.in_callee(outer, site.node, site.scope) or ()
        case ast.Attribute(attr="to" | "cuda" | "cpu" | "train" | "float" | "half" | "double"):
            outer = site.scope.facts.parents.get(parent)
            if isinstance(outer, ast.Call) and outer.func is parent:
                yield Site(outer, site.scope)
        case ast.Return() if site.scope.function.kind == "function":
            yield from uses.results(site.scope.function)
