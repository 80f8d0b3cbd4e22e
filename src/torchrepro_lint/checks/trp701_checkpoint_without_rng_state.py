"""TRP701: a program saves and resumes its training without the states of its random number generators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.listed import listed
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.seeding.seedings import seedings

if TYPE_CHECKING:
    from torchrepro_lint.seeding.seeding import Seeding

STATES = {
    "torch": "`torch.get_rng_state()` and `torch.cuda.get_rng_state_all()`",
    "numpy": "`numpy.random.get_state()`",
    "python": "`random.getstate()`",
}


def check(module: Module, program: Program) -> Iterator[Draft]:
    for seeding in seedings(module.facts, program):
        families = [f for f in FAMILIES if f in seeding.kinds] or _seeded(seeding)
        families = families or [f for f in FAMILIES if f in seeding.drawn]  # what seeds is believed to, for its name
        if not seeding.complete or seeding.is_launcher:
            continue
        from torchrepro_lint.seeding.resuming import resuming  # few programs get this far
        from torchrepro_lint.seeding.unfollowed import may_train
        from torchrepro_lint.seeding.unseeded import unseeded

        if not (seeding.trains or may_train(seeding, program)):
            continue
        unseen = unseeded(seeding, program) if not families else None
        families = [*unseen.named] if unseen is not None else families
        found = resuming(families, seeding, program)
        if found is None:
            continue
        families = [*found.families]
        save, scope = found.save
        load, where = found.load
        here = scope.facts is module.facts
        saved = () if here else (Place(scope.facts, save, "saved here"),)
        yield Draft(
            save if here else seeding.entry.node,
            {"families": _named(families), "states": listed([STATES[f] for f in families])},
            properties={"family": families[0]},
            related=(*saved, Place(where.facts, load, "resumed here")),
        )


def _named(families: list[str]) -> str:
    """`the torch generator`, `the torch, numpy and python generators`."""
    return f"the {listed(families)} generator{'s' * (len(families) > 1)}"


def _seeded(seeding: Seeding) -> list[str]:
    return [f for f in FAMILIES if any(f in s.families for s in seeding.seeders)]
