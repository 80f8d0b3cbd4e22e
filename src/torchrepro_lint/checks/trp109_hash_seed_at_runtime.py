"""TRP109: PYTHONHASHSEED is set while Python is already running."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.kernels.environment import sets
from torchrepro_lint.rng.restarts import starts_python

VARIABLE = "PYTHONHASHSEED"


def check(module: Module, program: Program) -> Iterator[Draft]:
    for name in _written(module.facts):
        for found in sets(program, module.facts, name):
            if name != VARIABLE:
                yield Draft(found.node, {"name": name}, "misspelt")
            elif not starts_python(module, program):
                yield Draft(found.node)


def _written(facts: ModuleFacts) -> list[str]:
    """The variable, and what looks like a misspelling of it, as far as this file sets it."""
    keys = [key for key in facts.subscript_sets if key.startswith("P")]
    for name in ("setdefault", "putenv", "update"):
        for call, _ in facts.calls.get(name, ()):
            parts = (n for a in call.args for n in ([a] if isinstance(a, ast.Constant) else getattr(a, "keys", ())))
            keys += [n.value for n in parts if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            keys += [k.arg for k in call.keywords if k.arg]
    return sorted({key for key in keys if key == VARIABLE or _is_misspelt(key)})


def _is_misspelt(key: str) -> bool:
    if not (key.startswith("PY") and key.isupper() and abs(len(key) - len(VARIABLE)) <= 4):
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, key, VARIABLE).ratio() > 0.8
