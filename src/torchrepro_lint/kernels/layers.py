"""Which neural modules an expression may hold: `self.conv`, `model`, `nn.Sequential(...)`, wherever they were built.

Reads the abstract values of expressions. Knows nothing of tensors.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow import CallSite, Program, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.signatures import listed
from torchrepro_lint.project.names import Target

SEQUENCE = "torch.nn.Sequential"
HOLDERS = frozenset({SEQUENCE, "torch.nn.ModuleList", "torch.nn.ModuleDict"})
_MODULE_BASES = ("torch.nn.", "pytorch_lightning.LightningModule", "pytorch_lightning.core.")
_MODULE_NAMES = ("Module", "PreTrainedModel", "ModelMixin")
# Methods that frameworks and modules call: to search the project for their callers costs much and finds little.
CALLED_UNSEEN = frozenset({"forward", "__call__", "__init__", "__getitem__", "training_step", "main"})


class Layers:
    """Answers for one program."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def is_module(self, owner: Scope | None) -> bool:
        """Whether this is a class that derives from torch.nn.Module, as far as its bases can be named."""
        bases = self.program.external_bases(owner) if owner is not None and owner.kind == "class" else ()
        return any(base.startswith(_MODULE_BASES) or base.endswith(_MODULE_NAMES) for base in bases)

    def learns(self, made: Result) -> bool:
        """Whether the module has parameters of its own that are trained, as far as its class and its holder's tell."""
        holder = made.scope.method_class
        if holder is not None and self.is_module(holder) and is_frozen(holder, self.program):
            return False
        return not isinstance(made.callee, Scope) or has_parameters(made.callee, self.program)

    def made(self, expr: ast.expr, scope: Scope) -> list[Result]:
        """The constructions of modules that `expr` may hold."""
        return [made for made in self.program.results(expr, scope) if self._is_module_class(made.callee)]

    def resolve(self, expr: ast.expr, scope: Scope) -> Target | None:
        """What a name means, without the trouble for a variable that holds no definition."""
        root = expr
        while isinstance(root, ast.Attribute):
            root = root.value
        owner = scope.binding_scope(root.id) if isinstance(root, ast.Name) else None
        if isinstance(root, ast.Name) and owner is not None and not _may_be_defined(root.id, owner):
            return None
        return self.program.resolve(expr, scope)

    def functions(self, call: ast.Call, scope: Scope) -> list[Scope]:
        """The project functions that a call may run: functions, own methods, `forward` of project modules."""
        target = self.resolve(call.func, scope)
        if isinstance(target, Scope):
            return [target] if target.kind == "function" else []
        if isinstance(target, str):
            return []
        own = self._own_methods(call.func, scope)
        if own:
            return own
        return [f for made in self.made(call.func, scope) if (f := self.forward(made)) is not None]

    def forward(self, made: Result) -> Scope | None:
        """The `forward` of a project module, or what it has in place of the call that runs it."""
        names, owner = self.program.names, made.callee
        return (names.method(owner, "__call__") or names.method(owner, "forward")) if isinstance(owner, Scope) else None

    def sequence(self, made: Result) -> CallSite | None:
        """The call that gives the layers to a subclass of nn.Sequential, `super().__init__(conv, pool)`, or its own
        construction where it has no constructor."""
        owner = made.callee
        if not isinstance(owner, Scope) or SEQUENCE not in self.program.external_bases(owner):
            return None
        constructor = self.program.names.method(owner, "__init__")
        if constructor is None:
            return made.node, made.scope
        calls = constructor.facts.calls.get("__init__", ())
        own = (site for site in calls if site[1].function is constructor)
        return next((site for site in own if self.program.callee(*site) == f"{SEQUENCE}.__init__"), None)

    def _own_methods(self, function: ast.expr, scope: Scope) -> list[Scope]:
        owner = scope.method_class
        if owner is None or not isinstance(function, ast.Attribute) or not scope.is_self(function.value):
            return []
        classes = self.program.values.classes_of_self(owner, function.attr)
        return [m for each in classes if (m := self.program.names.method(each, function.attr)) is not None]

    def _is_module_class(self, callee: str | Scope | None) -> bool:
        if isinstance(callee, Scope):
            return self.is_module(callee)
        return callee is not None and callee.startswith("torch.nn.") and callee.rpartition(".")[2][:1].isupper()


