"""Numbers that only stand for items while sequences of them are compared: words that become characters for an edit
distance. Any numbering gives the same result, so nothing depends on the order in which the items got theirs.
"""

from __future__ import annotations

import ast
from typing import Literal, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.use import ESCAPED, Sink, Steps, Use
from torchrepro_lint.index import Scope

_Held: TypeAlias = Literal["numbering", "numbers"]
_PACKS = frozenset({"builtins.chr", "builtins.str", "builtins.list", "builtins.tuple"})


def only_compares(numbering: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether all that is made of a dict with the numbers of items is an argument of functions that compare."""
    search = Follow(_POLICY, program)
    compared = list(search.found([Use(numbering, scope, "numbering")]))
    return bool(compared) and not search.escaped


def _judge(use: Use[_Held], edges: Edges) -> Steps | None:
    parent = use.parent
    match parent:
        case ast.Assign(targets=[ast.Name()]) | ast.Return():
            return None
        case ast.Subscript(value=value, ctx=ast.Load()) if use.state == "numbering" and value is use.node:
            return (use.become("numbers").at(parent),)
        case ast.ListComp() | ast.GeneratorExp() | ast.List() | ast.Tuple() if use.state == "numbers":
            return (use.at(parent),)
        case ast.Call() if use.state == "numbers" and use.call is not None:
            return _passed(use, use.call, edges.program)
    return (ESCAPED,)


def _passed(use: Use[_Held], call: ast.Call, program: Program) -> Steps:
    name = program.callee(call, use.scope)
    if name in catalogue.table("order")["compares"]["names"]:
        return (Sink(call),)
    is_join = isinstance(call.func, ast.Attribute) and call.func.attr == "join"
    return (use.at(call),) if name in _PACKS or is_join else (ESCAPED,)


_POLICY: Policy[_Held, ast.Call] = Policy("comparisons of numbered items", _judge, is_complete=True, bound=60)
