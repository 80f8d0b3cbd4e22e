"""TRP501: an operation whose CUDA kernel has no deterministic version."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_words import places_of, properties_of, values_of
from torchrepro_lint.program import Module, Program
from torchrepro_lint.program.kernels.triggers import any_called


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call that raises under the flag, unless its result does not vary and the flag is not set."""
    if not any_called(module.facts):
        return
    from torchrepro_lint.program.kernels.verdicts import verdicts  # much code, for the files that need it

    for verdict in verdicts(module, program):
        if verdict.behaviour.flag != "raises" or (verdict.exact and verdict.flag != "strict"):
            continue
        message = "raises" if verdict.flag == "strict" else "open" if verdict.open else None
        yield Draft(
            verdict.call.node,
            values_of(verdict),
            message,
            certainty=verdict.certainty,
            related=places_of(verdict),
            properties=properties_of(verdict),
        )
