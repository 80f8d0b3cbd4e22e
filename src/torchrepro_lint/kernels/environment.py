"""Where the Python files of a project set an environment variable, in the spellings that programs use. Knows nothing of
what a variable means."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow import Program, start_of
from torchrepro_lint.index import ModuleFacts, Scope, descendants


class EnvironmentSet(NamedTuple):
    """One place that sets the variable. `value` is None where it cannot be known."""

    node: ast.AST
    written: ast.expr
    scope: Scope
    value: str | None


def sets(program: Program, facts: ModuleFacts, variable: str) -> list[EnvironmentSet]:
    """Every place in a file that puts `variable` into this process's environment, in source order."""
    found = list(_assignments(program, facts, variable))
    for name in ("setdefault", "putenv", "update"):
        for call, scope in facts.calls.get(name, ()):
            owner = program.qualified(call.func, scope)
            if owner in (f"os.environ.{name}", "os.putenv"):
                found += [_set(program, call, value, scope) for value in _given(call, variable)]
    return sorted(found, key=lambda s: start_of(s.written))


def _assignments(program: Program, facts: ModuleFacts, variable: str) -> Iterator[EnvironmentSet]:
    for item in facts.subscript_sets.get(variable, ()):
        if item.value is not None and program.qualified(item.target.value, item.scope) == "os.environ":
            yield _set(program, item.statement, item.value, item.scope)


def _set(program: Program, node: ast.AST, written: ast.expr, scope: Scope) -> EnvironmentSet:
    value = program.literal(written, scope)
    return EnvironmentSet(node, written, scope, value if isinstance(value, str) else None)


def _given(call: ast.Call, variable: str) -> Iterator[ast.expr]:
    """The values that `setdefault("X", v)`, `putenv("X", v)`, `update(X=v)` or `update({"X": v})` give it."""
    match call.args:
        case [ast.Constant(value=key), value] if key == variable:
            yield value
        case [ast.Dict(keys=keys, values=values)]:
            for name, given in zip(keys, values, strict=True):
                if isinstance(name, ast.Constant) and name.value == variable:
                    yield given
    for keyword in call.keywords:
        if keyword.arg == variable:
            yield keyword.value


def named_in(facts: ModuleFacts, variable: str) -> bool:
    """Whether the code of a file (not a comment) names the variable at all."""
    return any(
        (isinstance(node, ast.Constant) and isinstance(node.value, str) and variable in node.value)
        or (isinstance(node, ast.keyword) and node.arg == variable)
        for node in descendants(facts.tree)
    )
