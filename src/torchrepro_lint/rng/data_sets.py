"""Shuffles and splits of Hugging Face data sets that are given no seed: they take one from numpy's global generator.

Knows a data set by the call that made it, through any chain of methods and keys.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope

MAX_DEPTH = 6  # names between a data set and the call that made it


@cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    return catalogue.names("rng", "data_set_methods")


def data_set_draw(call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    """The catalogue's row of a call that draws, unless a keyword or `shuffle=False` keeps it from that."""
    function = call.func
    row = _rows().get(function.attr) if isinstance(function, ast.Attribute) else None
    if row is None or not isinstance(function, ast.Attribute):
        return None
    is_given = len(call.args) > row["position"].get(function.attr, len(call.args))
    return row if not is_given and _is_data_set(function.value, scope, row, program) else None


def _is_data_set(node: ast.expr, scope: Scope, row: Mapping[str, Any], program: Program, depth: int = 0) -> bool:
    """Whether a value surely is a data set, or a dict of some, that is held as a whole."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            name = program.callee(node, scope)
            if isinstance(name, str) and name in row["makers"]:
                return Call(node, scope, name, program).literal(row["streams"], default=False) is False
            node = node.func
            if not isinstance(node, ast.Attribute):
                return False
        node = node.value
    if not isinstance(node, ast.Name) or depth > MAX_DEPTH:
        return False
    made = [o for o in program.origins(node, scope) if isinstance(o, Result)]
    return bool(made) and all(_is_data_set(o.node, o.scope, row, program, depth + 1) for o in made)
