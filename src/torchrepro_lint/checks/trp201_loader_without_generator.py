"""TRP201: a loader that shuffles draws its order from the global generator."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.seeded_generator import seeded_generator
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.loading.loaders import argument, lacks_generator, loader_calls, shuffling
from torchrepro_lint.model import Certainty


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each loader that shuffles without `generator=`."""
    for call in loader_calls(module):
        certainty = shuffling(call)
        if certainty is None or not lacks_generator(call) or is_dead(call.node, call.scope):
            continue
        fix = seeded_generator(call, program)
        shuffle = argument(call, "shuffle")
        assert isinstance(shuffle, Site)
        literal = isinstance(shuffle.node, ast.Constant)
        written = shuffle.scope.facts.text(shuffle.node)
        is_configured = shuffle.scope.facts.source.kind == "configuration"
        yield Draft(
            call.node,
            {"call": call.written, "shuffle": f"shuffle: {written}" if is_configured else written},
            message=None if certainty is Certainty.CERTAIN or literal else "expression",
            certainty=certainty,
            edits=fix.edits,
            unsafe=fix.unsafe,
        )
