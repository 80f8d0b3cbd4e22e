"""Programs that a framework runs: which files belong to one, which trainer it has, and on how many processes.

Knows the catalogue's frameworks and nothing of rules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Program, Site
from torchrepro_lint.index import ModuleFacts, last_name
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.seeding.seeding import Seeding
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.training import MAX_PROGRAMS

MAX_FILES = 24


def program_files(module: Module, program: Program) -> list[ModuleFacts]:
    """The files that run together with this one: those of the programs that it starts, or else, of a small
    project, those that load data."""
    programs = seedings(module.facts, program)
    if programs:
        return list(dict.fromkeys(f for s in programs for f in s.visited))
    paths = program.project.text.containing("DataLoader") or ()
    loaded = program.loaded(sorted(paths)) if len(paths) <= MAX_FILES else ()
    return [module.facts, *(f for f in loaded if f is not module.facts and not is_test(f))]


def calls_in(files: Iterable[ModuleFacts], program: Program, *keys: str) -> Iterator[Call]:
    """The calls in these files of what the catalogue lists under `keys`."""
    wanted = {name for key in keys for name in catalogue.names("frameworks", key)}
    for facts in files:
        yield from Module(facts, program).calls(wanted)


def seeds_torch(module: Module, program: Program) -> bool:
    """Whether the programs that a file starts seed torch; of a file that starts none, whether it does so."""
    programs = seedings(module.facts, program)
    if programs:
        return any("torch" in s.families for found in programs for s in found.seeders)
    rows = catalogue.names("rng", "seeders")
    return bool(module.calls({name for name, row in rows.items() if "torch" in row["families"]}))


def wants_repeatable_runs(module: Module, program: Program) -> bool:
    """Whether a file belongs to a program that seeds torch, and nothing there asks for deterministic kernels."""
    seeds = seeds_torch(module, program)
    return seeds and not asks_for_determinism([module.facts, *program_files(module, program)])


def programs_running(module: Module, program: Program) -> Iterator[Seeding]:
    """The programs that run the code of a file: those that it starts, or else those of the files that import it."""
    own, users = seedings(module.facts, program), program.project.users([module.facts.source.path])
    yield from own or (s for user in program.loaded(users[:MAX_PROGRAMS]) for s in seedings(user, program))


def is_seeded_alone(seeding: Seeding) -> bool:
    """Whether a program seeds torch, and asks nowhere for deterministic kernels."""
    seeds = any("torch" in seeder.families for seeder in seeding.seeders)
    return seeds and not asks_for_determinism(seeding.visited)


def makes_and_fits(seeding: Seeding, trainer: Call) -> bool:
    """Whether a program makes this Trainer and fits a model with one, in whichever files it does so."""
    receivers = (call.func.value for call, _ in seeding.calls("fit") if isinstance(call.func, ast.Attribute))
    is_fitted = any("trainer" in last_name(receiver).lower() for receiver in receivers)
    return is_fitted and trainer.scope.function in seeding.entered


def asks_for_determinism(files: Iterable[ModuleFacts]) -> bool:
    """Whether any of the files sets cuDNN's flag, or calls a function that asks for deterministic kernels."""
    called = catalogue.table("frameworks")["requests"]["functions"]
    return any(_sets_flag(f) or any(name in f.calls for name in called) for f in files)


def _sets_flag(facts: ModuleFacts) -> bool:
    """Whether a file sets `deterministic` of anything but `self`, as a network may have an attribute of that name."""
    return any(not s.scope.is_self(s.target.value) for s in facts.attribute_sets.get("deterministic", ()))


_AT_MOST_ONE = (0, 1, "1")  # GPUs


def is_one_process(trainer: Call) -> bool:
    """Whether a trainer surely runs a single process."""
    rows = {**catalogue.names("frameworks", "trainers"), **catalogue.names("frameworks", "fabrics")}
    row = rows[trainer.name]
    if trainer.literal(row["nodes"], default=1) != 1:
        return False
    return any(_is_one(trainer, name) for name in row["processes"])


def _is_one(trainer: Call, name: str) -> bool:
    passed = trainer.argument(name)
    if not isinstance(passed, Site):
        return False
    if isinstance(passed.node, ast.List):
        return len(passed.node.elts) == 1
    values = trainer.program.constants(passed.node, passed.scope) or [UNKNOWN]
    return all(not isinstance(value, bool) and value in _AT_MOST_ONE for value in values)  # `0 if args.cpu else 1`
