"""Whether a place in a program is reached when it runs as configured by default, as far as seeds are
concerned.

Looks at the tests around the place that ask for a seed (`if args.seed is None`); other tests are taken to
hold. A test whose outcome cannot be known is taken to fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.intent import branches
from torchrepro_lint.dataflow.options import Options
from torchrepro_lint.dataflow.outcomes import COMPARE, Truth
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.project.declarations import constant, declared_options
from torchrepro_lint.project.unknown import UNKNOWN

Holds: TypeAlias = Callable[[object], bool]
_SEEDS = re.compile(r"seed", re.IGNORECASE)


def reached_by_default(node: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether every test around `node` that is about a seed comes out so that `node` runs."""
    tests = [(owner.test, taken) for owner, taken in branches(scope.facts, node)]
    tests += [(test, False) for test in _tried_before(scope.facts, node)]
    return all(_comes_out(test, taken, scope, program) for test, taken in tests if _is_about_seed(test))


def _is_about_seed(test: ast.expr) -> bool:
    return any(_SEEDS.search(getattr(n, "attr", getattr(n, "id", ""))) for n in ast.walk(test))


def _tried_before(facts: ModuleFacts, node: ast.AST) -> Iterator[ast.expr]:
    """`a` in `a or node`."""
    child = node
    for parent in facts.ancestors(node):
        if isinstance(parent, ast.stmt):
            return
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or):
            yield from (v for v in parent.values[: parent.values.index(child)])  # type: ignore[arg-type]
        child = parent


def _comes_out(test: ast.expr, taken: bool, scope: Scope, program: Program) -> bool:
    """Whether `test` is `taken` by default, or for some call of the function that it stands in."""
    truth = _options(scope.facts, program).truth(test, scope, None)
    if truth is not Truth.UNKNOWN:
        return truth in ((Truth.ALWAYS, Truth.USUALLY) if taken else (Truth.NEVER, Truth.RARELY))
    subject, holds = _question(test)
    return any(holds(value) is taken for value in _first_values(subject, scope, program))


def _options(facts: ModuleFacts, program: Program) -> Options:
    return Options(program, [facts])


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
            known = _options(caller.facts, program).values(passed, caller, None)
            yield from (value.value for value in known or ())
