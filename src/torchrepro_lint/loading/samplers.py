"""Samplers that shuffle by epoch, where they are made, and whether they serve training.

Knows the samplers of the catalogue, the project's own classes that derive from them, and those that are told the epoch
as these are. Where a sampler goes is worked out by `sampler_uses`, whether it is told the epoch by `epochs`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.dataflow.abstract_values import Constant, Result
from torchrepro_lint.dataflow.binding import value_for
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.index import Binding, Scope, arguments_of, keyword_value, last_name, walk
from torchrepro_lint.project.unknown import UNKNOWN

_EVALUATION = re.compile(
    r"(?:^|[^a-z])(?:val|valid|test|testing|eval|dev|infer|inference)(?:[^a-z]|set|$)|evaluat|validat|predict",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"train", re.IGNORECASE)
_SEEDING = re.compile(r"seed|rng|^RandomState$|^Random$")
_OWN = "torch.utils.data.Sampler"  # of a project's class that derives from none of the catalogue


class Sampler(NamedTuple):
    """A construction; `certain` is False where an expression decides whether it shuffles, or a class of the project."""

    call: Call
    certain: bool


def training_samplers(module: Module, program: Program) -> Iterator[Sampler]:
    """Constructions in this file of training samplers that shuffle by epoch."""
    for call in module.calls(_rows()):
        if not (isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "__init__"):
            yield from _judged(call)
    for spelled, sites in module.facts.calls.items():
        if spelled.endswith("Sampler"):
            for node, scope in sites:
                own = _own_class(program, program.resolve(node.func, scope))
                if own is not None:
                    yield from _judged(Call(node, scope, own[1], program, subclass=own[0]))


def made_by(program: Program, receiver: ast.expr, scope: Scope) -> list[Sampler]:
    """The samplers that the value of `receiver` may be, where every origin is known."""
    found: list[Sampler] = []
    for origin in program.origins(receiver, scope):
        match origin:
            case Constant(value=None):
                continue
            case Result(callee=str() as name, node=node, scope=made):
                found += _judged(Call(node, made, name, program)) if name in _rows() else ()
            case Result(callee=Scope() as owner, node=node, scope=made):
                own = _own_class(program, owner)
                found += _judged(Call(node, made, own[1], program, subclass=owner)) if own else ()
            case _:
                return []
    return found


def _rows() -> Mapping[str, Mapping[str, Any]]:
    return catalogue.names("distributed", "samplers")


def _own_class(program: Program, target: object) -> tuple[Scope, str] | None:
    """A project's class with a constructor of its own, and the catalogued sampler that it derives from; or one that has
    a `set_epoch` like theirs."""
    if not isinstance(target, Scope) or target.kind != "class":
        return None
    base = next((b for b in program.names.bases(target) if isinstance(b, str) and b in _rows()), None)
    if program.names.class_member(target, "__init__") is None:
        return None
    if base is None:
        is_told = program.names.method(target, "set_epoch") is not None and _seeds_by_epoch(target)
        return (target, _OWN) if is_told and _uses_epoch(target) else None
    return target, base


def _judged(call: Call) -> Iterator[Sampler]:
    shuffles = _shuffles(call)
    if shuffles is not False and not evaluates(call):
        yield Sampler(call, certain=shuffles is True and call.name != _OWN)


# -- does it shuffle ----------------------------------------------------------------------------------
def _shuffles(call: Call) -> bool | None:
    """None: an option or an expression decides."""
    if call.subclass is not None and call.name == _OWN:
        return _by_parameter(call, call.program.names.method(call.subclass, "__init__"))
    position = _rows()[call.name]["shuffle"]
    if call.subclass is None:
        return _truth(call, call.argument("shuffle", position))
    if not _uses_epoch(call.subclass):
        return False
    constructor = call.program.names.method(call.subclass, "__init__")
    if constructor is None:
        return _truth(call, call.argument("shuffle", position))
    given = keyword_value(call.node, "shuffle")
    if given is not None:
        return _truth(call, Site(given, call.scope))
    return _by_constructor(call, constructor)


def _by_parameter(call: Call, constructor: Scope | None) -> bool | None:
    """What a call gives the parameter for shuffling, if there is one: without, the order is by epoch."""
    match constructor.bindings.get("shuffle") if constructor is not None else None:
        case [Binding(kind="parameter") as parameter] if constructor is not None:
            return _truth(call, value_for(call.node, call.scope, constructor, parameter) or UNKNOWN)
    return True


def _by_constructor(call: Call, constructor: Scope) -> bool | None:
    """What the class's own constructor makes of a call that does not speak of shuffling by keyword."""
    parameter = constructor.bindings.get("shuffle")
    if parameter is not None:
        default = parameter[0].value
        return _truth(call, Site(default, constructor.parent or constructor)) if default is not None else None
    for node, scope in constructor.facts.calls.get("__init__", ()):
        if scope is constructor:
            given = keyword_value(node, "shuffle")
            return True if given is None else _truth(call, Site(given, scope))
    return False


def _truth(call: Call, found: object) -> bool | None:
    if found is None:
        return True
    if not isinstance(found, Site):
        return False
    return outcome(found.node, found.scope, call.program).certain


def _uses_epoch(owner: Scope) -> bool:
    """Whether a project's sampler keeps the base's order, or makes its own from `self.epoch` without
    advancing it."""
    if "__iter__" not in owner.bindings:
        return True
    own = owner.children.get(owner.bindings["__iter__"][-1].node)
    if own is None:
        return False
    reads = [n for n in walk(own.node) if isinstance(n, ast.Attribute) and n.attr == "epoch"]
    return bool(reads) and all(isinstance(n.ctx, ast.Load) for n in reads)


def _seeds_by_epoch(owner: Scope) -> bool:
    """Whether a class makes its order with a seed that is made of `self.epoch`."""
    own = owner.children.get(owner.bindings["__iter__"][-1].node) if "__iter__" in owner.bindings else None
    calls = (n for n in walk(own.node) if isinstance(n, ast.Call)) if own is not None else ()
    seeds = (a for call in calls if _SEEDING.search(last_name(call.func)) for a in arguments_of(call))
    return any(isinstance(n, ast.Attribute) and n.attr == "epoch" for seed in seeds for n in walk(seed))


# -- does it train ------------------------------------------------------------------------------------
def is_evaluation(name: str) -> bool:
    """Whether a name speaks of evaluation, and not of training."""
    return bool(_EVALUATION.search(name)) and not _TRAINING.search(name)


def evaluates(call: Call) -> bool:
    """Whether names say that the sampler is for evaluation, where the order does not matter."""
    facts = call.facts
    statement = facts.statement(call.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = [facts.text(t) for t in targets if isinstance(t, ast.Name | ast.Attribute)]
    data = call.argument("dataset", 0)
    if isinstance(data, Site):
        names.append(data.scope.facts.text(data.node))
    return any(map(is_evaluation, names))
