"""Models that several processes update at once: Hogwild on shared memory, and parameter servers over RPC.

Goes by the call that shares the model, and by what the processes run. What only reads shared weights is no update.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, CallSite, Module, Program, Site, calls_like, remembered
from torchrepro_lint.dataflow.abstract_values import Constant, Origin
from torchrepro_lint.dataflow.enclosing import ancestors, inside
from torchrepro_lint.index import ModuleFacts, Scope, arguments_of
from torchrepro_lint.loading.arrivals import given_to, runs_several
from torchrepro_lint.rng.updates import leads_to_update, updates_model

_PROCESS = ("multiprocessing.Process", "torch.multiprocessing.Process", "multiprocessing.context.Process")


class SharedModel(NamedTuple):
    """`model.share_memory()`, and the call that starts processes which step an optimizer on it."""

    call: ast.Call
    started: CallSite


class RemoteUpdate(NamedTuple):
    """A call over RPC of a `function` that steps an optimizer."""

    call: ast.Call
    function: Scope


def shared_models(module: Module, program: Program) -> Iterator[SharedModel]:
    """Those of a file, in source order."""
    for call, scope in module.facts.calls.get("share_memory", ()):
        if isinstance(call.func, ast.Attribute):
            started = next(_started_with(call.func.value, scope, program), None)
            if started is not None:
                yield SharedModel(call, started)


def _started_with(model: ast.expr, scope: Scope, program: Program) -> Iterator[CallSite]:
    """The calls in the same file that start several processes with the model, each of which steps."""
    made = [o for o in program.origins(model, scope) if not isinstance(o, Constant)]
    given = _given(scope.facts, program)
    for (call, where), run in dict.fromkeys(start for origin in made for start in given.get(origin, ())):
        if runs_several(call, where, program) and leads_to_update(run, program):
            yield call, where


@remembered
def _given(facts: ModuleFacts, program: Program) -> dict[Origin, list[tuple[CallSite, Scope]]]:
    """The calls of a file that start processes, with the function that these run, by what is passed."""
    found: dict[Origin, list[tuple[CallSite, Scope]]] = {}
    for (call, where), run in (*_runners(facts, program), *_process_objects(facts, program)):
        passed = (*given_to(call), *arguments_of(call))
        for origin in {o for p in passed for o in program.origins(p, where)}:
            found.setdefault(origin, []).append(((call, where), run))
    return found


def _runners(facts: ModuleFacts, program: Program) -> Iterator[tuple[CallSite, Scope]]:
    """`Process(target=f, args=...)` and `spawn(f, args=...)` with the function that they run."""
    names = catalogue.names("order", "runners")
    for call, where in calls_like(names, facts):
        given = [k.value for k in call.keywords if k.arg in ("target", "fn")] or call.args[:1]
        run = program.definition(given[0], where) if given and _is_one(call, where, names, program) else None
        if run is not None:
            yield (call, where), run


def _is_one(call: ast.Call, scope: Scope, names: Collection[str], program: Program) -> bool:
    """Whether it calls one of the names, or the same of a context, as `get_context("spawn").Process`."""
    if program.callee(call, scope) in names:
        return True
    made = program.makers(call.func.value, scope) if isinstance(call.func, ast.Attribute) else ()
    return any(str(maker).endswith("multiprocessing.get_context") for maker in made)


def _process_objects(facts: ModuleFacts, program: Program) -> Iterator[tuple[CallSite, Scope]]:
    """Constructions of the project's subclasses of Process with their `run`."""
    for owner in facts.scope.children.values():
        run = program.names.method(owner, "run") if owner.kind == "class" else None
        if run is not None and any(base in _PROCESS for base in program.external_bases(owner)):
            for call, where in facts.calls.get(owner.name, ()):
                if program.resolve(call.func, where) is owner:
                    yield (call, where), run


def remote_updates(module: Module, program: Program) -> Iterator[RemoteUpdate]:
    """The calls over RPC in a file of what steps an optimizer, in source order."""
    for call in module.calls(catalogue.names("order", "remote_calls").keys()):
        function = _remote_function(call, program)
        if function is not None and _steps_once(function, program):
            yield RemoteUpdate(call.node, function)


def _steps_once(function: Scope, program: Program) -> bool:
    """Whether one call is one step: a function with a loop around its steps trains by itself."""
    calls = [node for node in inside(function) if isinstance(node, ast.Call)]
    steps = [c for c in calls if updates_model(c, function.facts.scope_of(c), program)]
    return any(not any(isinstance(a, ast.For | ast.While) for a in ancestors(step, function)) for step in steps)


def _remote_function(call: Call, program: Program) -> Scope | None:
    passed = call.argument("func", 1)
    function = program.definition(*passed) if isinstance(passed, Site) else None
    return function if function is not None and function.kind == "function" else None
