"""`os.walk`: whether the order of its folders, or of the files in one, decides anything, and where it can be fixed.

The folders are visited in the order that `dirs` has when the loop's round ends, so `dirs.sort()` orders the visit;
the names in `files` are a listing of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torchrepro_lint.dataflow import Program, Site
from torchrepro_lint.dataflow.reaching_definitions import reads, reads_of_binding
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.loading.decisions import Decision, is_sorted_at, most_telling
from torchrepro_lint.loading.order import decided_by, decided_in

FIRST_LISTS = 1  # (root, dirs, files): the two lists stand at 1 and 2


class WalkOrder(NamedTuple):
    """What the order decides; `visit` is the walk when its folders need sorting where it is called, `lists` are the
    lists of names that need sorting where they are read, `heads` the names of those to sort as a round of `loop`
    begins; `names_are_sorted` where the loop sorts the names of the files already."""

    decision: Decision
    visit: ast.expr | None = None
    loop: ast.For | ast.AsyncFor | None = None
    heads: tuple[str, ...] = ()
    lists: tuple[ast.expr, ...] = ()
    names_are_sorted: bool = False


def walk_order(walk: ast.Call, scope: Scope, program: Program) -> WalkOrder | None:
    """What the order of a walk decides, or None."""
    facts = scope.facts
    node, is_sorted = _outermost(walk, scope)
    parent = facts.parents[node]
    match parent:
        case ast.For() | ast.AsyncFor() if parent.iter is node:
            return _looped(walk, parent, scope, is_sorted, program)
        case ast.comprehension():
            target, owner = parent.target, facts.parents[parent]
            inner = scope if scope.node is owner else scope.children[owner]  # the first `for` lies outside
            names = _names(target)
            found = _decided([s for n in names for s in reads(n, inner)], program)
            visit = None if is_sorted else decided_by(node, scope, program)
            if visit is None and not found:
                return None
            entries = reads(target.id, inner) if isinstance(target, ast.Name) else []
            sortable = walk if visit and _only_folders(entries) else None
            decision = most_telling([*([visit] if visit else ()), *(decision for _, decision in found)])
            assert decision is not None
            return WalkOrder(decision, sortable, lists=tuple(n for n, _ in found))
        case ast.Call(func=ast.Name(id="next")):
            return _first_level(parent, scope, program)
    decision = None if is_sorted else decided_by(node, scope, program)
    return WalkOrder(decision) if decision is not None else None


def _outermost(walk: ast.Call, scope: Scope) -> tuple[ast.expr, bool]:
    """The walk with what is wrapped around it: `sorted(...)`, `list(...)`, `tqdm(...)`; or the only place where that is
    read by its name."""
    node: ast.expr = walk
    is_sorted = False
    while True:
        match parent := scope.facts.parents[node]:
            case ast.Call(func=func) if node in parent.args and _passes_on(last_name(func)):
                is_sorted = is_sorted or last_name(func) == "sorted"
                node = parent
            case ast.Assign(targets=[ast.Name(id=name)]) if len(scope.bindings.get(name, ())) == 1:
                uses = reads(name, scope)
                if len(uses) != 1 or uses[0].scope is not scope:
                    break
                node = uses[0].node
            case _:
                break
    return node, is_sorted


def _passes_on(name: str) -> bool:
    return name in ("sorted", "list", "tuple", "enumerate") or name.startswith("tqdm")


def _names(target: ast.expr) -> list[str]:
    """The names of the lists of folders and of files."""
    if isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[1], ast.Tuple):
        target = target.elts[1]  # for i, (root, dirs, files) in enumerate(...)
    if not isinstance(target, ast.Tuple):
        return []
    return [e.id for e in target.elts[FIRST_LISTS:] if isinstance(e, ast.Name)]


def _decided(sites: Iterable[Site], program: Program) -> list[tuple[ast.expr, Decision]]:
    found = [(s.node, decided_by(s.node, s.scope, program)) for s in sites]
    return [(node, decision) for node, decision in found if decision is not None]


def _looped(
    walk: ast.Call, loop: ast.For | ast.AsyncFor, scope: Scope, is_sorted: bool, program: Program
) -> WalkOrder | None:
    names, facts = _names(loop.target), scope.facts
    sites = {n: _reads(n, loop, scope) for n in names}
    fixed = {n for n in names if any(is_sorted_at(s.node, scope) for s in sites[n])}
    in_order = is_sorted or (bool(names) and names[0] in fixed) or isinstance(loop.body[-1], ast.Break)
    visit = None if in_order else decided_in(loop, scope, program)
    lists = {n: _decided(sites[n], program) for n in names if n not in fixed}
    inside = (decision for found in lists.values() for _, decision in found)
    decision = most_telling([*([visit] if visit else ()), *inside])
    if decision is None:
        return None
    whole = _reads(loop.target.id, loop, scope) if isinstance(loop.target, ast.Name) else []
    in_place = {n for n, found in lists.items() if len(found) > 1 or any(_is_changed(node, facts) for node, _ in found)}
    visited_by = {names[0]} if visit and names and sites[names[0]] else set()
    heads = tuple(n for n in names if n in visited_by | in_place)
    loads = tuple(node for n, found in lists.items() if n not in heads for node, _ in found)
    sortable = walk if visit and not visited_by and _only_folders(whole) else None
    return WalkOrder(decision, sortable, loop, heads, loads, names_are_sorted=bool(names) and names[-1] in fixed)


def _is_changed(node: ast.expr, facts: ModuleFacts) -> bool:
    """Whether a list is shuffled where it stands: a sorted copy of it would be."""
    call = facts.parents[node]
    return isinstance(call, ast.Call) and node in call.args and last_name(call.func) == "shuffle"


def _only_folders(entries: Sequence[Site]) -> bool:
    """Whether of `entry in os.walk(...)` only the folder is used: sorting the walk does not sort the lists in it."""
    used = [site.scope.facts.parents[site.node] for site in entries]
    return all(isinstance(u, ast.Subscript) and isinstance(u.slice, ast.Constant) and u.slice.value == 0 for u in used)


def _reads(name: str, loop: ast.For | ast.AsyncFor, scope: Scope) -> list[Site]:
    owner = scope.binding_scope(name)
    found = reads_of_binding(name, owner, loop) if owner is not None else []
    return [s for s in found if any(a is loop for a in scope.facts.ancestors(s.node))]


def _first_level(call: ast.Call, scope: Scope, program: Program) -> WalkOrder | None:
    """`next(os.walk(folder))[1]`, or unpacked: the lists of the top folder."""
    facts = scope.facts
    parent = facts.parents[call]
    match parent:
        case ast.Subscript(slice=ast.Constant(value=1 | 2 | -1 | -2)):
            found = _decided([Site(parent, scope)], program)
        case ast.Assign(targets=[ast.Tuple() as target]):
            owners = ((name, owner) for name in _names(target) if (owner := scope.binding_scope(name)) is not None)
            found = _decided((s for name, owner in owners for s in reads_of_binding(name, owner, parent)), program)
        case _:
            return None
    decision = most_telling(decision for _, decision in found)
    return WalkOrder(decision, lists=tuple(n for n, _ in found)) if decision is not None else None
