"""Where an object that one call constructs is called itself: `criterion = CrossEntropyLoss(); criterion(x, y)`."""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import CallSite
from torchrepro_lint.dataflow.use import STOP, Argument, Sink, Steps, Use
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.layers import SEQUENCE

_SAME_OBJECT = frozenset({"to", "cuda", "cpu", "train", "float", "half", "double"})  # methods that give it back


def calls_of(call: Call, program: Program) -> list[CallSite]:
    """The calls of the object that `call` makes, as far as it can be followed."""
    return list(Follow(_POLICY, program).found([Use(call.node, call.scope, None)]))


def _judge(use: Use[None], _: Edges) -> Steps | None:
    parent = use.parent
    if isinstance(parent, ast.Call) and parent.func is use.node:
        return (Sink((parent, use.scope)),)
    if use.method is not None:
        name, call = use.method
        return (use.at(call),) if name in _SAME_OBJECT else STOP
    return None


def _passed(use: Use[None], argument: Argument, callee: str | Scope | None, _: Edges) -> Steps | None:
    """The first layer of a sequence is called with what the sequence is called with."""
    return (use.at(argument.call),) if callee == SEQUENCE and argument.position == 0 else None


_POLICY: Policy[None, CallSite] = Policy("calls of an object", _judge, passed=_passed, bound=64)
