"""TRP404: deterministic algorithms are switched off, or only warn."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.configured import cause, placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.switch_edit import with_value
from torchrepro_lint.dataflow import UNKNOWN, Module, Opaque, Program, Site
from torchrepro_lint.dataflow.reachability import cleans_up
from torchrepro_lint.elements import Certainty, Level
from torchrepro_lint.kernels.flags import mentions, passed
from torchrepro_lint.kernels.switches import Switch
from torchrepro_lint.rng.predicates import is_unrequested


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every call that lets operations without a deterministic kernel run."""
    if not mentions(module.facts, "determinis"):
        return
    off: set[ast.AST] = set()  # the calls that switch the mode off: whether it would only warn is no matter there
    for row in catalogue.table("backend_flags")["strictness"]:
        switch = _strictness(row, module)
        for setting, _ in switch.settings:
            value = program.literal(setting.value, setting.value_scope)
            site, is_lenient = Site(setting.value, setting.value_scope), partial(_is_lenient, row)
            by_default = cause(site, program, is_lenient) if value is UNKNOWN else None
            kind = _kind(row, value) if by_default is None else _kind(row, program.literal(*by_default))
            if kind is None or setting.node in off or cleans_up(setting.node, setting.scope, program):
                continue
            if is_unrequested(setting.node, setting.scope, program):
                continue
            if kind == "off":
                off.add(setting.node)
            if kind == "off" and switch.temporary(setting, False):
                yield Draft(setting.node, {"written": setting.written}, "temporary", level=Level.NOTE)
            else:
                edits = with_value(setting, row["strict"])
                likely = Certainty.LIKELY if by_default is not None else None
                draft = Draft(setting.node, {"written": setting.written}, kind, edits=edits, certainty=likely)
                yield placed(draft, site, program, row["strict"], is_lenient)


def _strictness(row: Mapping[str, Any], module: Module) -> Switch:
    """The places of a file that call one of these, and whether they leave the mode on."""
    settings = list(passed(module, dict.fromkeys(row["names"], row)))
    values = (module.program.literal(setting.value, setting.value_scope) for setting in settings)
    states = [None if value is UNKNOWN else _kind(row, value) != "off" for value in values]
    return Switch(list(zip(settings, states, strict=True)), module.program, partial(_strictness, row))


def _is_lenient(row: Mapping[str, Any], value: object) -> bool:
    return _kind(row, value) is not None


def _kind(row: Mapping[str, Any], value: object | Opaque) -> str | None:
    """`off`, `lenient`, or None for a value that is neither or not known. (0 is not False here.)"""
    for kind in ("off", "lenient"):
        if any(value == v and type(value) is type(v) for v in row[kind]):
            return kind
    return None
