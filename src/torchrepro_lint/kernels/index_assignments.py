"""`x[index] = values`, where the index may name a place twice: which of the values stays is not fixed on CUDA.

Whether it may is a domain of its own: several numbers are rounded to one place, or places are drawn. Lists that are
filled by `append` are followed, too. An index of which nothing is known is taken to name each place once.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from torchrepro_lint.dataflow import Domain, Of, Program, Site
from torchrepro_lint.dataflow.abstract_values import Display
from torchrepro_lint.dataflow.domain import Passed
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import STOP, Sink, Steps, Use
from torchrepro_lint.index import ITEM, Binding, ModuleFacts, Scope, arguments_of
from torchrepro_lint.kernels.context import context
from torchrepro_lint.kernels.signatures import listed
from torchrepro_lint.kernels.tensors import Tensors

Places: TypeAlias = Literal["repeats", "scaled", "unknown", "unique"]
"""A list of places: `scaled` are numbers with fractions, which rounding will throw together."""

_ORDER: tuple[Places, ...] = ("repeats", "scaled", "unknown", "unique")  # the first of several says it
_NUMBERS = frozenset({"builtins.int", "builtins.round", "builtins.len"})  # which name one place
_WHOLE = frozenset({"torch.long", "torch.int", "torch.int64", "torch.int32"})


class IndexAssignment(NamedTuple):
    """The statement, and the part of the index that may repeat."""

    node: ast.stmt
    target: ast.Subscript
    repeating: ast.expr


def index_assignments(facts: ModuleFacts, program: Program) -> Iterator[IndexAssignment]:
    """Those of a file that training may run, in source order."""
    for item in facts.subscript_sets.get(ITEM, ()):
        if item.value is None or isinstance(item.value, ast.Constant):
            continue
        index = _repeating(item.target, item.scope, program)
        if index is not None and _is_tensor(item.target.value, item.scope, program):
            value = Tensors(program).traits(item.value, item.scope)
            if value.tensor is True and value.rank != 0 and context(item.target, item.scope, program).role is None:
                yield IndexAssignment(item.statement, item.target, index)


def _repeating(target: ast.Subscript, scope: Scope, program: Program) -> ast.expr | None:
    """The part of an index that may repeat, unless another part names each place once."""
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    told: dict[Places, Site] = {}
    for part in parts:
        if not isinstance(part, ast.Slice | ast.Constant | ast.UnaryOp) and not program.is_made_by(
            _NUMBERS, part, scope
        ):
            told[program.evaluate(part, scope, Repeats(program))] = Site(part, scope)
    return told["repeats"].node if "repeats" in told and "unique" not in told else None


def _is_tensor(expr: ast.expr, scope: Scope, program: Program) -> bool:
    traits = Tensors(program).traits(expr, scope)
    return traits.tensor is True and not traits.host


# -- indices -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Repeats(Domain[Places]):
    """Joined by what may happen: one way on which places repeat is enough."""

    program: Program
    nothing = "unknown"

    def join(self, values: Sequence[Places]) -> Places:
        return min(values, key=_ORDER.index, default="unknown")

    def known_call(self, call: ast.Call, scope: Scope, of: Of[Places]) -> Places | None:
        function = call.func
        name = self.program.qualified(function, scope) or ""
        last = name.rpartition(".")[2] if name else function.attr if isinstance(function, ast.Attribute) else ""
        if name and name.partition(".")[0] not in ("torch", "builtins"):
            return "unknown"
        given = call.args[0] if name and call.args else function.value if isinstance(function, ast.Attribute) else None
        if last in listed("indices", "unique") or self._has(call, scope, ("torch.bool",)):
            return "unique"
        if last in listed("indices", "repeats"):
            return "repeats"
        if given is None or not (last in listed("indices", "keeps") or self._rounds(last, call, scope)):
            return None
        found = self.join([of(i, scope) for i in given.elts]) if isinstance(given, ast.List) else of(given, scope)
        return "repeats" if found == "scaled" and self._rounds(last, call, scope) else found

    def _rounds(self, last: str, call: ast.Call, scope: Scope) -> bool:
        return last in ("long", "int") or (last in ("to", "type") and self._has(call, scope, _WHOLE))

    def _has(self, call: ast.Call, scope: Scope, types: Collection[str]) -> bool:
        passed = arguments_of(call)
        named = (p for p in passed if isinstance(p, ast.Attribute | ast.Name))
        return any(self.program.qualified(p, scope) in types for p in named)

    def given(self, binding: Binding, function: Scope, passed: Sequence[Passed[Places]]) -> Places:
        return self.join([found for found, call, scope in passed if context(call, scope, self.program).role is None])

    def operator(self, node: ast.AST, scope: Scope, of: Of[Places]) -> Places:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                found = self.join([of(side, scope) for side in (left, right) if not isinstance(side, ast.Constant)])
                return "scaled" if isinstance(op, ast.Mult | ast.Div) and found == "unknown" else found
            case ast.AugAssign(target=target, value=value):
                return of(ast.copy_location(ast.BinOp(target, node.op, value), node), scope)
            case ast.Compare():
                return "unique"  # a mask names each place once
            case ast.UnaryOp(operand=operand):
                return of(operand, scope)
        return "unknown"

    # -- parts of tensors and lists -------------------------------------------------------------------------------
    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[Places]) -> Places:
        return of(node.value, scope) if node.attr in ("T", "mT") else "unknown"

    def element(self, loop: Binding, scope: Scope, of: Of[Places]) -> Places:
        match loop.value, loop.path:
            case ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]), (1, *path):
                return self._part(items, tuple(path), scope, of)
            case ast.Call(func=ast.Name(id="zip"), args=args), (place, *path) if place < len(args):
                return self._part(args[place], tuple(path), scope, of)
            case ast.expr() as items, path:
                return self._part(items, path, scope, of)
        return "unknown"

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[Places]) -> Places:
        return self._part(container, (), scope, of)

    def unpacked(self, container: ast.expr, path: tuple[int, ...], scope: Scope, of: Of[Places]) -> Places:
        match container:
            case ast.Subscript(value=filled):
                return self._part(filled, path, scope, of)
        return of(container, scope)

    def _part(self, container: ast.expr, path: tuple[int, ...], scope: Scope, of: Of[Places]) -> Places:
        """Of the rows of a tensor what is known of it; of a list, of what is put into it."""
        found = of(container, scope)
        items = [_opened(site, path) for site in self._put_into(container, scope)] if found == "unknown" else []
        return self.join([of(*item) for item in items if item is not None]) if items else found

    def _put_into(self, container: ast.expr, scope: Scope) -> Iterator[Site]:
        for origin in self.program.origins(container, scope):
            if isinstance(origin, Display) and isinstance(origin.node, ast.List):
                yield from Follow(_APPENDED, self.program).found([Use(origin.node, origin.scope, None)])


def _opened(site: Site, path: tuple[int, ...]) -> Site | None:
    node = site.node
    for place in path:
        if not isinstance(node, ast.Tuple | ast.List) or place >= len(node.elts):
            return None
        node = node.elts[place]
    return Site(node, site.scope)


def _appended(use: Use[None], _: Edges) -> Steps | None:
    match use.method:
        case "append", ast.Call(args=[item]):
            return (Sink(Site(item, use.scope)),)
        case _, _:
            return STOP
    return None


_APPENDED: Policy[None, Site] = Policy("what is appended to a list", _appended, bound=60)
