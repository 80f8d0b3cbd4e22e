"""Whether a place in a program is reached when it runs as configured by default, as far as one matter is concerned.

Looks at the tests that are about the matter (`if args.seed is None`); others are taken to come out as they must. A test
whose outcome cannot be known is taken to fail.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.conditions import Condition, conditions
from torchrepro_lint.dataflow.options import Options, outcome
from torchrepro_lint.dataflow.outcomes import COMPARE, Truth
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope
from torchrepro_lint.project.declarations import constant, declared_options
from torchrepro_lint.project.unknown import UNKNOWN

Holds: TypeAlias = Callable[[object], bool]


def reached_by_default(node: ast.AST, scope: Scope, program: Program, about: Callable[[ast.expr], bool]) -> bool:
    """Whether every test that `about` accepts comes out so that `node` runs."""
    return all(comes_out(c, scope, program) for c in conditions(node, scope) if about(c.test))


def comes_out(condition: Condition, scope: Scope, program: Program) -> bool:
    """Whether a test comes out so by default, or for some call of the function that it stands in."""
    truth = outcome(condition.test, scope, program)
    if truth is not Truth.UNKNOWN:
        return truth in ((Truth.ALWAYS, Truth.USUALLY) if condition.holds else (Truth.NEVER, Truth.RARELY))
    subject, holds = _question(condition.test)
    return any(holds(value) is condition.holds for value in _first_values(subject, scope, program))


def _question(test: ast.expr) -> tuple[ast.expr, Holds]:
    """What a test is about, and whether it holds for a value of it."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            subject, holds = _question(operand)
            return subject, partial(_fails, holds)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
            wanted = constant(right)
            if wanted is not UNKNOWN:
                return left, partial(_compares, COMPARE[type(op)], wanted)
    return test, bool


def _fails(holds: Holds, value: object) -> bool:
    return not holds(value)


def _compares(compare: Callable[[Any, Any], bool], wanted: object, value: object) -> bool:
    try:
        return bool(compare(value, wanted))
    except TypeError:  # None < 0
        return False


def _first_values(subject: ast.expr, scope: Scope, program: Program) -> Iterator[object]:
    """The values that an option or parameter has before the program itself chooses one for it."""
    name = getattr(subject, "attr", getattr(subject, "id", ""))
    option = declared_options(scope.facts).get(name)
    if option is not None:
        yield option.value
        return
    owner = scope.binding_scope(name) if isinstance(subject, ast.Name) else None
    if owner is None or owner.bindings[name][0].kind != "parameter":
        return
    default = owner.bindings[name][0].value
    for call, caller in program.callers_of(owner) or ():
        passed = argument_for(call, owner, name)
        if passed is None and isinstance(default, ast.Constant):
            yield default.value
        elif isinstance(passed, ast.expr):
            known = Options(program, [caller.facts]).values(passed, caller, None)
            yield from (value.value for value in known or ())
