"""The fix of TRP204 and TRP205: sort items where they are listed or taken.

Writes what reads best there: `list(x)` becomes `sorted(x)`, an iterator that is advanced by hand stays one.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.references import reads_of_target
from torchrepro_lint.index import ModuleFacts, last_name, walk
from torchrepro_lint.loading.listings import Listing
from torchrepro_lint.loading.walks import WalkOrder
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax import insert_first, kept_within_width, replace, wrap

_TAKING_SOME = frozenset({"islice", "takewhile", "zip"})
_BY_NAME = ", key=lambda {0}: {0}.name)"


def sorted_items(facts: ModuleFacts, node: ast.expr) -> tuple[Edit, ...]:
    """Sort what `node` gives; not where the file has another `sorted`."""
    if has_own_sorted(facts, node):
        return ()
    match facts.parents[node]:
        case ast.Call(func=ast.Name(id="list") as function, args=[_], keywords=[]):
            return (replace(facts, function, "sorted"),)
        case ast.Call(func=ast.Name(id="next") as function, args=[_, default]) if "min" not in facts.scope.bindings:
            return replace(facts, function, "min"), replace(facts, default, f"default={facts.text(default)}")
        case ast.Call(func=ast.Name(id="next") as function, args=[_]) if _may_be_min(facts):
            return (replace(facts, function, "min"),)
        case ast.Call(func=ast.Name(id="iter"), args=[_]) as inner if _may_be_min(facts):
            match facts.parents[inner]:
                case ast.Call(func=ast.Name(id="next"), args=[_]) as outer:
                    return (replace(facts, outer, f"min({facts.text(node)})"),)
        case ast.Call(func=ast.Name(id="next")):
            return wrap(facts, node, "iter(sorted(", "))")
        case ast.comprehension(target=ast.Name(id=each), ifs=[]) as part:
            match facts.parents[part]:
                case ast.ListComp(elt=ast.Name(id=item), generators=[_]) as listed if (
                    item == each and "\n" not in facts.text(listed)
                ):
                    return (replace(facts, listed, f"sorted({facts.text(node)})"),)
        case ast.Starred() | ast.List(elts=[_]) as held if "\n" not in facts.text(around := facts.parents[held]):
            match held, around:
                case ast.Starred(), ast.List(elts=[_]):
                    return (replace(facts, around, f"sorted({facts.text(node)})"),)
                case ast.List(), ast.Call(func=ast.Name(id="sorted"), keywords=[]):  # which does nothing there
                    return (replace(facts, around, f"[sorted({facts.text(node)})]"),)
    return wrap(facts, node, "sorted(", ")")


def has_own_sorted(facts: ModuleFacts, node: ast.expr) -> bool:
    """Whether the file has another `sorted` where a fix would call it: `from tools import sorted`, `sorted = True`."""
    return facts.scope_of(node).binding_scope("sorted") is not None


def _may_be_min(facts: ModuleFacts) -> bool:
    """For an empty iterator `next` raises StopIteration, which the file may catch."""
    return "min" not in facts.scope.bindings and "StopIteration" not in facts.source.text


def sorted_listing(listing: Listing, program: Program) -> tuple[Edit, ...]:
    """Sort a listing where it is made."""
    edits = _sorted_where_made(listing, program)
    return kept_within_width(listing.scope.facts, listing.node, edits, program.project.style)


def _sorted_where_made(listing: Listing, program: Program) -> tuple[Edit, ...]:
    facts, node = listing.scope.facts, listing.node
    parent = facts.parents[node]
    if listing.items == "entries":
        first, shorter = (_sorted_entries(listing, program, _BY_NAME.format(name)) for name in ("entry", "e"))
        width = len(facts.source.line(node.lineno)) + sum(len(edit.text) for edit in first)
        return first if width <= (program.project.style.width or width) else shorter
    if has_own_sorted(facts, node):
        return ()
    if listing.lazy and isinstance(parent, ast.Assign):
        read = [s for t in parent.targets for s in reads_of_target(t, parent, listing.scope, program)]
        if any(isinstance(s.scope.facts.parents[s.node], ast.Attribute) for s in read):
            return ()  # `files.close()`
        is_left_off = len(read) > 1 and any(_is_left_off(s.node, s.scope.facts) for s in read)
        if is_left_off or any(_is_advanced(s.node, s.scope.facts) for s in read):
            return wrap(facts, node, "iter(sorted(", "))")
    return sorted_items(facts, node)


def _sorted_entries(listing: Listing, program: Program, by_name: str) -> tuple[Edit, ...]:
    """Entries cannot be compared, so they are sorted by name; inside `with`, where they are read."""
    facts, node = listing.scope.facts, listing.node
    if has_own_sorted(facts, node):
        return ()
    parent = facts.parents[node]
    names = facts.parents[parent]
    if isinstance(names, ast.ListComp) and _is_named(names):
        return (replace(facts, names, f"sorted({facts.text(names)[1:-1]})"),)
    if not isinstance(parent, ast.withitem):
        return wrap(facts, node, "sorted(", by_name)
    target, statement = parent.optional_vars, facts.parents[parent]
    read = reads_of_target(target, statement, listing.scope, program) if target is not None else []
    loops = [s.node for s in read if isinstance(facts.parents[s.node], ast.For | ast.comprehension)]
    return tuple(e for n in loops for e in wrap(facts, n, "sorted(", by_name)) if len(loops) == len(read) else ()


def _is_named(listed: ast.ListComp) -> bool:
    """Whether a list is the names or paths of the entries of one folder, which have the order of the names."""
    match listed:
        case ast.ListComp(
            elt=ast.Attribute(value=ast.Name(id=entry), attr="name" | "path"),
            generators=[ast.comprehension(target=ast.Name(id=each))],
        ):
            return entry == each
    return False


def _is_advanced(node: ast.expr, facts: ModuleFacts) -> bool:
    call = facts.parents[node]
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "next"


def _is_left_off(node: ast.expr, facts: ModuleFacts) -> bool:
    """Whether an iterator may be left before its end, so that whoever reads it next gets the rest."""
    match facts.parents[node]:
        case ast.For(iter=items, body=body) if items is node:
            return any(isinstance(inner, ast.Break) for statement in body for inner in walk(statement))
        case ast.Call(func=function):
            return last_name(function) in _TAKING_SOME
    return False


def sorted_walk(listing: Listing, walked: WalkOrder) -> tuple[Edit, ...]:
    """Sort the folders before they are visited, and the names where they are read; once, where they are read more often
    or shuffled."""
    facts = listing.scope.facts
    if has_own_sorted(facts, listing.node):
        return ()
    edits: list[Edit] = []
    if walked.loop is not None and walked.heads:
        edits.append(insert_first(facts, walked.loop, *(f"{name}.sort()" for name in walked.heads)))
    if walked.visit is not None:
        edits += wrap(facts, walked.visit, "sorted(", ")")
    for name in walked.lists:
        edits += wrap(facts, name, "sorted(", ")")
    return tuple(edits)
