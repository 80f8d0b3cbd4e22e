"""Whether a place in a program is reached when it runs as configured by default, as far as one matter is concerned.

Looks at the tests that are about the matter (`if args.seed is None`); others are taken to come out as they must. A test
whose outcome cannot be known is taken to fail. And whether a place is reached only where something is undone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchrepro_lint.dataflow import enclosing
from torchrepro_lint.dataflow.conditions import PathCondition, conditions
from torchrepro_lint.dataflow.frames import Frame
from torchrepro_lint.dataflow.options import Options
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope

MAX_CALLERS = 3  # how far up the calls is looked
_WANTED = {True: (Truth.ALWAYS, Truth.USUALLY), False: (Truth.NEVER, Truth.RARELY)}


def reached_by_default(node: ast.AST, scope: Scope, program: Program, about: Callable[[ast.expr], bool]) -> bool:
    """Whether every test that `about` accepts comes out so that `node` runs."""
    return all(comes_out(c, scope, program) for c in conditions(node, scope) if about(c.test))


def cleans_up(node: ast.AST, scope: Scope, program: Program, further: int = MAX_CALLERS) -> bool:
    """Whether a place undoes what was set up, or every call of its function does."""
    if enclosing.cleans_up(node, scope):
        return True
    calls = program.callers_of(scope.function) if scope.function.kind == "function" and further else None
    return bool(calls) and all(cleans_up(*call, program, further - 1) for call in calls or ())


def comes_out(condition: PathCondition, scope: Scope, program: Program) -> bool:
    """Whether a test comes out so by default, or for some call of the function that it stands in."""
    options = Options(program, [scope.facts], first=True)
    truth = options.truth(condition.test, scope, None)
    if truth is not Truth.UNKNOWN:
        return truth in _WANTED[condition.holds]
    function = scope.function
    calls = program.callers_of(function) or () if function.kind == "function" else ()
    frames = (Frame(function, call, Frame(caller)) for call, caller in calls)
    return any(options.truth(condition.test, scope, frame) in _WANTED[condition.holds] for frame in frames)
