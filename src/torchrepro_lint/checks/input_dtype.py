"""The dtype that a flagged call gives its input in plain sight: `x.bfloat16()`, `x.to(torch.float16)`.

For those who run the operation themselves; says nothing where the source does not show it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchrepro_lint.dataflow.sites import Site

if TYPE_CHECKING:
    from torchrepro_lint.kernels.arguments import OperationCall

_METHODS = {"half": "float16", "bfloat16": "bfloat16", "double": "float64", "float": "float32"}
_DTYPES = {f"torch.{name}": name for name in ("float16", "bfloat16", "float32", "float64")} | {"torch.half": "float16"}
_KEEP = ("contiguous", "flatten", "reshape", "view", "transpose", "permute", "detach", "clone", "requires_grad_")


def input_dtype(site: OperationCall) -> str | None:
    """`bfloat16`, of the first parameter that is converted where it is passed."""
    for name in site.signature.parameters:
        passed = site.argument(name)
        if isinstance(passed, Site):
            found = _converted(passed.node, site)
            if found is not None:
                return found
    return None


def _converted(node: ast.expr, site: OperationCall) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[]) if name in _METHODS:
            return _METHODS[name]
        case ast.Call(func=ast.Attribute(attr="to" | "type")):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            return next((dtype for item in given if (dtype := _named(item, site)) is not None), None)
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _KEEP:
            return _converted(inner, site)
    return None


def _named(node: ast.expr, site: OperationCall) -> str | None:
    return _DTYPES.get(site.call.program.qualified(node, site.call.scope) or "")
