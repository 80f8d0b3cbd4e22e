"""What a call passes for the parameters of its spelling: every value that one may have, every tensor.

A method's first parameter is its receiver; the parameters of a module's own call are looked up where the object
that was constructed is called. Judges nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torchrepro_lint.dataflow import UNKNOWN, Call, CallSite, Opaque, Site
from torchrepro_lint.dataflow.abstract_values import Constant, Display, Element, Origin, Parameter, Unknown
from torchrepro_lint.dataflow.conditions import contradict, equal_to, unequal_to
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.annotations import declared_length, field_default
from torchrepro_lint.kernels.operations import Signature
from torchrepro_lint.kernels.tensors import Tensors
from torchrepro_lint.kernels.traits import Traits
from torchrepro_lint.kernels.triggers import METHOD


class Unreadable:
    """A value that is there but cannot be read."""


UNREADABLE = Unreadable()


@dataclass(frozen=True, slots=True)
class Other:
    """A value that cannot be read, of which a branch around the call says what it is not."""

    excluded: tuple[object, ...]

    def fits(self, value: object) -> bool:
        """Whether it can be `value`."""
        return value not in self.excluded


class Refuted:
    """None of the values that can be read: branches rule them all out."""


REFUTED = Refuted()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text of which only the beginning and the end can be read."""

    start: str
    end: str

    def fits(self, text: object) -> bool:
        """Whether it can be `text`."""
        return isinstance(text, str) and text.startswith(self.start) and text.endswith(self.end)


@dataclass(frozen=True, slots=True)
class Each:
    """The values that an argument has one after the other, in a loop."""

    values: tuple[object, ...]


class Value(NamedTuple):
    """A value that an argument may have, and where it is written if that is known."""

    value: object
    node: ast.AST | None = None
    scope: Scope | None = None


class Related(NamedTuple):
    """A place elsewhere that makes a condition hold, and what happens there."""

    node: ast.AST
    scope: Scope
    message: str


