"""Weights that are drawn in vain: a function makes a model and loads others over all of its weights.

Follows functions of the project that a model is handed to. What is loaded in part, or after a training, is not meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable

from torchrepro_lint.dataflow.binding import argument_place, parameter_at
from torchrepro_lint.dataflow.enclosing import calls_in
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.seeding.seeding import Link

MAX_CALLS = 3  # from where weights are made to where others are loaded over them
_TRAINS = r"(?i)^(?:\w*_)?(?:train|fit|save|optimi[sz]e|update)(?:_\w*)?$"


def are_loaded_over(chain: Iterable[Link], program: Program) -> bool:
    """Whether a function on the way to the weights' draw loads others over them and does not train."""
    return any(
        _loads_over(step, program) and not any(_calls(name, step.scope.function) for name in ("backward", "step"))
        for step in chain
        if step.scope.function.kind in ("function", "module")
    )


def _loads_over(step: Link, program: Program) -> bool:
    """Whether the function that the step is in loads weights wherever the step is taken."""
    facts, function = step.scope.facts, step.scope.function
    made = [ast.unparse(t) for t in getattr(facts.statement(step.node), "targets", ())]
    loads = [call for call in _calls("load_state_dict", function) if not _copies(call) and not _is_partial(call, made)]
    if made and function.kind == "function":
        loads += [call for name in made for call in _loading(function, MAX_CALLS, program).get(name, ())]
    if not loads:
        return False
    around = set(facts.ancestors(step.node))
    return any(
        all(a in around for a in facts.ancestors(call) if isinstance(a, ast.If | ast.IfExp | ast.ExceptHandler))
        and not _is_trained_between(step.node, call, facts)
        for call in loads
    )


@remembered
def _loading(function: Scope, further: int, program: Program) -> dict[str, list[ast.Call]]:
    """The calls in a function of others that load all weights of what they are given, by the name that is given."""
    found: dict[str, list[ast.Call]] = {}
    for call, scope in ((call, scope) for call, scope in function.runs if isinstance(call, ast.Call)):
        callee = program.resolve(call.func, scope)
        if isinstance(callee, Scope) and callee.kind == "function":
            for given in (argument for argument in call.args if isinstance(argument, ast.Name)):
                parameter = parameter_at(callee, None, argument_place(call, given))
                if parameter is not None and parameter in _loaded(callee, further - 1, program):
                    found.setdefault(given.id, []).append(call)
    return found


@remembered
def _loaded(function: Scope, further: int, program: Program) -> frozenset[str]:
    """The names whose weights a function loads in any case, all of them."""
    loads = [call for call in _calls("load_state_dict", function) if not _copies(call) and not _is_partial(call, ())]
    held = [(call.func.value, call) for call in loads if isinstance(call.func, ast.Attribute)]
    found = [(holder.id, call) for holder, call in held if isinstance(holder, ast.Name)]
    for name, calls in _loading(function, further, program).items() if further else ():
        found += [(name, call) for call in calls]
    body = getattr(function.node, "body", ())
    return frozenset(name for name, call in found if function.facts.statement(call) in body)


def _is_partial(load: ast.Call, made: Collection[str]) -> bool:
    """Whether some weights stay as they were drawn: `net.body.load_state_dict(...)`, or with `strict=False`."""
    if any(k.arg == "strict" and isinstance(k.value, ast.Constant) and k.value.value is False for k in load.keywords):
        return True
    match load.func:
        case ast.Attribute(value=ast.Attribute(value=whole, attr=part)):
            return part != "module" and ast.unparse(whole) in made
    return False


def _is_trained_between(built: ast.AST, load: ast.Call, facts: ModuleFacts) -> bool:
    """Whether a loop of the same block ends between the two that makes the weights which are loaded: the best ones."""
    around, first = set(facts.ancestors(load)), built.lineno  # type: ignore[attr-defined]
    blocks = (getattr(a, "body", []) for a in facts.ancestors(built) if a in around)
    return any(
        isinstance(n, ast.For | ast.While) and n not in around and first < n.lineno < load.lineno and _trains(n)
        for block in blocks
        if isinstance(block, list)
        for n in block
    )


def _trains(loop: ast.For | ast.While) -> bool:
    """Whether a loop calls something for training, by its name, or saves."""
    return any(re.search(_TRAINS, last_name(call.func)) for call in calls_in(loop))


def _copies(load: ast.Call) -> bool:
    """Whether the weights are another model's, as a target network's: `target.load_state_dict(model.state_dict())`."""
    match load.args[:1]:
        case [ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute(), attr="state_dict"))]:
            return True
    return False


def _calls(name: str, function: Scope) -> list[ast.Call]:
    """The calls of that name in this very function."""
    return [call for call, where in function.facts.calls.get(name, ()) if where.function is function]
