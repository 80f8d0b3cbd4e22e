"""TRP301: every epoch of a distributed run sees the data in the same order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.epoch_edit import set_epoch
from torchrepro_lint.checks.said_on_purpose import is_on_purpose
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.elements import Certainty
from torchrepro_lint.loading.epochs import repeated_order
from torchrepro_lint.loading.samplers import training_samplers


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Each training sampler that an epoch loop iterates and nothing calls `set_epoch` on."""
    if "Sampler" not in module.facts.source.text:
        return
    for sampler in training_samplers(module, program):
        call = sampler.call
        found = None if _own_seed(call) else repeated_order(program, call)
        if found is not None:
            loop, uses = found
            yield Draft(
                call.node,
                {"sampler": call.facts.text(call.node.func)},
                certainty=None if sampler.certain and loop.sure else Certainty.LIKELY,
                related=(Place(loop.scope.facts, loop.node, "every epoch iterates over it in the same order"),),
                edits=set_epoch(program, call, uses, loop),
                unsafe=is_on_purpose(call.facts, call.node) or is_on_purpose(loop.scope.facts, loop.node),
            )


def _own_seed(call: Call) -> bool:
    """A sampler that is made again with a computed seed (`seed=args.seed + epoch`) has a different order in
    each epoch."""
    seed = call.argument("seed")
    return isinstance(seed, Site) and isinstance(seed.node, ast.BinOp)
