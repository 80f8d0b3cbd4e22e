"""How a fix switches an argument of a call on that is left out or written as a literal."""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax import replace, with_argument


def switched_on(call: Call, name: str, position: int | None = None) -> tuple[Edit, ...]:
    """Pass `name=True`; no edits where the value is set elsewhere, for a person to decide."""
    match call.argument(name, position):
        case None:
            return (with_argument(call.facts, call.node, name, "True", call.program.project.style),)
        case Site(node=ast.Constant() as value, scope=scope) if scope.facts is call.facts:
            return (replace(call.facts, value, "True"),)
    return ()
