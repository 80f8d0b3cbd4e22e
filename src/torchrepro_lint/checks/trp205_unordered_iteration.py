"""TRP205: the order of a set of strings, which changes from run to run, decides something."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.program import Module, Program
from torchrepro_lint.program.data.sets import TextSet, taken_from, text_sets
from torchrepro_lint.program.data.texts import Evidence
from torchrepro_lint.program.uses import Uses


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each place where an order that matters comes out of a set of strings."""
    uses = Uses(program)
    found = list(text_sets(module, program, uses))
    return _judged(found, module, program, uses) if found else iter(())


def _judged(found: Iterable[TextSet], module: Module, program: Program, uses: Uses) -> Iterator[Draft]:
    from torchrepro_lint.checks.sorting import sorted_items  # much code, for the files that need it
    from torchrepro_lint.program.data.order import Order

    order = Order(program, uses)
    reported: set[int] = set()
    for held in found:
        for site in taken_from(held.made, uses):
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
