"""The domain of tensors: whether a value is one, and what is known of it: dimensions, floats, gradient.

Knows nothing of rules. A trait that is set holds for certain; one that is None is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torchrepro_lint.dataflow import CallSite, Domain, Of, Program, Site, Written
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.domain import Passed
from torchrepro_lint.dataflow.reaching_definitions import shape_names
from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.kernels import hints
from torchrepro_lint.kernels.annotations import annotated, literal_text
from torchrepro_lint.kernels.context import context, is_made_without_gradient
from torchrepro_lint.kernels.layers import CALLED_UNSEEN, Layers, has_parameters
from torchrepro_lint.kernels.module_calls import module_calls
from torchrepro_lint.kernels.programs import imports_by_name
from torchrepro_lint.kernels.signatures import indexed, listed
from torchrepro_lint.kernels.tensor_calls import Calls, hands_out
from torchrepro_lint.kernels.traits import (
    NOT_A_TENSOR,
    STORED,
    TENSOR,
    UNKNOWN_TRAITS,
    WHOLE_NUMBERS,
    Traits,
    broadcast,
    joined,
)
from torchrepro_lint.kernels.writes import is_made_to_require_gradient, written_into

_NOTHING = Traits()  # of None and of `x.y += z`: told apart by identity from what is unknown, and left out of a join


@dataclass(frozen=True)
class Tensors(Domain[Traits]):
    """Joined by what holds of all."""

    program: Program
    opens = False  # what calls give is known by what is called
    nothing = UNKNOWN_TRAITS

    @cached_property
    def layers(self) -> Layers:
        """The modules of the program."""
        return Layers(self.program)

    def traits(self, expr: ast.expr, scope: Scope) -> Traits:
        """What is known of the value of `expr` in `scope`."""
        return self.program.evaluate(expr, scope, self)

    def join(self, values: Sequence[Traits]) -> Traits:
        """What holds of all, and a gradient where any has one: it flows on that way."""
        found = joined([value for value in values if value is not _NOTHING])
        return found._replace(gradient=True) if any(value.gradient for value in values) else found

    # -- expressions ------------------------------------------------------------------------------------------
    def constant(self, value: object, node: ast.expr, scope: Scope) -> Traits:
        if value is None:
            return _NOTHING
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return NOT_A_TENSOR._replace(floating=isinstance(value, float), whole=whole or None)

    def reference(self, target: str | Scope, node: ast.AST, scope: Scope) -> Traits:
        return NOT_A_TENSOR

    def known_call(self, call: ast.Call, scope: Scope, of: Of[Traits]) -> Traits:
        return self._computed(Calls(self.layers, of).result(call, scope), call, scope)

    def _computed(self, found: Traits, node: ast.expr, scope: Scope) -> Traits:
        """What is computed at a place: without a gradient, where none is recorded there."""
        is_known = found.gradient is False or not is_made_without_gradient(node, scope, self.program)
        return found if is_known or hands_out(node) else found._replace(gradient=False)

    def display(self, node: Written, scope: Scope, of: Of[Traits]) -> Traits:
        return NOT_A_TENSOR._replace(gradient=None)

    def operator(self, node: ast.AST, scope: Scope, of: Of[Traits]) -> Traits:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                found = self._computed(broadcast(of(left, scope), of(right, scope)), node, scope)
                return found._replace(floating=True, whole=None) if isinstance(op, ast.Div) else found
            case ast.Compare(left=left, comparators=[right]):
                found = broadcast(of(left, scope), of(right, scope))
                return found._replace(floating=False, gradient=False, whole=True)
            case ast.UnaryOp(operand=inner):
                return of(inner, scope)
            case ast.JoinedStr():
                return NOT_A_TENSOR._replace(gradient=None)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                before = of(target, scope)  # `x += y` changes nothing else than where a gradient comes from
                added = of(value, scope).gradient if before.gradient is False else False
                is_new = added or (added is None and before.tensor is False)  # `loss = 0.0; loss += f(x)`
                return before._replace(gradient=added) if is_new else before
            case ast.AugAssign():
                return _NOTHING
        return UNKNOWN_TRAITS

    # -- names --------------------------------------------------------------------------------------------------
    def named(self, name: str, found: Traits, expr: ast.AST, scope: Scope) -> Traits:
        if not isinstance(expr, ast.Name) or expr.id != name or found is NOT_A_TENSOR:
            return found
        if found.gradient is None and hints.is_target(name):
            found = found._replace(gradient=False)
        if found.gradient is not True and found.floating is None and hints.is_whole(name):
            found = found._replace(floating=False, gradient=False, whole=True)
        owner = scope.binding_scope(name)
        if found.gradient is False and found.tensor and owner is not None and self._takes_a_gradient(name, owner):
            found = found._replace(gradient=True)
        count = shape_names(expr, owner, scope) if owner is not None else None
        return found if count is None else found.ranked(count)

    def _takes_a_gradient(self, name: str, owner: Scope) -> bool:
        """Whether a variable is made to require a gradient, or what is written into it has one:
        `sums.index_add_(0, index, x)`, `sums[:2] = x`."""

        def written() -> Traits:
            values = (self.traits(value, scope) for value, scope in written_into(name, owner))
            return Traits(gradient=any(traits.gradient for traits in values))

        if is_made_to_require_gradient(name, owner):
            return True
        return self.program.evaluation(self).guarded(("written", name), owner, written).gradient is True

    def element(self, loop: Binding, scope: Scope, of: Of[Traits]) -> Traits:
        match loop.value:
            case ast.Call(func=ast.Attribute(value=container, attr="items" | "values"), args=[]):
                if of(container, scope) == STORED:
                    return STORED
        loaded = loop.value is not None and hints.is_loaded(scope.facts.text(loop.value))
        return Traits(gradient=False) if loaded else UNKNOWN_TRAITS

    def unpacked(self, container: ast.expr, path: tuple[int, ...], scope: Scope, of: Of[Traits]) -> Traits:
        match container:
            case ast.Tuple(elts=items) | ast.List(elts=items) if path[0] < len(items):
                return of(items[path[0]], scope) if len(path) == 1 else UNKNOWN_TRAITS
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size")):
                return NOT_A_TENSOR
            case ast.Call(func=ast.Attribute(attr=name)) if name in listed("methods", "with_indices"):
                whole = of(container, scope)
                unique = True if name in ("topk", "sort") else None
                index = whole._replace(floating=False, gradient=False, whole=True, unique=unique)
                return whole if path[0] == 0 else index
            case ast.Call(func=ast.Attribute(attr="where" | "nonzero")):
                return Traits(tensor=True, floating=False, gradient=False, unique=True).ranked(1)
            case ast.Call():
                return self._computed(self._returned(container, path, scope, of), container, scope)
            case ast.Name():
                return _part_of(container, of(container, scope))
        return UNKNOWN_TRAITS

    def _in_result(self, container: ast.expr, place: int, scope: Scope, of: Of[Traits]) -> Traits | None:
        """One item of what a call returned, where every function that it may run returns a tuple."""
        results = self.program.origins(container, scope)
        if not results or not all(isinstance(r, Result) and self.layers.functions(r.node, r.scope) for r in results):
            return None
        found = self.join([self._returned(r.node, (place,), r.scope, of) for r in results if isinstance(r, Result)])
        return found if found != UNKNOWN_TRAITS else None

    def _returned(self, call: ast.Call, path: tuple[int, ...], scope: Scope, of: Of[Traits]) -> Traits:
        """One item of the tuple that a project function or module returns."""
        values = [(value, function) for function in self.layers.functions(call, scope) for value in function.returns]
        items = [_item_of(value, path, function) for value, function in values]
        found = self.join([of(*item) for item in items if item is not None]) if None not in items else UNKNOWN_TRAITS
        learned = found.gradient is None and any(map(self.layers.learns, self.layers.made(call.func, scope)))
        return found._replace(gradient=True) if learned else found

    # -- parameters ---------------------------------------------------------------------------------------------
    def asks_callers(self, function: Scope) -> bool:
        return function.own_name not in CALLED_UNSEEN

    def unpassed(self, call: ast.Call, caller: Scope, parameter: Binding, function: Scope, of: Of[Traits]) -> Traits:
        return _NOTHING

    def parameter(self, binding: Binding, function: Scope, of: Of[Traits]) -> Traits:
        """Of a module's `forward` by the calls of its objects: all that is known of it, if the module works on nothing
        else; otherwise whether it is data, as what the outermost model is given."""
        owner = function.parent
        calls = module_calls(owner, self.program) if self._is_forward(function) and owner is not None else None
        if calls is None or owner is None:
            return self.given(binding, function, [])
        is_plain = not has_parameters(owner, self.program)
        calls = calls if is_plain else (*calls, *_calls_of_itself(owner))
        given = [(argument_for(call, function, binding.node.arg), call, scope) for call, scope in calls]  # type: ignore[attr-defined]
        passed = [(of(value, scope), call, scope) for value, call, scope in given if isinstance(value, ast.expr)]
        if is_plain:
            return self.given(binding, function, passed)
        found = self.given(binding, function, [])
        if any(traits.gradient for traits, _, _ in passed):
            return found._replace(gradient=True)
        is_data = bool(passed) and self._without_gradient(passed, len(passed) == len(calls))
        return found._replace(gradient=False) if is_data else found

    def _without_gradient(self, passed: Sequence[Passed[Traits]], complete: bool) -> bool:
        """Whether no call that may train passes anything but data. Objects made by name may be called unseen."""
        wanted = self._wanted(passed)
        is_data = complete and bool(wanted) and all(traits.gradient is False for traits in wanted)
        return is_data and not imports_by_name(self.program)

    def _wanted(self, passed: Sequence[Passed[Traits]]) -> list[Traits]:
        """What is passed that has no gradient, or where something may train."""
        return [t for t, call, at in passed if t.gradient is False or not context(call, at, self.program).idle]

    def given(self, binding: Binding, function: Scope, passed: Sequence[Passed[Traits]]) -> Traits:
        assert isinstance(binding.node, ast.arg)
        name, said = binding.node.arg, annotated(binding.node.annotation)
        if said is not None and said.tensor is False:
            return said
        passed = [p for p in passed if p[0] is not _NOTHING]
        values = [value for value, _, _ in passed]
        wanted = any(t.gradient for t in values) or joined(values).gradient  # one call that trains is enough
        if wanted is None and any(t.gradient is False for t in values):
            wanted = joined(self._wanted(passed)).gradient
        found = joined(values)._replace(host=None, gradient=wanted)
        if found.tensor is None and (said is not None or self._is_forward(function)):
            is_number = isinstance(binding.value, ast.Constant) and binding.value.value is not None
            found = found._replace(tensor=not is_number)  # `def forward(self, x, copies=1)`
        if said is not None and said.floating is not None:
            found = found._replace(floating=said.floating)
        if found.gradient is not True and found.whole is None and hints.is_mask(name):
            found = found._replace(whole=True)
        return found if passed else found._replace(gradient=False if hints.is_input(name, function) else None)

    def _is_forward(self, function: Scope) -> bool:
        return function.own_name == "forward" and self.layers.is_module(function.parent)

    # -- attributes and items -----------------------------------------------------------------------------------
    def known_attribute(self, node: ast.Attribute, scope: Scope, of: Of[Traits]) -> Traits | None:
        owner = scope.method_class
        if owner is not None and scope.is_self(node.value):
            return self._registered(owner, node.attr, of)
        match node.attr:
            case "shape" | "device" | "dtype" | "ndim" | "training":
                return NOT_A_TENSOR
            case "data":
                return of(node.value, scope)._replace(gradient=False)
            case "T" | "mT" | "H" | "mH" | "real" | "imag" | "values":
                return of(node.value, scope)
            case "weight" | "bias" if self.layers.made(node.value, scope):
                return Traits(tensor=True, gradient=True, floating=True)
        return Traits(gradient=False) if hints.is_batch(node.value) else UNKNOWN_TRAITS

    def _registered(self, owner: Scope, name: str, of: Of[Traits]) -> Traits | None:
        """A parameter or buffer that a module registers by its name."""
        for base in self.program.names.classes(owner):
            for method, gradient in (("register_buffer", False), ("register_parameter", True)):
                for call, where in base.facts.calls.get(method, ()):
                    if where.method_class is base and call.args and literal_text(call.args[0]) == name:
                        value = of(call.args[1], where) if len(call.args) > 1 else TENSOR
                        return value._replace(tensor=True, gradient=gradient, host=None)
            if base.attributes.get(name):
                return None
        return UNKNOWN_TRAITS

    def member(self, found: Traits) -> Traits:
        return found._replace(host=None) if found.host else found  # what a module holds moves with it

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[Traits]) -> Traits:
        whole = of(container, scope)
        if whole.tensor is True and key is not None:
            return indexed(whole, key)
        if isinstance(key, ast.Constant) and isinstance(key.value, int) and key.value >= 0:
            packed = self._in_result(container, key.value, scope, of)
            if packed is not None:
                return packed
        if key is not None and hints.is_whole(literal_text(key) or ""):
            return WHOLE_NUMBERS
        return _part_of(container, whole)


def _part_of(container: ast.expr, whole: Traits) -> Traits:
    """What is taken out of a batch of data, or of something else that is no tensor and that no gradient is wanted
    for."""
    untrained = whole.tensor is None and (hints.is_batch(container) or whole.gradient is False)
    return Traits(gradient=False) if untrained else UNKNOWN_TRAITS


def _calls_of_itself(owner: Scope) -> list[CallSite]:
    """`self(x)` and `self.forward(x)` in the methods of a module's class."""
    return [
        (call, scope)
        for name in ("self", "forward")
        for call, scope in owner.facts.calls.get(name, ())
        if scope.method_class is owner
        and scope.is_self(call.func.value if isinstance(call.func, ast.Attribute) else call.func)
    ]


def _item_of(value: ast.expr, path: tuple[int, ...], scope: Scope) -> Site | None:
    """The item that `path` leads to of what a function returns: a tuple, or `tuple(f(x) for x in items)`."""
    match value:
        case ast.Tuple(elts=items) if len(path) == 1 and path[0] < len(items):
            return Site(items[path[0]], scope)
        case ast.Call(func=ast.Name(id="tuple" | "list"), args=[ast.ListComp() | ast.GeneratorExp() as each]):
            return Site(each.elt, scope.children[each])
        case ast.ListComp():
            return Site(value.elt, scope.children[value])
    return None
