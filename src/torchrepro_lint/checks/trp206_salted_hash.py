"""TRP206: the builtin `hash` of text or bytes decides a split, a bucket or an order."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.rng.chosen_seeds import seeds_anew
from torchrepro_lint.rng.hash_uses import decided_by
from torchrepro_lint.rng.texts import HASH, salted


def check(module: Module, program: Program) -> Iterator[Draft]:
    found = []
    for call in module.calls({HASH}):
        certainty = salted(call.node, call.scope, program)
        decided = decided_by(call.node, call.scope, program) if certainty is not None else None
        if decided is not None:
            found.append((call, certainty, decided))
    anew = seeds_anew(module.facts, program) if found else ()
    seeds = {source.node for seeding in anew for source in seeding.sources}
    for call, certainty, decided in found:
        if call.node not in seeds:  # a hash that becomes a seed is reported by TRP102
            text = call.facts.text(call.node)
            yield Draft(call.node, {"hash": text, "what": decided}, certainty=certainty)
