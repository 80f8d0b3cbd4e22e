"""TRP602: a program seeds, but its Lightning Trainer does not ask for deterministic kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.configured import cause, placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.dataflow.instantiated import instantiated_calls
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng.predicates import is_unrequested
from torchrepro_lint.seeding.frameworks import (
    is_seeded_alone,
    makes_and_fits,
    programs_running,
    wants_repeatable_runs,
)

ARGUMENT = "deterministic"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each Trainer without `deterministic` in a program that seeds torch and fits a model."""
    rows = catalogue.names("frameworks", "trainers")
    written = module.calls(rows)
    made = (*written, *instantiated_calls(module, program, rows))
    trainers = [c for c in made if _leaves_kernels(c) and not _stays_off_gpu(c)]
    if not trainers or is_test(module.facts):
        return
    if "fit" not in module.facts.calls or not wants_repeatable_runs(module, program):
        programs = [s for s in programs_running(module, program) if is_seeded_alone(s)]
        trainers = [c for c in trainers if c in written and any(makes_and_fits(s, c) for s in programs)]
    told = {c.node.func for c in made if c not in written and not _leaves_kernels(c)}  # asked by another configuration
    for call in trainers:
        if not is_unrequested(call.node, call.scope, program):
            edits = passing(call, ARGUMENT, "True") if call in written else ()
            name = call.written if call in written else call.name.rpartition(".")[2]
            draft = Draft(call.node, {"call": name}, edits=edits)
            value = call.argument(ARGUMENT)
            draft = placed(draft, value if isinstance(value, Site) else None, program, "True", lambda held: not held)
            if call in written or draft.written_at is not None:
                yield draft
            elif call.node.func not in told:  # once, however many configurations there are
                told.add(call.node.func)
                yield draft


def _leaves_kernels(call: Call) -> bool:
    if call.name.endswith(".from_argparse_args") and ARGUMENT in call.facts.source.text:
        return False  # an option may ask for them
    return call.literal(ARGUMENT) in (None, False) or _says(call, ARGUMENT, lambda held: not held)


def _stays_off_gpu(call: Call) -> bool:
    """A CPU has few nondeterministic kernels, and the result of a quick trial run is not kept."""
    without = catalogue.names("frameworks", "trainers")[call.name]["without_gpu"]
    if call.literal("accelerator") in without or _says(call, "accelerator", lambda held: held in without):
        return True
    trial = call.literal("fast_dev_run", default=False)
    return trial is not False and not _says(call, "fast_dev_run", lambda held: not held)


def _says(call: Call, argument: str, wanted: Callable[[object], bool]) -> bool:
    """Whether a configuration file gives an argument such a value by default."""
    value = call.argument(argument)
    return isinstance(value, Site) and cause(value, call.program, wanted) is not None
