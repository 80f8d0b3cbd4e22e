"""Which neural modules an expression may hold: `self.conv`, `model`, `nn.Sequential(...)`, wherever they were built.

Follows assignments, `self` attributes, arguments and results for a few steps. Knows nothing of tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.project.names import Target

MAX_HOPS = 5  # assignments, arguments and results between a module's construction and its call
MAX_CALLERS = 8
_MODULE_BASES = ("torch.nn.", "pytorch_lightning.LightningModule", "pytorch_lightning.core.")
_MODULE_NAMES = ("Module", "PreTrainedModel", "ModelMixin")
# Methods that frameworks and modules call: to search the project for their callers costs much and finds little.
CALLED_UNSEEN = frozenset({"forward", "__call__", "__init__", "__getitem__", "training_step", "main"})
_SAME_OBJECT = ("to", "cuda", "cpu", "train", "eval", "float", "half", "double")


class Made(NamedTuple):
    """The construction of a module: of an external class, or of one of the project."""

    callee: str | Scope
    node: ast.Call
    scope: Scope


class Layers:
    """Answers for one program, remembering what it was asked."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[int, tuple[ast.expr, list[Made]]] = {}

    def is_module(self, owner: Scope) -> bool:
        """Whether a project class derives from torch.nn.Module, as far as its bases can be named."""
        return any(
            b.startswith(_MODULE_BASES) or (b.endswith(_MODULE_NAMES) and not b.startswith("builtins"))
            for b in self.program.external_bases(owner)
        )

    def learns(self, made: Made) -> bool:
        """Whether the module has parameters of its own, as far as its class tells."""
        return not isinstance(made.callee, Scope) or self.has_parameters(made.callee)

    def has_parameters(self, owner: Scope) -> bool:
        """Whether a project class has parameters, or modules that may have some."""
        bases = self.program.names.bases(owner)
        if any(isinstance(b, str) and b not in ("torch.nn.Module", "builtins.object") for b in bases):
            return True
        attributes = [item for b in bases if isinstance(b, Scope) for items in b.attributes.values() for item in items]
        calls = [(b.value, scope) for b, scope in attributes if isinstance(b.value, ast.Call)]
        names = [self.program.resolve(call.func, scope) for call, scope in calls]
        return any(isinstance(n, Scope) or (isinstance(n, str) and n.startswith("torch.nn.")) for n in names)

    def made(self, expr: ast.expr, scope: Scope) -> list[Made]:
        """The constructions of modules that `expr` may hold."""
        if id(expr) not in self._known:
            self._known[id(expr)] = expr, list(self._expression(expr, scope, 0))
        return self._known[id(expr)][1]

    def resolve(self, expr: ast.expr, scope: Scope) -> Target | None:
        """What a name means, without the trouble for a variable that holds no definition."""
        root = expr
        while isinstance(root, ast.Attribute):
            root = root.value
        owner = scope.binding_scope(root.id) if isinstance(root, ast.Name) else None
        if isinstance(root, ast.Name) and owner is not None:
            bindings = owner.bindings[root.id]
            defined = any(b.kind in ("import", "function", "class") for b in bindings)
            alias = len(bindings) == 1 and isinstance(bindings[0].value, ast.Name | ast.Attribute)
            if not defined and not alias:
                return None
        return self.program.resolve(expr, scope)

    def functions(self, call: ast.Call, scope: Scope) -> list[Scope]:
        """The project functions that a call may run: functions, own methods, `forward` of project modules."""
        target = self.resolve(call.func, scope)
        if isinstance(target, Scope):
            return [target] if target.kind == "function" else []
        if isinstance(target, str):
            return []
        own = self._own_method(call.func, scope)
        if own is not None:
            return [own]
        return [f for made in self.made(call.func, scope) if (f := self.forward(made)) is not None]

    def forward(self, made: Made) -> Scope | None:
        """The `forward` of a project module."""
        member = self.program.names.class_member(made.callee, "forward") if isinstance(made.callee, Scope) else None
        return member if isinstance(member, Scope) else None

    def _own_method(self, function: ast.expr, scope: Scope) -> Scope | None:
        owner = scope.method_class
        if owner is None or not isinstance(function, ast.Attribute) or not scope.is_self(function.value):
            return None
        member = self.program.names.class_member(owner, function.attr)
        return member if isinstance(member, Scope) and member.kind == "function" else None

    def _expression(self, expr: ast.expr | None, scope: Scope, hops: int) -> Iterator[Made]:
        if hops > MAX_HOPS:
            return
        match expr:
            case ast.Call():
                yield from self._call(expr, scope, hops)
            case ast.IfExp(body=body, orelse=orelse):
                yield from self._expression(body, scope, hops + 1)
                yield from self._expression(orelse, scope, hops + 1)
            case ast.Name(id=name) if (owner := scope.binding_scope(name)) is not None:
                for binding in owner.bindings[name]:
                    yield from self._bound(binding, name, owner, hops)
            case ast.Attribute(value=value, attr=attr) if scope.is_self(value):
                for base in self.program.names.bases(scope.method_class or scope):
                    for binding, where in base.attributes.get(attr, ()) if isinstance(base, Scope) else ():
                        yield from self._bound(binding, attr, where, hops)

    def _call(self, call: ast.Call, scope: Scope, hops: int) -> Iterator[Made]:
        callee = self.resolve(call.func, scope)
        if isinstance(callee, Scope) and callee.kind == "function":
            for value in callee.returns[:3]:
                yield from self._expression(value, callee, hops + 1)
        elif isinstance(callee, str | Scope) and self._is_module_class(callee):
            yield Made(callee, call, scope)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _SAME_OBJECT:
            yield from self._expression(call.func.value, scope, hops + 1)

    def _is_module_class(self, callee: str | Scope) -> bool:
        if isinstance(callee, Scope):
            return callee.kind == "class" and self.is_module(callee)
        return callee.startswith("torch.nn.") and callee.rpartition(".")[2][:1].isupper()

    def _bound(self, binding: Binding, name: str, scope: Scope, hops: int) -> Iterator[Made]:
        if binding.kind == "assign":
            yield from self._expression(binding.value, scope, hops + 1)
        elif binding.kind == "parameter" and hops < MAX_HOPS and scope.name.rpartition(".")[2] not in CALLED_UNSEEN:
            for call, caller in (self.program.callers_of(scope) or ())[:MAX_CALLERS]:
                passed = argument_for(call, scope, name)
                if isinstance(passed, ast.expr):
                    yield from self._expression(passed, caller, hops + 2)
