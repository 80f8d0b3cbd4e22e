"""TRP501: an operation whose CUDA kernel has no deterministic version."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_draft import draft_of, verdicts_of
from torchrepro_lint.dataflow import Module, Program


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call that raises under the flag, unless its result does not vary and the flag is not set."""
    for verdict in verdicts_of(module, program):
        if verdict.behaviour.flag != "raises" or (verdict.exact and verdict.flag != "strict"):
            continue
        message = "raises" if verdict.flag == "strict" else None
        yield draft_of(verdict, program, message, raises=verdict.flag == "strict")
