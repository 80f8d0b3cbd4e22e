"""Whether anything may have seeded the global generators before a call runs, as far as names and calls show.

Looks at what stands above the call in its function and, up the calls, in the functions that lead to it. A
call of anything whose name has to do with seeds counts, and so does a project function that makes one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint.dataflow.conditions import are_exclusive
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.project.entries import entries

MAX_DEPTH = 4
_SEEDS = re.compile(r"seed|determinis|reproduc", re.IGNORECASE)


def may_be_seeded_before(call: ast.Call, scope: Scope, program: Program, depth: int = 0) -> bool:
    """Whether a seed may have been set when `call` runs; true also where no program is known to run it."""
    above = [site for site in _calls_of(scope.function) if _stands_before(site[0], call)]
    if any(_may_seed(*site, program) and not are_exclusive(site, (call, scope)) for site in above):
        return True
    function = scope.function
    if function.kind == "module":
        return not entries(scope.facts, program.project)
    callers = program.callers_of(function) if depth < MAX_DEPTH else None
    if callers:
        return any(may_be_seeded_before(c, where, program, depth + 1) for c, where in callers)
    started = any(_may_seed(c, where, program) for c, where in _calls_of(scope.facts.scope))
    return callers is None or started or not entries(scope.facts, program.project)


def _calls_of(function: Scope) -> Iterator[tuple[ast.Call, Scope]]:
    """The calls that a function, or a module, makes itself."""
    for sites in function.facts.calls.values():
        yield from (site for site in sites if site[1].function is function)


def _stands_before(one: ast.Call, other: ast.Call) -> bool:
    return (one.end_lineno or 0, one.end_col_offset or 0) <= (other.lineno, other.col_offset)


def _may_seed(call: ast.Call, scope: Scope, program: Program, depth: int = 0) -> bool:
    name = last_name(call.func)
    if _SEEDS.search(name):
        return True
    callee = program.resolve(call.func, scope) if depth < MAX_DEPTH else None
    if not isinstance(callee, Scope) or callee.kind != "function":
        return False
    return any(_may_seed(c, where, program, depth + 1) for c, where in _calls_of(callee))
