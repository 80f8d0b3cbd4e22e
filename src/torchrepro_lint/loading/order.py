"""Whether the order of a listing's or set's items decides anything: which sample an index means, which file comes
first, how classes are numbered.

Knows only uses that show an order for certain, by the catalogue's `order` table. What takes the items in any order (a
sum, a lookup, a loop that deletes), and what cannot be followed, decides nothing.
"""

from __future__ import annotations

import ast
from functools import partial

from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import ANY, STOP, Path, Steps, Use
from torchrepro_lint.index import Scope
from torchrepro_lint.loading import order_loops, order_taken
from torchrepro_lint.loading.decisions import Decision, Shown, is_sorted_at, most_telling, stored
from torchrepro_lint.loading.loops import Loop


def decided_by(node: ast.expr, scope: Scope, program: Program, path: Path = ()) -> Decision | None:
    """What the order of the items of `node` decides, or of what it holds under `path`: the first thing that is more
    than which one of them is taken, if there is any. An object that is asked for its length counts any of them."""
    if scope.function.own_name == "__len__":
        return None
    return most_telling(_search(node, program).found([Use(node, scope, "sequence", path)]))


@remembered
def decided_in(loop: Loop, scope: Scope, program: Program) -> Decision | None:
    """What the order of a loop's rounds decides, likewise."""
    search = _search(loop.iter, program)
    return most_telling(search.found(order_loops.rounds(loop, Use(loop.iter, scope, "sequence"), search.edges)))


def _search(asked: ast.expr, program: Program) -> Follow[Shown, Decision]:
    policy: Policy[Shown, Decision] = Policy("uses of an order", partial(_judge, asked), order_taken.within)
    return Follow(policy, program)


def _judge(asked: ast.expr, use: Use[Shown], edges: Edges) -> Steps | None:
    if use.state == "text":
        return order_taken.text(use)
    if _is_sorted_parameter(use):
        return STOP
    parent, facts = use.parent, use.scope.facts
    match parent:
        case ast.Assign(targets=targets):
            return [step for target in targets for step in stored(target, parent, use, edges)]
        case ast.AnnAssign(target=target) | ast.AugAssign(op=ast.Add(), target=target):
            return stored(target, parent, use, edges)
        case ast.NamedExpr(target=target):
            return [*stored(target, parent, use, edges), use.at(parent)]
        case ast.withitem(optional_vars=ast.expr() as target):
            return stored(target, facts.parents[parent], use, edges)
        case ast.Return() | ast.YieldFrom():
            return order_loops.returned(parent, use, edges)
        case ast.IfExp(test=test) if test is use.node:
            return STOP
        case ast.IfExp() | ast.BoolOp() | ast.Await() | ast.BinOp(op=ast.Add() | ast.Mult()):  # `files * passes`
            return (use.at(parent),)
        case ast.BinOp(op=ast.Sub() | ast.Div(), left=left) if left is use.node and use.state == "sequence":
            return (use.at(parent),)  # `images / 255`
        case ast.Call() | ast.keyword() if use.call is not None:
            return order_taken.passed(use, use.call, asked, edges)
        case ast.Attribute():
            return order_taken.method(parent, use, edges)
        case ast.Subscript(value=value) if value is use.node:
            return order_taken.indexed(parent, use, edges, asked)
        case ast.Tuple() | ast.List() | ast.Dict() | ast.ListComp() | ast.DictComp() | ast.GeneratorExp():
            return None
        case ast.Starred() if isinstance(display := facts.parents[parent], ast.List | ast.Tuple):
            return (use.become("sequence").at(display),)
        case ast.Starred() if isinstance(call := facts.parents[parent], ast.Call) and call.args == [parent]:
            is_turned = edges.program.qualified(call.func, use.scope) == "builtins.zip"  # `paths, labels = zip(*rows)`
            return (use.become("sequence").at(call, (ANY,)),) if is_turned else STOP
        case ast.For() | ast.AsyncFor() if parent.iter is use.node:
            return order_loops.rounds(parent, use, edges)
        case ast.comprehension() if parent.iter is use.node:
            return order_loops.comprehension(parent, use, edges)
    return STOP


def _is_sorted_parameter(use: Use[Shown]) -> bool:
    """Whether a function sorts what it is given: `items.sort(key=number)`."""
    if not isinstance(use.node, ast.Name):
        return False
    made, owner = use.scope.bindings_of(use.node), use.scope.binding_scope(use.node.id)
    if owner is None or not any(b.kind == "parameter" for b in made):
        return False
    reads = use.scope.facts.reads(owner.node).of_name(use.node.id)
    return any(is_sorted_at(read, use.scope.facts.scope_of(read)) for read in reads)
