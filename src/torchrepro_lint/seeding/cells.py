"""Which cells of a notebook lead to its training: those that train, or make what a cell that does so reads. What others
make is shown and forgotten, as a layer that is tried out below its definition.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.dataflow.enclosing import ONLY_BINDS
from torchrepro_lint.index import ModuleFacts, arguments_of, calls_in, last_name
from torchrepro_lint.rng.updates import leads_to_update

_IN_PLACE = re.compile(r"^shuffle$|[a-z0-9]_$")  # `random.shuffle`, `torch.nn.init.normal_`
_FILE = re.compile(r"[^\s{}]+[./][^\s{}]+")  # as a path is written: no name of Python's is


def is_for_training(statement: ast.stmt, facts: ModuleFacts, program: Program) -> bool:
    """Whether anything from a statement on to the end of its cell leads to the training of a notebook."""
    tops = [first for first, _ in facts.source.cells]
    cell = bisect_right(tops, statement.lineno)
    leading = (s for s in _leading_to_training(facts, program) if not isinstance(s, ONLY_BINDS))
    below = (s for s in leading if (s.end_lineno or 0) >= statement.lineno)
    return any(bisect_right(tops, s.lineno) == cell for s in below)


def is_only_shown(node: ast.AST, facts: ModuleFacts, program: Program) -> bool:
    """Whether a node stands in a cell that leads to no training, in a notebook that has one which does."""
    top = next((s for s in (node, *facts.ancestors(node)) if facts.parents.get(s) is facts.tree), None)
    if not isinstance(top, ast.stmt) or not _leading_to_training(facts, program):
        return False
    return not is_for_training(top, facts, program)


def below(statement: ast.stmt, facts: ModuleFacts) -> list[ast.stmt]:
    """The statements of a notebook below the cell of one."""
    tops = [first for first, _ in facts.source.cells]
    cell = bisect_right(tops, statement.lineno)
    return [s for s in facts.tree.body if bisect_right(tops, s.lineno) > cell]


def may_change_trained(statements: Iterable[ast.stmt], facts: ModuleFacts, program: Program) -> bool:
    """Whether a function of the project, which statements call, is given what the training of a notebook reads."""
    read = {name for s in _leading_to_training(facts, program) for name in _Uses.of(s, facts).read}
    calls = (call for s in statements if not isinstance(s, ONLY_BINDS) for call in calls_in(s))
    own = (call for call in calls if not isinstance(program.callee(call, facts.scope_of(call)), str))
    return any(_root(argument) in read for call in own for argument in arguments_of(call))


@remembered
def _leading_to_training(facts: ModuleFacts, program: Program) -> frozenset[ast.stmt]:
    """The statements of a module that train, or bind or change what one of those further down reads."""
    found: set[ast.stmt] = set()
    wanted: set[str] = set()
    for statement in reversed(facts.tree.body):
        uses = _Uses.of(statement, facts)
        if (uses.bound | uses.changed) & wanted or _trains(statement, facts, program):
            found.add(statement)
            wanted = (wanted - uses.bound) | uses.read
    return frozenset(found)


def _trains(statement: ast.stmt, facts: ModuleFacts, program: Program) -> bool:
    """Whether a statement trains or makes ready to, itself or by a function of the notebook."""
    if isinstance(statement, ONLY_BINDS):
        return False
    calls, known = list(calls_in(statement)), catalogue.names("callables", "of_training")
    if any(name in known or name.endswith("Trainer") for name in (last_name(call.func) for call in calls)):
        return True
    functions = (f for call in calls for f in program.functions_run(call, facts.scope_of(call)))
    return any(leads_to_update(function, program) for function in functions)


class _Uses(NamedTuple):
    """The module's names that a statement reads before it binds them itself, those that it binds, and those of objects
    that it may change, as it calls their methods. Names of files count as well: what binds nothing may write them."""

    read: set[str]
    bound: set[str]
    changed: set[str]

    @classmethod
    def of(cls, statement: ast.stmt, facts: ModuleFacts) -> _Uses:
        uses = cls(set(), set(), set())
        is_assigned = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for node in _in_order(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) if name not in uses.bound:
                    uses.read.update({name} if facts.scope_of(node).binding_scope(name) is facts.scope else ())
                case ast.Name(id=name) if facts.scope_of(node) is facts.scope:
                    uses.bound.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    uses.bound.update({name} if node is statement else ())
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))) if not _is_imported(
                    name, facts
                ):
                    uses.changed.add(name)
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    uses.changed.add(_root(node))
                case ast.Call(func=function) if _IN_PLACE.search(last_name(function)):
                    uses.changed.update(map(_root, arguments_of(node)))
                case ast.Constant(value=str(name)) if _FILE.fullmatch(name):
                    uses.read.add(name)
                    uses.changed.update({name} if not is_assigned else ())
        return uses


def _root(value: ast.expr) -> str:
    """The name of the object that a value is, or is part of: `net` of `net.layers[0].weight`; empty for others."""
    while isinstance(value, ast.Attribute | ast.Subscript | ast.Starred):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _is_imported(name: str, facts: ModuleFacts) -> bool:
    return any(binding.kind == "import" for binding in facts.scope.bindings.get(name, ()))


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, what is assigned or iterated before the names that are given to it."""
    yield node
    parts = list(ast.iter_child_nodes(node))
    first = [getattr(node, field, None) for field in ("value", "iter", "generators")]
    parts.sort(key=lambda part: part not in first)
    for part in parts:
        yield from _in_order(part)
