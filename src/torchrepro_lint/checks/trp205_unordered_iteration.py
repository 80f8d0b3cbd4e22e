"""TRP205: the order of a set of strings, which changes from run to run, decides something."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit
from torchrepro_lint.program import Module, Program
from torchrepro_lint.program.order import Order
from torchrepro_lint.program.sets import taken_from, text_sets
from torchrepro_lint.program.texts import Evidence
from torchrepro_lint.program.uses import Uses
from torchrepro_lint.syntax import replace, wrap


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each place where an order that matters comes out of a set of strings."""
    order = Order(program)
    reported: set[int] = set()
    for held in text_sets(module, program, order.uses):
        for site in taken_from(held.made, order.uses):
            if site.scope.facts is not module.facts or id(site.node) in reported:
                continue
            decision = order.decided_by(site.node, site.scope)
            if decision is None:
                continue
            reported.add(id(site.node))
            yield Draft(
                site.node,
                {"set": module.facts.text(site.node), "why": decision.why},
                related=(Place(decision.facts, decision.node, f"its order {decision.why} here"),),
                edits=_edits(module.facts, site.node),
                unsafe=held.evidence is not Evidence.SURE,
            )


def _edits(facts: ModuleFacts, node: ast.expr) -> tuple[Edit, ...]:
    """Sort the items where they are taken."""
    parent = facts.parents[node]
    match parent:
        case ast.Attribute():  # `.pop()`: which item is meant is for a person to say
            return ()
        case ast.Call(func=ast.Name(id="list") as function, args=[_], keywords=[]):
            return (replace(facts, function, "sorted"),)
    return wrap(facts, node, "sorted(", ")")
