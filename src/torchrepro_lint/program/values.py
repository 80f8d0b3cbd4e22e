"""Where a value came from: constants, definitions, calls, containers, through names, attributes and functions.

`origins` lists every possibility it can see; `Unknown` among them means there may be others. It follows
assignments without regard to their order, and stops at a bound with `Unknown`: never wrong, sometimes silent.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.program.names import Names, Variable

MAX_DEPTH = 16
MAX_STEPS = 120
MAX_ITEMS = 24  # of a dict whose key is not known
# Methods of modules and tensors that give back the object itself, moved or switched.
_SELF_METHODS = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "float", "double", "bfloat16",
                           "requires_grad_", "share_memory", "to_empty"})  # fmt: skip


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


class Display(NamedTuple):
    """A tuple, list, set or dict written out; `node` has the items, to be evaluated in `scope`."""

    node: ast.Tuple | ast.List | ast.Set | ast.Dict | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
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
CallersOf = Callable[[Scope], "list[tuple[ast.Call, Scope]] | None"]


class Values:
    """Evaluates expressions to their origins. `callers_of` lists the known calls of a function, or None."""

    def __init__(self, names: Names, callers_of: CallersOf) -> None:
        self._names = names
        self._callers_of = callers_of
        self._steps = 0
        self._answers: dict[tuple[ast.expr, Scope], list[Origin]] = {}
        self._called: dict[tuple[ast.Call, Scope], list[str | Scope | None]] = {}
        self._is_cut = False
        self.bounds_hit = 0  # questions whose answer is Unknown because of a bound

    def forget(self) -> None:
        """Files have changed or were dropped: answers may speak of trees that are no more."""
        self._answers.clear()
        self._called.clear()

    def origins(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        """Every origin of `expr` evaluated in `scope`, in the order in which they are written."""
        key = (expr, scope)
        if key not in self._answers:
            self._steps, self._is_cut = 0, False
            self._answers[key] = list(self._expression(expr, scope, 0))
            self.bounds_hit += self._is_cut
        return self._answers[key]

    def single(self, expr: ast.expr, scope: Scope) -> Origin | None:
        """The only origin, or None when there are several."""
        found = self.origins(expr, scope)
        return found[0] if len(found) == 1 else None

    # -- expressions --------------------------------------------------------------------------------------
    def _expression(self, expr: ast.expr, scope: Scope, depth: int) -> Iterator[Origin]:
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > MAX_STEPS:
            self._is_cut = True
            yield Unknown(expr, scope)
            return
        match expr:
            case ast.Constant(value=value):
                yield Constant(value, expr, scope)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                yield Constant(-number, expr, scope)
            case ast.Name() | ast.Attribute():
                yield from self._reference(expr, scope, depth)
            case ast.Call():
                yield from self._call(expr, scope, depth)
            case ast.IfExp(body=body, orelse=orelse):
                yield from self._expression(body, scope, depth + 1)
                yield from self._expression(orelse, scope, depth + 1)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self._expression(value, scope, depth + 1)
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                yield from self._expression(value, scope, depth + 1)
            case (ast.Tuple() | ast.List() | ast.Set() | ast.Dict()
                  | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()):  # fmt: skip
                yield Display(expr, scope)
            case ast.Subscript(value=value, slice=key):
                yield from self._item(value, key, scope, depth)
            case _:
                yield Unknown(expr, scope)

    def _reference(self, expr: ast.expr, scope: Scope, depth: int) -> Iterator[Origin]:
        target = self._names.resolve(expr, scope)
        if isinstance(target, str | Scope):
            yield Reference(target)
        elif isinstance(target, Variable):
            yield from self._variable(target, depth)
        elif isinstance(expr, ast.Attribute):
            yield from self._attribute(expr, scope, depth)
        else:
            yield Unknown(expr, scope)

    def _variable(self, variable: Variable, depth: int) -> Iterator[Origin]:
        for binding in variable.bindings:
            yield from self.binding(binding, variable.scope, depth)

    def binding(self, binding: Binding, scope: Scope, depth: int = 0) -> Iterator[Origin]:
        """The origins of what one binding binds."""
        value = binding.value
        match binding.kind:
            case "assign" if value is not None:
                yield from self._expression(value, scope, depth + 1)
            case "unpack" if value is not None:
                yield from self._unpack(value, binding.path, scope, depth)
            case "loop" if value is not None:
                if binding.path:
                    yield Unknown(binding.node, scope)
                else:
                    yield Element(value, scope)
            case "with" if value is not None and not binding.path:
                yield from self._expression(value, scope, depth + 1)
            case "parameter":
                yield from self._parameter(binding, scope, depth)
            case "function" | "class":
                yield Reference(scope.children[binding.node])
            case "import":  # one of several: which, depends on a test
                yield from self._one_import(binding, scope, depth)
            case _:
                yield Unknown(binding.node, scope)

    def _one_import(self, binding: Binding, scope: Scope, depth: int) -> Iterator[Origin]:
        target = self._names.imported(binding, scope.facts)
        if isinstance(target, Variable):
            yield from self._variable(target, depth + 1) if depth < MAX_DEPTH else (Unknown(binding.node, scope),)
        else:
            yield Reference(target) if target is not None else Unknown(binding.node, scope)

    def _parameter(self, binding: Binding, scope: Scope, depth: int) -> Iterator[Origin]:
        assert isinstance(binding.node, ast.arg)
        name = binding.node.arg
        if name == scope.self_name and scope.parent is not None and _is_class_method(scope):
            yield Reference(scope.parent)
            return
        calls = self._callers_of(scope) if scope.kind == "function" and depth < MAX_DEPTH else None
        if not calls:
            yield Parameter(name, scope)
            return
        for call, caller in calls:
            passed = argument_for(call, scope, name)
            if isinstance(passed, ast.expr):
                yield from self._expression(passed, caller, depth + 2)
            elif passed is None and binding.value is not None:
                yield from self._expression(binding.value, scope.parent or scope, depth + 2)
            else:
                yield Unknown(call, caller)

    def _unpack(self, value: ast.expr, path: tuple[int, ...], scope: Scope, depth: int) -> Iterator[Origin]:
        for origin in self._expression(value, scope, depth + 1):
            if isinstance(origin, Display) and isinstance(origin.node, ast.Tuple | ast.List):
                items = origin.node.elts
                if path[0] < len(items) and not any(isinstance(i, ast.Starred) for i in items):
                    item, rest = items[path[0]], path[1:]
                    yield from (
                        self._unpack(item, rest, origin.scope, depth + 1)
                        if rest
                        else self._expression(item, origin.scope, depth + 1)
                    )
                    continue
            yield Unknown(value, scope)

    # -- attributes, items, calls ---------------------------------------------------------------------------
    def _attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> Iterator[Origin]:
        owner_class = scope.method_class
        if isinstance(expr.value, ast.Name) and owner_class is not None and self._is_self(expr.value, scope):
            yield from self.class_attribute(owner_class, expr.attr, depth)
            return
        for origin in self._expression(expr.value, scope, depth + 1):
            yield from self._attribute_of(origin, expr, scope, depth)

    @staticmethod
    def _is_self(name: ast.Name, scope: Scope) -> bool:
        owner = scope.binding_scope(name.id)
        return owner is not None and owner.self_name == name.id

    def _attribute_of(self, origin: Origin, expr: ast.Attribute, scope: Scope, depth: int) -> Iterator[Origin]:
        match origin:
            case Result(callee=Scope(kind="class") as owner):
                yield from self.class_attribute(owner, expr.attr, depth)
            case Result(callee=str() | None, node=call, scope=made):
                keyword = next((k.value for k in call.keywords if k.arg == expr.attr), None)
                if keyword is not None:  # loader.sampler is what was passed as sampler=
                    yield from self._expression(keyword, made, depth + 1)
                else:
                    yield Unknown(expr, scope)
            case Reference(target=str() as name):
                yield Reference(f"{name}.{expr.attr}")
            case Reference(target=Scope(kind="class") as owner):
                yield from self.class_attribute(owner, expr.attr, depth)
            case _:
                yield Unknown(expr, scope)

    def class_attribute(self, owner: Scope, name: str, depth: int = 0) -> Iterator[Origin]:
        """What `self.name` may be, from all assignments in the class and its bases."""
        for base in self._names.bases(owner):
            if isinstance(base, str):
                continue
            found = base.attributes.get(name, [])
            for binding, scope in found:
                yield from self.binding(binding, scope, depth + 1)
            for binding in base.bindings.get(name, []):
                yield from self.binding(binding, base, depth + 1)
            if found or name in base.bindings:
                return
        yield Unknown()

    def _item(self, value: ast.expr, key: ast.expr, scope: Scope, depth: int) -> Iterator[Origin]:
        for origin in self._expression(value, scope, depth + 1):
            items = self._display_items(origin, key)
            if items and isinstance(origin, Display):
                for item in items:
                    yield from self._expression(item, origin.scope, depth + 1)
            else:
                yield Unknown(value, scope)

    def _display_items(self, origin: Origin, key: ast.expr) -> list[ast.expr]:
        """The item of a display that a literal key means; of a table of functions, all that another key may mean."""
        if isinstance(key, ast.Constant):
            item = self._display_item(origin, key)
            return [item] if item is not None else []
        if isinstance(origin, Display) and isinstance(origin.node, ast.Dict) and None not in origin.node.keys:
            values = origin.node.values
            is_table = all(isinstance(v, ast.Name | ast.Attribute | ast.Lambda) for v in values)
            return values if is_table and len(values) <= MAX_ITEMS else []
        return []

    @staticmethod
    def _display_item(origin: Origin, key: ast.Constant) -> ast.expr | None:
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

    def _call(self, call: ast.Call, scope: Scope, depth: int) -> Iterator[Origin]:
        for callee in self.callees(call, scope, depth):
            if isinstance(callee, Scope) and callee.kind in ("function", "lambda") and callee.returns:
                for value in callee.returns:
                    yield from self._expression(value, callee, depth + 2)
            elif callee is None and isinstance(call.func, ast.Attribute) and call.func.attr in _SELF_METHODS:
                yield from self._expression(call.func.value, scope, depth + 1)
            else:
                yield Result(callee, call, scope)

    def callees(self, call: ast.Call, scope: Scope, depth: int = 0) -> list[str | Scope | None]:
        """What a call may call: an external name, a function or class of the project, or None for unknown."""
        if depth:
            return self._callees(call, scope, depth)
        key = (call, scope)
        if key not in self._called:
            self._called[key] = self._callees(call, scope, 0)
        return self._called[key]

    def _callees(self, call: ast.Call, scope: Scope, depth: int) -> list[str | Scope | None]:
        if isinstance(call.func, ast.Lambda):
            return [scope.children.get(call.func)]
        found: list[str | Scope | None] = []
        for origin in self._expression(call.func, scope, depth + 1):
            found.append(origin.target if isinstance(origin, Reference) else self._method(origin, call, scope))
        return found

    def _method(self, origin: Origin, call: ast.Call, scope: Scope) -> str | Scope | None:
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


def is_super(node: ast.expr) -> bool:
    """`super()` or `super(Class, self)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _is_class_method(scope: Scope) -> bool:
    node = scope.node
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in decorators)


def argument_for(call: ast.Call, function: Scope, name: str) -> ast.expr | Unknown | None:
    """The expression that `call` passes for the parameter `name`; None when it is left out."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    node = function.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return Unknown(call)
    positional = [a.arg for a in node.args.posonlyargs + node.args.args]
    if name in positional:
        place = positional.index(name) - (1 if function.self_name else 0)
        before = call.args[: place + 1]
        if any(isinstance(a, ast.Starred) for a in before):
            return Unknown(call)
        if 0 <= place < len(call.args):
            return call.args[place]
    return Unknown(call) if any(k.arg is None for k in call.keywords) else None
