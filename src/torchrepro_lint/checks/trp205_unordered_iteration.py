"""TRP205: the order of a set of strings, which changes from run to run, decides something."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.sorting import sorted_items
from torchrepro_lint.program import Module, Program
from torchrepro_lint.program.data.order import Order
from torchrepro_lint.program.data.sets import taken_from, text_sets
from torchrepro_lint.program.data.texts import Evidence


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
            is_popped = isinstance(module.facts.parents[site.node], ast.Attribute)
            yield Draft(
                site.node,
                {"set": module.facts.text(site.node), "why": decision.why},
                related=(Place(decision.facts, decision.node, f"its order {decision.why} here"),),
                edits=() if is_popped else sorted_items(module.facts, site.node),
                unsafe=held.evidence is not Evidence.SURE,
            )
