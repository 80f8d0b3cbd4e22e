"""TRP504: another package's kernel whose result varies."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_draft import draft_of, verdicts_of
from torchrepro_lint.dataflow import Module, Program

_MESSAGES = {"silent": None, "switches": "switches", "raises": "without"}


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call of such a kernel, but for those that this program's flag makes deterministic."""
    for verdict in verdicts_of(module, program, own=False):
        flag = verdict.behaviour.flag
        if verdict.exact or (flag == "switches" and verdict.flag is not None):
            continue
        message = "raises" if flag == "raises" and verdict.flag == "strict" else _MESSAGES[flag]
        yield draft_of(verdict, program, message, raises=message == "raises")
