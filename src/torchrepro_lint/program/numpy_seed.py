"""Whether numpy's global generator may be seeded in the programs that a file belongs to.

For a file that starts a program the seeding walk tells; for any other, every file that leads to it and all
that those import are looked through. In doubt the answer is that it may be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.program import Program
from torchrepro_lint.program.seeding import Seeding

FAMILY = "numpy"
MAX_FILES = 300
_SEEDS = re.compile(r"seed|determinis|reproduc", re.IGNORECASE)


def may_be_seeded(facts: ModuleFacts, program: Program) -> bool:
    """Whether a seed may reach numpy's global generator before code of this file draws from it."""
    seedings = program.seedings(facts)
    if seedings:
        return any(not s.complete or _seeds(s) for s in seedings)
    return any(_seeds_in(other, program) for other in _programs_of(facts, program))


def is_reported(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program that this file starts is reported for not seeding numpy at all."""
    return any(seeding.missing(FAMILY) is not None for seeding in program.seedings(facts))


def _seeds(seeding: Seeding) -> bool:
    return FAMILY in seeding.conditional or any(FAMILY in seeder.families for seeder in seeding.seeders)


@cache
def _seeders() -> frozenset[str]:
    rows = catalogue.names("rng", "seeders")
    return frozenset(name for name, row in rows.items() if FAMILY in row["families"])


def _seeds_in(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file calls a seeder of numpy, or something outside the project that is named like one."""
    for name, sites in facts.calls.items():
        if _SEEDS.search(name) and any(_is_seeder(call, scope, program) for call, scope in sites):
            return True
    return False


def _is_seeder(call: ast.Call, scope: Scope, program: Program) -> bool:
    target = program.resolve(call.func, scope)
    if isinstance(target, Scope):
        return False  # the project's own: what it calls is in a file that is looked through as well
    name = target if isinstance(target, str) else program.callee(call, scope)
    if name is None:
        return True
    package = name.partition(".")[0]
    return (
        name in _seeders() or name in program.seed_functions or package not in ("torch", "random", "builtins")
    )


def _programs_of(facts: ModuleFacts, program: Program) -> Iterator[ModuleFacts]:
    """The file, all that lead to it by imports, and all that those import."""
    seen: dict[str, ModuleFacts] = {}
    upwards = [facts]
    while upwards and len(seen) < MAX_FILES:
        current = upwards.pop()
        if str(current.source.path) not in seen:
            seen[str(current.source.path)] = current
            yield current
            upwards += _importers(current, program)
    downwards = [other for current in list(seen.values()) for other in _imported(current, program)]
    while downwards and len(seen) < MAX_FILES:
        current = downwards.pop()
        if str(current.source.path) not in seen:
            seen[str(current.source.path)] = current
            yield current
            downwards += _imported(current, program)


def _imported(facts: ModuleFacts, program: Program) -> Iterator[ModuleFacts]:
    for binding in (*facts.imports, *facts.star_imports):
        found = program.finder.find(binding.target, binding.level, str(facts.source.path))
        other = program.load(found[0]) if found is not None else None
        if other is not None:
            yield other


def _importers(facts: ModuleFacts, program: Program) -> Iterator[ModuleFacts]:
    path = facts.source.path
    name = path.parent.name if path.stem == "__init__" else path.stem
    for candidate in program.text.mentioning(name) or ():
        other = program.load(str(candidate)) if candidate != path else None
        if other is not None and any(o is facts for o in _imported(other, program)):
            yield other
