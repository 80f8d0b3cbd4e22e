"""The calls in a file that seed the global generators, and those of them whose seed is always the same.

The project's own helpers count when their bodies seed, and either do nothing else or have names that say so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Module, Program, Site, remembered, remembered_last, start_of
from torchrepro_lint.dataflow.binding import value_for
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.rng.chosen_seeds import seeds_by_name
from torchrepro_lint.rng.draws import seeder_of

MAX_HELPERS = 3  # that call one another


class SeedCall(NamedTuple):
    """A call that seeds `families` with `seed`; None where the seed is not to be seen."""

    node: ast.Call
    scope: Scope
    seed: Site | None
    families: frozenset[str]
    helper: Scope | None = None  # the project's own, that is called

    @property
    def written(self) -> str:
        """The function as it is written."""
        return self.scope.facts.text(self.node.func)


@cache
def _seeders() -> frozenset[str]:
    named = catalogue.names("rng", "seeders")
    return frozenset(n for n in named if not n.endswith("state") and n.rpartition(".")[2][0].islower())


@remembered_last
def seed_calls(module: Module, program: Program) -> list[SeedCall]:
    """The seed calls of a file, in source order."""
    found = [*_catalogued(module), *_own(module, program)]
    return sorted(found, key=lambda seeding: start_of(seeding.node))


def _catalogued(module: Module) -> Iterator[SeedCall]:
    rows = catalogue.names("rng", "seeders")
    for call in module.calls(_seeders()):
        seed = call.argument(rows[call.name]["seed"], rows[call.name].get("position"))
        known = seed if isinstance(seed, Site) else None
        yield SeedCall(call.node, call.scope, known, frozenset(rows[call.name]["families"]))


def _own(module: Module, program: Program) -> Iterator[SeedCall]:
    for node, scope in module.facts.every_call():
        helper = program.resolve(node.func, scope)
        if isinstance(helper, Scope) and is_helper(helper, program):
            families, seed = _inside(helper, MAX_HELPERS, program)
            if families:
                yield SeedCall(node, scope, _passed(node, scope, helper, seed), families, helper)


def is_helper(function: Scope, program: Program) -> bool:
    """Whether a function is judged where it is called, if it seeds: its name says so, or it is written as nothing but
    calls of seeders and of such functions."""
    return seeds_by_name(function) or _only_seeds(function, MAX_HELPERS, program)


@remembered
def _only_seeds(helper: Scope, further: int, program: Program) -> bool:
    body: list[ast.stmt] = getattr(helper.node, "body", []) if helper.kind == "function" and further else []
    values = [s.value for s in body if isinstance(s, ast.Expr) and not isinstance(s.value, ast.Constant)]
    if not values or not all(isinstance(s, ast.Expr | ast.Import | ast.ImportFrom) for s in body):
        return False
    return all(isinstance(value, ast.Call) and _may_seed(value, helper, further, program) for value in values)


def _may_seed(call: ast.Call, scope: Scope, further: int, program: Program) -> bool:
    target = program.resolve(call.func, scope)
    if isinstance(target, Scope):
        return _only_seeds(target, further - 1, program)
    return last_name(call.func) in catalogue.by_last_part(_seeders())


@remembered
def _inside(helper: Scope, further: int, program: Program) -> tuple[frozenset[str], Site | None]:
    """What a helper seeds, also by helpers that it calls, and with what."""
    families: set[str] = set()
    seeds: list[Site | None] = []
    for name, node, scope in _seeding(helper.facts, program).get(helper, ()):
        seeder = seeder_of(program, name, node, scope)
        if seeder is not None:
            families |= set(seeder.families)
            seeds.append(Site(seeder.seed, scope) if seeder.seed is not None else None)
    for call, scope in helper.calls if further else ():
        inner = program.resolve(call.func, scope)
        if isinstance(inner, Scope) and is_helper(inner, program):
            more, seed = _inside(inner, further - 1, program)
            families |= more
            seeds.append(_passed(call, scope, inner, seed))
    return frozenset(families), next((seed for seed in seeds if seed is not None), None)


@remembered
def _seeding(facts: ModuleFacts, program: Program) -> dict[Scope, list[tuple[str, ast.Call, Scope]]]:
    """The calls of seeders in a file, by the function that runs them."""
    found: dict[Scope, list[tuple[str, ast.Call, Scope]]] = {}
    for node, scope in facts.every_call():
        name = program.callee(node, scope)
        if name is not None and name in _seeders():
            found.setdefault(scope.function, []).append((name, node, scope))
    return found


def _passed(call: ast.Call, scope: Scope, helper: Scope, seed: Site | None) -> Site | None:
    """The seed that a call of a helper leads to: an argument, a default, or what the helper itself says."""
    if seed is None or not isinstance(seed.node, ast.Name) or seed.node.id not in helper.bindings:
        return seed
    binding = helper.bindings[seed.node.id][0]
    return value_for(call, scope, helper, binding) if binding.kind == "parameter" else None
