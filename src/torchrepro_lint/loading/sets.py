"""Sets of text, and the places where their items are taken one by one.

A set stays one through set operations; anything else takes its items in some order. Does not judge whether that order
matters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from torchrepro_lint.dataflow import Module, Program, Site, remembered, start_of
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import ANY, STOP, Sink, Steps, Use
from torchrepro_lint.index import Parents, Scope, last_name
from torchrepro_lint.loading.decisions import read_again
from torchrepro_lint.rng.texts import Evidence, Texts, declares_texts

_Way: TypeAlias = Literal["whole", "filled", "told"]
"""How a set comes into a container: as it was made, which is where it is told of; to be filled there; told already."""
_METHODS = frozenset(dir(set))
_OF_TEXTS = re.compile(rb"\[(?:\w+\[)?(?:str|bytes|Path)\b")  # in annotations: `Set[str]`
_COMBINED = ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor
_COMBINING = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})


class TextSet(NamedTuple):
    """A set made at `made`; `evidence` says how sure it is that it holds text."""

    made: Site
    evidence: Evidence


def text_sets(module: Module, program: Program) -> Iterator[TextSet]:
    """The sets of text that a file makes, in source order."""
    texts = Texts(program)
    is_declared = bool(program.project.text.any_match(_OF_TEXTS))
    for site in sorted(_made(module, program), key=lambda site: start_of(site.node)):
        evidence = _evidence(site, texts, program) or (_declared(site, program) if is_declared else Evidence.NONE)
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
    for call, scope in facts.calls.get("defaultdict", ()):
        if _makes_sets(call):
            yield Site(call, scope)
    for name in ("list", "tuple", "enumerate"):
        for call, scope in facts.calls.get(name, ()):
            if call.args and isinstance(call.args[0], ast.Set):
                yield Site(call.args[0], scope)
    for call, scope in facts.calls.get("keys", ()):
        combined = facts.parents[call]
        if isinstance(combined, ast.BinOp) and isinstance(combined.op, _COMBINED) and combined.left is call:
            yield Site(combined, scope)


def _is_single(items: ast.expr) -> bool:
    """Whether one item is written out: `set([""])`."""
    written = items.elts if isinstance(items, ast.List | ast.Tuple | ast.Set) else []
    return len(written) == 1 and not isinstance(written[0], ast.Starred)


def _evidence(site: Site, texts: Texts, program: Program) -> Evidence:
    """What the set is made from; for one made empty, or of one item, which has no order, what is added to it."""
    if not isinstance(site.node, ast.Call):
        return texts.holds_text(site.node, site.scope)
    if site.node.args and not _makes_sets(site.node) and not _is_single(site.node.args[0]):
        combined = site.scope.facts.parents[site.node]
        is_combined = isinstance(combined, ast.BinOp) and isinstance(combined.op, _COMBINED)
        found = texts.holds_text(site.node.args[0], site.scope)
        return found or (texts.holds_text(combined, site.scope) if is_combined else found)  # type: ignore[arg-type]
    found = Evidence.NONE
    for held in _uses(site, program):
        match held.use.method:
            case "add", ast.Call(args=[item, *_]):
                found = max(found, texts.is_text(item, held.use.scope))
            case "update", ast.Call(args=[items, *_]):
                found = max(found, texts.holds_text(items, held.use.scope))
    return found


def _declared(site: Site, program: Program) -> Evidence:
    """What is said of what goes into the set, or of where it goes: `words: Set[str] = set(rows)`."""
    said: list[ast.expr | None] = []
    match site.scope.facts.parents[site.node]:
        case ast.AnnAssign(annotation=annotation):
            said = [annotation]
        case ast.Return():
            said = [getattr(site.scope.function.node, "returns", None)]
    given = site.node.args[:1] if isinstance(site.node, ast.Call) and not _makes_sets(site.node) else []
    named = [Site(node, site.scope) for node in given]
    named += [Site(held.use.node, held.use.scope) for held in _uses(site, program)]
    said += [getattr(b.node, "annotation", None) for s in named for b in s.scope.bindings_of(s.node)]
    return max((declares_texts(a) for a in said if a is not None), default=Evidence.NONE)


def _makes_sets(node: ast.expr) -> bool:
    """`defaultdict(set)`, whose values are."""
    match node:
        case ast.Call(func=function, args=[ast.Name(id="set"), *_]):
            return last_name(function) == "defaultdict"
    return False


@remembered
def holds_only_text(made: Site, program: Program) -> bool:
    """Whether all that ever goes into the set is surely text, so that its items can be compared."""
    texts = Texts(program, on_every_way=True)
    return all(
        _is_text(part, texts, use.scope, many=many)
        for use, _ in _uses(made, program)
        for part, many in _put_in(use.node, use.scope.facts.parents)
    )


def may_hold_others(taken: Site, program: Program) -> bool:
    """Whether what is taken item by item holds something else than text where it was made in another way, or after what
    was added to it: `labels = set(names) if known else {None, "cat"}`."""
    return program.evaluate(taken.node, taken.scope, Texts(program, on_every_way=True)).items is Evidence.OTHER


def _put_in(node: ast.expr, parents: Parents) -> list[tuple[ast.expr, bool]]:
    """What goes into a set where it is written `node`: one item, or the items of something."""
    match node:
        case ast.Call(func=ast.Name(id="set" | "frozenset"), args=[items]):
            own = [(items, True)]
        case ast.Set() | ast.SetComp():
            own = [(node, True)]
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitXor(), right=right):  # of keys
            own = [(left, True), (right, True)]
        case _:
            own = []
    match parents[node]:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return [*own, (right if left is node else left, True)]
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


def taken_from(made: Site, program: Program) -> list[Site]:
    """Where the set is used otherwise than as a set: iterated, made into a list, handed to somebody unknown. File by
    file, in source order."""
    found = [use for use, is_taken in _uses(made, program) if is_taken]
    taken = [Site(use.node, use.scope) for use in found if not _is_no_set(use)]
    return sorted(taken, key=lambda site: (site.scope.facts.source.rel, start_of(site.node)))


def _is_no_set(use: Use[_Way]) -> bool:
    """Whether the value is asked for what no set has: a place, or `index`. It is one only elsewhere."""
    return isinstance(use.parent, ast.Subscript) or (use.method is not None and use.method[0] not in _METHODS)


class _Held(NamedTuple):
    """A use of the set, or of one made from it by set operations; `is_taken` when it is a set no longer."""

    use: Use[_Way]
    is_taken: bool


def _uses(made: Site, program: Program) -> Iterator[_Held]:
    is_filled = isinstance(made.node, ast.Call) and (not made.node.args or _makes_sets(made.node))
    path = (ANY,) if _makes_sets(made.node) else ()
    return Follow(_POLICY, program).found([Use(made.node, made.scope, "filled" if is_filled else "whole", path)])


def _judge(use: Use[_Way], edges: Edges) -> Steps:
    match use.parent:
        case ast.Dict() | ast.DictComp() | ast.List() | ast.ListComp() | ast.Tuple():
            if use.state == "filled" and isinstance(use.node, ast.Call):  # made there, and filled from there
                return (Sink(_Held(use, False)), *edges.of(use))
            return (Sink(_Held(use, use.state != "told")), *edges.of(use.become("told")))
        case ast.Call(func=ast.Attribute(attr="setdefault")) as call if use.node in call.args[1:]:
            return (Sink(_Held(use, False)), *edges.of(use), use.at(call))
    steps = _as_set(use, edges)
    return (Sink(_Held(use, steps is None and use.state != "told")), *(steps or ()))


def _as_set(use: Use[_Way], edges: Edges) -> Steps | None:
    """Where the set, or one made from it, goes on as a set; None where it does not."""
    parent = use.parent
    match parent:
        case ast.Assign(targets=[ast.Subscript() as target]):
            return read_again(target, parent, use.scope.facts, edges.of(use))
        case ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.Return() | ast.IfExp():
            return edges.of(use)
        case ast.AugAssign(target=target):
            return edges.into(target, parent, use)
        case ast.BinOp(op=ast.Sub(), right=right) if right is use.node:
            return STOP  # what is left of the other set
        case ast.BoolOp(op=ast.And(), values=[*_, last]) if last is not use.node:
            return STOP  # it only decides, or is empty
        case ast.BoolOp():
            return (use.at(parent),)
        case ast.BinOp(op=op) if isinstance(op, _COMBINED):
            return (use.at(parent),)
        case ast.Attribute(attr=attr) if attr in _COMBINING and use.method is not None:
            return (use.at(use.method[1]),)
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return (use.at(parent),)
        case ast.Call() | ast.keyword() if use.call is not None:
            callees = edges.program.values.callees(use.call, use.scope)
            return edges.of(use) if any(isinstance(callee, Scope) for callee in callees) else None
    return None


_POLICY: Policy[_Way, _Held] = Policy("uses of a set", _judge, bound=200)
