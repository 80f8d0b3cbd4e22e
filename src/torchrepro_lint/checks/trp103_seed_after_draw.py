"""TRP103: a family is seeded on the path, but random numbers were drawn from it before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.index import Scope
from torchrepro_lint.model import Certainty, Edit
from torchrepro_lint.program import FAMILIES, Module, Program

if TYPE_CHECKING:
    from torchrepro_lint.program.randomness.seeding import Late, Seeding, Step


def check(module: Module, program: Program) -> Iterator[Draft]:
    for seeding in program.seedings(module.facts):
        for family in FAMILIES:
            late = seeding.late.get(family)
            if late is not None and seeding.complete and seeding.trains and not late.witness.one_case:
                yield _draft(seeding, family, late)


def _draft(seeding: Seeding, family: str, late: Late) -> Draft:
    steps = late.witness.chain
    here = max((i for i, s in enumerate(steps) if s.scope.facts is seeding.entry.facts), default=0)
    drawn = tuple(Place(s.scope.facts, s.node, f"{family} is drawn from here") for s in steps[here + 1 :][-1:])
    seeded = Place(late.seeder.scope.facts, late.seeder.node, f"{family} is seeded only here")
    return Draft(
        steps[here].node,
        {"family": family, "draw": late.witness.draw.what, "seed": seeded.facts.text(late.seeder.node)},
        certainty=Certainty.CERTAIN if late.witness.sure else Certainty.LIKELY,
        properties={"family": family},
        related=(*drawn, seeded),
        edits=_move(steps[here], late),
    )


def _move(step: Step, late: Late) -> tuple[Edit, ...]:
    """Move the seed call above the statement that draws, when both stand in one body and its seed is known there."""
    facts, seeder = step.scope.facts, late.seeder
    if seeder.scope is not step.scope or step.scope.kind not in ("module", "function"):
        return ()
    seed, draw = facts.statement(seeder.node), facts.statement(step.node)
    body: list[ast.stmt] = getattr(facts.parents[seed], "body", [])
    if not isinstance(seed, ast.Expr) or seed.value is not seeder.node or seed not in body or draw not in body:
        return ()
    if not all(_known_before(n.id, step.scope, draw) for n in ast.walk(seed) if isinstance(n, ast.Name)):
        return ()
    from torchrepro_lint.syntax import insert_before, remove

    return (remove(facts, seed), insert_before(facts, draw, facts.text(seed)))


def _known_before(name: str, scope: Scope, statement: ast.stmt) -> bool:
    owner = scope.binding_scope(name)
    if owner is None:
        return True
    bindings = owner.bindings[name]
    return len(bindings) == 1 and (
        owner is not scope
        or bindings[0].kind in ("parameter", "import")
        or getattr(bindings[0].node, "end_lineno", 0) < statement.lineno
    )