@remembered
def has_parameters(owner: Scope, program: Program) -> bool:
    """Whether a project class has parameters, or modules that may have some."""
    seen: set[Scope] = set()
    pending = [owner]
    while pending:
        part = pending.pop()
        if part not in seen:
            seen.add(part)
            parts = _parts(part, program)
            if parts is None:
                return True
            pending += parts
    return False


@remembered
def _parts(owner: Scope, program: Program) -> tuple[Scope, ...] | None:
    """The classes of the project of which a class holds objects; None where it may have parameters of its own."""
    if any(isinstance(b, str) and b not in ("torch.nn.Module", "builtins.object") for b in program.names.bases(owner)):
        return None
    attributes = [item for base in program.names.classes(owner) for items in base.attributes.values() for item in items]
    calls = [(b.value, scope) for b, scope in attributes if isinstance(b.value, ast.Call)]
    held = {scope.function for call, scope in calls if program.resolve(call.func, scope) in HOLDERS}
    calls += [site for function in held for site in function.calls]
    names = [program.resolve(call.func, scope) for call, scope in calls]
    made = [name for name in names if isinstance(name, Scope)]
    if any(m.kind != "class" for m in made) or any(isinstance(n, str) and _may_learn(n) for n in names):
        return None
    return tuple(made)


def _may_learn(name: str) -> bool:
    """Whether a layer of PyTorch may have parameters: all but those that are known to have none."""
    if not name.startswith("torch.nn.") or name in HOLDERS or name in listed("modules", "without_parameters"):
        return False
    return not name.endswith("Loss") or name == "torch.nn.AdaptiveLogSoftmaxWithLoss"


@remembered
def freezes_itself(owner: Scope, program: Program) -> bool:
    """Whether the constructor of a module class takes the gradients from all its parameters: what is left is that of
    what it is called with."""
    constructor = program.names.method(owner, "__init__")
    if constructor is None:
        return False
    facts = constructor.facts
    off = [(s.target.value, s.value, s.scope) for s in facts.attribute_sets.get("requires_grad", ())]
    for call, scope in facts.calls.get("requires_grad_", ()):
        if isinstance(call.func, ast.Attribute) and call.args:
            off.append((call.func.value, call.args[0], scope))
    inside = [(held, value, scope) for held, value, scope in off if scope.function is constructor]
    false = ((held, scope) for held, value, scope in inside if isinstance(value, ast.Constant) and value.value is False)
    return any(_is_whole(*site) and not _is_left_out(*site, program) for site in false)


@remembered
def is_frozen(owner: Scope, program: Program) -> bool:
    """Whether a module class freezes itself, or is made only by those that freeze themselves with all their parts."""
    if freezes_itself(owner, program):
        return True
    constructor = program.names.method(owner, "__init__")
    made = program.callers_of(constructor) if constructor is not None and constructor.parent is owner else None
    holders = [scope.method_class if scope.function.own_name == "__init__" else None for _, scope in made or ()]
    return bool(holders) and all(h is not None and h is not owner and freezes_itself(h, program) for h in holders)


def _is_whole(holder: ast.expr, scope: Scope) -> bool:
    """Whether this is `self`, or each of `self.parameters()` in a loop."""
    if scope.is_self(holder):
        return True
    for loop in scope.facts.ancestors(holder):
        rounds = loop.generators if isinstance(loop, ast.ListComp | ast.GeneratorExp) else (loop,)
        for each in rounds:
            match each:
                case ast.For(target=target, iter=items) | ast.comprehension(target=target, iter=items):
                    if isinstance(target, ast.Name) and isinstance(holder, ast.Name) and holder.id == target.id:
                        return _are_parameters(items, scope)
    return False


def _is_left_out(holder: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether the program passes this by in some object, where a test on an option stands around it."""
    inside: ast.AST = holder
    for up in scope.facts.ancestors(holder):
        if isinstance(up, ast.If) and any(
            bool(v) is (inside in up.orelse) for v in program.constants(up.test, scope) or ()
        ):
            return True
        inside = up
    return False


def _are_parameters(items: ast.expr, scope: Scope) -> bool:
    match items:
        case ast.Call(func=ast.Attribute(value=owner, attr="parameters")):
            return scope.is_self(owner)
    return False


@remembered_in_file
def _may_be_defined(name: str, owner: Scope) -> bool:
    """Whether a name of a scope is bound to a definition, or is another name for one thing."""
    bindings = owner.bindings[name]
    is_alias = len(bindings) == 1 and isinstance(bindings[0].value, ast.Name | ast.Attribute)
    return is_alias or any(b.kind in ("import", "function", "class") for b in bindings)
