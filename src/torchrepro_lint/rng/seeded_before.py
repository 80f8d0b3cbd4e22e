"""Whether anything may have seeded the global generators before a call runs, as far as names and calls show.

Looks at what stands above the call in its function and, up the calls, in the functions that lead to it. A
call of anything whose name has to do with seeds counts, and so does a project function that makes one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from torchrepro_lint.dataflow import CallSite, Program, remembered, remembered_in_file, start_of
from torchrepro_lint.dataflow.conditions import are_exclusive
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.project.entries import entries
from torchrepro_lint.rng.draws import seeder_of
from torchrepro_lint.rng.own_seeders import seeders_in

MAX_DEPTH = 4
SEEDS_BY_NAME = re.compile(r"seed|determinis|reproduc|randomness|(?:set|fix|init)_random", re.IGNORECASE)


def may_be_seeded_before(call: ast.Call, scope: Scope, program: Program, depth: int = 0) -> bool:
    """Whether a seed may have been set when `call` runs; true also where no program is known to run it."""
    function = scope.function
    seeding = _seeding_calls(function, program)
    above = (s for s in seeding if (s[0].end_lineno or 0, s[0].end_col_offset or 0) <= start_of(call))
    if any(not are_exclusive(site, (call, scope)) for site in above):
        return True
    if function.kind == "module":
        return not _is_program(scope.facts, program)
    callers = program.callers_of(function) if depth < MAX_DEPTH else None
    if callers:
        return any(may_be_seeded_before(c, where, program, depth + 1) for c, where in callers)
    started = bool(_seeding_calls(scope.facts.scope, program))
    return callers is None or started or not _is_program(scope.facts, program)


def is_seeded_right_above(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether the statements right above a call seed torch, and do nothing else but set switches."""
    statement = scope.facts.statement(call)
    body: list[ast.stmt] = getattr(scope.facts.parents[statement], "body", [])
    above = body[: body.index(statement)] if statement in body else []
    for before in reversed(above):
        if isinstance(before, ast.Assign) and isinstance(before.value, ast.Constant):
            continue
        if not isinstance(before, ast.Expr) or not isinstance(before.value, ast.Call):
            return False
        families = _seeded_by(before.value, scope, program)
        if "torch" in families or not families:
            return bool(families)
    return False


def _seeded_by(call: ast.Call, scope: Scope, program: Program) -> Collection[str]:
    """The generators that a call seeds, of a library's function or of one of the project's own."""
    seeder = seeder_of(program, program.qualified(call.func, scope), call, scope)
    target = program.resolve(call.func, scope) if seeder is None else None
    if not isinstance(target, Scope):
        return seeder.families if seeder is not None else ()
    return next((own.families for own in seeders_in(target.facts, program) if own.function is target), ())


@remembered
def _is_program(facts: ModuleFacts, program: Program) -> bool:
    return bool(entries(facts, program.project))


@remembered
def _seeding_calls(function: Scope, program: Program) -> list[CallSite]:
    """The calls that a function, or a module, makes itself and that may seed."""
    calls = _calls_by_function(function.facts).get(function, ())
    return [site for site in calls if may_seed(*site, program)]


@remembered_in_file
def _calls_by_function(facts: ModuleFacts) -> dict[Scope, list[CallSite]]:
    found: dict[Scope, list[CallSite]] = {}
    for site in facts.every_call():
        found.setdefault(site[1].function, []).append(site)
    return found


def may_seed(call: ast.Call, scope: Scope, program: Program, depth: int = 0) -> bool:
    """Whether a call, by its name or by what the function of the project calls, may seed."""
    name = last_name(call.func)
    if program.by_name(SEEDS_BY_NAME.search(name) is not None, "that a call may seed", scope, name):
        return True
    callee = program.resolve(call.func, scope) if depth < MAX_DEPTH else None
    return isinstance(callee, Scope) and callee.kind == "function" and _seeds(callee, depth + 1, program)


@remembered
def _seeds(function: Scope, depth: int, program: Program) -> bool:
    calls = _calls_by_function(function.facts).get(function, ())
    return any(may_seed(*site, program, depth) for site in calls)
