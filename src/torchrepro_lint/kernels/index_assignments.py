"""`x[index] = values`, where the index may name a place twice: which of the values stays is not fixed on CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ITEM, ModuleFacts, Scope
from torchrepro_lint.kernels.context import context
from torchrepro_lint.kernels.repeats import Places, Repeats
from torchrepro_lint.kernels.tensors import Tensors


class IndexAssignment(NamedTuple):
    """The statement, and the part of the index that may repeat."""

    node: ast.stmt
    target: ast.Subscript
    repeating: ast.expr


def index_assignments(facts: ModuleFacts, program: Program) -> Iterator[IndexAssignment]:
    """Those of a file that training may run, in source order."""
    for item in facts.subscript_sets.get(ITEM, ()):
        if item.value is None or isinstance(item.value, ast.Constant):
            continue
        index = _repeating(item.target, item.scope, program)
        if index is not None and _is_tensor(item.target.value, item.scope, program):
            value = Tensors(program).traits(item.value, item.scope)
            if value.tensor is True and value.rank != 0 and context(item.target, item.scope, program).role is None:
                yield IndexAssignment(item.statement, item.target, index)


def _repeating(target: ast.Subscript, scope: Scope, program: Program) -> ast.expr | None:
    """The part of an index that may repeat, unless another part names each place once."""
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    told: dict[Places, Site] = {}
    for part in parts:
        if not isinstance(part, ast.Slice | ast.Constant | ast.UnaryOp):
            told[program.evaluate(part, scope, Repeats(program))] = Site(part, scope)
    return told["repeats"].node if "repeats" in told and "unique" not in told else None


def _is_tensor(expr: ast.expr, scope: Scope, program: Program) -> bool:
    traits = Tensors(program).traits(expr, scope)
    return traits.tensor is True and not traits.host
