"""Backward evaluation: what an expression may be, over a domain.

The engine knows by which ways a value travels: names and their bindings, attributes of `self` and of objects that are
made in sight, items of what is written out, unpacking, arguments and results of the project's functions, conditional
expressions. A `Domain` says what is known where a way ends, and how several answers are joined. Of the bindings of a
name those count that the read can see; attributes are followed without regard to order. In every domain, a value
that is made of itself (`x = f(x)` in a loop) is what it may be so far, and beyond the bounds nothing is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import (
    MAX_SETS,
    SAME_OBJECT,
    AbstractValues,
    Constant,
    Display,
    Origin,
    Parameter,
    Reference,
    Result,
    Unknown,
    annotation,
    display_item,
    display_items,
    is_configured,
    put_items,
    unpacked,
)
from torchrepro_lint.dataflow.binding import (
    CONSTRUCTOR,
    argument_for,
    field_value,
    fields,
    is_super,
    value_for,
)
from torchrepro_lint.dataflow.choices import Choices, Chosen, may_choose
from torchrepro_lint.dataflow.domain import Domain
from torchrepro_lint.dataflow.exits import leaves
from torchrepro_lint.dataflow.reaching_definitions import MAX_BINDINGS, definitions, reaching, reads
from torchrepro_lint.dataflow.sites import CallSite, Site
from torchrepro_lint.dataflow.store import Store
from torchrepro_lint.index import Binding, FunctionNode, ModuleFacts, Scope, keyword_value
from torchrepro_lint.project.declarations import declarations
from torchrepro_lint.project.kinds import UNTOLD
from torchrepro_lint.project.listed import ANY
from torchrepro_lint.project.names import Names, Variable, is_left_open
from torchrepro_lint.project.project import Project
from torchrepro_lint.tracking import Memo, Rests

if TYPE_CHECKING:
    from torchrepro_lint.dataflow.configured_values import ConfiguredValues
    from torchrepro_lint.dataflow.paths import Patterns
    from torchrepro_lint.dataflow.registries import Registries

V = TypeVar("V")
A = TypeVar("A")
Part: TypeAlias = "tuple[object, Scope]"
MAX_DEPTH = 20  # a value passed through three functions, each with an unpacking and a few names
MAX_STEPS = 120
MAX_UPDATES = 64  # of one name in a row, `x = f(x)`: far more than is followed, and than anybody writes
MAX_CONSTRUCTORS = 8  # one above the other, by which an argument is passed on
MAX_SETTERS = 12  # files that mention a class, of whose objects attributes are set
MAX_MODULES = 16  # of which one is imported by its name
_IMPORTERS = ("importlib.import_module", "builtins.__import__")
_NOWHERE = MAX_DEPTH + 1
_NO_CIRCLE: frozenset[Part] = frozenset()

_Bound: TypeAlias = "tuple[Binding, Scope]"
CallersOf: TypeAlias = "Callable[[Scope], list[CallSite] | None]"


class _Known(NamedTuple):
    """An answer that is used where working it out anew would give the same: where as many steps and as much depth are
    left as it took, and nothing that is being evaluated is part of the same circle."""

    value: Any
    steps: int
    height: int
    rests: Rests  # on these questions, see `tracking`
    circle: frozenset[Part]  # of a value that is made of itself: all that was worked out for it
    is_cut: bool  # a bound was reached: used only where a question begins with it, which has as much left


class Evaluation(Generic[V]):
    """Evaluates expressions over one domain. `callers_of` lists the known calls of a function, or None; `values` are
    the abstract values of the same program, which say what is called and where an object was made."""

    def __init__(self, domain: Domain[V], names: Names, callers_of: CallersOf, values: Values) -> None:
        self._tracker = names.tracker
        self._domain = domain
        self._names = names
        self._callers_of = callers_of
        self._values = values
        self._answers: Memo[V] = Memo(self._tracker)
        self._parts: dict[Part, _Known] = {}
        self._open: dict[Part, int] = {}  # what is being evaluated, and how deep
        self._opened: list[Part] = []  # for the question, in order
        self._asking: set[tuple[ast.expr, Scope]] = set()
        self._so_far: dict[Part, list[V]] = {}  # of the bindings of a variable
        self._steps, self._depth, self._deepest, self._leans = 0, 0, 0, _NOWHERE
        self._is_cut = False

    def forget(self) -> None:
        """Files have changed or were dropped: answers may speak of trees that are no more."""
        self._answers.clear()
        self._parts.clear()

    def value(self, expr: ast.expr, scope: Scope) -> V:
        """The value of `expr` in `scope`: a question of its own, or part of the one that is being answered."""
        return self(expr, scope) if self._depth else self.ask(expr, scope)

    def ask(self, expr: ast.expr, scope: Scope) -> V:
        """The same, always as a question of its own, for whoever remembers the answer."""
        if isinstance(expr, ast.Constant):
            return self._domain.constant(expr.value, expr, scope)
        key = expr, scope
        if key in self._asking:  # a file whose name is read from the same file
            return self._unknown(expr, scope)
        return self._answers.get(key, self._asked, (self._answer, key))

    def _answer(self, key: tuple[ast.expr, Scope]) -> V:
        self._asking.add(key)
        try:
            found = self(*key)
        finally:
            self._asking.discard(key)
        if self._is_cut:
            self._cut(*key)
        return found

    def _cut(self, expr: ast.expr, scope: Scope) -> None:
        """A bound kept a question from being answered."""

    def _asked(self, work: Callable[..., A], *arguments: Any) -> A:
        """Answer a question within bounds of its own, also where it comes up while another one is answered."""
        outer = self._steps, self._depth, self._deepest, self._leans, self._is_cut
        inside = self._open, self._opened, self._so_far
        self._steps, self._depth, self._deepest, self._leans, self._is_cut = 0, 0, 0, _NOWHERE, False
        self._open, self._opened, self._so_far = {}, [], {}
        try:
            return work(*arguments)
        finally:
            self._steps, self._depth, self._deepest, self._leans, self._is_cut = outer
            self._open, self._opened, self._so_far = inside

    # -- the guard ------------------------------------------------------------------------------------------------
    def __call__(self, expr: ast.expr, scope: Scope) -> V:
        """The value of a part of what is being evaluated."""
        if isinstance(expr, ast.Constant):
            self._steps += 1
            return self._domain.constant(expr.value, expr, scope)
        if isinstance(expr, ast.Name | ast.Attribute):
            target = self._names.resolve(expr, scope)
            if isinstance(target, str | Scope):
                return self._domain.reference(target, expr, scope)
            if isinstance(expr, ast.Attribute):
                found = self._guarded((expr, scope), expr, scope, lambda: self._attribute(expr, target, scope))
            elif isinstance(target, Variable):
                bindings = self._values.reaching(target, expr, scope)
                found = self._variable(target, bindings, expr, scope) if bindings else self._unknown(expr, scope)
            else:
                found = self._unknown(expr, scope)
            return self._domain.named(expr.attr if isinstance(expr, ast.Attribute) else expr.id, found, expr, scope)
        return self._guarded((expr, scope), expr, scope, lambda: self._evaluated(expr, scope))

    def guarded(self, question: object, scope: Scope, work: Callable[[], V]) -> V:
        """What a domain works out besides, of values that may be made of the same again."""
        return self._guarded((question, scope), scope.node, scope, work)

    def _guarded(self, key: Part, expr: ast.AST, scope: Scope, work: Callable[[], V]) -> V:
        """Do the work within the bounds. Its answer is remembered where it depends neither on a bound nor on a value
        that is still being evaluated further up; where it depends on a bound, for questions that begin with it."""
        self._steps += 1
        depth = self._depth + 1
        part = self._parts.get(key)
        if part is not None and self._is_same_here(part, depth):
            self._steps += part.steps
            if part.rests:
                self._tracker.rest_on(part.rests)
            self._deepest = max(self._deepest, depth + part.height)
            self._is_cut |= part.is_cut
            return part.value  # type: ignore[no-any-return]
        if depth > MAX_DEPTH or self._steps > MAX_STEPS:
            self._is_cut = True
            return self._domain.unknown(expr, scope)
        if key in self._open:  # it is made of itself
            return self._again(key)
        steps, deepest, leans, was_cut, opened = (
            self._steps,
            self._deepest,
            self._leans,
            self._is_cut,
            len(self._opened),
        )
        self._depth = self._deepest = self._open[key] = depth
        self._leans, self._is_cut = _NOWHERE, False
        self._opened.append(key)
        outer = self._tracker.begin()
        found = work()
        rests = self._tracker.end(outer)
        del self._open[key]
        if (not self._is_cut or steps == 1) and self._leans >= depth:
            circle = frozenset(self._opened[opened:]) if self._leans == depth else _NO_CIRCLE
            height = self._deepest - depth
            self._parts[key] = _Known(found, self._steps - steps, height, rests, circle, self._is_cut)
        if self._leans >= depth:
            self._leans = _NOWHERE
        self._depth = depth - 1
        self._deepest, self._leans = max(deepest, self._deepest), min(leans, self._leans)
        self._is_cut |= was_cut
        return found

    def _is_same_here(self, part: _Known, depth: int) -> bool:
        if part.is_cut:
            return self._steps == 1
        fits = depth + part.height <= MAX_DEPTH and self._steps + part.steps <= MAX_STEPS
        return fits and (not part.circle or part.circle.isdisjoint(self._open))

    def _again(self, key: Part) -> V:
        self._leans = min(self._leans, self._open[key])
        return self._domain.again(self._join(self._so_far.get(key, ())))

    def _join(self, values: Sequence[V]) -> V:
        return values[0] if len(values) == 1 else self._domain.join(values)

    def _unknown(self, node: ast.AST, scope: Scope) -> V:
        return self._domain.unknown(node, scope)

    # -- expressions ------------------------------------------------------------------------------------------------
    def _evaluated(self, expr: ast.expr, scope: Scope) -> V:
        match expr:
            case ast.Call():
                return self._call(expr, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                found = self._domain.join([self(body, scope), self(orelse, scope)])
                return self._domain.chosen(test, found, scope, self)
            case ast.BoolOp(values=values):
                return self._domain.join([self(value, scope) for value in values])
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self(value, scope)
            case ast.Lambda() if expr in scope.children:
                return self._domain.reference(scope.children[expr], expr, scope)
            case (ast.Tuple() | ast.List() | ast.Set() | ast.Dict()
                  | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()):  # fmt: skip
                return self._domain.display(expr, scope, self)
            case ast.Subscript(value=value, slice=key):
                found = self._item(value, key, scope)
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    return self._domain.named(key.value, found, expr, scope)
                return found
        return self._domain.operator(expr, scope, self)

    # -- names ------------------------------------------------------------------------------------------------------
    def _variable(self, variable: Variable, bindings: tuple[Binding, ...], read: ast.AST, scope: Scope) -> V:
        """What those of a variable's bindings give it that `read` may see."""
        owner = variable.scope
        key = (bindings, owner)

        def joined() -> V:
            found = self._bound(key, [(binding, owner) for binding in bindings])
            return self._domain.named(variable.name, found, read, owner)

        return self._guarded(key, read, scope, joined)

    def _bound(self, key: Part, bindings: Sequence[tuple[Binding, Scope]]) -> V:
        """What bindings give; so far, where one of them asks for the same again."""
        if len(bindings) > MAX_BINDINGS:
            self._is_cut = True
            return self._unknown(bindings[0][0].node, bindings[0][1])
        found = self._so_far[key] = []
        for binding, scope in bindings:
            found.append(self._binding(binding, scope))
        del self._so_far[key]
        return self._join(found)

    def _binding(self, binding: Binding, scope: Scope) -> V:
        """What one binding binds."""
        value = binding.value
        match binding.kind:
            case "assign" if value is not None:
                return self(value, scope)
            case "unpack" if value is not None:
                return self._unpack(value, binding.path, scope)
            case "loop" if value is not None:
                listed = self._values.choices.listed(binding, scope) if binding.path else ()
                if listed:
                    return self._join([self._domain.reference(owner, binding.node, scope) for owner in listed])
                return self._domain.element(binding, scope, self)
            case "with" if value is not None and not binding.path:
                return self(value, scope)
            case "parameter":
                return self._parameter(binding, scope)
            case "function" | "class":
                return self._domain.reference(scope.defined(binding.node), binding.node, scope)
            case "import":  # one of several: which, depends on a test
                return self._one_import(binding, scope)
            case "other" if isinstance(binding.node, ast.arg):
                return self._domain.gathered(binding, scope, self)
            case "other" if isinstance(binding.node, ast.AugAssign):
                return self._domain.operator(binding.node, scope, self)
        return self._unknown(binding.node, scope)

    def _one_import(self, binding: Binding, scope: Scope) -> V:
        target = self._names.imported(binding, scope.facts)
        if isinstance(target, Variable):
            return self._variable(target, target.bindings, binding.node, scope)
        return (
            self._unknown(binding.node, scope)
            if target is None
            else self._domain.reference(target, binding.node, scope)
        )

    def _parameter(self, binding: Binding, scope: Scope) -> V:
        assert isinstance(binding.node, ast.arg)
        name = binding.node.arg
        if name == scope.self_name and scope.parent is not None and _is_class_method(scope):
            return self._domain.reference(scope.parent, binding.node, scope)
        asks = scope.kind == "function" and self._domain.asks_callers(scope)
        if asks and self._depth >= MAX_DEPTH:
            self._is_cut, asks = True, False  # where more is left, callers are asked
        calls = self._callers_of(scope) if asks else None
        if not calls:
            return self._domain.parameter(binding, scope, self)
        passed = [(self._passed(call, caller, binding, scope), call, caller) for call, caller in calls]
        return self._domain.given(binding, scope, passed)

    def _passed(self, call: ast.Call, caller: Scope, parameter: Binding, function: Scope) -> V:
        """What one call gives a parameter."""
        if (given := value_for(call, caller, function, parameter)) is not None:
            return self(*given)
        if parameter.value is not None and _is_left_out(call, caller, parameter, function):
            return self(parameter.value, function.parent or function)
        if (found := self._of_unpacked(call, caller, parameter, function)) is not None:
            return found
        return self._domain.unpassed(call, caller, parameter, function, self)

    def _of_unpacked(self, call: ast.Call, caller: Scope, parameter: Binding, function: Scope) -> V | None:
        """What a call gives a parameter by `**options`, where these are written out or read from a file."""
        mappings = [k.value for k in call.keywords if k.arg is None]
        if len(mappings) != 1 or not self._domain.opens or any(isinstance(a, ast.Starred) for a in call.args):
            return None
        key = ast.Constant(parameter.node.arg)  # type: ignore[attr-defined]
        written = self._entries(mappings[0], key, caller)
        if written:
            return self._join([self(*entry) for entry in written])
        return self._entry(mappings[0], key, caller, parameter.value, function.parent or function)

    def _entries(self, mapping: ast.expr, key: ast.Constant, scope: Scope) -> list[Site]:
        """What a dict of the code has under a key, on any way; nothing where it may have something else."""
        found: list[Site] = []
        for origin in self._origins(mapping, scope):
            item = display_item(origin, key) if not is_configured(origin) else None
            put = put_items(origin, key)
            if (item is None and not put) or not isinstance(origin, Display):
                return []
            found += [Site(value, where) for value, where in [(item, origin.scope), *put] if value is not None]
        return found

    def _unpack(self, value: ast.expr, path: tuple[int, ...], scope: Scope) -> V:
        if not self._domain.opens:
            return self._domain.unpacked(value, path, scope, self)
        found: list[V] = []
        for origin in self._origins(value, scope):
            item = unpacked(origin, path[0])
            if item is None or not isinstance(origin, Display):
                found.append(self._domain.unpacked(value, path, scope, self))
            elif path[1:]:
                found.append(self._unpack(item, path[1:], origin.scope))
            else:
                found.append(self(item, origin.scope))
        return self._join(found)

    # -- attributes and items -----------------------------------------------------------------------------------
    def _attribute(self, expr: ast.Attribute, target: Variable | None, scope: Scope) -> V:
        known = self._domain.known_attribute(expr, scope, self)
        if known is not None:
            return known
        if target is not None:
            return self._variable(target, target.bindings, expr, scope)
        owner = scope.method_class
        if owner is not None and scope.is_self(expr.value):
            found = [self._member(each, expr, scope) for each in self._values.classes_of_self(owner, expr.attr)]
            return self._join([*found, *(self(*site) for site in self._values.set_outside(owner, expr.attr))])
        held = self._origins(expr.value, scope)
        return self._join([self._attribute_of(origin, expr, scope) for origin in held])

    def _attribute_of(self, origin: Origin, expr: ast.Attribute, scope: Scope) -> V:
        match origin:
            case Result(callee=Scope(kind="class") as owner, node=call, scope=made):
                given = self._given_to_field(owner, call, expr.attr)
                if isinstance(given, ast.expr):
                    return self(given, made)
                default = self._member(owner, expr, scope)
                return default if given is None else self._join([default, self._unknown(call, made)])
            case Reference(target=Scope(kind="class") as owner):
                return self._member(owner, expr, scope)
            case Display() if is_configured(origin):
                key = ast.Constant(expr.attr)
                item = display_item(origin, key) if not self._is_set_elsewhere(origin, expr.value, key, scope) else None
                if item is not None:
                    return self(item, origin.scope)
            case Result(node=ast.Call(func=ast.Attribute(attr="parse_args")), scope=made) if (
                defaults := self._default_callables(expr.attr, made)
            ):
                return self._join([*(self(*site) for site in defaults), self._unknown(expr, scope)])
            case Result(callee=str() | None as callee, node=call, scope=made):
                passed = keyword_value(call, expr.attr) or _kept(callee, call, expr.attr)
                if passed is not None:  # loader.sampler is what was passed as sampler=
                    return self(passed, made)
            case Reference(target=str() as name):
                return self._domain.reference(f"{name}.{expr.attr}", expr, scope)
            case Reference(target=Scope(kind="module") as module):
                member = self._names.members(module, (expr.attr,))
                if isinstance(member, str | Scope):
                    return self._domain.reference(member, expr, scope)
            case Parameter() as parameter if (method := self._values.method_of(parameter, expr.attr)) is not None:
                return self._domain.reference(method, expr, scope)
        return self._domain.attribute(expr, scope, self)

    def _given_to_field(self, owner: Scope, call: ast.Call, name: str) -> ast.expr | Unknown | None:
        """What an object of a data class or named tuple is given for a field that its class does not set itself."""
        is_called = not isinstance(call.func, ast.Attribute) or call.func.attr not in _constructors()
        is_kept = is_called and name in fields(owner) and self._names.method(owner, CONSTRUCTOR) is None
        return field_value(call, owner, name) if is_kept and name not in owner.attributes else None

    def _default_callables(self, option: str, scope: Scope) -> list[Site]:
        """The classes and functions that an option has by default: `parser.add_argument("--model", default=Net)`."""
        defaults = ((keyword_value(call, "default"), where) for call, where in declarations(option, scope.facts))
        return [
            Site(default, where)
            for default, where in defaults
            if isinstance(default, ast.Name | ast.Attribute)
            and isinstance(self._names.resolve(default, where), str | Scope)
        ]

    def _member(self, owner: Scope, expr: ast.Attribute, scope: Scope) -> V:
        """What an attribute of an object of the project may be: what any method of its class or of a base sets it to,
        and what the nearest class that has it at its own level does."""
        name, classes = expr.attr, self._names.classes(owner)
        bindings = [self._values.kept(*pair, owner) for base in classes for pair in base.attributes.get(name, ())]
        nearest = next((base for base in classes if name in base.bindings), None)
        bindings += [(b, nearest) for b in nearest.bindings[name]] if nearest is not None else []
        bindings = bindings or self._values.kept_above(owner, name)
        if not bindings:
            return self._domain.attribute(expr, scope, self)
        key = (name, owner)
        if key in self._open:
            return self._again(key)
        self._open[key] = self._depth
        self._opened.append(key)
        found = self._bound(key, bindings)
        del self._open[key]
        return self._domain.member(found)

    def _item(self, value: ast.expr, key: ast.expr, scope: Scope) -> V:
        if not self._domain.opens:
            return self._domain.item(value, key, scope, self)
        kept = self._values.choices.kept_under(value, key, scope)
        if kept:
            return self._join([self._domain.reference(target, key, scope) for target in kept])
        found: list[V] = []
        for origin in self._mappings(value, scope):
            items = display_items(origin, key) if not self._is_set_elsewhere(origin, value, key, scope) else []
            sites = [(item, origin.scope) for item in items if isinstance(origin, Display)] + put_items(origin, key)
            found += [self(item, at) if item is not None else self._unknown(key, at) for item, at in sites]
            if not sites:
                found.append(self._domain.item(value, key, scope, self))
        return self._join(found)

    def _mappings(self, value: ast.expr, scope: Scope) -> list[Origin]:
        """The origins of what items are read of, without the `{}` of `config or {}` where there is a configuration."""
        origins = self._origins(value, scope)
        return [o for o in origins if not _stands_in(o)] or origins

    # -- configuration files ----------------------------------------------------------------------------------------
    def _is_set_elsewhere(self, origin: Origin, holder: ast.expr, key: ast.expr, scope: Scope) -> bool:
        """Whether an item is one of a configuration file that the program may set itself."""
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or not is_configured(origin):
            return False
        return self._values.configured.sets(holder, key.value, scope)

    def _got(self, call: ast.Call, scope: Scope) -> V | None:
        """What `config.get("key", default)` gives, where `config` is read from a file, or written out with the key."""
        match call:
            case ast.Call(
                func=ast.Attribute(value=holder, attr="get" | "pop"), args=[ast.Constant(value=str()) as key, *rest]
            ) if self._domain.opens and not call.keywords:
                origins = self._mappings(holder, scope)
            case _:
                return None
        if origins and all(display_item(o, key) is not None and not is_configured(o) for o in origins):
            return self._item(holder, key, scope)
        default = rest[0] if rest else ast.copy_location(ast.Constant(None), call)
        return self._entry(holder, key, scope, default, scope)

    def _entry(
        self, holder: ast.expr, key: ast.Constant, scope: Scope, default: ast.expr | None, outer: Scope
    ) -> V | None:
        """What a mapping that is read from a file has under a key, or the default."""
        origins = self._mappings(holder, scope)
        known = [o for o in origins if isinstance(o, Display) and is_configured(o)]
        if not known or len(known) < len(origins) or self._is_set_elsewhere(known[0], holder, key, scope):
            return None
        sites = [(display_item(origin, key) or default, origin) for origin in known]
        found = [self(v, outer if v is default else origin.scope) for v, origin in sites if v is not None]
        return self._join(found) if found else None

    def _parsed(self, call: ast.Call, scope: Scope) -> V | None:
        """What a parser of options gives that reads them from a file: one object for each class that it knows."""
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if not self._domain.opens or method not in catalogue.names("configurations", "parsers"):
            return None
        return self._several(self._values.configured.parsed(call, scope))

    def _several(self, sites: Sequence[Site] | None) -> V | None:
        return self._join([self(*site) for site in sites]) if sites else None

    def _read(self, callee: str, call: ast.Call, scope: Scope) -> V | None:
        """What a call gives that reads a configuration file, or hands on what was read."""
        names = catalogue.names
        if callee not in names("configurations", "readers") and callee not in names("configurations", "wrappers"):
            return None
        return self._several(self._values.configured.read(callee, call, scope, self._origins))

    # -- calls ------------------------------------------------------------------------------------------------------
    def _call(self, call: ast.Call, scope: Scope) -> V:
        if (known := self._domain.known_call(call, scope, self)) is not None:
            return known
        if may_choose(call) and (chosen := self._values.chosen(call, scope)) is not None:
            give = self._called if chosen.is_called else self._domain.reference
            return self._join([give(target, call, scope) for target in chosen.targets])
        return self._join([self._called(callee, call, scope) for callee in self._callees(call, scope)])

    def _called(self, callee: str | Scope | None, call: ast.Call, scope: Scope) -> V:
        if isinstance(callee, Scope) and callee.kind in ("function", "lambda") and callee.returns:
            named = self._values.named_by(callee, call, scope)
            if named:
                return self._join([self._domain.reference(target, call, scope) for target in named])
            given = [self._returned(value, callee, call, scope) for value in callee.returns]
            return self._join([*given, self._domain.constant(None, call, scope)] if _may_end(callee) else given)
        if callee is None and isinstance(call.func, ast.Attribute) and call.func.attr in SAME_OBJECT:
            return self(call.func.value, scope)
        found = self._read(callee, call, scope) if isinstance(callee, str) else self._got(call, scope)
        if found is None and callee is None:
            found = self._parsed(call, scope)
        if found is not None:
            return found
        modules = self._imported_by_name(call, scope) if callee in _IMPORTERS else []
        if modules:
            return self._join([self._domain.reference(module, call, scope) for module in modules])
        if callee == "builtins.dict" and (written := self._values.written_out(call, scope)) is not None:
            return self(written, scope)
        made = self._values.made_of_given(callee, call, scope) if isinstance(callee, str) else ()
        if made:
            return self._join([self._domain.result(owner, as_made, scope, self) for owner, as_made in made])
        return self._domain.result(callee, call, scope, self)

    def _returned(self, value: ast.expr, function: Scope, call: ast.Call, caller: Scope) -> V:
        """What a call gives: where the function returns a parameter as it is, what this call passes, and no other."""
        if isinstance(value, ast.Name) and (asserted := self._values.choices.asserted(value.id, function)) is not None:
            return self._domain.reference(*asserted, function)
        name = value.id if isinstance(value, ast.Name) and self._domain.asks_callers(function) else None
        bindings = function.bindings.get(name, ()) if name is not None and name != function.self_name else ()
        if name is None or not any(b.kind == "parameter" for b in bindings):
            return self(value, function)
        match reaching(bindings, value, function, function):
            case [Binding(kind="parameter") as parameter]:
                given = [(self._passed(call, caller, parameter, function), call, caller)]
                return self._domain.given(parameter, function, given)
        return self(value, function)

    def _imported_by_name(self, call: ast.Call, scope: Scope) -> list[Scope]:
        """The project's modules that `import_module(f"models.{name}")` may give; none where it may be many."""
        is_plain = len(call.args) == 1 and all(k.arg == "package" for k in call.keywords)
        names = self._values.names_like(call.args[0], scope) if is_plain else []
        if isinstance(call.func, ast.Name) and call.func.id == "__import__":  # gives the package at the top
            names = [name.partition(".")[0] for name in names]
        bindings = [Binding("import", call, target=name) for name in names if not name.startswith(".")]
        found = [self._names.imported(binding, scope.facts) for binding in bindings]
        return [module for module in found if isinstance(module, Scope)] if len(found) <= MAX_MODULES else []

    # -- what the engine itself needs to know ---------------------------------------------------------------------
    def _origins(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        return self._values.value(expr, scope)

    def _callees(self, call: ast.Call, scope: Scope) -> list[str | Scope | None]:
        return self._values.callees(call, scope)


class Values(Evaluation["list[Origin]"]):
    """The abstract values of expressions: every possibility that can be seen, each once, in the order in which they
    are written; `Unknown` among them means that there may be others."""

    are_defaults = False  # whether options name the configuration file that they name by default

    def __init__(self, project: Project, callers_of: CallersOf, store: Store | None = None) -> None:
        super().__init__(AbstractValues(), project.names, callers_of, self)
        self._project = project
        self._store = store
        self._called_by: Memo[list[str | Scope | None]] = Memo(self._tracker)
        self._upwards: Memo[dict[Scope, list[ast.Call]]] = Memo(self._tracker)
        self._selves: Memo[list[Scope]] = Memo(self._tracker)
        self._set_outside: Memo[list[Site]] = Memo(self._tracker)
        self._chosen_by: Memo[Chosen | None] = Memo(self._tracker)
        self._made_of_given: Memo[list[tuple[Scope, ast.Call]]] = Memo(self._tracker)
        self._written_out: Memo[ast.Dict] = Memo(self._tracker)
        self._reached_by: dict[ast.Name, tuple[Binding, ...]] = {}
        self._outer: dict[Scope, frozenset[str]] = {}
        self._importers: dict[Scope, Binding | None] = {}

    def forget(self) -> None:
        super().forget()
        self._importers.clear()
        self.__dict__.pop("configured", None)
        self.__dict__.pop("registries", None)
        self.__dict__.pop("_paths", None)
        self._called_by.clear()
        self._upwards.clear()
        self._selves.clear()
        self._set_outside.clear()
        self._chosen_by.clear()
        self._made_of_given.clear()
        self._written_out.clear()
        self._reached_by.clear()
        self._outer.clear()

    def value(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        """Never empty: a value that is made of nothing but itself is unknown. Always a question of its own, also while
        another one is being answered: the caller may keep the answer."""
        return self.ask(expr, scope) or [Unknown(expr, scope)]

    def _cut(self, expr: ast.expr, scope: Scope) -> None:
        if self._store is not None:
            place = (expr.lineno, expr.col_offset, expr.end_lineno, expr.end_col_offset)
            self._store.cut(UNTOLD, (scope.facts.source.rel, *place))

    def callees(self, call: ast.Call, scope: Scope) -> list[str | Scope | None]:
        """What a call may call: an external name, a function or class of the project, or None for unknown."""
        return self._called_by.get((call, scope), self._asked, (self._callees, call, scope))

    def reaching(self, variable: Variable, read: ast.expr, scope: Scope) -> tuple[Binding, ...]:
        """The bindings of a variable that a read of it can see, where both stand in code that runs from top to
        bottom; else all; none of what is made of itself again and again."""
        owner = variable.scope
        if len(variable.bindings) == 1 or not isinstance(read, ast.Name) or scope.binding_scope(read.id) is not owner:
            return variable.bindings
        if not _runs_in(scope, owner) or variable.name in self._rebound(owner):
            return variable.bindings
        if read not in self._reached_by:
            found = reaching(variable.bindings, read, owner, scope)
            if max(map(definitions(owner).updates, found)) > MAX_UPDATES:
                self._cut(read, scope)
                found = []
            self._reached_by[read] = tuple(found)
        return self._reached_by[read]

    def kept(self, binding: Binding, scope: Scope, owner: Scope) -> tuple[Binding, Scope]:
        """What an object of a class keeps of what the constructor of a base is given: the arguments that its own
        constructor passes on, by `super().__init__(...)`, not those of all that are derived from the base."""
        value, own = binding.value, self._names.method(owner, CONSTRUCTOR)
        is_given = binding.kind == "assign" and isinstance(value, ast.Name) and scope.own_name == CONSTRUCTOR
        if own is None or scope is own or not is_given:
            return binding, scope
        given = self._passed_on(own, scope, value.id)  # type: ignore[union-attr]
        return (Binding("assign", binding.node, given.node), given.scope) if given is not None else (binding, scope)

    def _passed_on(self, own: Scope, to: Scope, name: str, depth: int = 0) -> Site | None:
        """What the parameter `name` of the constructor `to` of a base is given by the constructor `own` of a class, by
        way of those in between; None where that is not one value."""
        call, above = self._call_upwards(own)
        if above is None or depth > MAX_CONSTRUCTORS:
            return None
        given = Site(ast.Name(name), to) if above is to else self._passed_on(above, to, name, depth + 1)
        if given is None or given.scope is not above:
            return given
        bound = above.bindings.get(given.node.id, []) if isinstance(given.node, ast.Name) else []
        return value_for(call, own, above, bound[0]) if [b.kind for b in bound] == ["parameter"] else None

    def _call_upwards(self, own: Scope) -> tuple[ast.Call, Scope | None]:
        """The one call of a base's constructor in a constructor, as if `self` were not passed, and that constructor."""
        calls = self._upwards.get(own.facts, _constructor_calls, (own.facts,)).get(own, [])
        call = calls[0] if len(calls) == 1 else ast.Call(ast.Name("object"), [], [])
        held = getattr(call.func, "value", None)
        if held is not None and is_super(held):
            above: object = self._method(call, own)
        elif call.args and own.is_self(call.args[0]):  # `Base.__init__(self, ...)`
            above = self._names.resolve(call.func, own)
            call = ast.copy_location(ast.Call(call.func, call.args[1:], call.keywords), call)
        else:
            above = None
        return call, above if isinstance(above, Scope) else None

    def kept_above(self, owner: Scope, name: str) -> list[tuple[Binding, Scope]]:
        """What an object keeps because the constructor of a library's class, from which its class is derived, does so
        with what it is given: `super().__init__(env)`, where that is a wrapper of environments."""
        rows = catalogue.names("callables", "keeps")
        base = next((b for b in self._names.bases(owner) if isinstance(b, str) and b in rows), None)
        own = self._names.method(owner, CONSTRUCTOR) if base is not None else None
        for _ in range(MAX_CONSTRUCTORS):
            if own is None:
                break
            call, above = self._call_upwards(own)
            given = keyword_value(call, name) or _kept(base, call, name)
            if above is None and given is not None:
                return [self.kept(Binding("assign", call, given), own, owner)]
            own = above
        return []

    def classes_of_self(self, owner: Scope, name: str) -> list[Scope]:
        """The classes whose `self.name` a method of a class may read: those that are derived from it, where it leaves
        the name open; these as well, where they override an attribute of a class that is never made itself."""
        return self._selves.get((owner, name), self._classes_of_self, (owner, name))

    def _classes_of_self(self, owner: Scope, name: str) -> list[Scope]:
        own, shared = self._set_by_class(owner, name)
        is_open = self._is_open(own, shared)
        if not is_open and (own or any(b.kind in ("function", "class") for b, _ in shared)):
            return [owner]
        derived = self._names.derived(owner) or ()
        setting = [c for c in derived if name in c.bindings or (is_open and name in c.attributes)]
        if not setting or (not is_open and self._is_made(owner)):
            return [owner]
        is_told = is_open and all(b.value is not None or b.kind == "function" for b, _ in (*own, *shared))
        return setting if is_told else [owner, *setting]

    def _set_by_class(self, owner: Scope, name: str) -> tuple[list[_Bound], list[_Bound]]:
        """What the methods of a class and of its bases set an attribute to, and what the nearest class does that has
        it at its own level."""
        bases = [base for base in self._names.bases(owner) if not isinstance(base, str)]
        nearest = next((base for base in bases if name in base.bindings), None)
        shared = [(b, nearest) for b in nearest.bindings[name]] if nearest is not None else []
        return [pair for base in bases for pair in base.attributes.get(name, ())], shared

    def _is_open(self, own: list[_Bound], shared: list[_Bound]) -> bool:
        methods = [scope.defined(b.node) for b, scope in shared if b.kind in ("function", "class")]
        kept = all(map(is_left_open, methods)) if methods else all(_is_none(b) for b, _ in shared)
        return kept and all(_is_none(b) for b, _ in own)

    def _is_made(self, owner: Scope) -> bool:
        """Whether a class may be called by its own name."""
        called = re.compile(rb"(?<!class )\b%b\s*\(" % owner.own_name.encode())
        text = self._project.text
        paths = text.mentioning(owner.own_name)
        return paths is None or len(paths) > MAX_SETTERS or any(text.has(path, called) for path in paths)

    def set_outside(self, owner: Scope, name: str) -> list[Site]:
        """What other code sets an attribute to that the class of an object leaves open: `solver.model = Net()`."""
        return self._set_outside.get((owner, name), self._find_outside, (owner, name))

    def _find_outside(self, owner: Scope, name: str) -> list[Site]:
        own, shared = self._set_by_class(owner, name)
        paths = self._project.text.mentioning(owner.own_name) if self._is_open(own, shared) else None
        if paths is None or len(paths) > MAX_SETTERS:
            return []
        loaded = (self._project.load(str(path)) for path in paths)
        sets = (item for facts in loaded if facts is not None for item in facts.attribute_sets.get(name, ()))
        return [
            Site(item.value, item.scope)
            for item in islice(sets, MAX_SETS)
            if item.value is not None and self._is_object_of(owner, item.target.value, item.scope)
        ]

    def _is_object_of(self, owner: Scope, held: ast.expr, scope: Scope) -> bool:
        if scope.is_self(held):
            return False
        made = (o.callee for o in self.value(held, scope) if isinstance(o, Result))
        return any(isinstance(c, Scope) and c.kind == "class" and owner in self._names.bases(c) for c in made)

    def _rebound(self, owner: Scope) -> frozenset[str]:
        """The names that functions inside bind by `global` or `nonlocal`."""
        if owner not in self._outer:
            self._outer[owner] = frozenset(name for inner in owner.descend() for name in inner.outer)
        return self._outer[owner]

    @cached_property
    def configured(self) -> ConfiguredValues:
        """What configuration files say."""
        from torchrepro_lint.dataflow.configured_values import ConfiguredValues  # few programs read one

        return ConfiguredValues(self._project, self._paths.ask)

    @cached_property
    def _paths(self) -> Evaluation[Patterns]:
        from torchrepro_lint.dataflow.paths import Paths  # likewise

        return Evaluation(Paths(defaults=self.are_defaults), self._names, self._callers_of, self)

    def names_like(self, expr: ast.expr, scope: Scope) -> list[str]:
        """The names of modules that a text may be, of which parts may be unknown."""
        importer, found = scope.facts.source.path, self._paths.ask(expr, scope)
        if found == (ANY,):
            found = tuple(
                o.value for o in self.value(expr, scope) if isinstance(o, Constant) and isinstance(o.value, str)
            )
        return [n for name in found for n in (self._project.modules_like(name, importer) if ANY in name else [name])]

    def named_by(self, function: Scope, call: ast.Call, scope: Scope) -> list[str | Scope]:
        """The classes and functions that a call of a function gives which imports what a text names."""
        if function not in self._importers:
            from torchrepro_lint.dataflow.texts import importer_of  # not before a function of the project is called

            self._importers[function] = importer_of(function)
        parameter = self._importers[function]
        given = value_for(call, scope, function, parameter) if parameter is not None else None
        texts = [o.value for o in self.value(*given) if isinstance(o, Constant)] if given is not None else []
        bindings = [Binding("import", call, target=t.replace(":", ".")) for t in texts if isinstance(t, str)]
        found = [self._names.imported(binding, scope.facts) for binding in bindings]
        return [t for t in found if isinstance(t, str) or (isinstance(t, Scope) and t.kind in ("function", "class"))]

    def made_of_given(self, callee: str, call: ast.Call, scope: Scope) -> list[tuple[Scope, ast.Call]]:
        """The classes of the project of which a library's function gives an object, with calls."""
        if callee not in _givers():
            return []
        from torchrepro_lint.dataflow.made_of_given import made_of_given  # few programs make objects so

        return self._made_of_given.get((call, scope), made_of_given, (callee, call, scope, self.value))

    def written_out(self, call: ast.Call, scope: Scope) -> ast.Dict | None:
        """The dict that `dict(a=f, b=g)` makes."""
        if call.args or not call.keywords or any(k.arg is None for k in call.keywords):
            return None
        return self._written_out.get((call, scope), _written_out, (call,))

    @cached_property
    def registries(self) -> Registries:
        """The tables of functions and classes that the program fills."""
        from torchrepro_lint.dataflow.registries import Registries  # few programs have one

        return Registries(self._project, self.definitions)

    def definitions(self, expr: ast.expr, scope: Scope) -> list[Scope]:
        """The functions and classes of the project that an expression may be."""
        found = [o.target for o in self.value(expr, scope) if isinstance(o, Reference)]
        return [target for target in found if isinstance(target, Scope) and target.kind in ("function", "class")]

    @property
    def choices(self) -> Choices:
        """What the program chooses by its name."""
        return Choices(self._names, self)

    def chosen(self, call: ast.Call, scope: Scope) -> Chosen | None:
        """The functions or classes that a call chooses by name."""
        return self._chosen_by.get((call, scope), self._asked, (self.choices.of, call, scope))

    def method_of(self, parameter: Parameter, name: str) -> Scope | None:
        """The method of a parameter that nobody is seen to pass, by the class that it is annotated with, where no class
        is derived from it that may have another."""
        owner, said = parameter.scope, annotation(parameter)
        if said is None:
            return None
        declared = self._names.resolve(said, owner.parent or owner)
        method = self._names.method(declared, name) if isinstance(declared, Scope) else None
        if method is None or self._project.text.defining(name) == [method.facts.source.path]:
            return method
        return method if self._names.derived(declared) == () else None  # type: ignore[arg-type]

    def _origins(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        return self(expr, scope)

    def _callees(self, call: ast.Call, scope: Scope) -> list[str | Scope | None]:
        if isinstance(call.func, ast.Lambda):
            return [scope.children.get(call.func)]
        return [o.target if isinstance(o, Reference) else self._method(call, scope) for o in self(call.func, scope)]

    def _method(self, call: ast.Call, scope: Scope) -> str | Scope | None:
        """`super().method` resolves to the next class, and what a library's base makes an object of a class with to
        that class; a name to the class that it is asserted to be derived from; anything else here is unknown."""
        function = call.func
        if isinstance(function, ast.Name):
            asserted = self.choices.asserted(function.id, scope)
            return asserted[0] if asserted is not None else None
        if isinstance(function, ast.Attribute) and function.attr in _constructors():
            made = self._names.resolve(function.value, scope)
            if isinstance(made, Scope) and made.kind == "class" and self._constructs(made, function.attr):
                return made
        if isinstance(function, ast.Attribute) and is_super(function.value):
            owner = scope.method_class
            for base in self._names.bases(owner)[1:] if owner is not None else []:
                if isinstance(base, str):
                    return f"{base}.{function.attr}"
                if function.attr in base.bindings:
                    last = base.bindings[function.attr][-1]
                    return base.children.get(last.node)
        return None

    def _constructs(self, owner: Scope, method: str) -> bool:
        known = catalogue.names("callables", "constructs")
        package = catalogue.names("callables", "constructs_pretrained").get(method, {}).get("package")
        bases = [base for base in self._names.bases(owner) if isinstance(base, str)]
        return any(f"{base}.{method}" in known or base.partition(".")[0] == package for base in bases)


@cache
def _constructors() -> frozenset[str]:
    """The methods by which a library's classes make an object of a class that is derived from them."""
    named = catalogue.names("callables", "constructs"), catalogue.names("callables", "constructs_pretrained")
    return frozenset(name for names in named for name in catalogue.last_parts(names))


def _written_out(call: ast.Call) -> ast.Dict:
    keys: list[ast.expr | None] = [ast.copy_location(ast.Constant(k.arg), k.value) for k in call.keywords]
    return ast.copy_location(ast.Dict(keys, [k.value for k in call.keywords]), call)


@cache
def _givers() -> frozenset[str]:
    """The functions of libraries that give an object of a class, or a copy of an object, that they are given."""
    return frozenset().union(*(catalogue.names("callables", kind) for kind in ("parses", "copies")))


def _constructor_calls(facts: ModuleFacts) -> dict[Scope, list[ast.Call]]:
    """The calls of `__init__` by the functions that they stand in."""
    found: dict[Scope, list[ast.Call]] = {}
    for call, scope in facts.calls.get(CONSTRUCTOR, ()):
        found.setdefault(scope, []).append(call)
    return found


def _is_none(binding: Binding) -> bool:
    """Whether a name is only announced: `model = None`, `model: nn.Module`."""
    is_unset = binding.kind == "assign" and (binding.value is None or isinstance(binding.value, ast.Constant))
    return is_unset and getattr(binding.value, "value", None) is None


def _stands_in(origin: Origin) -> bool:
    """Whether it is the `{}` of `config or {}`."""
    match origin:
        case Display(node=ast.Dict(keys=[]) as node, scope=scope):
            return isinstance(scope.facts.parents.get(node), ast.BoolOp)
    return False


def _may_end(function: Scope) -> bool:
    """Whether a function that answers a question, `return True`, may also come to its end, which is None."""
    answers = all(isinstance(r, ast.Constant) and isinstance(r.value, bool) for r in function.returns)
    return answers and isinstance(function.node, FunctionNode) and not leaves(function.node.body, caught=False)


def _kept(callee: str | None, call: ast.Call, name: str) -> ast.expr | None:
    """The argument, passed by its place, that an object keeps as an attribute of the same name."""
    row = catalogue.names("callables", "keeps").get(callee) if callee is not None else None
    place = row["positions"].get(name) if row is not None else None
    if place is None or any(isinstance(a, ast.Starred) for a in call.args[: place + 1]):
        return None
    return call.args[place] if place < len(call.args) else None


def _is_left_out(call: ast.Call, caller: Scope, parameter: Binding, function: Scope) -> bool:
    """Whether a call passes a parameter neither itself nor by the `**options` that it unpacks, which are written out
    and only ever unpacked."""
    name = parameter.node.arg  # type: ignore[attr-defined]
    by_itself = ast.Call(call.func, call.args, [k for k in call.keywords if k.arg is not None])
    unpacked = [k.value for k in call.keywords if k.arg is None]
    return argument_for(by_itself, function, name) is None and all(
        name not in keys for mapping in unpacked for keys in [_only_keys(mapping, caller) or (name,)]
    )


def _only_keys(mapping: ast.expr, scope: Scope) -> list[object] | None:
    """The keys of a dict that is written out and bound to one name, which is read to unpack it alone."""
    bound = scope.bindings_of(mapping)
    owner = scope.binding_scope(mapping.id) if isinstance(mapping, ast.Name) else None
    match bound:
        case [Binding(kind="assign", value=ast.Dict(keys=keys))] if owner is not None and isinstance(mapping, ast.Name):
            parents = scope.facts.parents
            uses = (parents.get(site.node) for site in reads(mapping.id, owner))
            if all(isinstance(use, ast.keyword) and use.arg is None for use in uses):
                return [getattr(key, "value", None) for key in keys]
    return None


def _runs_in(scope: Scope, owner: Scope) -> bool:
    """Whether the code of `scope` runs where that of `owner` does: it is the same, or a comprehension in it."""
    while scope is not owner and scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope is owner


def attribute_values(attribute: ast.Attribute, scope: Scope) -> list[Site]:
    """What the same attribute of an object that is not made in sight, by the same words, is set to in the file: in
    other functions, and above the read in its own."""
    found = []
    for item in scope.facts.object_sets(attribute):
        value = item.statement.value if isinstance(item.statement, ast.AugAssign) else item.value
        is_above = item.scope.function is not scope.function or item.statement.lineno < attribute.lineno
        if value is not None and is_above:
            found.append(Site(value, item.scope))
            if len(found) == MAX_SETS:
                break
    return found


def _is_class_method(scope: Scope) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in scope.decorators)
