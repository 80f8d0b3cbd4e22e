"""TRP101: a program draws random numbers that no seed dominates. One finding per entry point and family."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.model import Certainty
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.seeding.seedings import seedings

if TYPE_CHECKING:
    from torchrepro_lint.seeding.seeding import Seeding, Witness

SEED_CALLS = {"torch": "torch.manual_seed", "numpy": "numpy.random.seed", "python": "random.seed"}


def check(module: Module, program: Program) -> Iterator[Draft]:
    for seeding in seedings(module.facts, program):
        for family in FAMILIES:
            missing = seeding.missing(family)
            if missing is not None:
                yield _configured(_draft(program, seeding, *missing), seeding, family, program)


def _draft(program: Program, seeding: Seeding, witness: Witness, certain: bool) -> Draft:
    from torchrepro_lint.checks.seed_edit import seed_edits

    family = witness.draw.family
    conditional = seeding.conditional.get(family)
    related = _chain(witness)
    if conditional is not None:
        related = (Place(conditional.scope.facts, conditional.node, "seeded only if its seed is given"), *related)
    return Draft(
        _start(seeding, witness),
        {"family": family, "draw": witness.draw.what, "call": SEED_CALLS[family]},
        message=_message(seeding, witness, certain),
        certainty=Certainty.CERTAIN if certain else Certainty.LIKELY,
        properties={"family": family},
        related=related,
        edits=seed_edits(program, seeding, witness, SEED_CALLS[family]),
    )


def _configured(draft: Draft, seeding: Seeding, family: str, program: Program) -> Draft:
    """The finding lies in the configuration file that gives the program's seeder no seed, if there is one."""
    from torchrepro_lint.seeding.seeding import SEEDED

    for met in seeding.met:
        if met.seeder is None or family not in met.seeder.families or met.level >= SEEDED or met.seeder.seed is None:
            continue
        from torchrepro_lint.checks.configured import at_entry, cause, is_none  # few programs get here

        entry = cause(Site(met.seeder.seed, met.scope), program, is_none)
        if entry is not None:
            seeded = Place(met.scope.facts, met.node, "seeds only with a number")
            related = (seeded, *(p for p in draft.related if isinstance(p, Place) and p.node is not met.node))
            draft = draft._replace(message="configured", related=related)
            return at_entry(draft, entry, str(program.project.seed), "this program reads it")
    return draft


def _message(seeding: Seeding, witness: Witness, certain: bool) -> str | None:
    from torchrepro_lint.seeding.seeding import MAYBE

    if certain:
        return None
    if witness.process is not None:
        return "spawned"
    return "conditional" if witness.level == MAYBE or witness.draw.family in seeding.conditional else None


def _chain(witness: Witness) -> tuple[Place, ...]:
    """The calls that lead to the draw, as places in reading order."""
    *calls, last = witness.chain
    steps = [Place(s.scope.facts, s.node, "leads to the draw") for s in calls]
    return (*steps, Place(last.scope.facts, last.node, f"the {witness.draw.family} generator is drawn from here"))


def _start(seeding: Seeding, witness: Witness) -> ast.stmt:
    """Where the program starts: its guard, or the statement of a script that leads to the draw."""
    from torchrepro_lint.checks.seed_edit import top_statement

    entry = seeding.entry
    if entry.is_guarded or entry.function is not None:
        return entry.node
    return top_statement(entry.facts.tree, witness, entry.facts.scope) or entry.node
