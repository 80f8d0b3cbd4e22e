"""TRP502: an operation that is deterministic only under use_deterministic_algorithms(True)."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_draft import draft_of
from torchrepro_lint.checks.operation_verdicts import verdicts_of
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call that the flag would make deterministic, in a program that does not set it."""
    for verdict in verdicts_of(module, program):
        if verdict.behaviour.flag != "switches" or verdict.exact or verdict.flag == "strict":
            continue
        if verdict.flag == "lenient" and not verdict.behaviour.lenient:
            continue
        message = "lenient" if verdict.flag == "lenient" else None
        yield draft_of(verdict, program, message)
