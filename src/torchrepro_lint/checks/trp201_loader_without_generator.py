"""TRP201: a loader that shuffles draws its order from the global generator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, repeat

from torchrepro_lint.checks.draft import Draft, Fix, Place
from torchrepro_lint.checks.seeded_generator import seeded_generator
from torchrepro_lint.dataflow import Module, Program, Site
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.dataflow.instantiated import instantiated_calls
from torchrepro_lint.elements import Certainty
from torchrepro_lint.loading.loaders import argument, lacks_generator, loader_calls, loaders, shuffling
from torchrepro_lint.loading.looked_at import replaced


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each loader that shuffles without `generator=`."""
    written, configured = loader_calls(module.facts, program), instantiated_calls(module, program, loaders())
    left_out = replaced(module.facts, program)
    for call, is_written in chain(zip(written, repeat(True)), zip(configured, repeat(False))):
        certainty = shuffling(call)
        if certainty is None or not lacks_generator(call) or is_dead(call.node, call.scope) or call.node in left_out:
            continue
        fix = seeded_generator(call, program) if is_written else Fix()  # Hydra may copy what it is given
        shuffle = argument(call, "shuffle")
        assert isinstance(shuffle, Site)
        literal = isinstance(shuffle.node, ast.Constant)
        text = shuffle.scope.facts.text(shuffle.node)
        is_configured = shuffle.scope.facts.source.kind == "configuration"
        kind = "configured" if is_configured else "expression"
        yield Draft(
            call.node,
            {"call": call.written, "shuffle": text},
            message=None if certainty is Certainty.CERTAIN or literal else kind,
            certainty=certainty,
            related=(Place(shuffle.scope.facts, shuffle.node, "told to shuffle here"),) if is_configured else (),
            edits=fix.edits,
            unsafe=fix.unsafe,
        )
