"""TRP203: a random sampler or split draws from the global generator."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.seeded_generator import seeded_generator
from torchrepro_lint.dataflow import Call, Module, Program
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.loading.loaders import lacks_generator, samplers
from torchrepro_lint.rng.seeded_before import is_seeded_right_above

_SPLIT = "torch.utils.data.random_split"  # draws once, when it is called


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each sampler and split without `generator=`."""
    for call in module.calls(samplers().keys()):
        if not lacks_generator(call) or is_dead(call.node, call.scope) or _draws_by_itself(call, program):
            continue
        if call.name == _SPLIT and is_seeded_right_above(call.node, call.scope, program):
            continue
        fix = seeded_generator(call, program)
        what = samplers()[call.name]["what"]
        yield Draft(call.node, {"call": call.written, "what": what}, edits=fix.edits, unsafe=fix.unsafe)


def _draws_by_itself(call: Call, program: Program) -> bool:
    """A subclass with its own `__iter__` decides what it draws from."""
    return call.subclass is not None and program.names.method(call.subclass, "__iter__") is not None
