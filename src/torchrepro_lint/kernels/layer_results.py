"""What a neural module makes of its input: dimensions, gradient. Knows the modules of torch.nn by the catalogue."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.layers import SEQUENCE, Layers
from torchrepro_lint.kernels.signatures import listed
from torchrepro_lint.kernels.traits import Traits, joined

Read = Callable[[ast.expr, Scope], Traits]
"""What is known of an expression."""


def ranks() -> dict[str, int]:
    """Functions and modules whose result has a fixed number of dimensions."""
    found: dict[str, int] = catalogue.table("tensors")["ranks"]
    return found


def module_result(made: Result, given: Traits, layers: Layers, read: Read) -> Traits:
    """What calling the module with `given` returns."""
    name = made.callee
    if not isinstance(name, str):
        chain = layers.sequence(made)
        if chain is not None:
            return _sequence(*chain, given, layers, read)
        return Traits(gradient=True if layers.learns(made) else None)
    if name == SEQUENCE:
        return _sequence(made.node, made.scope, given, layers, read)
    gradient = given.gradient if name in listed("modules", "without_parameters") else True
    found = Traits(tensor=True, floating=True, gradient=gradient)
    if name in ranks():
        return found.ranked(ranks()[name])
    if name == "torch.nn.Embedding":
        return replace(given, tensor=True, floating=True, gradient=True).shifted(1, 1)
    if name in listed("modules", "same"):
        return replace(given, tensor=True, floating=True, gradient=gradient)
    return replace(found, tensor=None) if name in listed("modules", "tuples") else found


def _sequence(built: ast.Call, scope: Scope, given: Traits, layers: Layers, read: Read) -> Traits:
    """A chain of modules, the arguments of `built`: the last one that fixes the number of dimensions decides it."""
    found = replace(given, tensor=True, floating=True, gradient=True)
    if not built.args or any(isinstance(a, ast.Starred) for a in built.args):
        return found.unranked()
    for layer in built.args:
        after = {_rank_after(m, found.rank, layers, read) for m in layers.made(layer, scope)}
        rank = after.pop() if len(after) == 1 else None
        found = found.unranked() if rank is None else found.ranked(rank)
    return found


def _rank_after(made: Result, before: int | None, layers: Layers, read: Read) -> int | None:
    forward = layers.forward(made)
    if forward is not None:
        return joined([read(value, forward) for value in forward.returns]).rank
    return before if made.callee in listed("modules", "same") else ranks().get(str(made.callee))