@dataclass(slots=True)
class OperationCall:
    """One call with its signature. `find_uses` looks for the calls of the module that it constructs."""

    call: Call
    signature: Signature
    tensors: Tensors
    find_uses: Callable[[], Sequence[CallSite]]
    _uses: Sequence[CallSite] | None = None
    _arguments: dict[str, Site | Opaque | ast.expr | None] = field(default_factory=dict)
    _values: dict[str, list[Value]] = field(default_factory=dict)
    _traits: dict[str, list[tuple[Traits, Related | None]]] = field(default_factory=dict)

    def uses(self) -> Sequence[CallSite]:
        """The calls of the module that it constructs."""
        if self._uses is None:
            self._uses = self.find_uses()
        return self._uses

    def argument(self, name: str) -> Site | Opaque | ast.expr | None:
        """What is passed for a parameter, or its default; None when there is no such parameter."""
        if name not in self._arguments:
            self._arguments[name] = self._argument(name)
        return self._arguments[name]

    def _argument(self, name: str) -> Site | Opaque | ast.expr | None:
        if name not in self.signature.parameters:
            return None
        place, default = self.signature.parameters[name]
        function = self.call.node.func
        if self.call.name.startswith(METHOD) and isinstance(function, ast.Attribute):
            if place == 0:
                return Site(function.value, self.call.scope)
            place = None if place is None else place - 1
        found = self.call.argument(name, place)
        return default if found is None else found

    def same(self, first: str, second: str) -> bool:
        """Whether two parameters are passed the same expression."""
        one, two = self.argument(first), self.argument(second)
        both = isinstance(one, Site) and isinstance(two, Site)
        return both and ast.dump(one.node) == ast.dump(two.node)  # type: ignore[union-attr]

    # -- values -----------------------------------------------------------------------------------------------
    def values(self, name: str) -> list[Value]:
        """Every value that a parameter may have; UNREADABLE among them for those that cannot be known.

        What a spelling does not have is False; what `**kwargs` may pass is most likely left out. None next to
        other values stands for "not given", and is replaced before it is used.
        """
        if name not in self._values:
            self._values[name] = self._possible(name)
        return self._values[name]

    def _possible(self, name: str) -> list[Value]:
        found = self.argument(name)
        if found is None:
            return [Value(False)]
        if not isinstance(found, Site):
            default = self.signature.parameters[name][1]
            if isinstance(default, ast.Constant):
                return [Value(default.value)]
            return [Value(UNREADABLE if default is None else ast.literal_eval(default))]
        if isinstance(found.node, ast.Constant):
            return [Value(found.node.value, found.node, found.scope)]
        known = equal_to(found.node, self.call.node, self.call.scope)
        if known is not None:
            return [Value(known)]
        values = [self._value(o) for o in self.call.program.origins(found.node, found.scope)]
        values = [v for v in values if v.value is not None] or values or [Value(UNREADABLE)]
        return self._unrefuted(values, found.node) or [Value(REFUTED)]

    def _unrefuted(self, values: Sequence[Value], argument: ast.expr) -> list[Value]:
        """Those that neither the branches around the call rule out nor those around the place of the value."""
        here = self.call.node, self.call.scope
        excluded = tuple(unequal_to(argument, *here))
        found: list[Value] = []
        for value in values:
            if value.value is UNREADABLE and excluded:
                found.append(value._replace(value=Other(excluded)))
            elif not (isinstance(value.value, str) and value.value in excluded):
                where = (value.node, value.scope) if value.node is not None and value.scope is not None else here
                if not contradict(where, here):
                    found.append(value)
        guesses = len(found) < len(values) and all(isinstance(v.value, Other) for v in found)
        return [] if guesses else found

    def _value(self, origin: Origin) -> Value:
        match origin:
            case Constant(value=value):
                return Value(value, origin.node, origin.scope)
            case Display(node=ast.Tuple(elts=items) | ast.List(elts=items), scope=scope):
                return Value(self._sequence(items, scope), origin.node, scope)
            case Parameter(name=name, scope=function):
                return self._default(name, function)
            case Element(iterable=iterable, scope=scope):
                return self._each(self.call.program.origins(iterable, scope))
            case Unknown(node=ast.Attribute() as field, scope=Scope() as scope):
                value = field_default(field, scope, self.call.program)
                return Value(UNREADABLE if value is UNKNOWN else value)
            case Unknown(node=ast.JoinedStr(values=parts)):
                ends = [str(p.value) if isinstance(p, ast.Constant) else "" for p in parts]
                return Value(Pattern(ends[0], ends[-1]) if ends else "")
            case Unknown(
                node=ast.BinOp(left=ast.Tuple(elts=items), op=ast.Mult(), right=ast.Constant(value=int() as n))
            ):
                return Value([UNREADABLE] * (len(items) * n))
        return Value(UNREADABLE)

    def _sequence(self, items: Sequence[ast.expr], scope: Scope) -> object:
        """`(3, 3)`; `(size, size)` in a loop is a pair for each size."""
        read = self._items(items, scope)
        if read and all(v is UNREADABLE for v in read) and len({ast.dump(item) for item in items}) == 1:
            values = [self._value(o).value for o in self.call.program.origins(items[0], scope)]
            if len(values) == 1 and isinstance(values[0], Each):
                return Each(tuple([value] * len(read) for value in values[0].values))
        return UNREADABLE if read is None else read

    def _items(self, items: Sequence[ast.expr], scope: Scope) -> list[object] | None:
        if any(isinstance(item, ast.Starred) for item in items):
            return None
        return [self._read(item, scope) for item in items]

    def _each(self, iterated: Sequence[Origin]) -> Value:
        """What a loop takes from a sequence that is written out, if only as the default of a parameter."""
        match iterated:
            case [Parameter(name=name, scope=function)]:
                written, scope = _default(name, function), function.parent or function
            case [Display(node=written, scope=scope)]:
                pass
            case _:
                return Value(UNREADABLE)
        items = self._items(written.elts, scope) if isinstance(written, ast.Tuple | ast.List | ast.Set) else None
        return Value(Each(tuple(items)) if items else UNREADABLE, written, scope)

    def _default(self, name: str, function: Scope) -> Value:
        """A parameter whose callers are not known has its default, if that can be read, as the best guess."""
        bindings, default = function.bindings.get(name, []), _default(name, function)
        if isinstance(default, ast.Attribute) and default.attr == "value":  # of an enumeration's member
            default = default.value
        if default is None:
            items = declared_length(bindings[0].node) if bindings else None
            return Value(UNREADABLE if items is None else [UNREADABLE] * items)
        return Value(self._read(default, function.parent or function))

    # -- tensors, and what a constructed module is called with ------------------------------------------------
    def traits(self, name: str) -> list[tuple[Traits, Related | None]]:
        """What is known of a tensor argument; of a module's input, at each call of the module."""
        if name not in self._traits:
            self._traits[name] = list(self._known(name))
        return self._traits[name]

    def _known(self, name: str) -> Iterator[tuple[Traits, Related | None]]:
        found = self.argument(name)
        if isinstance(found, Site):
            yield self.tensors.traits(found.node, found.scope), None
            return
        for node, use in self._passed(name):
            if node is not None:
                yield self.tensors.traits(node, use.scope), use

    def called_with(self, name: str) -> list[tuple[object, Related]]:
        """The constants that the calls of the constructed module pass for a parameter of theirs."""
        passed = self._passed(name)
        return [(UNREADABLE if node is None else self._read(node, use.scope), use) for node, use in passed]

    def _read(self, node: ast.expr, scope: Scope) -> object:
        value = self.call.program.literal(node, scope)
        return UNREADABLE if value is UNKNOWN else value

    def _passed(self, name: str) -> Iterator[tuple[ast.expr | None, Related]]:
        if name not in self.signature.called:
            return
        place, default = self.signature.called[name]
        for use, scope in self.uses():
            if len(use.args) > len(self.signature.called):
                continue  # more than it takes: the name stands for another object there
            passed = Call(use, scope, self.call.name, self.call.program).argument(name, place)
            node = passed.node if isinstance(passed, Site) else default
            yield node, Related(use, scope, "called here")


def _default(name: str, function: Scope) -> ast.expr | None:
    bindings = function.bindings.get(name, [])
    return bindings[0].value if bindings else None
