"""TRP601: Lightning seeds the process, and not the workers that draw with numpy or random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Program
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.loading.loaders import lacks_worker_init, loaders, workers
from torchrepro_lint.loading.worker_calls import WorkerDraw
from torchrepro_lint.loading.worker_draws import worker_draws
from torchrepro_lint.project.versions import may_be
from torchrepro_lint.seeding.frameworks import calls_in, is_one_process, program_files

FAMILIES = {"numpy": "numpy", "python": "`random`"}


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each `seed_everything` without `workers=True` in a program whose workers draw."""
    seeders = list(calls_in([module.facts], program, "worker_seeders"))
    if not seeders:
        return
    files = program_files(module, program)
    every = [*seeders, *calls_in(files, program, "worker_seeders")]
    if not all(map(_leaves_workers, every)) or _sets_variable(seeders[0], files):
        return
    trainers = list(calls_in(files, program, "trainers", "fabrics"))
    found = next(_drawn_in_workers(files, program), None) if trainers else None
    if found is None:
        return
    loader, draw = found
    is_old = draw.kind == "numpy" and may_be(program.project.torch_version, "<1.9")
    if not is_old and all(map(is_one_process, trainers)):
        return
    related = (
        Place(loader.facts, loader.node, "Lightning does not seed the workers of this loader"),
        Place(draw.facts, draw.node, "each worker draws here"),
    )
    for call in seeders:
        values = {"call": module.facts.text(call.node), "family": FAMILIES[draw.kind]}
        name, position = _workers(call)
        edits = () if _is_older(call, trainers) else passing(call, name, "True", position)
        yield Draft(call.node, values, "old" if is_old else None, related=related, edits=edits)


def _workers(call: Call) -> tuple[str, int]:
    """The argument that seeds workers too: its name and position."""
    row = catalogue.names("frameworks", "worker_seeders")[call.name]
    return row["argument"], row["position"]


def _is_older(seeder: Call, trainers: Sequence[Call]) -> bool:
    """Whether the program is written for a Lightning whose seeder has no such argument."""
    gone = catalogue.names("frameworks", "worker_seeders")[seeder.name]["before"]
    return any(keyword.arg in gone for trainer in trainers for keyword in trainer.node.keywords)


def _leaves_workers(call: Call) -> bool:
    value = call.literal(*_workers(call), default=False)
    return value is not UNKNOWN and not value


def _sets_variable(seeder: Call, files: Sequence[ModuleFacts]) -> bool:
    variable = catalogue.names("frameworks", "worker_seeders")[seeder.name]["variable"]
    return any(facts.source.matches(variable) for facts in files)


def _drawn_in_workers(files: Sequence[ModuleFacts], program: Program) -> Iterator[tuple[Call, WorkerDraw]]:
    """Loaders with workers that Lightning may seed, and what is drawn in them outside of torch."""
    for facts in files:
        for loader in Module(facts, program).calls(loaders().keys()):
            if workers(loader) is False or not lacks_worker_init(loader) or is_dead(loader.node, loader.scope):
                continue
            draws = worker_draws(loader)
            draw = draws.first("numpy") or draws.first("python")
            if draw is not None:
                yield loader, draw
