"""Augmentation libraries with random numbers of their own, which PyTorch does not seed in workers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Display, Result
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope


def draws_by_itself(name: str, call: ast.Call, scope: Scope, program: Program) -> bool | None:
    """Whether the transform that `call` makes draws from generators of its library; None for other libraries."""
    for row in catalogue.table("loaders")["augmentations"]:
        if name.startswith(row["package"] + "."):
            return _is_random(row, name, call, scope, program)
    return None


def _is_random(row: Mapping[str, Any], name: str, call: ast.Call, scope: Scope, program: Program) -> bool:
    last = name.rpartition(".")[2]
    if not last[:1].isupper() or {k.arg for k in call.keywords} & set(row["unless"]):
        return False  # a function works on one image, as it is told to
    if last not in row["containers"]:
        return last.startswith(row["random_prefix"]) if "random_prefix" in row else last not in row["plain"]
    return any(
        isinstance(made, Result)
        and isinstance(made.callee, str)
        and made.callee.startswith(row["package"] + ".")
        and _is_random(row, made.callee, made.node, made.scope, program)
        for item, where in _items(call, scope, program)
        for made in program.origins(item, where)
    )


def _items(call: ast.Call, scope: Scope, program: Program) -> list[tuple[ast.expr, Scope]]:
    """The transforms in the list that a container is given."""
    given = [o for a in call.args[:1] for o in program.origins(a, scope) if isinstance(o, Display)]
    return [(i, d.scope) for d in given if isinstance(d.node, ast.List | ast.Tuple) for i in d.node.elts]
