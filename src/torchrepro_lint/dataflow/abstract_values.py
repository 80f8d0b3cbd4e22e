"""What a domain of the backward evaluation declares, and the domain of abstract values: what a value may have come
from, and the items of what is written out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from torchrepro_lint.index import Binding, Scope

MAX_ITEMS = 24  # of a dict whose key is not known


class Constant(NamedTuple):
    """A literal."""

    value: object
    node: ast.expr
    scope: Scope


class Reference(NamedTuple):
    """A function, class or module: external (a dotted name) or the project's own (its scope)."""

    target: str | Scope


class Result(NamedTuple):
    """What a call returned; an instance when `callee` is a class."""

    callee: str | Scope | None
    node: ast.Call
    scope: Scope


Written: TypeAlias = (
    ast.Tuple | ast.List | ast.Set | ast.Dict | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
)


class Display(NamedTuple):
    """A tuple, list, set or dict written out; `node` has the items, to be evaluated in `scope`."""

    node: Written
    scope: Scope


class Element(NamedTuple):
    """One item of what is iterated: the loop variable over `iterable`."""

    iterable: ast.expr
    scope: Scope


class Parameter(NamedTuple):
    """A parameter whose callers are not known."""

    name: str
    scope: Scope


class Unknown(NamedTuple):
    """Anything else; `node` is where the trail was lost."""

    node: ast.AST | None = None
    scope: Scope | None = None


Origin: TypeAlias = "Constant | Reference | Result | Display | Element | Parameter | Unknown"

V = TypeVar("V")
Of: TypeAlias = "Callable[[ast.expr, Scope], V]"
"""The value of another expression over the same domain."""

Passed: TypeAlias = "tuple[V, ast.Call, Scope]"
"""What a call, in its scope, passes."""


