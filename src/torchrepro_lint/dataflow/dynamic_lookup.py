"""What a program picks by its name from a module of the project: `models.__dict__[args.arch]`, `getattr(models, arch)`.

Names the module and the expression that says which, and does not evaluate that expression.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from torchrepro_lint.dataflow.abstract_values import Reference
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope
from torchrepro_lint.project.names import Variable


class Pick(NamedTuple):
    """A look-up of the name that `key` has in `module`."""

    module: Scope
    key: ast.expr

    def choices(self, names: Iterable[object], program: Program) -> list[Scope]:
        """The functions and classes that have one of these names there."""
        found = [program.names.members(self.module, (name,)) for name in names if isinstance(name, str)]
        return [target for target in found if isinstance(target, Scope) and target.kind in ("function", "class")]


def picked(function: ast.expr, scope: Scope, program: Program) -> Pick | None:
    """The look-up that an expression is, if it is one."""
    match function:
        case ast.Subscript(value=ast.Attribute(value=holder, attr="__dict__"), slice=key):
            pass
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[holder]), slice=key):
            pass
        case ast.Call(func=ast.Name(id="getattr"), args=[holder, key, *_]):
            pass
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals"), args=[]), slice=key):
            return Pick(scope.facts.scope, key)
        case _:
            return None
    module = _module(holder, scope, program)
    return Pick(module, key) if module is not None else None


def _module(expr: ast.expr, scope: Scope, program: Program) -> Scope | None:
    """The module of the project that an expression is, also where its name is bound to something else later on."""
    target = program.resolve(expr, scope)
    if isinstance(target, Variable):
        origins = program.origins(expr, scope)
        target = origins[0].target if len(origins) == 1 and isinstance(origins[0], Reference) else None
    return target if isinstance(target, Scope) and target.kind == "module" else None
