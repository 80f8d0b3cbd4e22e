"""Sets of text, and the places where their items are taken one by one.

Follows a set through names, attributes, set operations and functions up to where an order comes out of it. Does not
judge whether that order matters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.uses import Uses
from torchrepro_lint.index import Scope
from torchrepro_lint.index.parents import Parents
from torchrepro_lint.rng.texts import Evidence, Texts

_COMBINING = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
MAX_SITES = 200


class TextSet(NamedTuple):
    """A set made at `made`; `evidence` says how sure it is that it holds text."""

    made: Site
    evidence: Evidence


def text_sets(module: Module, program: Program, uses: Uses) -> Iterator[TextSet]:
    """The sets of text that a file makes, in source order."""
    sites = sorted(_made(module, program), key=lambda s: (s.node.lineno, s.node.col_offset))
    if not sites:
        return
    texts = Texts(program)
    for site in sites:
        evidence = _evidence(site, texts, uses)
        if evidence:
            yield TextSet(site, evidence)


def _made(module: Module, program: Program) -> Iterator[Site]:
    facts = module.facts
    for name in ("set", "frozenset"):
        for call, scope in facts.calls.get(name, ()):
            if program.qualified(call.func, scope) == f"builtins.{name}":
                yield Site(call, scope)
    seen: set[int] = set()
    for scope in facts.scope.descend():
        if isinstance(scope.node, ast.SetComp) and scope.parent is not None:
            yield Site(scope.node, scope.parent)
        for bindings in scope.bindings.values():
            for binding in bindings:
                if isinstance(binding.value, ast.Set) and id(binding.value) not in seen:
                    seen.add(id(binding.value))
                    yield Site(binding.value, facts.scope_of(binding.value))
    for name in ("list", "tuple", "enumerate"):
        for call, scope in facts.calls.get(name, ()):
            if call.args and isinstance(call.args[0], ast.Set):
                yield Site(call.args[0], scope)


def _evidence(site: Site, texts: Texts, uses: Uses) -> Evidence:
    """What the set is made from; for one made empty, what is added to it."""
    if not isinstance(site.node, ast.Call):
        return texts.holds_text(site.node, site.scope)
    if site.node.args:
        return texts.holds_text(site.node.args[0], site.scope)
    found = Evidence.NONE
    for held in _aliases(site, uses):
        parents = held.scope.facts.parents
        method = parents[held.node]
        call = parents.get(method)
        if isinstance(method, ast.Attribute) and isinstance(call, ast.Call) and call.args:
            if method.attr == "add":
                found = max(found, texts.is_text(call.args[0], held.scope))
            elif method.attr == "update":
                found = max(found, texts.holds_text(call.args[0], held.scope))
    return found


def holds_only_text(made: Site, program: Program, uses: Uses) -> bool:
    """Whether all that ever goes into the set is surely text, so that its items can be compared."""
    texts = Texts(program)
    return all(
        _is_text(part, texts, site.scope, many=many)
        for site in _aliases(made, uses)
        for part, many in _put_in(site.node, site.scope.facts.parents)
    )


def _put_in(node: ast.expr, parents: Parents) -> list[tuple[ast.expr, bool]]:
    """What goes into a set where it is written `node`: one item, or the items of something."""
    match node:
        case ast.Call(func=ast.Name(id="set" | "frozenset"), args=[items]):
            own = [(items, True)]
        case ast.Set() | ast.SetComp():
            own = [(node, True)]
        case _:
            own = []
    match parents[node]:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return [*own, (right if left is node else left, True)]
        case ast.AugAssign(op=ast.BitOr(), target=target, value=value) if target is node:
            return [*own, (value, True)]
        case ast.Attribute(attr="add" | "update" | "union" as how) as method:
            call = parents[method]
            return own + [(a, how != "add") for a in getattr(call, "args", ())]
    return own


def _is_text(node: ast.expr, texts: Texts, scope: Scope, *, many: bool) -> bool:
    """Whether a value, or each item of `many`, is surely text, or a tuple of texts and numbers."""
    match node:
        case ast.SetComp(elt=item) | ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) if many:
            return _is_text(item, texts, scope.children.get(node, scope), many=False)
        case ast.Set(elts=items) | ast.List(elts=items) | ast.Tuple(elts=items) if many:
            return all(_is_text(item, texts, scope, many=False) for item in items)
        case ast.Tuple(elts=parts):
            return all(_is_number(part) or _is_text(part, texts, scope, many=False) for part in parts)
    evidence = texts.holds_text(node, scope) if many else texts.is_text(node, scope)
    return evidence is Evidence.SURE


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def taken_from(made: Site, uses: Uses) -> Iterator[Site]:
    """Where the set is used otherwise than as a set: iterated, made into a list, handed to somebody unknown."""
    for site in _aliases(made, uses):
        parent = site.scope.facts.parents[site.node]
        if _next(site, uses) is None and not isinstance(parent, ast.Subscript):  # sets have no places
            yield site


def _aliases(made: Site, uses: Uses) -> list[Site]:
    """All expressions that hold this set, or one made from it by set operations."""
    found: list[Site] = []
    pending = [made]
    seen: set[int] = set()
    while pending and len(found) < MAX_SITES:
        site = pending.pop(0)
        if id(site.node) not in seen:
            seen.add(id(site.node))
            found.append(site)
            pending += _next(site, uses) or []
    return found


def _next(site: Site, uses: Uses) -> list[Site] | None:
    """Where the set, or one made from it, goes on as a set; None where it does not."""
    node, scope = site
    parents = scope.facts.parents
    parent = parents[node]
    match parent:
        case ast.Assign(targets=targets):
            return [s for t in targets for s in uses.of_target(t, parent, scope)]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return uses.of_target(target, parent, scope)
        case ast.NamedExpr(target=target):
            return [*uses.of_target(target, parent, scope), Site(parent, scope)]
        case ast.Return():
            return uses.results(scope.function)
        case ast.IfExp(test=test):
            return [] if test is node else [Site(parent, scope)]
        case ast.BinOp(op=ast.Sub(), right=right) if right is node:
            return []  # what is left of the other set
        case ast.BoolOp(op=ast.And(), values=[*_, last]) if last is not node:
            return []  # it only decides, or is empty
        case ast.BoolOp() | ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor()):
            return [Site(parent, scope)]
        case ast.Attribute(attr=attr) if attr in _COMBINING and isinstance(call := parents[parent], ast.Call):
            return [Site(call, scope)]
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return [Site(parent, scope)]
        case ast.Call() if parent.func is not node:
            return uses.in_callee(parent, node, scope)
        case ast.keyword() if isinstance(call := parents[parent], ast.Call):
            return uses.in_callee(call, node, scope)
    return None
