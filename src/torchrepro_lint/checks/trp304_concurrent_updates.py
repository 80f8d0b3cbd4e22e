"""TRP304: which process or thread comes first decides the result."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.loading.arrivals import arrivals
from torchrepro_lint.loading.concurrent_updates import remote_updates, shared_models


def check(module: Module, program: Program) -> Iterator[Draft]:
    facts = module.facts
    for arrival in arrivals(module, program):
        decision = arrival.decision
        yield Draft(
            arrival.call,
            {"call": facts.text(arrival.call.func), "why": decision.why},
            related=(Place(decision.facts, decision.node, f"the order {decision.why} here"),),
        )
    for shared in shared_models(module, program):
        started = Place(shared.started[1].facts, shared.started[0], "these processes step it")
        yield Draft(shared.call, {"call": facts.text(shared.call)}, "shared", related=(started,))
    for update in remote_updates(module, program):
        stepped = Place(update.function.facts, update.function.node, "its optimizer steps here")
        values = {"function": update.function.name}
        yield Draft(update.call, values, "remote", depends=("several trainers call it",), related=(stepped,))
