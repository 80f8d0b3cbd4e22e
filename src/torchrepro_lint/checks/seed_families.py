"""Which generators the fix of TRP101 seeds: those that are missing where the process seeds others; else all that it
has, since what cannot be seen may draw from any of them.
"""

from __future__ import annotations

import ast

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.seeding.seeding import SEEDED, Seeding, SeedMet
from torchrepro_lint.seeding.unfollowed import may_use_tensors, uses_tensors
from torchrepro_lint.seeding.unseeded import Unseeded

SEED_CALLS = {"python": ("random", "seed"), "numpy": ("numpy", "random.seed"), "torch": ("torch", "manual_seed")}


def families_of(program: Program, seeding: Seeding, found: Unseeded, process: Scope | None) -> list[str]:
    """Those that are missing where the process seeds others; else all that it has."""
    missing = {f for f, w in found.draws.items() if w.process is process} or set(found.named)
    seeds = (m for m in seeding.met if m.level == SEEDED and m.process is process)
    if all(may_be_left_out(program, m) for m in seeds):
        missing |= {"torch"} if uses_tensors(seeding) else set()
        missing |= {"python"} if _has_random(program, seeding) else set()
        missing |= {"numpy"} if _has_numpy(program, seeding) else set()
    return [family for family in SEED_CALLS if family in missing]


def _has_random(program: Program, seeding: Seeding) -> bool:
    """Whether the program imports `random`, or may compute with tensors: what prepares these may draw from it."""
    return any("random" in facts.packages for facts in seeding.visited) or may_use_tensors(seeding, program)


def _has_numpy(program: Program, seeding: Seeding) -> bool:
    """Whether the program or a library that it uses imports numpy: a program may run where it is not installed."""
    with_it = catalogue.table("rng")["numpy"]["imported_by"]
    if any(not facts.packages.isdisjoint(with_it) for facts in seeding.visited):
        return True
    naming = program.project.text.mentioning("numpy")
    return bool(naming) and not program.project.reachable(seeding.entry.facts.source.path).isdisjoint(naming or ())


def may_be_left_out(program: Program, met: SeedMet) -> bool:
    """Whether the function of a seed may return before it, whatever the seed: only under a launcher does it go on."""
    return any(
        isinstance(c.owner, ast.If)
        and not about_seed(c.test)
        and any(isinstance(n, ast.Return) for n in ast.walk(c.owner))
        and outcome(c.test, met.scope, program) is Truth.UNKNOWN
        for c in conditions(met.node, met.scope)
    )
