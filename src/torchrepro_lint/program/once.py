"""Whether code runs once in a program, as far as can be seen.

A constant seed is harmless there; in code that runs again and again it would give the same numbers each
time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.index import Scope
from torchrepro_lint.program.data.loaders import outermost_loop
from torchrepro_lint.program.program import Program

_ONCE = frozenset({"main", "main_worker", "__init__", "train", "run", "setup", "setup_training"})
_PASSES = frozenset({"__iter__", "__next__", "__getitem__", "__getitems__", "forward", "training_step"})
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


def is_called_in_a_loop(function: Scope, program: Program) -> bool:
    """Whether the function is called in a loop, or run by processes started in one: each call would then begin
    with the same numbers."""
    if function.kind == "module":
        return False
    calls = program.callers_of(function) or []
    return any(outermost_loop(scope.facts, call.func) is not None for call, scope in calls)


def runs_in_each_pass(scope: Scope, program: Program, depth: int = 0) -> bool:
    """Whether a method that runs for each epoch, batch or sample leads to the place."""
    function = scope.function
    if function.kind != "function" or depth > MAX_CALLERS:
        return False
    if function.name.rpartition(".")[2] in _PASSES:
        return True
    return any(runs_in_each_pass(where, program, depth + 1) for where in _calling(function, program))


def _calling(function: Scope, program: Program) -> Iterator[Scope]:
    """Where a function is called, and where methods of its class or of a base of that call it through `self`."""
    for _, where in program.callers_of(function) or ():
        yield where
    owner, name = function.method_class, function.name.rpartition(".")[2]
    if owner is None:
        return
    family = [owner, *(base for base in program.names.bases(owner) if isinstance(base, Scope))]
    for facts in {member.facts for member in family}:
        for call, where in facts.calls.get(name, ()):
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
            through_self = isinstance(receiver, ast.Name) and receiver.id == where.function.self_name
            if through_self and where.function.method_class in family:
                yield where
