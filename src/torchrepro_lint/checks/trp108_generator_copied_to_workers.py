"""TRP108: a data set draws from a generator object, of which every worker has the same copy.

Where the loader is known and has no `worker_init_fn`, TRP202 reports it there, with a fix.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Call, Module, Program
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.loading.loaders import lacks_worker_init
from torchrepro_lint.loading.shared_generators import Drawn, drawn_in_workers
from torchrepro_lint.loading.worker_draws import worker_draws


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each generator where it is made, with the first draw from it."""
    for call in module.calls(catalogue.names("loaders", "generators").keys()):
        if call.subclass is None and not is_dead(call.node, call.scope):
            drawn = drawn_in_workers(call, program)
            if drawn is not None and not _is_told_at_loader(drawn.loader):
                yield _draft(call, drawn)


def _is_told_at_loader(loader: Call | None) -> bool:
    return loader is not None and lacks_worker_init(loader) and worker_draws(loader).first("held") is not None


def _draft(call: Call, drawn: Drawn) -> Draft:
    facts = call.facts
    holder = facts.statement(call.node)
    target = holder.targets[0] if isinstance(holder, ast.Assign) else getattr(holder, "target", call.node)
    loader = drawn.loader
    places = [Place(drawn.scope.facts, drawn.node, "a worker draws from its copy here")]
    if loader is not None:
        places.append(Place(loader.facts, loader.node, "its workers get the copies"))
    return Draft(
        call.node,
        {"generator": facts.text(target), "method": drawn.method},
        depends=() if loader is not None else ("a loader with workers reads it",),
        related=tuple(places),
    )