class Domain(Generic[V]):
    """A lattice and its transfer functions. Each says what is known where the engine's way ends, and may ask `of` for
    the value of a part; what a domain leaves out is unknown to it. Domains are equal when they answer alike. `opens`
    is false where the engine shall not look for what is written out behind an item."""

    opens = True

    def join(self, values: Sequence[V]) -> V:
        """The least value that covers all; of no values, the least of all."""
        raise NotImplementedError

    def unknown(self, node: ast.AST, scope: Scope) -> V:
        """Where nothing is known."""
        raise NotImplementedError

    def again(self, found: V) -> V:
        """A value on its own way round, where `found` is what it may be so far; a domain whose transfer functions
        make something new of it each time round says that nothing is known."""
        return found

    def named(self, name: str, found: V, expr: ast.AST, scope: Scope) -> V:  # noqa: ARG002
        """What the name of a variable, attribute or key in `scope` says besides what was `found`; of a variable both
        where it is bound and where it is read."""
        return found

    def constant(self, value: object, node: ast.expr, scope: Scope) -> V:  # noqa: ARG002
        """A literal."""
        return self.unknown(node, scope)

    def reference(self, target: str | Scope, node: ast.AST, scope: Scope) -> V:  # noqa: ARG002
        """A function, class or module: external (a dotted name) or the project's own."""
        return self.unknown(node, scope)

    def known_call(self, call: ast.Call, scope: Scope, of: Of[V]) -> V | None:  # noqa: ARG002
        """A call that the domain knows the result of, whatever is called; None for any other."""
        return None

    def known_attribute(self, node: ast.Attribute, scope: Scope, of: Of[V]) -> V | None:  # noqa: ARG002
        """An attribute that the domain knows, whatever object it is of; None for any other."""
        return None

    def member(self, found: V) -> V:
        """What an attribute of an object holds whose class sets it to what was `found`."""
        return found

    def chosen(self, test: ast.expr, found: V, scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """What a conditional expression gives, of whose arms this was `found`."""
        return found

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """What a call returns of something else than a function of the project; an instance when that is a class."""
        return self.unknown(call, scope)

    def display(self, node: Written, scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """A tuple, list, set or dict that is written out."""
        return self.unknown(node, scope)

    def operator(self, node: ast.AST, scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """An operator, an f-string, a comparison; `x += y` as one of the ways in which `x` is bound."""
        return self.unknown(node, scope)

    def element(self, loop: Binding, scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """The variable of a loop over `loop.value`, or the part of it that `loop.path` leads to."""
        return self.unknown(loop.node, scope)

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """An item of what is not written out."""
        return self.unknown(container, scope)

    def unpacked(self, container: ast.expr, path: tuple[int, ...], scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """The part that `path` leads to of what is not written out."""
        return self.item(container, None, scope, of)

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """An attribute of an object that is not made in sight."""
        return self.unknown(node, scope)

    def parameter(self, binding: Binding, function: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """A parameter whose callers are not known."""
        return self.unknown(binding.node, function)

    def asks_callers(self, function: Scope) -> bool:  # noqa: ARG002
        """Whether a function's parameters are what its callers pass."""
        return True

    def given(self, binding: Binding, function: Scope, passed: Sequence[Passed[V]]) -> V:  # noqa: ARG002
        """A parameter, by what each known call gives it."""
        return self.join([value for value, _, _ in passed])

    def unpassed(self, call: ast.Call, caller: Scope, parameter: Binding, function: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """A parameter of which a call does not show what it is given."""
        return self.unknown(call, caller)

    def gathered(self, binding: Binding, function: Scope, of: Of[V]) -> V:  # noqa: ARG002
        """What the calls of a function pass into its `*args` or `**kwargs`."""
        return self.unknown(binding.node, function)


class AbstractValues(Domain["list[Origin]"]):
    """The domain of abstract values: the free one, which keeps every end of a way as it is."""

    def join(self, values: Sequence[list[Origin]]) -> list[Origin]:
        return list(dict.fromkeys(o for found in values for o in found))

    def unknown(self, node: ast.AST, scope: Scope) -> list[Origin]:
        return [Unknown(node, scope)]

    def constant(self, value: object, node: ast.expr, scope: Scope) -> list[Origin]:
        return [Constant(value, node, scope)]

    def reference(self, target: str | Scope, node: ast.AST, scope: Scope) -> list[Origin]:  # noqa: ARG002
        return [Reference(target)]

    def result(
        self,
        callee: str | Scope | None,
        call: ast.Call,
        scope: Scope,
        of: Of[list[Origin]],  # noqa: ARG002
    ) -> list[Origin]:
        return [Result(callee, call, scope)]

    def display(self, node: Written, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:  # noqa: ARG002
        return [Display(node, scope)]

    def operator(self, node: ast.AST, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:  # noqa: ARG002
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return [Constant(-number, node, scope)]
        return [Unknown(node, scope)]

    def element(self, loop: Binding, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:  # noqa: ARG002
        whole = loop.value if not loop.path else None
        return [Element(whole, scope) if whole is not None else Unknown(loop.node, scope)]

    def parameter(self, binding: Binding, function: Scope, of: Of[list[Origin]]) -> list[Origin]:  # noqa: ARG002
        assert isinstance(binding.node, ast.arg)
        return [Parameter(binding.node.arg, function)]


def unpacked(origin: Origin, place: int) -> ast.expr | None:
    """The item at `place` of a tuple or list that is written out."""
    if not isinstance(origin, Display) or not isinstance(origin.node, ast.Tuple | ast.List):
        return None
    items = origin.node.elts
    is_known = place < len(items) and not any(isinstance(i, ast.Starred) for i in items)
    return items[place] if is_known else None


def display_items(origin: Origin, key: ast.expr) -> list[ast.expr]:
    """The item of a display that a literal key means; of a table of functions, all that another key may mean."""
    if isinstance(key, ast.Constant):
        item = display_item(origin, key)
        return [item] if item is not None else []
    if isinstance(origin, Display) and isinstance(origin.node, ast.Dict) and None not in origin.node.keys:
        values = origin.node.values
        is_table = all(isinstance(v, ast.Name | ast.Attribute | ast.Lambda) for v in values)
        return values if is_table and len(values) <= MAX_ITEMS else []
    return []


def display_item(origin: Origin, key: ast.Constant) -> ast.expr | None:
    """The item of a display that a literal key means."""
    if not isinstance(origin, Display):
        return None
    match origin.node:
        case ast.Tuple(elts=items) | ast.List(elts=items) if isinstance(key.value, int):
            return items[key.value] if -len(items) <= key.value < len(items) else None
        case ast.Dict(keys=keys, values=values):
            for k, v in zip(keys, values, strict=True):
                if isinstance(k, ast.Constant) and k.value == key.value:
                    return v
    return None
