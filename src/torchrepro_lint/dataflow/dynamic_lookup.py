"""What a program picks by its name: from a module of the project, `getattr(models, arch)`, `models.__dict__[arch]`, or
of an object, `getattr(trainer, args.mode)()`.

Names the module or the object and the expression that says which, and does not evaluate that expression.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from torchrepro_lint.dataflow.abstract_values import Reference
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.project.declarations import declarations
from torchrepro_lint.project.names import Variable

MAX_WAYS = 8  # in which a name gets its value: a name may be bound a thousand times, and called as often


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
        case (
            ast.Subscript(value=ast.Call(func=ast.Name(id="globals"), args=[]), slice=key)
            | ast.Call(func=ast.Name(id="eval"), args=[key])
        ):
            return Pick(scope.facts.scope, key)
        case _:
            return None
    module = _module(holder, scope, program)
    return Pick(module, key) if module is not None else None


class MethodPick(NamedTuple):
    """A look-up of the method of an object, `holder`, that has the name `key`."""

    holder: ast.expr
    key: ast.expr
    scope: Scope

    @property
    def is_of_each(self) -> bool:
        """Whether the object is one of many, which a loop goes through."""
        return any(isinstance(b.node, ast.For | ast.AsyncFor) for b in self.scope.bindings_of(self.holder)[:MAX_WAYS])

    def said(self) -> list[str]:
        """The names that the code says the method may have, where the value of `key` is not known: those that it is
        compared with in the same function, `if mode == "train":`, and those that its option may be."""
        compared = self._compared()
        return compared or [
            text
            for call, _ in declarations(last_name(self.key), self.scope.facts)
            for keyword in call.keywords
            if keyword.arg == "choices" and isinstance(keyword.value, ast.List | ast.Tuple)
            for text in _texts(keyword.value.elts)
        ]

    def _compared(self) -> list[str]:
        reads = self.scope.facts.reads(self.scope.function.node)
        same = reads.of_name(last_name(self.key)) if isinstance(self.key, ast.Name) else ()
        tests = (self.scope.facts.parents[read] for read in same)
        sides = [side for test in tests if isinstance(test, ast.Compare) for side in test.comparators]
        return _texts(each for side in sides for each in getattr(side, "elts", (side,)))


def picked_method(function: ast.expr, scope: Scope, program: Program) -> MethodPick | None:
    """The look-up that gives the method which is called, there or above: `run = getattr(self, mode)`, `run(loader)`."""
    if "getattr" not in scope.facts.calls:
        return None
    for value in (function, *(b.value for b in scope.bindings_of(function)[:MAX_WAYS] if not b.path)):
        match value:
            case ast.Call(func=ast.Name(id="getattr"), args=[holder, key, *_]):
                return MethodPick(holder, key, scope) if _module(holder, scope, program) is None else None
    return None


def _texts(items: Iterable[ast.expr]) -> list[str]:
    return [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _module(expr: ast.expr, scope: Scope, program: Program) -> Scope | None:
    """The module of the project that an expression is, also where its name is bound to something else later on."""
    target = program.resolve(expr, scope)
    if isinstance(target, Variable):
        origins = program.origins(expr, scope)
        target = origins[0].target if len(origins) == 1 and isinstance(origins[0], Reference) else None
    return target if isinstance(target, Scope) and target.kind == "module" else None
