"""TRP408: float32 products may be computed in fewer bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.kernels.flags import Setting, assigned, passed


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every place that allows it, by a switch or by a call."""
    for setting, reduced in _settings(module):
        values = program.constants(setting.value, setting.value_scope)
        if values and all(value in reduced for value in values):
            yield Draft(setting.node, {"written": setting.written})


def _settings(module: Module) -> Iterator[tuple[Setting, Sequence[object]]]:
    """The settings of a precision, and the values that reduce it."""
    for row in catalogue.table("backend_flags")["precision_switch"]:
        for name, reduced in row["switches"].items():
            yield from ((setting, reduced) for setting in assigned(module, row["owner"], name))
    rows = catalogue.names("backend_flags", "precision_call")
    for name in rows:
        yield from ((setting, rows[name]["reduced"]) for setting in passed(module, {name: rows[name]}))
