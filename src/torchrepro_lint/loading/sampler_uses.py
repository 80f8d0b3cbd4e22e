"""What a program does with a sampler: which loaders hold it, where it or a loader of it is iterated, and which of its
methods are called.

Knows the calls of the catalogue table `distributed`. Where a sampler goes out of sight it has `escaped`: a rule that
needs to know all its uses then stays silent.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import CallSite, Program, Site, remembered
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import STOP, Argument, Sink, Step, Steps, Use
from torchrepro_lint.index import Scope

_LOGGING = frozenset({"info", "debug", "warning", "log", "critical", "error", "exception", "print"})

# The attributes that lead from what is followed to the sampler (`loader.batch_sampler.sampler`); None for something
# that only iterates it.
Chain: TypeAlias = "tuple[str, ...] | None"


class Holder(NamedTuple):
    """A name, or an attribute where `owner` is a class, that holds the sampler through `chain`."""

    name: str
    owner: Scope
    chain: tuple[str, ...]


class Attribute(NamedTuple):
    """An attribute of the sampler, or of what holds it, that is used."""

    node: ast.Attribute
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class SamplerUses:
    """`iterated` are the places where a pass begins, `attributes` what is read of it by name, `entered` the calls by
    which it came into each function."""

    iterated: Sequence[Site] = ()
    attributes: Mapping[str, Sequence[Attribute]] = field(default_factory=dict)
    holders: Sequence[Holder] = ()
    files: frozenset[str] = frozenset()
    entered: Mapping[Scope, Sequence[CallSite]] = field(default_factory=dict)
    escaped: bool = False

    def callers(self, function: Scope, program: Program) -> Sequence[CallSite]:
        """The calls that brought the sampler into a function, else every call of it that can be seen."""
        return self.entered.get(function) or program.callers_of(function) or ()


@remembered
def uses_of(node: ast.expr, scope: Scope, program: Program) -> SamplerUses:
    """Everything that is done with the sampler that `node` makes."""
    search = Follow(_POLICY, program)
    iterated: list[Site] = []
    attributes: dict[str, list[Attribute]] = {}
    for found in search.found([Use(node, scope, ())]):
        if isinstance(found, Attribute):
            attributes.setdefault(found.node.attr, []).append(found)
        else:
            iterated.append(found)
    holders = [Holder(h.name, h.owner, h.state) for h in search.edges.holders if h.state is not None]
    return SamplerUses(iterated, attributes, holders, frozenset(search.files), search.edges.entered, search.escaped)


def _judge(use: Use[Chain], edges: Edges) -> Steps | None:
    parent, chain = use.parent, use.state
    match parent:
        case ast.Attribute(attr=name) if chain and name == chain[0]:
            return (use.become(chain[1:]).at(parent),)
        case ast.Attribute(attr="epoch", ctx=ast.Store()) if chain and not edges.program.project.text.defines_function(
            "epoch"
        ):
            return STOP  # `loader.epoch = epoch` tells its sampler nothing
        case ast.Attribute():
            return (Sink(Attribute(parent, use.scope)),)
        case ast.For(iter=items) | ast.AsyncFor(iter=items) | ast.comprehension(iter=items) if items is use.node:
            return (Sink(Site(use.node, use.scope)),)
        case ast.YieldFrom():
            return (Sink(Site(use.node, use.scope)),)
    return None


def _passed(use: Use[Chain], argument: Argument, callee: str | Scope | None, edges: Edges) -> Steps | None:
    match callee:
        case str():
            return _given_to_library(use, argument, callee, edges)
        case Scope(kind="class"):
            return _constructed(use, argument, callee, edges)
        case None if getattr(argument.call.func, "attr", None) in _LOGGING:
            return STOP
    return None


def _given_to_library(use: Use[Chain], argument: Argument, callee: str, edges: Edges) -> Steps | None:
    table, call = catalogue.table("distributed"), argument.call
    keeper = _keeper(callee.removesuffix(".__init__"), argument.name, argument.position)
    if keeper is not None and not use.path:
        kept = _kept(use, keeper)
        is_base = callee.endswith(".__init__")  # a constructor of the project makes the loader
        return tuple(edges.returned(kept)) if is_base else (kept.at(call),)
    if callee in table["wrappers"]["names"] and not use.path:
        begins: list[Step] = [Sink(Site(call, use.scope))] if callee == "builtins.iter" else []
        return (*begins, use.become(None).at(call))
    if callee in table["wrappers"]["names"] and callee not in ("builtins.enumerate", "builtins.zip"):
        return (use.at(call),)
    return STOP if callee in table["lookers"]["names"] or callee.startswith("logging.") else None


def _kept(use: Use[Chain], attribute: str) -> Use[Chain]:
    """Held by an object that keeps it under `attribute`."""
    return use.become(None if use.state is None else (attribute, *use.state))


def _keeper(callee: str, name: str | None, position: int | None) -> str | None:
    """The attribute by which a loader or batch sampler keeps the argument."""
    rows: list[dict[str, Any]] = catalogue.table("distributed")["holders"]
    for row in rows:
        given = name == row["argument"] if name else position == row.get("position", -1)
        if given and callee in row["names"]:
            return str(row["held"])
    return None


def _constructed(use: Use[Chain], argument: Argument, owner: Scope, edges: Edges) -> Steps | None:
    """An object of a project class: a loader, or something that iterates what its constructor is given."""
    names = edges.program.names
    constructor = names.class_member(owner, "__init__")
    position = argument.position if constructor is None else None
    bases = [base for base in names.bases(owner) if isinstance(base, str)]
    keeper = next((k for base in bases if (k := _keeper(base, argument.name, position))), None)
    kept = [_kept(use, keeper).at(argument.call)] if keeper is not None and not use.path else []
    if not isinstance(constructor, Scope):
        return kept if keeper is not None else None
    if keeper is None and names.method(owner, "__iter__") is not None:
        kept = [use.become(None).at(argument.call)]
    return [*kept, *edges.parameter(argument, constructor, use)]


_POLICY: Policy[Chain, Site | Attribute] = Policy("uses of a sampler", _judge, passed=_passed, is_complete=True)
