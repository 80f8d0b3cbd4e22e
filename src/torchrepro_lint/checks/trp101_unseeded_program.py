"""TRP101: a program draws random numbers that no seed dominates. One finding per entry point."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.listed import listed
from torchrepro_lint.dataflow import Module, Program, Site
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.elements import Certainty, Level
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.seeding.seedings import seedings

if TYPE_CHECKING:
    from torchrepro_lint.seeding.seeding import Seeding, Witness
    from torchrepro_lint.seeding.unseeded import Unseeded

_MESSAGES = {
    "by option": "conditional", "in process": "spawned", "unseen": "unseen", "shown": "shown", "kept": "kept",
    "left to an option": "left",
}  # fmt: skip
_DEVICE = re.compile(r"cuda|gpu", re.IGNORECASE)
_CALLS = {"torch": "torch.manual_seed(seed)", "numpy": "numpy.random.seed(seed)", "python": "random.seed(seed)"}


def check(module: Module, program: Program) -> Iterator[Draft]:
    for seeding in seedings(module.facts, program):
        from torchrepro_lint.seeding.unseeded import unseeded  # most files start no program

        found = unseeded(seeding, program)
        if found is not None:
            yield _configured(_draft(program, seeding, found), seeding, found, program)


def _draft(program: Program, seeding: Seeding, found: Unseeded) -> Draft:
    from torchrepro_lint.checks.environments_left import leaves_environments
    from torchrepro_lint.checks.seed_edit import seed_fix
    from torchrepro_lint.seeding.training import is_demonstration, is_for_training

    answers = is_demonstration(seeding)
    fix = seed_fix(program, seeding, found) if not answers and found.kind != "left to an option" else None
    families = [f for f in FAMILIES if f in found.draws or f in found.named]
    return Draft(
        _start(seeding, found.first),
        {
            "generators": f"{listed(found.named)} generator{'s' * (len(found.named) > 1)}",
            "them": "them" if len(found.named) > 1 else "it",
            "draw": found.first.draw.what if found.first is not None else _written(found),
            "calls": listed([f"`{_CALLS[f]}`" for f in families]),
        },
        message="answers" if answers else _message(seeding, found),
        level=Level.NOTE if answers or found.kind in ("shown", "kept") else None,
        certainty=Certainty.CERTAIN if found.certain else Certainty.LIKELY,
        properties={"families": families},
        related=tuple(_related(seeding, found)),
        edits=fix.edits if fix is not None else (),
        unsafe=fix is not None
        and (fix.unsafe or not is_for_training(seeding, program) or leaves_environments(seeding, program)),
    )


def _message(seeding: Seeding, found: Unseeded) -> str | None:
    """Of a program that seeds a generator on another way than the one to the draw, or if it is asked to, "never" would
    be false."""
    from torchrepro_lint.seeding.seeding import MAYBE

    process = found.first.process if found.first is not None else None
    seeders = (met.seeder for met in seeding.met if met.level >= MAYBE and met.process is process)
    elsewhere = any(s is not None and not set(found.named).isdisjoint(s.families) for s in seeders)
    if found.kind == "never" and elsewhere:
        return "elsewhere"
    return "device" if _is_left_to_device(seeding, found) else _MESSAGES.get(found.kind)


def _is_left_to_device(seeding: Seeding, found: Unseeded) -> bool:
    """Whether the program seeds, but on which device it runs decides whether it does."""
    met = [m for m in seeding.met if m.seeder is not None and not set(found.named).isdisjoint(m.seeder.families)]
    tests = [[ast.unparse(c.test) for c in conditions(m.node, m.scope)] for m in met]
    return found.kind == "by option" and bool(met) and all(any(map(_DEVICE.search, told)) for told in tests)


def _configured(draft: Draft, seeding: Seeding, found: Unseeded, program: Program) -> Draft:
    """The finding lies in the configuration file that gives the program's seeder no seed, if there is one."""
    from torchrepro_lint.seeding.seeding import SEEDED

    families = {*found.draws, *found.named}
    for met in seeding.met:
        seeder = met.seeder
        if seeder is None or seeder.seed is None or met.level >= SEEDED or not families & set(seeder.families):
            continue
        from torchrepro_lint.checks.configured import at_entry, cause  # few programs get here

        entry = cause(Site(seeder.seed, met.scope), program, seeder.is_off)
        if entry is not None:
            seeded = Place(met.scope.facts, met.node, "seeds only with a number")
            related = (seeded, *(p for p in draft.related if isinstance(p, Place) and p.node is not met.node))
            draft = draft._replace(message="configured", related=related)
            return at_entry(draft, entry, str(program.project.seed), "this program reads it")
    return draft


def _written(found: Unseeded) -> str:
    step = found.unseen[0]
    return step.scope.facts.text(step.node)


def _related(seeding: Seeding, found: Unseeded) -> Iterator[Place]:
    for step in found.unseen:
        is_seed = found.kind == "left to an option"
        told = "seeded only if its seed is given" if is_seed else "what this runs is not known"
        yield Place(step.scope.facts, step.node, told)
    for family, witness in found.draws.items():
        conditional = seeding.conditional.get(family)
        if conditional is not None:
            yield Place(conditional.scope.facts, conditional.node, "seeded only if its seed is given")
        yield from _chain(witness, found.first)


def _chain(witness: Witness, first: Witness | None) -> Iterator[Place]:
    """The calls that lead to the first draw of all, and the first draw of each family."""
    *calls, last = witness.chain
    if witness is first:
        yield from (Place(s.scope.facts, s.node, "leads to the draw") for s in calls)
    yield Place(last.scope.facts, last.node, f"the {witness.draw.family} generator is drawn from here")


def _start(seeding: Seeding, witness: Witness | None) -> ast.stmt:
    """Where the program starts: its guard, or the statement of a script that leads to the draw."""
    entry = seeding.entry
    if entry.is_guarded or entry.function is not None or witness is None:
        return entry.node
    step = next((s for s in witness.chain if s.scope.function is entry.facts.scope), None)
    line = getattr(step.node, "lineno", 0) if step is not None else 0
    body = entry.facts.tree.body
    return next((n for n in body if n.lineno <= line <= (n.end_lineno or 0)), entry.node)
