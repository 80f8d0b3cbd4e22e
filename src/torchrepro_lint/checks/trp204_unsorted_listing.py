"""TRP204: files are used in the arbitrary order in which the file system lists them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.order_doubts import is_unclear
from torchrepro_lint.checks.sorting import sorted_listing, sorted_walk
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.index import Scope, last_name, names_in, walk
from torchrepro_lint.loading.decisions import FIRST, TAKEN, Decision, sorts
from torchrepro_lint.loading.listings import Listing, is_by_name, listings
from torchrepro_lint.loading.order import decided_by
from torchrepro_lint.loading.walks import walk_order
from torchrepro_lint.model import Edit

_COUNTS = frozenset({"len", "set", "frozenset", "bool", "any", "all", "max", "min", "sum"})


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each listing whose order reaches samples, classes, splits or the choice of a file."""
    found = list(listings(module, program))
    drafts = {listing.node: draft for listing in found if (draft := _draft(listing, program)) is not None}
    left = {_folder(listing) for listing in found if listing.node not in drafts and not _is_unordered(listing)}
    doubtful = {one.node for one in found if one.node in drafts and (drafts[one.node].unsafe or _folder(one) in left)}
    places = _by_place(found)
    nested = [(inner.node, outer) for inner in found for outer in _outer(inner, places)]
    doubtful |= {node for pair in nested if not doubtful.isdisjoint(pair) for node in pair}
    doubtful |= {inner.node for inner in found if not doubtful.isdisjoint(_taken_from(inner, places))}
    yield from (draft._replace(unsafe=node in doubtful) for node, draft in drafts.items())


def _by_place(found: Collection[Listing]) -> dict[tuple[Scope, ast.AST | str], list[ast.Call]]:
    """The listings of each function by their nodes, and by the names that they get."""
    places: dict[tuple[Scope, ast.AST | str], list[ast.Call]] = {}
    for listing in found:
        targets = getattr(listing.scope.facts.statement(listing.node), "targets", ())
        names: list[ast.AST | str] = [target.id for target in targets if isinstance(target, ast.Name)]
        for at in (listing.node, *names):
            places.setdefault((listing.scope.function, at), []).append(listing.node)
    return places


def _outer(listing: Listing, places: Mapping[tuple[Scope, ast.AST | str], Sequence[ast.Call]]) -> set[ast.Call]:
    """The listings in whose items' loops a listing stands: only both together, sorted, give one order."""
    loops = (node.iter for node in listing.scope.facts.ancestors(listing.node) if isinstance(node, ast.For))
    inside = (n.id if isinstance(n, ast.Name) else n for loop in loops for n in walk(loop))
    found = {node for at in inside for node in places.get((listing.scope.function, at), ())}
    return found - {listing.node}


def _taken_from(listing: Listing, places: Mapping[tuple[Scope, ast.AST | str], Sequence[ast.Call]]) -> set[ast.Call]:
    """The listings of which an item is part of a listing's folder: `os.listdir(os.path.join(root, names[0]))`."""
    names = names_in(*listing.node.args)
    return {node for name in names for node in places.get((listing.scope.function, name), ())} - {listing.node}


def _folder(listing: Listing) -> tuple[str, Scope]:
    """The folder as it is written, and the function or class that means one by it."""
    written, scope = ast.unparse(listing.node), listing.scope
    return written, (scope.method_class if "self." in written else None) or scope.function


def _is_unordered(listing: Listing) -> bool:
    """Whether what is listed is sorted, counted, tested or made a set at once. Any other list may belong to a second
    one of its folder, item by item, and both have to be sorted then."""
    parents = listing.scope.facts.parents
    match parents[listing.node]:
        case ast.comprehension() as loop:
            return isinstance(parents[loop], ast.SetComp)
        case ast.Call(func=function) as call:
            return sorts(call) or last_name(function) in _COUNTS
        case ast.Compare() | ast.UnaryOp() | ast.If() | ast.While() | ast.Assert() | ast.For():
            return True
    return False


def _draft(listing: Listing, program: Program) -> Draft | None:
    if listing.items == "walk":
        walked = walk_order(listing.node, listing.scope, program)
        if walked is None:
            return None
        draft = _decided(listing, walked.decision, sorted_walk(listing, walked), program)
        return draft._replace(unsafe=draft.unsafe or walked.names_are_sorted)  # who sorts them may know just one folder
    decision = decided_by(listing.node, listing.scope, program)
    if decision is None or (decision.why in (TAKEN, FIRST) and is_by_name(listing.node, listing.scope)):
        return None
    return _decided(listing, decision, sorted_listing(listing, program), program)


def _decided(listing: Listing, decision: Decision, edits: tuple[Edit, ...], program: Program) -> Draft:
    return Draft(
        listing.node,
        {"listing": listing.scope.facts.text(listing.node), "why": decision.why},
        related=(Place(decision.facts, decision.node, f"the order {decision.why} here"),),
        edits=edits,
        unsafe=is_unclear(listing, decision, program),
    )
