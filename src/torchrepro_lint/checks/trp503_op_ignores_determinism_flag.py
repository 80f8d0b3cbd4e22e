"""TRP503: an operation that varies under use_deterministic_algorithms(True) too, and does not say so."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_draft import draft_of, verdicts_of
from torchrepro_lint.dataflow import Module, Program


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call whose result varies whether or not the flag is set."""
    for verdict in verdicts_of(module, program):
        if verdict.behaviour.flag == "silent" and not verdict.exact:
            yield draft_of(verdict, program, "set" if verdict.flag is not None else None)
