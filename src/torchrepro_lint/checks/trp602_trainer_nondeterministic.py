"""TRP602: a program seeds, but its Lightning Trainer does not ask for deterministic kernels."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.configured import placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng.predicates import is_unrequested
from torchrepro_lint.seeding.frameworks import asks_for_determinism, program_files, seeds_torch

ARGUMENT = "deterministic"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each Trainer without `deterministic` in a program that seeds torch and fits a model."""
    rows = catalogue.names("frameworks", "trainers")
    trainers = [c for c in module.calls(rows) if _leaves_kernels(c) and not _stays_off_gpu(c)]
    if not trainers or "fit" not in module.facts.calls or is_test(module.facts):
        return
    files = program_files(module, program)
    if not seeds_torch(module, program) or asks_for_determinism([module.facts, *files]):
        return
    for call in trainers:
        if not is_unrequested(call.node, call.scope, program):
            draft = Draft(call.node, {"call": call.written}, edits=passing(call, ARGUMENT, "True"))
            value = call.argument(ARGUMENT)
            yield placed(draft, value if isinstance(value, Site) else None, program, "True", lambda held: not held)


def _leaves_kernels(call: Call) -> bool:
    value = call.literal(ARGUMENT)
    return value is None or value is False


def _stays_off_gpu(call: Call) -> bool:
    """A CPU has few nondeterministic kernels, and the result of a quick trial run is not kept."""
    row = catalogue.names("frameworks", "trainers")[call.name]
    if call.literal("accelerator") in row["without_gpu"]:
        return True
    return call.literal("fast_dev_run", default=False) is not False
