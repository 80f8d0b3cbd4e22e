"""The domain of tensors: whether a value is one, and what is known of it: dimensions, floats, gradient.

Knows nothing of rules. A trait that is set holds for certain; one that is None is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import CallSite, Domain, Of, Program, Written
from torchrepro_lint.dataflow.abstract_values import (
    MAX_ITEMS,
    Constant,
    Display,
    Origin,
    Result,
    display_item,
    put_items,
)
from torchrepro_lint.dataflow.binding import argument_for, field_value, named_parameters, passed_by_name
from torchrepro_lint.dataflow.domain import Passed
from torchrepro_lint.dataflow.reaching_definitions import shape_names
from torchrepro_lint.index import Binding, Scope, keyword_value, last_name
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

Path: TypeAlias = "tuple[int | str, ...]"  # keys, places and names of fields, one within the other
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
                if before.tensor is False and added is not False:  # `loss = 0.0; loss += f(x)`
                    return before._replace(tensor=None, gradient=added, whole=None)
                return before._replace(gradient=added) if added else before
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
        if loop.value is None or not hints.is_loaded(scope.facts.text(loop.value)):
            return UNKNOWN_TRAITS
        fetched = self._fetched(loop.value, loop.path, scope, of) if loop.path else UNKNOWN_TRAITS
        return Traits(gradient=False, floating=fetched.floating)

    def _fetched(self, loader: ast.expr, path: Path, scope: Scope, of: Of[Traits]) -> Traits:
        """What the data set of a loader returns at a place of its items, which the loader puts together as they are."""
        match loader:  # `for step, (image, mask) in enumerate(loader)`
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if path[0] == 1:
                return self._fetched(inner, path[1:], scope, of) if path[1:] else UNKNOWN_TRAITS
            case ast.Call(func=function, args=[inner, *_]) if last_name(function) in ("tqdm", "track"):
                return self._fetched(inner, path, scope, of)

        def joined() -> Traits:
            made = [o for o in self.program.origins(loader, scope) if not isinstance(o, Constant)]
            return self.join([self._of_items(o, path, of) for o in made]) if made else UNKNOWN_TRAITS

        return self.program.evaluation(self).guarded(("fetched", loader, path), scope, joined)

    def _of_items(self, loader: Origin, path: Path, of: Of[Traits]) -> Traits:
        if not isinstance(loader, Result) or loader.callee not in catalogue.names("loaders", "loaders"):
            return UNKNOWN_TRAITS
        given = passed_by_name(loader.node, "dataset")
        if not given.keys().isdisjoint({None, "collate_fn"}) or "dataset" not in given:
            return UNKNOWN_TRAITS
        classes = self.program.classes_of(given["dataset"], loader.scope)
        methods = [m for c in classes if (m := self.program.names.method(c, "__getitem__")) is not None]
        items = [self._item_returned(value, path, m, of, learned=False) for m in methods for value in m.returns]
        return self.join(items) if items and len(methods) == len(classes) else UNKNOWN_TRAITS

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
                held = self._held(container, path, scope, of)
                return held if held != UNKNOWN_TRAITS else _part_of(container, of(container, scope))
        return UNKNOWN_TRAITS

    def _held(self, container: ast.expr, path: Path, scope: Scope, of: Of[Traits], *, learned: bool = False) -> Traits:
        """What is under a key, a place or the name of a field in what is written out, or was returned by a call. Where
        that was `learned` by a module, all has a gradient but what is known to have none, or handed through."""

        def joined() -> Traits:
            found = [self._held_by(origin, path, of, learned) for origin in self.program.origins(container, scope)]
            return self.join(found)

        return self.program.evaluation(self).guarded(("held", container, path, learned), scope, joined)

    def _held_by(self, origin: Origin, path: Path, of: Of[Traits], learned: bool) -> Traits:
        items: Sequence[tuple[object, Scope]] = ()
        match origin:
            case Display(scope=where):
                item = display_item(origin, ast.Constant(path[0]))
                items = [(item, where)] if item is not None else put_items(origin, ast.Constant(path[0]))
            case Result(callee=Scope(kind="class") as owner, node=call, scope=where):
                items = [(field_value(call, owner, path[0]), where)]
            case Result(callee="builtins.dict", node=call, scope=where):
                items = [(keyword_value(call, str(path[0])), where)]
            case Result(node=call, scope=where):
                found = self._computed(self._returned(call, path, where, of), call, where)
                return found._replace(gradient=True) if learned and found.gradient is None else found
        known = [(value, where) for value, where in items if isinstance(value, ast.expr)]
        held = [self._under(value, path[1:], where, of, learned) for value, where in known]
        return self.join(held) if known else Traits(gradient=learned or None)

    def _has_gradients(self, container: ast.expr, scope: Scope, of: Of[Traits]) -> bool:
        """Whether an item of a list that is written out has a gradient: `layers = [x]; layers.append(f(layers[i]))`."""

        def joined() -> Traits:
            lists = [(o.node.elts, o.scope) for o in self.program.origins(container, scope)
                     if isinstance(o, Display) and isinstance(o.node, ast.List | ast.Tuple)]  # fmt: skip
            return self.join([of(item, where) for items, where in lists for item in items[:MAX_ITEMS]])

        return self.program.evaluation(self).guarded(("items", container), scope, joined).gradient is True

    def _under(self, value: ast.expr, path: Path, scope: Scope, of: Of[Traits], learned: bool) -> Traits:
        if path:
            return self._held(value, path, scope, of, learned=learned)
        found = of(value, scope)
        is_made = learned and found.gradient is None and not _is_handed_through(value, scope)
        return found._replace(gradient=True) if is_made else found

    def _returned(self, call: ast.Call, path: Path, scope: Scope, of: Of[Traits]) -> Traits:
        """One item of what a project function or module returns; not of a tensor that it returns in place of several
        things: `return x, aux` in training, `return x` otherwise."""
        learned = any(map(self.layers.learns, self.layers.made(call.func, scope)))
        values = [(value, function) for function in self.layers.functions(call, scope) for value in function.returns]
        if any(isinstance(value, ast.Tuple) for value, _ in values):
            values = [(v, where) for v, where in values if isinstance(v, ast.Tuple) or of(v, where).tensor is not True]
        found = [self._item_returned(value, path, function, of, learned) for value, function in values]
        return self.join(found) if found else Traits(gradient=learned or None)

    def _item_returned(self, value: ast.expr, path: Path, function: Scope, of: Of[Traits], learned: bool) -> Traits:
        """One item of `tuple(f(x) for x in items)`, or of what is kept or written out elsewhere."""
        match value:
            case ast.Call(func=ast.Name(id="tuple" | "list"), args=[ast.ListComp() | ast.GeneratorExp() as each]):
                return self._under(each.elt, path[1:], function.children[each], of, learned)
            case ast.ListComp():
                return self._under(value.elt, path[1:], function.children[value], of, learned)
            case ast.Tuple() | ast.List() | ast.Dict():
                return self._held_by(Display(value, function), path, of, learned)
        return self._held(value, path, function, of, learned=learned)

    # -- parameters ---------------------------------------------------------------------------------------------
    def asks_callers(self, function: Scope) -> bool:
        return function.own_name not in CALLED_UNSEEN

    def unpassed(self, call: ast.Call, caller: Scope, parameter: Binding, function: Scope, of: Of[Traits]) -> Traits:
        return _NOTHING

    def parameter(self, binding: Binding, function: Scope, of: Of[Traits]) -> Traits:
        """Of a module's `forward` by the calls of its objects: all that is known of it, if the module works on nothing
        else; otherwise whether it is data, as what the outermost model is given. Of another function that may be called
        unseen, whether a call in its own file gives it a gradient."""
        if self.asks_callers(function):
            found = self.given(binding, function, [])
            return found._replace(gradient=True) if self._is_given_gradient(binding, function, of) else found
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

    def _is_given_gradient(self, binding: Binding, function: Scope, of: Of[Traits]) -> bool:
        calls = self.program.callers.in_sight(function) if function.kind == "function" else ()
        passed = ((argument_for(call, function, binding.node.arg), scope) for call, scope in calls)  # type: ignore[attr-defined]
        return any(of(value, scope).gradient for value, scope in passed if isinstance(value, ast.expr))

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
        if not passed and hints.is_input(name, function):
            return found._replace(gradient=False)
        if found.gradient is None and found.tensor and not found.whole and self._judges(name, function):
            self.program.store.decided_by_name("what a loss is given", (function.facts.source.rel, function.name, name))
            return found._replace(gradient=True)
        return found

    def _judges(self, name: str, function: Scope) -> bool:
        """Whether a parameter of the `forward` of a loss, or of a discriminator, may be what a model has made."""
        owner = function.parent
        if owner is None or not self._is_forward(function) or not hints.is_loss(owner.own_name):
            return False
        predicted = hints.are_predicted(named_parameters(function))
        if predicted:
            return name in predicted
        return not (hints.is_input(name, function) or hints.is_target(name) or hints.is_whole(name))

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
        return None

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[Traits]) -> Traits:
        held = self._held(node.value, (node.attr,), scope, of)
        return Traits(gradient=False) if held == UNKNOWN_TRAITS and hints.is_batch(node.value) else held

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
        if key is not None and hints.is_whole(literal_text(key) or ""):
            return WHOLE_NUMBERS
        if isinstance(key, ast.Constant) and isinstance(key.value, int | str):
            held = self._held(container, (key.value,), scope, of)
            if held != UNKNOWN_TRAITS:
                return held
        elif key is not None and self._has_gradients(container, scope, of):
            return Traits(gradient=True)
        return _part_of(container, whole)


def _part_of(container: ast.expr, whole: Traits) -> Traits:
    """What is taken out of a batch of data, or of something else that is no tensor and that no gradient is wanted
    for."""
    untrained = whole.tensor is None and (hints.is_batch(container) or whole.gradient is False)
    return Traits(gradient=False) if untrained else UNKNOWN_TRAITS


def _is_handed_through(value: ast.expr, scope: Scope) -> bool:
    """Whether this is a parameter of the function itself, or seen in another form: `x`, `x[:, 0].float()`."""
    while isinstance(value, ast.Call | ast.Attribute | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
    bound = scope.bindings_of(value)
    return bool(bound) and all(binding.kind == "parameter" for binding in bound)


def _calls_of_itself(owner: Scope) -> list[CallSite]:
    """`self(x)` and `self.forward(x)` in the methods of a module's class."""
    return [
        (call, scope)
        for name in ("self", "forward")
        for call, scope in owner.facts.calls.get(name, ())
        if scope.method_class is owner
        and scope.is_self(call.func.value if isinstance(call.func, ast.Attribute) else call.func)
    ]
