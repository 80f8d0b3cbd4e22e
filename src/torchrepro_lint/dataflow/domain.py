"""What a domain of the backward evaluation declares: its lattice, and what is known where a value begins.

The ways by which values travel are the engine's; see `evaluate`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from torchrepro_lint.index import Binding, Comprehension, Scope

V = TypeVar("V")
Written: TypeAlias = ast.Tuple | ast.List | ast.Set | ast.Dict | Comprehension
Of: TypeAlias = "Callable[[ast.expr, Scope], V]"
"""The value of another expression over the same domain."""

Passed: TypeAlias = "tuple[V, ast.Call, Scope]"
"""What a call, in its scope, passes."""


class Domain(Generic[V]):
    """A lattice and its transfer functions. Each says what is known where the engine's way ends, and may ask `of` for
    the value of a part; what a domain leaves out is unknown to it. Domains are equal when they answer alike. `opens`
    is false where the engine shall not look for what is written out behind an item."""

    opens = True
    nothing: ClassVar[Any] = None
    """What is known where nothing is."""

    def join(self, values: Sequence[V]) -> V:
        """The least value that covers all; of no values, the least of all."""
        raise NotImplementedError

    def unknown(self, node: ast.AST, scope: Scope) -> V:
        """Where nothing is known."""
        found: V = self.nothing
        return found

    def again(self, found: V) -> V:
        """A value that is made of itself, as in a loop `x = f(x)`; `found` is what it may be so far. A domain whose
        transfer functions would make a new value of it in each round says that nothing is known."""
        return found

    def named(self, name: str, found: V, expr: ast.AST, scope: Scope) -> V:
        """What the name of a variable, attribute or key in `scope` says besides what was `found`; of a variable both
        where it is bound and where it is read."""
        return found

    def constant(self, value: object, node: ast.expr, scope: Scope) -> V:
        """A literal."""
        return self.unknown(node, scope)

    def reference(self, target: str | Scope, node: ast.AST, scope: Scope) -> V:
        """A function, class or module: external (a dotted name) or the project's own."""
        return self.unknown(node, scope)

    def known_call(self, call: ast.Call, scope: Scope, of: Of[V]) -> V | None:
        """A call that the domain knows the result of, whatever is called; None for any other."""
        return None

    def known_attribute(self, node: ast.Attribute, scope: Scope, of: Of[V]) -> V | None:
        """An attribute that the domain knows, whatever object it is of; None for any other."""
        return None

    def member(self, found: V) -> V:
        """What an attribute of an object holds whose class sets it to what was `found`."""
        return found

    def chosen(self, test: ast.expr, found: V, scope: Scope, of: Of[V]) -> V:
        """What a conditional expression gives, of whose arms this was `found`."""
        return found

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[V]) -> V:
        """What a call returns of something else than a function of the project; an instance when that is a class."""
        return self.unknown(call, scope)

    def display(self, node: Written, scope: Scope, of: Of[V]) -> V:
        """A tuple, list, set or dict that is written out."""
        return self.unknown(node, scope)

    def operator(self, node: ast.AST, scope: Scope, of: Of[V]) -> V:
        """An operator, an f-string, a comparison; `x += y` as one of the ways in which `x` is bound."""
        return self.unknown(node, scope)

    def element(self, loop: Binding, scope: Scope, of: Of[V]) -> V:
        """The variable of a loop over `loop.value`, or the part of it that `loop.path` leads to."""
        return self.unknown(loop.node, scope)

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[V]) -> V:
        """An item of what is not written out."""
        return self.unknown(container, scope)

    def unpacked(self, container: ast.expr, path: tuple[int, ...], scope: Scope, of: Of[V]) -> V:
        """The part that `path` leads to of what is not written out."""
        return self.item(container, None, scope, of)

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[V]) -> V:
        """An attribute of an object that is not made in sight."""
        return self.unknown(node, scope)

    def parameter(self, binding: Binding, function: Scope, of: Of[V]) -> V:
        """A parameter whose callers are not known."""
        return self.unknown(binding.node, function)

    def asks_callers(self, function: Scope) -> bool:
        """Whether a function's parameters are what its callers pass."""
        return True

    def given(self, binding: Binding, function: Scope, passed: Sequence[Passed[V]]) -> V:
        """A parameter, by what each known call gives it."""
        return self.join([value for value, _, _ in passed])

    def unpassed(self, call: ast.Call, caller: Scope, parameter: Binding, function: Scope, of: Of[V]) -> V:
        """A parameter of which a call does not show what it is given."""
        return self.unknown(call, caller)

    def gathered(self, binding: Binding, function: Scope, of: Of[V]) -> V:
        """What the calls of a function pass into its `*args` or `**kwargs`."""
        return self.unknown(binding.node, function)
