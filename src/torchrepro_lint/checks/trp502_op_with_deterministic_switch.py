"""TRP502: an operation that is deterministic only under use_deterministic_algorithms(True)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_draft import draft_of, verdicts_of
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.elements import Property
from torchrepro_lint.index import ITEM

_PROPERTIES: Mapping[str, Property] = {
    "operation": "index-put",
    "package": "torch",
    "spelling": "torch.Tensor.index_put_",
    "direction": "forward",
    "devices": ["cuda", "cpu", "mps"],
    "arguments": {"accumulate": False},
}


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call that the flag would make deterministic, in a program that does not set it."""
    for verdict in verdicts_of(module, program):
        if verdict.behaviour.flag != "switches" or verdict.exact or verdict.flag == "strict":
            continue
        if verdict.flag == "lenient" and not verdict.behaviour.lenient:
            continue
        message = "lenient" if verdict.flag == "lenient" else None
        yield draft_of(verdict, program, message)
    if ITEM in module.facts.subscript_sets:
        yield from _assignments(module, program)


def _assignments(module: Module, program: Program) -> Iterator[Draft]:
    """`x[index] = values` with an index that may repeat."""
    from torchrepro_lint.kernels.determinism import requested
    from torchrepro_lint.kernels.index_assignments import index_assignments  # imported late: large

    facts = module.facts
    for item in index_assignments(facts, program):
        if requested(module.facts, program) != "strict":
            values = {"call": f"{facts.text(item.target)} = ..."}
            repeats = f"`{facts.text(item.repeating)}` names a place twice"
            yield Draft(item.node, values, "assignment", depends=(repeats,), properties=_PROPERTIES)
