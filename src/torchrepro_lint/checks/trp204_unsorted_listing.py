"""TRP204: files are used in the arbitrary order in which the file system lists them."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.sorting import sorted_listing, sorted_walk
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.loading.decisions import FIRST, TAKEN, Decision
from torchrepro_lint.loading.listings import Listing, is_by_name, listings
from torchrepro_lint.loading.order import decided_by
from torchrepro_lint.loading.walks import walk_order
from torchrepro_lint.model import Edit


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each listing whose order reaches samples, classes, splits or the choice of a file."""
    for listing in listings(module, program):
        if listing.items == "walk":
            walked = walk_order(listing.node, listing.scope, program)
            if walked is not None:
                yield _draft(listing, walked.decision, sorted_walk(listing, walked))
        else:
            decision = decided_by(listing.node, listing.scope, program)
            if decision is not None and not (decision.why in (TAKEN, FIRST) and is_by_name(listing.node)):
                yield _draft(listing, decision, sorted_listing(listing, program))


def _draft(listing: Listing, decision: Decision, edits: tuple[Edit, ...]) -> Draft:
    return Draft(
        listing.node,
        {"listing": listing.scope.facts.text(listing.node), "why": decision.why},
        related=(Place(decision.facts, decision.node, f"the order {decision.why} here"),),
        edits=edits,
    )
