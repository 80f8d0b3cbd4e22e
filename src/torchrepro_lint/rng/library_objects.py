"""The domain of objects of a library, known by the call that made them, through any chain of their methods and keys."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torchrepro_lint.dataflow import Call, Domain, Of, Program
from torchrepro_lint.index import Scope

Surely: TypeAlias = bool | None
"""Whether a value is such an object; None for one that does not count."""


@dataclass(frozen=True)
class LibraryObject(Domain[Surely]):
    """Joined by "all of them". `makers` return such objects, unless they are passed `unless`; so do their `methods`,
    or any method and attribute where None are named."""

    program: Program
    makers: frozenset[str]
    methods: frozenset[str] | None = None
    unless: str = ""
    nothing = False

    def holds(self, expr: ast.expr, scope: Scope) -> bool:
        """Whether a value surely is one."""
        return self.program.evaluate(expr, scope, self) is True

    def join(self, values: Sequence[Surely]) -> Surely:
        known = [value for value in values if value is not None]
        return all(known) if known else None

    def constant(self, value: object, node: ast.expr, scope: Scope) -> Surely:
        return None if value is None else False  # a method of None would fail

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[Surely]) -> Surely:
        return of(container, scope)

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[Surely]) -> Surely:
        return of(node.value, scope) if self.methods is None else False

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[Surely]) -> Surely:
        if isinstance(callee, str):
            made = Call(call, scope, callee, self.program)
            return callee in self.makers and not (self.unless and made.literal(self.unless, default=False) is not False)
        method = call.func if isinstance(call.func, ast.Attribute) and not isinstance(callee, Scope) else None
        if method is None or (self.methods is not None and method.attr not in self.methods):
            return False
        return of(method.value, scope)
