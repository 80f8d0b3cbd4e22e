"""TRP303: a distributed sampler's seed differs from rank to rank, so the ranks' shares overlap."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.rng.ranks import rank_in

_POSITIONS = {"torch.utils.data.DistributedSampler": 4}


def check(module: Module, program: Program) -> Iterator[Draft]:
    for call in module.calls(catalogue.names("distributed", "samplers").keys()):
        seed = call.argument("seed", _POSITIONS.get(call.name))
        if isinstance(seed, Site) and _may_shuffle(call):
            rank = rank_in(seed.node, seed.scope, program)
            if rank is not None:
                yield _draft(call, seed)


def _may_shuffle(call: Call) -> bool:
    """Without shuffling the seed is not used."""
    position = catalogue.names("distributed", "samplers")[call.name]["shuffle"]
    return call.literal("shuffle", position, default=True) is not False


def _draft(call: Call, seed: Site) -> Draft:
    elsewhere = seed.scope.facts is not call.facts
    return Draft(
        call.node,
        {"call": call.written, "seed": seed.scope.facts.text(seed.node)},
        related=(Place(seed.scope.facts, seed.node, "the seed is given here"),) if elsewhere else (),
    )
