"""What a hash decides: a bucket, a split, an order.

A hash that is only compared for equality, shown, kept as a key or returned by `__hash__` decides nothing that a run
would show.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import STOP, Sink, Steps, Use
from torchrepro_lint.index import Scope, last_name

_REDUCING = (ast.Mod, ast.BitAnd, ast.RShift, ast.FloorDiv, ast.Div)
_NUMBERS = frozenset({"builtins.abs", "builtins.int", "builtins.float", "builtins.round", "ctypes.c_size_t"})
_SHOWING = frozenset({"str", "repr", "hex", "format", "print", "debug", "info", "warning", "error", "log"})
_ORDERING = frozenset({"builtins.sorted", "builtins.min", "builtins.max"})
BUCKET, SPLIT, ORDER = "the bucket that it chooses", "the choice that it makes", "the order that it gives"


def decided_by(call: ast.Call, scope: Scope, program: Program) -> str | None:
    """What the result of a hash decides, None when nothing is known."""
    policy: Policy[bool, str] = Policy("uses of a hash", _judge, bound=40)
    return next(Follow(policy, program).found([Use(call, scope, False)]), None)


def _judge(use: Use[bool], edges: Edges) -> Steps | None:
    """The state is whether the number is a remainder or a fraction by now."""
    parent, is_reduced = use.parent, use.state
    bucket: Steps = (Sink(BUCKET),) if is_reduced else STOP
    match parent:
        case ast.BinOp(op=op, left=left):
            narrows = isinstance(op, _REDUCING) and (left is use.node or isinstance(op, ast.BitAnd))
            return (use.become(is_reduced or narrows).at(parent),)
        case ast.UnaryOp():
            return (use.at(parent),)
        case ast.Compare(ops=ops):
            is_ordered = any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops)
            return (Sink(SPLIT),) if is_reduced or is_ordered else STOP
        case ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.IfExp():
            return None
        case ast.Return() if use.scope.function.own_name != "__hash__":
            return (*edges.returned(use), *bucket)
        case ast.Lambda(body=body) if body is use.node:
            return (Sink(ORDER),) if _is_sort_key(parent, use.scope.parent or use.scope, edges.program) else STOP
        case ast.Call() | ast.keyword():
            return _passed(use, edges.program)
        case ast.FormattedValue() | ast.Return() | ast.Expr():
            return STOP
    return bucket


def _is_sort_key(function: ast.Lambda, scope: Scope, program: Program) -> bool:
    """`sorted(files, key=lambda f: hash(f))`"""
    keyword = scope.facts.parents[function]
    call = scope.facts.parents.get(keyword)
    if not isinstance(keyword, ast.keyword) or keyword.arg != "key" or not isinstance(call, ast.Call):
        return False
    is_sort = isinstance(call.func, ast.Attribute) and call.func.attr == "sort"
    return is_sort or program.callee(call, scope) in _ORDERING


def _passed(use: Use[bool], program: Program) -> Steps | None:
    call = use.call
    if call is None:
        return STOP
    if program.callee(call, use.scope) in _NUMBERS:
        return (use.at(call),)
    shown: Steps = STOP if last_name(call.func) in _SHOWING else (Sink(BUCKET),)
    return shown if use.state else None
