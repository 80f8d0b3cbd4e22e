"""Which calls update a model: an optimizer's step, and the functions of the project that lead to one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint.dataflow import CallSite, Program, remembered
from torchrepro_lint.dataflow.enclosing import inside
from torchrepro_lint.dataflow.reached import reached
from torchrepro_lint.index import Scope, last_name

MAX_FUNCTIONS = 24  # that lead from a call to a step
_OPTIMIZER = re.compile(r"(?:^|_)opt(?:im|imizer|imiser|s)?(?:_|$|\d)", re.IGNORECASE)


def updates_model(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call is an optimizer's step, or leads to one."""
    functions = program.functions_run(call, scope)
    return _is_step(call, scope, program) or any(leads_to_update(function, program) for function in functions)


@remembered
def leads_to_update(function: Scope, program: Program) -> bool:
    """Whether a function steps an optimizer, itself or through others; of a class, its constructor."""

    def run_by(function: Scope) -> Iterator[Scope]:
        return (f for site in _calls_in(function, program) for f in program.functions_run(*site))

    near = reached([function], run_by, MAX_FUNCTIONS)
    return any(_is_step(*site, program) for function in near for site in _calls_in(function, program))


def _calls_in(function: Scope, program: Program) -> Iterator[CallSite]:
    if function.kind == "class":
        constructor = program.names.method(function, "__init__")
        yield from _calls_in(constructor, program) if constructor is not None else ()
        return
    for node in inside(function):
        if isinstance(node, ast.Call):
            yield node, function.facts.scope_of(node)


def _is_step(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`optimizer.step()`, known by what made it, or else by its name: an environment has a `step`, too."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "step" and is_on_optimizer(call, scope, program)


def is_of_optim(maker: str | Scope) -> bool:
    """Whether this is an optimizer's class, or a scheduler's."""
    return isinstance(maker, str) and maker.startswith("torch.optim.")


def is_on_optimizer(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a method is an optimizer's."""
    return isinstance(call.func, ast.Attribute) and is_optimizer(call.func.value, scope, program)


def is_optimizer(held: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether something is an optimizer, by what makes it or by its name."""
    made = program.makers(held, scope)
    if any(map(is_of_optim, made)):
        return not any("lr_scheduler" in str(maker) for maker in made)
    name = last_name(held)
    return program.by_name(_OPTIMIZER.search(name) is not None, "that something is an optimizer", scope, name)
