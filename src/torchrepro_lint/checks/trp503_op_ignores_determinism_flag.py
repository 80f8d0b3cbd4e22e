"""TRP503: an operation that varies under use_deterministic_algorithms(True) too, and does not say so."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_verdicts import verdicts_of
from torchrepro_lint.checks.operation_words import places_of, properties_of, values_of
from torchrepro_lint.program import Module, Program


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call whose result varies whether or not the flag is set."""
    for verdict in verdicts_of(module, program):
        if verdict.behaviour.flag == "silent" and not verdict.exact:
            yield Draft(
                verdict.call.node,
                values_of(verdict),
                "set" if verdict.flag is not None else None,
                related=places_of(verdict),
                properties=properties_of(verdict),
            )
