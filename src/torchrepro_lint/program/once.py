"""Whether code runs once in a program, as far as can be seen.

A constant seed is harmless there; in code that runs again and again it would give the same numbers each
time.
"""

from __future__ import annotations

import ast

from torchrepro_lint.index import Scope
from torchrepro_lint.program.data.loaders import outermost_loop
from torchrepro_lint.program.program import Program

_ONCE = frozenset({"main", "main_worker", "__init__", "train", "run", "setup", "setup_training"})
MAX_CALLERS = 4  # how far up the calls is looked


def runs_once(program: Program, node: ast.AST, scope: Scope, depth: int = 0) -> bool:
    """Whether `node` stands outside loops, in a function that is called at one place that runs once."""
    if scope.kind in ("lambda", "comprehension") or outermost_loop(scope.facts, node) is not None:
        return False
    function = scope.function
    if function.kind == "module" or function.name.rpartition(".")[2] in _ONCE:
        return True
    calls = program.callers_of(function) if depth < MAX_CALLERS else None
    return calls is not None and len(calls) == 1 and runs_once(program, *calls[0], depth + 1)
