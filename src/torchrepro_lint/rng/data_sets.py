"""Shuffles and splits of Hugging Face data sets that are given no seed: they take one from numpy's global generator."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope
from torchrepro_lint.rng.library_objects import LibraryObject


@cache
def data_set_methods() -> Mapping[str, Mapping[str, Any]]:
    """The methods of data sets that shuffle or split, by name."""
    return catalogue.names("rng", "data_set_methods")


def data_set_draw(call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    """The catalogue's row of a call that draws, unless a keyword or `shuffle=False` keeps it from that."""
    function = call.func
    row = data_set_methods().get(function.attr) if isinstance(function, ast.Attribute) else None
    if row is None or not isinstance(function, ast.Attribute):
        return None
    is_given = len(call.args) > row["position"].get(function.attr, len(call.args))
    objects = LibraryObject(program, frozenset(row["makers"]), unless=row["streams"])
    return row if not is_given and objects.holds(function.value, scope) else None
