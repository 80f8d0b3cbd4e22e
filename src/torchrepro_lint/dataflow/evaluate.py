"""Where a value came from: constants, definitions, calls, containers, through names, attributes and functions.

`origins` lists every possibility it can see; `Unknown` among them means there may be others. It follows
assignments without regard to their order, and stops at a bound with `Unknown`: never wrong, sometimes silent.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from torchrepro_lint.dataflow.abstract_values import (
    Constant,
    Display,
    Element,
    Origin,
    Parameter,
    Reference,
    Result,
    Unknown,
    display_items,
    unpacked,
)
from torchrepro_lint.dataflow.binding import argument_for, is_super
from torchrepro_lint.dataflow.sites import CallSite
from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.project.names import Names, Variable

MAX_DEPTH = 16
MAX_STEPS = 120
# Methods of modules and tensors that give back the object itself, moved or switched.
_SELF_METHODS = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "float", "double", "bfloat16",
                           "requires_grad_", "share_memory", "to_empty"})  # fmt: skip


CallersOf = Callable[[Scope], "list[CallSite] | None"]


class _Known(NamedTuple):
    """An answer, and how many steps and how much depth it took: it is used only where that much is left."""

    origins: list[Origin]
    steps: int
    height: int


class Values:
    """Evaluates expressions to their origins. `callers_of` lists the known calls of a function, or None."""

    def __init__(self, names: Names, callers_of: CallersOf) -> None:
        self._names = names
        self._callers_of = callers_of
        self._answers: dict[tuple[ast.expr, Scope], list[Origin]] = {}
        self._called: dict[tuple[ast.Call, Scope], list[str | Scope | None]] = {}
        self._parts: dict[tuple[ast.expr, Scope], _Known] = {}
        self._active: set[tuple[ast.expr, Scope]] = set()
        self._steps = 0
        self._deepest = 0
        self._is_cut = False
        self.bounds_hit = 0  # questions whose answer is Unknown because of a bound

    def forget(self) -> None:
        """Files have changed or were dropped: answers may speak of trees that are no more."""
        self._answers.clear()
        self._called.clear()
        self._parts.clear()

    def origins(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        """Every origin of `expr` evaluated in `scope`, each once, in the order in which they are written."""
        key = (expr, scope)
        if key not in self._answers:
            self._start()
            self._answers[key] = self._expression(expr, scope, 0)
            self.bounds_hit += self._is_cut
        return self._answers[key]

    def callees(self, call: ast.Call, scope: Scope) -> list[str | Scope | None]:
        """What a call may call: an external name, a function or class of the project, or None for unknown."""
        key = (call, scope)
        if key not in self._called:
            self._start()
            self._called[key] = self._callees(call, scope, 0)
        return self._called[key]

    def _start(self) -> None:
        self._active.clear()
        self._steps, self._deepest, self._is_cut = 0, 0, False

    # -- expressions --------------------------------------------------------------------------------------
    def _expression(self, expr: ast.expr, scope: Scope, depth: int) -> list[Origin]:
        self._steps += 1
        self._deepest = max(self._deepest, depth)
        if depth > MAX_DEPTH or self._steps > MAX_STEPS:
            self._is_cut = True
            return [Unknown(expr, scope)]
        if isinstance(expr, ast.Constant):
            return [Constant(expr.value, expr, scope)]
        key = (expr, scope)
        if key in self._active:  # it is made of itself
            self._is_cut = True
            return [Unknown(expr, scope)]
        part = self._parts.get(key)
        if part is not None and depth + part.height <= MAX_DEPTH and self._steps + part.steps <= MAX_STEPS:
            self._steps += part.steps
            self._deepest = max(self._deepest, depth + part.height)
            return part.origins
        return self._evaluated_anew(expr, scope, depth)

    def _evaluated_anew(self, expr: ast.expr, scope: Scope, depth: int) -> list[Origin]:
        """Evaluate, and remember the answer where no bound was hit on the way."""
        key, steps, deepest, was_cut = (expr, scope), self._steps, self._deepest, self._is_cut
        self._deepest, self._is_cut = depth, False
        self._active.add(key)
        found = list(dict.fromkeys(self._evaluated(expr, scope, depth)))
        self._active.discard(key)
        if not self._is_cut:
            self._parts[key] = _Known(found, self._steps - steps, self._deepest - depth)
        self._deepest = max(deepest, self._deepest)
        self._is_cut |= was_cut
        return found

    def _evaluated(self, expr: ast.expr, scope: Scope, depth: int) -> list[Origin]:
        match expr:
            case ast.Name() | ast.Attribute():
                return self._reference(expr, scope, depth)
            case ast.Call():
                return self._call(expr, scope, depth)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return [Constant(-number, expr, scope)]
            case ast.IfExp(body=body, orelse=orelse):
                return self._expression(body, scope, depth + 1) + self._expression(orelse, scope, depth + 1)
            case ast.BoolOp(values=values):
                return [o for value in values for o in self._expression(value, scope, depth + 1)]
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self._expression(value, scope, depth + 1)
            case (ast.Tuple() | ast.List() | ast.Set() | ast.Dict()
                  | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()):  # fmt: skip
                return [Display(expr, scope)]
            case ast.Subscript(value=value, slice=key):
                return self._item(value, key, scope, depth)
        return [Unknown(expr, scope)]

    def _reference(self, expr: ast.expr, scope: Scope, depth: int) -> list[Origin]:
        target = self._names.resolve(expr, scope)
        if isinstance(target, str | Scope):
            return [Reference(target)]
        if isinstance(target, Variable):
            return self._variable(target, depth)
        if isinstance(expr, ast.Attribute):
            return self._attribute(expr, scope, depth)
        return [Unknown(expr, scope)]

    def _variable(self, variable: Variable, depth: int) -> list[Origin]:
        return [o for b in variable.bindings for o in self._binding(b, variable.scope, depth)]

    def _binding(self, binding: Binding, scope: Scope, depth: int) -> list[Origin]:
        """The origins of what one binding binds."""
        value = binding.value
        match binding.kind:
            case "assign" if value is not None:
                return self._expression(value, scope, depth + 1)
            case "unpack" if value is not None:
                return self._unpack(value, binding.path, scope, depth)
            case "loop" if value is not None and not binding.path:
                return [Element(value, scope)]
            case "with" if value is not None and not binding.path:
                return self._expression(value, scope, depth + 1)
            case "parameter":
                return self._parameter(binding, scope, depth)
            case "function" | "class":
                return [Reference(scope.children[binding.node])]
            case "import":  # one of several: which, depends on a test
                return self._one_import(binding, scope, depth)
        return [Unknown(binding.node, scope)]

    def _one_import(self, binding: Binding, scope: Scope, depth: int) -> list[Origin]:
        target = self._names.imported(binding, scope.facts)
        if isinstance(target, Variable):
            return self._variable(target, depth + 1) if depth < MAX_DEPTH else [Unknown(binding.node, scope)]
        return [Reference(target) if target is not None else Unknown(binding.node, scope)]

    def _parameter(self, binding: Binding, scope: Scope, depth: int) -> list[Origin]:
        assert isinstance(binding.node, ast.arg)
        name = binding.node.arg
        if name == scope.self_name and scope.parent is not None and _is_class_method(scope):
            return [Reference(scope.parent)]
        calls = self._callers_of(scope) if scope.kind == "function" and depth < MAX_DEPTH else None
        if not calls:
            return [Parameter(name, scope)]
        found: list[Origin] = []
        for call, caller in calls:
            passed = argument_for(call, scope, name)
            if isinstance(passed, ast.expr):
                found += self._expression(passed, caller, depth + 2)
            elif passed is None and binding.value is not None:
                found += self._expression(binding.value, scope.parent or scope, depth + 2)
            else:
                found.append(Unknown(call, caller))
        return found

    def _unpack(self, value: ast.expr, path: tuple[int, ...], scope: Scope, depth: int) -> list[Origin]:
        found: list[Origin] = []
        for origin in self._expression(value, scope, depth + 1):
            item = unpacked(origin, path[0])
            if item is None or not isinstance(origin, Display):
                found.append(Unknown(value, scope))
            elif path[1:]:
                found += self._unpack(item, path[1:], origin.scope, depth + 1)
            else:
                found += self._expression(item, origin.scope, depth + 1)
        return found

    # -- attributes, items, calls ---------------------------------------------------------------------------
    def _attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> list[Origin]:
        owner_class = scope.method_class
        if owner_class is not None and scope.is_self(expr.value):
            return self._class_attribute(owner_class, expr.attr, depth)
        held = self._expression(expr.value, scope, depth + 1)
        return [o for origin in held for o in self._attribute_of(origin, expr, scope, depth)]

    def _attribute_of(self, origin: Origin, expr: ast.Attribute, scope: Scope, depth: int) -> list[Origin]:
        match origin:
            case Result(callee=Scope(kind="class") as owner):
                return self._class_attribute(owner, expr.attr, depth)
            case Result(callee=str() | None, node=call, scope=made):
                keyword = next((k.value for k in call.keywords if k.arg == expr.attr), None)
                if keyword is not None:  # loader.sampler is what was passed as sampler=
                    return self._expression(keyword, made, depth + 1)
            case Reference(target=str() as name):
                return [Reference(f"{name}.{expr.attr}")]
            case Reference(target=Scope(kind="class") as owner):
                return self._class_attribute(owner, expr.attr, depth)
            case Reference(target=Scope(kind="module") as module):
                member = self._names.members(module, (expr.attr,))
                if isinstance(member, str | Scope):
                    return [Reference(member)]
        return [Unknown(expr, scope)]

    def _class_attribute(self, owner: Scope, name: str, depth: int) -> list[Origin]:
        """What `self.name` may be, from all assignments in the class and its bases."""
        for base in self._names.bases(owner):
            if isinstance(base, str) or not (name in base.attributes or name in base.bindings):
                continue
            found = [o for b, scope in base.attributes.get(name, ()) for o in self._binding(b, scope, depth + 1)]
            return found + [o for b in base.bindings.get(name, ()) for o in self._binding(b, base, depth + 1)]
        return [Unknown()]

    def _item(self, value: ast.expr, key: ast.expr, scope: Scope, depth: int) -> list[Origin]:
        found: list[Origin] = []
        for origin in self._expression(value, scope, depth + 1):
            items = display_items(origin, key)
            if items and isinstance(origin, Display):
                found += [o for item in items for o in self._expression(item, origin.scope, depth + 1)]
            else:
                found.append(Unknown(value, scope))
        return found

    def _call(self, call: ast.Call, scope: Scope, depth: int) -> list[Origin]:
        found: list[Origin] = []
        for callee in self._callees(call, scope, depth):
            if isinstance(callee, Scope) and callee.kind in ("function", "lambda") and callee.returns:
                for value in callee.returns:
                    found += self._expression(value, callee, depth + 2)
            elif callee is None and isinstance(call.func, ast.Attribute) and call.func.attr in _SELF_METHODS:
                found += self._expression(call.func.value, scope, depth + 1)
            else:
                module = self._imported_by_name(call, scope) if callee == "importlib.import_module" else None
                found.append(Reference(module) if module is not None else Result(callee, call, scope))
        return found

    def _imported_by_name(self, call: ast.Call, scope: Scope) -> Scope | None:
        """The project's module that `import_module("package.module")` gives."""
        match call.args:
            case [ast.Constant(value=str() as name)] if not name.startswith("."):
                target = self._names.imported(Binding("import", call, target=name), scope.facts)
                return target if isinstance(target, Scope) else None
        return None

    def _callees(self, call: ast.Call, scope: Scope, depth: int) -> list[str | Scope | None]:
        if isinstance(call.func, ast.Lambda):
            return [scope.children.get(call.func)]
        return [
            origin.target if isinstance(origin, Reference) else self._method(call, scope)
            for origin in self._expression(call.func, scope, depth + 1)
        ]

    def _method(self, call: ast.Call, scope: Scope) -> str | Scope | None:
        """`super().method` resolves to the next class; anything else here is unknown."""
        function = call.func
        if isinstance(function, ast.Attribute) and is_super(function.value):
            owner = scope.method_class
            for base in self._names.bases(owner)[1:] if owner is not None else []:
                if isinstance(base, str):
                    return f"{base}.{function.attr}"
                if function.attr in base.bindings:
                    last = base.bindings[function.attr][-1]
                    return base.children.get(last.node)
        return None


def _is_class_method(scope: Scope) -> bool:
    node = scope.node
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in decorators)
