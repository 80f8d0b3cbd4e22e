"""What a container holds that begins empty: the keys, items and values that the program puts into it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.dataflow.use import STOP, Argument, Sink, Steps, Use
from torchrepro_lint.index import Scope

_MADE_EMPTY = frozenset({"builtins.list", "builtins.dict", "builtins.set", "collections.deque", "collections.Counter",
                         "collections.OrderedDict"})  # fmt: skip
_ADDS = {"append": 1, "appendleft": 1, "add": 1, "insert": 2}  # the last of so many arguments
_JOINS = ("update", "extend", "extendleft")


class Role(Enum):
    """What something is to the container: an item (of a mapping, a key), a value, that a subscript gives, or an item
    of such a value."""

    ITEM = "item"
    VALUE = "value"
    WITHIN = "within"


class Put(NamedTuple):
    """What is put into the container; `many` where each of its items is."""

    role: Role
    node: ast.expr
    scope: Scope
    many: bool = False


class Filling(NamedTuple):
    """What is put into a container in sight, and whether that may be all."""

    puts: tuple[Put, ...]
    is_complete: bool


def is_made_empty(made: ast.expr, callee: str | Scope | None = None) -> bool:
    """Whether a display, or a call of `callee`, makes a container without items: `[]`, `defaultdict(int)`."""
    match made:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(args=args, keywords=keywords):
            return callee == "collections.defaultdict" or (callee in _MADE_EMPTY and not args and not keywords)
    return False


@remembered
def filling(made: ast.expr, scope: Scope, program: Program) -> Filling:
    """What the program puts into the container that `made` makes."""
    search = Follow(_POLICY, program)
    puts = tuple(search.found([Use(made, scope, Role.ITEM)]))
    return Filling(puts, not search.escaped)


def _judge(use: Use[Role], edges: Edges) -> Steps | None:
    """The state of a use is the role of what is put in there."""
    match use.parent:
        case ast.Subscript(value=held, slice=key, ctx=ctx) as item if held is use.node:
            return _within(use, item) if isinstance(ctx, ast.Load) else map(Sink, _set(use, item, key, edges.program))
    if use.method is None:
        return None
    name, call = use.method
    inner = _within(use, call) if name == "setdefault" else STOP
    return (*map(Sink, _added(use, name, call, edges.program)), *inner)


def _within(use: Use[Role], item: ast.expr) -> Steps:
    return (use.become(Role.WITHIN).at(item),) if use.state is Role.ITEM else STOP


def _set(use: Use[Role], item: ast.Subscript, key: ast.expr, program: Program) -> Iterator[Put]:
    """`container[key] = value`, `container[key] += 1`"""
    yield Put(use.state, key, use.scope)
    match use.scope.facts.parents[item]:
        case ast.Assign(value=value) if use.state is Role.ITEM and not _is_empty(value, use.scope, program):
            yield Put(Role.VALUE, value, use.scope)


def _added(use: Use[Role], method: str, call: ast.Call, program: Program) -> Iterator[Put]:
    match call.args:
        case [items] if method in _JOINS:
            yield Put(use.state, items, use.scope, many=True)
        case [key, value] if method == "setdefault":
            yield Put(use.state, key, use.scope)
            if use.state is Role.ITEM and not _is_empty(value, use.scope, program):
                yield Put(Role.VALUE, value, use.scope)
        case [*_, added] if len(call.args) == _ADDS.get(method):
            yield Put(use.state, added, use.scope)


def _is_empty(value: ast.expr, scope: Scope, program: Program) -> bool:
    callee = program.qualified(value.func, scope) if isinstance(value, ast.Call) else None
    return is_made_empty(value, callee)


def _passed(_: Use[Role], __: Argument, callee: str | Scope | None, ___: Edges) -> Steps | None:
    """What Python's own functions are given, they do not change."""
    return STOP if isinstance(callee, str) and callee.startswith("builtins.") else None


_POLICY: Policy[Role, Put] = Policy("what is put into a container", _judge, passed=_passed, bound=100)
