"""One module per rule, found by its file name: `trp201_loader_without_generator.py` checks TRP201.

Each has `check(module, program)` that yields `Draft`s. No check knows of suppressions, printing or other files' text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from functools import cache
from importlib import import_module

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Module, Program

Check = Callable[[Module, Program], Iterator[Draft]]


@cache
def _modules() -> dict[str, str]:
    folder = os.path.dirname(__file__)
    stems = sorted(f[:-3] for f in os.listdir(folder) if f.startswith("trp") and f.endswith(".py"))
    return {stem[:6].upper(): stem for stem in stems}


def codes() -> list[str]:
    """The codes that have a check, sorted. (TRP001 to TRP004 are the engine's own.)"""
    return list(_modules())


def load(wanted: Collection[str]) -> list[tuple[str, Check]]:
    """The check functions of these codes, in order of code."""
    return [
        (code, import_module(f"torchrepro_lint.checks.{stem}").check)
        for code, stem in _modules().items()
        if code in wanted
    ]


__all__ = ["Check", "Draft", "Place", "codes", "load"]
