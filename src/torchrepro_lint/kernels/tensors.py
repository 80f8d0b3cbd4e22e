"""Whether an expression is a tensor, and what is known of it: dimensions, floats, gradient.

Follows names, `self` attributes, calls of modules and project functions, up to a bound; knows nothing of rules.
What is said is so; what is not said is unknown.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reaching_definitions import reaching, shape_names
from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.kernels import hints
from torchrepro_lint.kernels.annotations import annotated, literal_text
from torchrepro_lint.kernels.context import context
from torchrepro_lint.kernels.layers import CALLED_UNSEEN, Layers
from torchrepro_lint.kernels.signatures import indexed, listed
from torchrepro_lint.kernels.tensor_calls import Calls
from torchrepro_lint.kernels.traits import (
    NOT_A_TENSOR,
    TENSOR,
    UNKNOWN_TRAITS,
    WHOLE_NUMBERS,
    Traits,
    broadcast,
    joined,
)

MAX_DEPTH = 12
MAX_STEPS = 150


class Tensors:
    """Answers for one program, remembering what it was asked. Each question has its own budget of steps."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.layers = Layers(program)
        self._steps = 0
        self._open: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], tuple[ast.expr, Traits]] = {}

    def traits(self, expr: ast.expr, scope: Scope) -> Traits:
        """What is known of the value of `expr` in `scope`."""
        self._steps = 0
        self._open.clear()
        return self._expression(expr, scope, 0)

    # -- expressions ------------------------------------------------------------------------------------------
    def _expression(self, expr: ast.expr, scope: Scope, depth: int) -> Traits:
        key = (id(expr), id(scope))
        if key in self._known:
            return self._known[key][1]
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > MAX_STEPS or key in self._open:
            return UNKNOWN_TRAITS
        self._open.add(key)
        found = self._match(expr, scope, depth + 1)
        self._open.discard(key)
        self._known[key] = expr, found  # the node is kept, so that its id stays its own
        return found

    def _match(self, expr: ast.expr, scope: Scope, depth: int) -> Traits:
        match expr:
            case ast.Constant(value=value):
                return _constant(value)
            case ast.Name():
                return self._name(expr, scope, depth)
            case ast.Attribute():
                return self._attribute(expr, scope, depth)
            case ast.Call():
                return Calls(self.layers, self._expression).result(expr, scope, depth)
            case ast.Subscript():
                return self._item(expr, scope, depth)
            case ast.BinOp(left=left, op=op, right=right):
                found = broadcast(self._expression(left, scope, depth), self._expression(right, scope, depth))
                return replace(found, floating=True, whole=None) if isinstance(op, ast.Div) else found
            case ast.Compare(left=left, comparators=[right]):
                found = broadcast(self._expression(left, scope, depth), self._expression(right, scope, depth))
                return replace(found, floating=False, gradient=False, whole=True)
            case ast.UnaryOp(operand=inner) | ast.NamedExpr(value=inner) | ast.Starred(value=inner):
                return self._expression(inner, scope, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return joined([self._expression(body, scope, depth), self._expression(orelse, scope, depth)])
            case ast.BoolOp(values=values):
                return joined([self._expression(v, scope, depth) for v in values])
            case ast.JoinedStr() | ast.Dict() | ast.Tuple() | ast.List() | ast.Set() | ast.ListComp() | ast.DictComp():
                return replace(NOT_A_TENSOR, gradient=None)
        return UNKNOWN_TRAITS

    # -- names --------------------------------------------------------------------------------------------------
    def _name(self, name: ast.Name, scope: Scope, depth: int) -> Traits:
        owner = scope.binding_scope(name.id)
        if owner is None:
            return NOT_A_TENSOR if self.program.qualified(name, scope) else UNKNOWN_TRAITS
        bindings = reaching(owner.bindings[name.id], name, owner, scope)
        bindings = [b for b in bindings if not _is_none(b)] or bindings  # what is used is not None
        traits = joined([t for b in bindings if (t := self._binding(b, name.id, owner, depth)) is not None])
        if traits.gradient is None and hints.is_target(name.id):
            traits = replace(traits, gradient=False)
        if traits.gradient is not True and traits.floating is None and hints.is_whole(name.id):
            traits = replace(traits, floating=False, gradient=False, whole=True)
        count = shape_names(name, owner, scope)
        return traits if count is None else traits.ranked(count)

    def _binding(self, binding: Binding, name: str, owner: Scope, depth: int) -> Traits | None:
        """What one binding binds; None for one that changes nothing here (`x += y`, `x = x.f()` in a loop)."""
        value = binding.value
        match binding.kind:
            case "assign" if value is not None:
                open_already = (id(value), id(owner)) in self._open
                return None if open_already else self._expression(value, owner, depth)
            case "unpack" if value is not None:
                return self._unpacked(value, binding.path, owner, depth)
            case "loop" if value is not None:
                return Traits(gradient=False) if hints.is_loaded(owner.facts.text(value)) else UNKNOWN_TRAITS
            case "parameter":
                return self._parameter(binding, name, owner, depth)
            case "function" | "class" | "import":
                return NOT_A_TENSOR
            case "other" if isinstance(binding.node, ast.AugAssign):
                return None
        return UNKNOWN_TRAITS

    def _unpacked(self, value: ast.expr, path: tuple[int, ...], scope: Scope, depth: int) -> Traits:
        match value:
            case ast.Tuple(elts=items) | ast.List(elts=items) if path[0] < len(items):
                return self._expression(items[path[0]], scope, depth) if len(path) == 1 else UNKNOWN_TRAITS
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size")):
                return NOT_A_TENSOR
            case ast.Call(func=ast.Attribute(attr=name)) if name in listed("methods", "with_indices"):
                whole = self._expression(value, scope, depth)
                unique = True if name in ("topk", "sort") else None
                index = replace(whole, floating=False, gradient=False, whole=True, unique=unique)
                return whole if path[0] == 0 else index
            case ast.Call(func=ast.Attribute(attr="where" | "nonzero")):
                return Traits(tensor=True, floating=False, gradient=False, unique=True).ranked(1)
            case ast.Call():
                return self._returned(value, path, scope, depth)
            case ast.Name() if hints.is_batch(value):
                return Traits(gradient=False)
        return UNKNOWN_TRAITS

    def _returned(self, call: ast.Call, path: tuple[int, ...], scope: Scope, depth: int) -> Traits:
        """One item of the tuple that a project function or module returns."""
        found = []
        for function in self.layers.functions(call, scope):
            for value in function.returns:
                if not (isinstance(value, ast.Tuple) and len(path) == 1 and path[0] < len(value.elts)):
                    return UNKNOWN_TRAITS
                found.append(self._expression(value.elts[path[0]], function, depth + 1))
        return joined(found)

    def _parameter(self, binding: Binding, name: str, function: Scope, depth: int) -> Traits:
        said = annotated(binding.node.annotation) if isinstance(binding.node, ast.arg) else None
        if said is not None and said.tensor is False:
            return said
        seen = function.kind == "function" and function.name.rpartition(".")[2] not in CALLED_UNSEEN
        calls = self.program.callers_of(function) if seen and depth < MAX_DEPTH - 4 else None
        given = [
            (self._expression(value, caller, depth + 2), call, caller)
            for call, caller in calls or ()
            if isinstance(value := argument_for(call, function, name), ast.expr)
        ]
        passed = [traits for traits, _, _ in given]
        wanted = any(t.gradient for t in passed) or joined(passed).gradient  # one call that trains is enough
        if wanted is None and any(t.gradient is False for t in passed):
            used = [t for t, call, caller in given if t.gradient is False or not self._is_idle(call, caller)]
            wanted = joined(used).gradient
        found = replace(joined(passed), host=None, gradient=wanted)
        if found.tensor is None and (said is not None or self._is_forward(function)):
            found = replace(found, tensor=True)
        if said is not None and said.floating is not None:
            found = replace(found, floating=said.floating)
        if found.gradient is not True and found.whole is None and hints.is_mask(name):
            found = replace(found, whole=True)
        if passed:
            return found
        return replace(found, gradient=False if hints.is_input(name, function) else None)

    def _is_idle(self, call: ast.Call, scope: Scope) -> bool:
        """Whether nothing trains where a function is called."""
        return context(call, scope, self.program).idle

    def _is_forward(self, function: Scope) -> bool:
        owner = function.parent
        named = function.name.rpartition(".")[2] == "forward"
        return named and owner is not None and owner.kind == "class" and self.layers.is_module(owner)

    # -- attributes and items -----------------------------------------------------------------------------------
    def _attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> Traits:
        owner = scope.method_class
        if owner is not None and scope.is_self(expr.value):
            return self._member(owner, expr.attr, depth)
        match expr.attr:
            case "shape" | "device" | "dtype" | "ndim" | "training":
                return NOT_A_TENSOR
            case "data":
                return replace(self._expression(expr.value, scope, depth), gradient=False)
            case "T" | "mT" | "H" | "mH" | "real" | "imag" | "values":
                return self._expression(expr.value, scope, depth)
            case "weight" | "bias" if self.layers.made(expr.value, scope):
                return Traits(tensor=True, gradient=True, floating=True)
        if isinstance(self.layers.resolve(expr, scope), str):
            return NOT_A_TENSOR
        return Traits(gradient=False) if hints.is_batch(expr.value) else UNKNOWN_TRAITS

    def _member(self, owner: Scope, name: str, depth: int) -> Traits:
        """`self.name`: a parameter, a buffer, a module or whatever the class assigns."""
        for base in self.program.names.bases(owner):
            if not isinstance(base, Scope):
                continue
            for method, gradient in (("register_buffer", False), ("register_parameter", True)):
                for call, where in base.facts.calls.get(method, ()):
                    if where.method_class is base and call.args and literal_text(call.args[0]) == name:
                        value = self._expression(call.args[1], where, depth) if len(call.args) > 1 else TENSOR
                        return replace(value, tensor=True, gradient=gradient, host=None)
            found = [t for b, s in base.attributes.get(name, ()) if (t := self._binding(b, name, s, depth)) is not None]
            if found:
                return replace(joined(found), host=None)  # what a module holds moves with it
        return UNKNOWN_TRAITS

    def _item(self, expr: ast.Subscript, scope: Scope, depth: int) -> Traits:
        whole = self._expression(expr.value, scope, depth)
        if whole.tensor is True:
            return indexed(whole, expr.slice)
        if hints.is_whole(literal_text(expr.slice) or ""):
            return WHOLE_NUMBERS
        untrained = whole.tensor is None and (hints.is_batch(expr.value) or whole.gradient is False)
        return Traits(gradient=False) if untrained else UNKNOWN_TRAITS


def _constant(value: object) -> Traits:
    if value is None:
        return UNKNOWN_TRAITS
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return replace(NOT_A_TENSOR, floating=isinstance(value, float), whole=whole or None)


def _is_none(binding: Binding) -> bool:
    """`x = None`; a parameter's default is what callers leave out."""
    return binding.kind == "assign" and isinstance(binding.value, ast.Constant) and binding.value.value is None
