"""Loops and comprehensions over the items: whether what a loop leaves behind shows the order of its rounds."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchrepro_lint.dataflow.conditions import are_exclusive
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.loading.decisions import Decision
from torchrepro_lint.loading.loops import Effect, Loop, effects, index_name, nodes
from torchrepro_lint.rng.draws import draw_of

if TYPE_CHECKING:
    from torchrepro_lint.loading.order import Order


def comprehension(order: Order, generator: ast.comprehension, scope: Scope) -> Decision | None:
    """`[... for item in items]` and the like."""
    facts = scope.facts
    owner = facts.parents[generator]
    assert isinstance(owner, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
    elements = [owner.key, owner.value] if isinstance(owner, ast.DictComp) else [owner.elt]
    drawn = _drawn(order, elements, facts)
    if drawn is not None or isinstance(owner, ast.SetComp):
        return drawn
    outer = facts.scope_of(owner)
    if not isinstance(owner, ast.DictComp):
        return order.follow(Site(owner, outer), "sequence")
    index = index_name(generator.target, generator.iter)
    if index and any(isinstance(n, ast.Name) and n.id == index for e in elements for n in ast.walk(e)):
        return Decision(facts, owner, "decides the numbering")
    return order.follow(Site(owner, outer), "mapping")


def loop(order: Order, node: Loop, scope: Scope) -> Decision | None:
    """`for item in items:`."""
    return rounds(order, node, scope)


def rounds(order: Order, node: Loop | ast.While, scope: Scope) -> Decision | None:
    """What the order of a loop's rounds decides, whatever brings the items."""
    drawn = _drawn(order, node.body, scope.facts)
    return drawn or order.first(_effect(order, e, node, scope) for e in effects(scope.facts, node))


def _drawn(order: Order, body: Sequence[ast.AST], facts: ModuleFacts) -> Decision | None:
    """A random number that is drawn for each item in turn."""
    for node in nodes(body):
        if isinstance(node, ast.Call):
            scope = facts.scope_of(node)
            name = order.program.qualified(node.func, scope)
            draw = draw_of(order.program, name, node, scope) if name else None
            if draw is not None and draw.kind == "sample":
                return Decision(facts, node, "decides which item gets which random number")
    return None


def _effect(order: Order, effect: Effect, node: Loop | ast.While, scope: Scope) -> Decision | None:
    facts = scope.facts
    match effect.kind:
        case "decides":
            return Decision(facts, effect.node, effect.why)
        case "sequence" | "mapping" | "lists" if effect.target is not None:
            where = facts.scope_of(effect.node)
            return order.stored(effect.target, facts.statement(effect.node), where, effect.kind)
        case "last" if isinstance(effect.target, ast.Name):
            return _kept(order, effect, effect.target, node, scope)
        case "yield":
            return _yielded(order, effect.node, scope)
        case "call" if isinstance(effect.node, ast.Call):
            return _called(order, effect.node, scope)
    return None


def _kept(order: Order, effect: Effect, target: ast.Name, node: Loop | ast.While, scope: Scope) -> Decision | None:
    """A name that still has the value of the last round when it is read below the loop."""
    owner = scope.facts.scope_of(effect.node).binding_scope(target.id)
    if owner is None or owner.function is not scope.function:
        return None
    last = (node.end_lineno or 0, node.end_col_offset or 0)
    for site in order.uses.of_name(target.id, owner, effect.node):
        if site.scope.function is not owner.function or are_exclusive((effect.node, scope), site):
            continue
        if (site.node.lineno, site.node.col_offset) >= last:
            return Decision(scope.facts, effect.node, "decides which item is kept")
    return None


def _yielded(order: Order, node: ast.AST, scope: Scope) -> Decision | None:
    """The rounds' items are what a generator yields, in their order."""
    function = scope.function
    owner = function.parent
    if owner is not None and owner.kind == "class" and function.name.endswith(".__iter__"):
        is_data = any("Data" in base for base in order.program.external_bases(owner))
        return Decision(scope.facts, node, "is the order of the samples") if is_data else None
    return order.returned(node, scope, "sequence")


def _called(order: Order, call: ast.Call, scope: Scope) -> Decision | None:
    """A function of the project that the loop calls may fill something that outlives it."""
    where = scope.facts.scope_of(call)
    callees = order.program.values.callees(call, where)
    callee = callees[0] if len(callees) == 1 else None
    if not isinstance(callee, Scope) or not isinstance(callee.node, ast.FunctionDef):
        return None
    if not order.is_new(callee, "called"):
        return None
    for effect in effects(callee.facts, callee.node):
        if effect.target is None or effect.kind not in ("sequence", "mapping", "lists"):
            continue
        inner = callee.facts.scope_of(effect.node)
        if isinstance(effect.target, ast.Name) and inner.binding_scope(effect.target.id) is callee:
            continue
        found = order.stored(effect.target, callee.facts.statement(effect.node), inner, effect.kind)
        if found is not None:
            return found
    return None
