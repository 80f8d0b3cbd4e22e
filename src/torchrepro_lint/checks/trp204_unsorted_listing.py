"""TRP204: the order in which the file system lists files decides something."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit
from torchrepro_lint.program import Module, Program
from torchrepro_lint.program.listings import Listing, listings
from torchrepro_lint.program.order import Decision, Order
from torchrepro_lint.program.walks import WalkOrder, walk_order
from torchrepro_lint.syntax import insert_first, replace, wrap

_BY_NAME = ", key=lambda entry: entry.name)"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each listing whose order reaches samples, classes, splits or the choice of a file."""
    order: Order | None = None
    for listing in listings(module, program):
        order = order or Order(program)
        if listing.items == "walk":
            walked = walk_order(order, listing.node, listing.scope)
            if walked is not None:
                yield _draft(listing, walked.decision, _walk_edits(listing, walked))
            continue
        decision = order.decided_by(listing.node, listing.scope)
        if decision is not None:
            yield _draft(listing, decision, _edits(listing, order))


def _draft(listing: Listing, decision: Decision, edits: tuple[Edit, ...]) -> Draft:
    return Draft(
        listing.node,
        {"listing": listing.scope.facts.text(listing.node), "why": decision.why},
        related=(Place(decision.facts, decision.node, f"its order {decision.why} here"),),
        edits=edits,
    )


def _edits(listing: Listing, order: Order) -> tuple[Edit, ...]:
    """Sort the listing where it is made."""
    facts, node = listing.scope.facts, listing.node
    parent = facts.parents[node]
    if listing.items == "entries":
        return _entry_edits(listing, order)
    match parent:
        case ast.Call(func=ast.Name(id="list") as function, args=[_], keywords=[]):
            return (replace(facts, function, "sorted"),)
        case ast.Call(func=ast.Name(id="next")):
            return wrap(facts, node, "iter(sorted(", "))")
        case ast.Assign(targets=[ast.Name() as target]) if listing.lazy:
            read = order.uses.of_target(target, parent, listing.scope)
            if any(_is_advanced(s.node, s.scope.facts) for s in read):
                return wrap(facts, node, "iter(sorted(", "))")
    return wrap(facts, node, "sorted(", ")")


def _entry_edits(listing: Listing, order: Order) -> tuple[Edit, ...]:
    """Entries have no order of their own; inside `with`, they are sorted where they are read."""
    facts, node = listing.scope.facts, listing.node
    parent = facts.parents[node]
    if not isinstance(parent, ast.withitem):
        return wrap(facts, node, "sorted(", _BY_NAME)
    target, statement = parent.optional_vars, facts.parents[parent]
    read = order.uses.of_target(target, statement, listing.scope) if target is not None else []
    loops = [s.node for s in read if isinstance(facts.parents[s.node], ast.For | ast.comprehension)]
    return tuple(e for n in loops for e in wrap(facts, n, "sorted(", _BY_NAME)) if len(loops) == len(read) else ()


def _is_advanced(node: ast.expr, facts: ModuleFacts) -> bool:
    call = facts.parents[node]
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "next"


def _walk_edits(listing: Listing, walked: WalkOrder) -> tuple[Edit, ...]:
    """Sort the folders before they are visited, and the names where they are read."""
    facts = listing.scope.facts
    edits: list[Edit] = []
    if walked.visit is not None:
        if walked.loop is not None and walked.dirs is not None:
            edits.append(insert_first(facts, walked.loop, f"{walked.dirs}.sort()"))
        else:
            edits += wrap(facts, walked.visit, "sorted(", ")")
    for name in walked.lists:
        edits += wrap(facts, name, "sorted(", ")")
    return tuple(edits)
