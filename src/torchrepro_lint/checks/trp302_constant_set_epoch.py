"""TRP302: a distributed sampler is given an epoch number that never changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.epoch_edit import set_epoch
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Program, remembered
from torchrepro_lint.index import Scope, keyword_value
from torchrepro_lint.loading.epochs import EpochLoop, epoch_loop, passes
from torchrepro_lint.loading.sampler_uses import SamplerUses, uses_of
from torchrepro_lint.loading.samplers import made_by
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax import replace


def check(module: Module, program: Program) -> Iterator[Draft]:
    """`set_epoch` calls that are the only ones of a sampler, and pass a constant."""
    for site, scope in module.facts.calls.get("set_epoch", ()):
        if not isinstance(site.func, ast.Attribute) or _number(site) is None:
            continue
        for sampler in made_by(program, site.func.value, scope):
            call = sampler.call
            uses = uses_of(call.node, call.scope, program)
            loop = passes(uses, program)
            if not uses.escaped and loop is not None and not _told_well(uses, loop, program):
                yield _draft(program, site, scope, call, uses, loop)
                break


def _number(site: ast.Call) -> ast.expr | None:
    return site.args[0] if site.args else keyword_value(site, "epoch")


@remembered
def _told_well(uses: SamplerUses, loop: EpochLoop, program: Program) -> bool:
    """Whether some `set_epoch` gets a number that changes, in an epoch loop, or is called from an
    unknown place."""
    for attribute, scope in uses.attributes.get("set_epoch", ()):
        site = scope.facts.parents[attribute]
        number = _number(site) if isinstance(site, ast.Call) else None
        if number is None:
            return True
        inside = epoch_loop(program, site, scope, uses) is not None
        if inside and program.literal(number, scope) is UNKNOWN:
            return True
        if not inside and scope.function is not loop.scope.function and not _called(program, uses, scope.function):
            return True
    return False


def _called(program: Program, uses: SamplerUses, function: Scope) -> bool:
    return function.kind == "module" or bool(uses.callers(function, program))


def _draft(program: Program, site: ast.Call, scope: Scope, call: Call, uses: SamplerUses, loop: EpochLoop) -> Draft:
    number = _number(site)
    assert number is not None
    inside = epoch_loop(program, site, scope, uses)
    values = {"call": scope.facts.text(site), "number": scope.facts.text(number)}
    place = Place(loop.scope.facts, loop.node, "the epoch loop")
    if inside is None:
        return Draft(site, values, "outside", related=(place,), edits=set_epoch(program, call, uses, loop))
    edits: tuple[Edit, ...] = ()
    if inside.variable is not None and inside.scope.function is scope.function:
        edits = (replace(scope.facts, number, inside.variable),)
    return Draft(site, values, related=(place,), edits=edits)
