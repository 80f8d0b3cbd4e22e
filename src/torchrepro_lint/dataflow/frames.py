"""Calls in progress, and how the object was constructed that the method of one is called on: from the frame backward,
by names, arguments and results, so that each object keeps the arguments that it was made with in this program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from torchrepro_lint.dataflow.binding import CONSTRUCTOR, argument_for, is_super
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.project.names import Variable

MAX_DEPTH = 8  # names, arguments and results between a use of an object and its construction
MAX_MADE = 8  # constructions that one expression may mean
HANDS_ON = frozenset({"builtins.enumerate", "builtins.iter", "itertools.islice", "tqdm.tqdm", "tqdm.auto.tqdm"})


class Frame(NamedTuple):
    """A call in progress: `function` entered by `call`, evaluated in `caller`; `owner` is the class of its `self`,
    and `receiver` is the object in `caller`, where no call says which it is."""

    function: Scope
    call: ast.Call | None = None
    caller: Frame | None = None
    owner: Scope | None = None
    receiver: ast.expr | None = None


class Reach:
    """How far out of the calls in progress answers have rested on what lies there.

    `outermost` is the depth of the frame nearest to the entry, of those that were looked into: where it lies in a run,
    the outcome is that of each equal run.
    """

    EVERYWHERE, NOWHERE = 0, 1_000

    def __init__(self) -> None:
        self.outermost = self.NOWHERE

    def note(self, depth: int) -> None:
        """An answer rests on a frame of this depth."""
        self.outermost = min(self.outermost, depth)

    @contextmanager
    def inside(self) -> Iterator[Reach]:
        """The reach of what is run here alone; afterwards it counts for what is around it, too."""
        outer, self.outermost = self.outermost, self.NOWHERE
        try:
            yield self
        finally:
            self.note(outer)


def depth_of(frame: Frame) -> int:
    """How many calls lead from an entry to a frame."""
    return sum(1 for _ in outwards(frame)) - 1


def shared_depth(frame: Frame, made: Frame) -> int:
    """The depth of the frame in progress, of those around `frame`, in which `made` was called."""
    around = [id(each) for each in outwards(frame)][::-1]
    return next((around.index(id(each)) for each in outwards(made) if id(each) in around), Reach.EVERYWHERE)


def outwards(frame: Frame | None) -> Iterator[Frame]:
    """A frame and those that it was called from."""
    while frame is not None:
        yield frame
        frame = frame.caller


def is_constructor(function: Scope) -> bool:
    """Whether a function is the constructor of a class."""
    return function.own_name == CONSTRUCTOR


def constructions(frame: Frame, program: Program) -> list[Frame] | None:
    """The calls of its constructor that may have made the `self` of a frame; None where one of them is not known. Of a
    dataclass, which has none in sight, the class is what is called."""
    return _of_self(frame, program, 0)


def kept_parameter(name: str, owner: Scope, program: Program) -> tuple[str, Scope] | None:
    """The parameter of a constructor, with the constructor, that each object of a class keeps as its attribute `name`,
    if that is all that the attribute is ever set to."""
    set_to = [pair for base in program.names.classes(owner) for pair in base.attributes.get(name, ())]
    set_to = set_to or program.values.kept_above(owner, name)
    kept, where = program.values.kept(*set_to[0], owner) if len(set_to) == 1 else (None, owner)
    value = kept.value if kept is not None else None
    if not isinstance(value, ast.Name) or not is_constructor(where):
        return None
    is_parameter = [binding.kind for binding in where.bindings.get(value.id, ())] == ["parameter"]
    return (value.id, where) if is_parameter else None


def kept_arguments(name: str, frame: Frame, program: Program) -> list[tuple[ast.expr, Frame]] | None:
    """What the constructions of `self` were given that it keeps as the attribute `name`, each with its construction;
    None where that is not known."""
    kept = kept_parameter(name, frame.owner, program) if frame.owner is not None else None
    made = constructions(frame, program) if kept is not None else None
    if kept is None or not made:
        return None
    parameter, where = kept
    given = [(argument_for(m.call, where, parameter), m) for m in made if m.call is not None and m.function is where]
    found = [(value, m) for value, m in given if isinstance(value, ast.expr)]
    return found if len(found) == len(made) else None


def _of_self(frame: Frame, program: Program, depth: int) -> list[Frame] | None:
    receiver = frame.receiver or (_held(frame.call) if frame.call is not None else None)
    if frame.owner is None or frame.caller is None or receiver is None:
        return None
    if is_super(receiver):
        return _of_self(frame.caller, program, depth + 1)
    if frame.receiver is None and is_constructor(frame.function):
        return [frame]
    made = _made(receiver, frame.caller.function, frame.caller, program, depth + 1)
    return [m for m in made if m.owner is frame.owner] if made is not None else None


def _held(call: ast.Call) -> ast.expr:
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def _made(expr: ast.expr, scope: Scope, frame: Frame, program: Program, depth: int) -> list[Frame] | None:
    """The constructors of the project by which an expression is made, whose calls are in progress."""
    if depth > MAX_DEPTH:
        return None
    match expr:
        case ast.Name() if scope.is_self(expr) and scope.function is frame.function:
            return _of_self(frame, program, depth + 1)
        case ast.Name(id=name):
            variable = program.resolve(expr, scope)
            if not isinstance(variable, Variable) or variable.scope is not frame.function:
                return None
            bindings = program.values.reaching(variable, expr, scope)
            if [b.kind for b in bindings] == ["parameter"]:
                return _passed(name, frame, program, depth)
            values = [b.value if b.kind == "assign" else None for b in bindings] or [None]
            return _all(_made(v, scope, frame, program, depth + 1) if v is not None else None for v in values)
        case ast.IfExp(body=body, orelse=orelse):
            return _all(_made(arm, scope, frame, program, depth + 1) for arm in (body, orelse))
        case ast.Call(args=[items, *_]) if program.qualified(expr.func, scope) in HANDS_ON:
            return _made(items, scope, frame, program, depth + 1)
        case ast.Call():
            callees = program.values.callees(expr, scope)
            return _all(_returned(callee, expr, frame, program, depth + 1) for callee in callees)
        case ast.Constant() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set():
            return []
    return None


def _passed(name: str, frame: Frame, program: Program, depth: int) -> list[Frame] | None:
    """What the call in progress gives a parameter."""
    given = argument_for(frame.call, frame.function, name) if frame.call is not None else None
    if not isinstance(given, ast.expr) or frame.caller is None:
        return None
    return _made(given, frame.caller.function, frame.caller, program, depth + 1)


def _returned(
    callee: str | Scope | None, call: ast.Call, frame: Frame, program: Program, depth: int
) -> list[Frame] | None:
    if not isinstance(callee, Scope):
        return [] if callee is not None else None
    if callee.kind == "class":
        constructor = program.names.method(callee, CONSTRUCTOR)
        if constructor is None and not _has_fields(callee):
            return None
        return [Frame(constructor or callee, call, frame, callee)]
    inner = Frame(callee, call, frame)
    return _all(_made(value, callee, inner, program, depth + 1) for value in callee.returns)


def _has_fields(owner: Scope) -> bool:
    """Whether a class is a dataclass, whose constructor takes its fields."""
    return any(last_name(name) == "dataclass" for name in owner.decorators)


def _all(ways: Iterable[list[Frame] | None]) -> list[Frame] | None:
    """Those of all ways; None where one is not known."""
    found: dict[Frame, None] = {}
    for way in ways:
        if way is None or len(found) > MAX_MADE:
            return None
        found |= dict.fromkeys(way)
    return list(found)
