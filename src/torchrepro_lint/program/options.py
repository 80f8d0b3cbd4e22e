"""What an expression is when the program runs as it is configured by default.

Options come from argparse and click declarations, dataclass fields and assignments such as `cfg.seed = 1`. They
can be set by the user, so a test on one is usually true or usually false, never always.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.calls import UNKNOWN, Opaque
from torchrepro_lint.program.values import Constant, Parameter, argument_for

if TYPE_CHECKING:
    from torchrepro_lint.program.program import Program


class Truth(Enum):
    """How a test comes out: for certain, by default, or unknown."""

    ALWAYS = "always"
    NEVER = "never"
    USUALLY = "usually"
    RARELY = "rarely"
    UNKNOWN = "unknown"

    def inverted(self) -> Truth:
        """The truth of `not test`."""
        return _INVERSE[self]


_INVERSE = {
    Truth.ALWAYS: Truth.NEVER,
    Truth.NEVER: Truth.ALWAYS,
    Truth.USUALLY: Truth.RARELY,
    Truth.RARELY: Truth.USUALLY,
    Truth.UNKNOWN: Truth.UNKNOWN,
}


class Default(NamedTuple):
    """A value; `settable` when the user can choose another on the command line or in a configuration."""

    value: object
    settable: bool


class Frame(NamedTuple):
    """A call in progress: `function` entered by `call`, evaluated in `caller`; `owner` is the class of its `self`."""

    function: Scope
    call: ast.Call | None = None
    caller: Frame | None = None
    owner: Scope | None = None


def declared_options(facts: ModuleFacts) -> dict[str, Default]:
    """Option name -> default, for every `add_argument`, `click.option` and `add` of configargparse in a file."""
    found: dict[str, Default] = {}
    for spelled in ("add_argument", "option", "add"):
        for call, _ in facts.calls.get(spelled, ()):
            flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if spelled == "add" and not any(flag.startswith("-") for flag in flags):
                continue
            keywords = {k.arg: k.value for k in call.keywords}
            name = _destination(flags, keywords.get("dest"))
            default = _declared_default(keywords)
            if name and default is not UNKNOWN:
                found[name] = Default(default, settable=True)
    return found


class Declared(NamedTuple):
    """What one file says of options: those it declares; which of them it sets itself, to something that is no constant;
    and for each attribute and class-level field that it sets (`cfg.seed = 1`), the constants, or None where one of the
    values is none."""

    options: dict[str, Default]
    chosen: frozenset[str]
    settings: dict[str, list[Default] | None]


def declared_in(facts: ModuleFacts) -> Declared:
    """The options and settings of a file."""
    settings = _fields(facts)
    for name, sets in facts.attribute_sets.items():
        values = [_constant(s.value) for s in sets if s.value is not None]
        if UNKNOWN in values:
            settings[name] = None
        elif values:
            settings[name] = [Default(v, settable=True) for v in values]
    options = declared_options(facts)
    return Declared(options, frozenset(name for name in options if _is_chosen(name, facts)), settings)


def _is_chosen(name: str, facts: ModuleFacts) -> bool:
    sets = (*facts.attribute_sets.get(name, ()), *facts.subscript_sets.get(name, ()))
    return any(s.value is not None and _constant(s.value) is UNKNOWN for s in sets)


def _fields(facts: ModuleFacts) -> dict[str, list[Default] | None]:
    """Class-level `name = constant`, as in dataclass configurations."""
    found: dict[str, list[Default] | None] = {}
    for scope in facts.scope.children.values():
        for name, bindings in scope.bindings.items() if scope.kind == "class" else ():
            values = [_constant(b.value) for b in bindings if b.value is not None]
            known = [Default(v, settable=True) for v in values if v is not UNKNOWN]
            if known:
                found[name] = [*(found.get(name) or ()), *known]
    return found


def _destination(flags: list[str], dest: ast.expr | None) -> str | None:
    if isinstance(dest, ast.Constant):
        return str(dest.value)
    long = [f for f in flags if f.startswith("--")] or [f for f in flags if f.startswith("-")]
    return long[0].lstrip("-").partition("/")[0].replace("-", "_") if long else None


def _declared_default(keywords: dict[str | None, ast.expr]) -> object | Opaque:
    default = keywords.get("default")
    if default is not None:
        return _constant(default)
    action = keywords.get("action")
    flag = keywords.get("is_flag")
    if isinstance(flag, ast.Constant) and flag.value is True:
        return False
    if isinstance(action, ast.Constant) and action.value in ("store_true", "store_false"):
        return action.value == "store_false"
    required = keywords.get("required")
    return UNKNOWN if isinstance(required, ast.Constant) and required.value else None


def _constant(node: ast.expr) -> object | Opaque:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int | float) else UNKNOWN
    return node.value if isinstance(node, ast.Constant) else UNKNOWN


class Options:
    """Evaluates expressions under the defaults declared in `files`, which may grow; the first one that knows wins."""

    def __init__(self, program: Program, files: Collection[ModuleFacts]) -> None:
        self._program = program
        self._files = files
        self._count = 0  # of the files that the tables have
        self._with_option: dict[str, Declared] = {}
        self._with_setting: dict[str, Declared] = {}

    def values(self, expr: ast.expr, scope: Scope, frame: Frame | None, depth: int = 0) -> list[Default] | None:
        """Every value that `expr` has by default, or None when that is unknown."""
        if depth > 8:
            return None
        if isinstance(expr, ast.Name) and frame is not None:
            passed = self._passed(expr.id, scope, frame, depth)
            if passed is not UNKNOWN:
                return passed
        if isinstance(expr, ast.Constant):
            return [Default(expr.value, settable=False)]
        found = self._program.origins(expr, scope)
        if found and all(isinstance(o, Constant) for o in found):
            return [Default(o.value, settable=False) for o in found if isinstance(o, Constant)]
        if isinstance(expr, ast.Attribute):
            return self._configured(expr.attr, scope)
        if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant):
            return self._configured(str(expr.slice.value), scope)
        if isinstance(expr, ast.Name):
            return self._named(expr, scope, frame, depth, [o.name for o in found if isinstance(o, Parameter)])
        return None

    def _passed(self, name: str, scope: Scope, frame: Frame, depth: int) -> list[Default] | Opaque | None:
        """The value of a parameter of the call in progress; UNKNOWN when `name` is not one."""
        owner = scope.binding_scope(name)
        if owner is not frame.function or owner.kind != "function" or frame.call is None or frame.caller is None:
            return UNKNOWN
        bindings = owner.bindings[name]
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return UNKNOWN
        given = argument_for(frame.call, owner, name)
        if isinstance(given, ast.expr):
            return self.values(given, frame.caller.function, frame.caller, depth + 1)
        default = bindings[0].value
        if given is None and default is not None:
            return self.values(default, owner.parent or owner, None, depth + 1)
        return self._filled_in(name, owner) if given is None else None

    def _filled_in(self, name: str, owner: Scope) -> list[Default] | None:
        """A parameter that a decorator passes, as click's do."""
        option = declared_options(owner.facts).get(name) if getattr(owner.node, "decorator_list", ()) else None
        return [option] if option is not None else None

    def _named(
        self, expr: ast.Name, scope: Scope, frame: Frame | None, depth: int, parameters: list[str]
    ) -> list[Default] | None:
        """A local name: assigned from an option, or a parameter that click or hydra fills in."""
        owner = scope.binding_scope(expr.id)
        bindings = owner.bindings[expr.id] if owner is not None else []
        if owner is not None and len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
            return self.values(bindings[0].value, owner, frame, depth + 1)
        if expr.id in parameters and owner is not None:
            option = self._program.declared(owner.facts).options.get(expr.id)
            return [option] if option is not None else None
        return None

    def _configured(self, name: str, scope: Scope) -> list[Default] | None:
        """`args.name` or `cfg["name"]`: an option of that name in this file, then in any file; then a setting."""
        own = self._program.declared(scope.facts)
        self._take_in_new_files()
        first = own if name in own.options else self._with_option.get(name)
        if first is not None:
            return [first.options[name]] if name not in first.chosen else None
        first = own if name in own.settings else self._with_setting.get(name)
        return first.settings[name] if first is not None else None

    def _take_in_new_files(self) -> None:
        for facts in islice(self._files, self._count, None):
            declared = self._program.declared(facts)
            for name in declared.options:
                self._with_option.setdefault(name, declared)
            for name in declared.settings:
                self._with_setting.setdefault(name, declared)
        self._count = len(self._files)

    # -- tests ------------------------------------------------------------------------------------------------
    def truth(self, test: ast.expr, scope: Scope, frame: Frame | None) -> Truth:
        """How `test` comes out when the program runs as configured by default."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.truth(operand, scope, frame).inverted()
            case ast.BoolOp(op=op, values=values):
                return _joined([self.truth(v, scope, frame) for v in values], any_of=isinstance(op, ast.Or))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(left, op, right, scope, frame)
            case _:
                return _verdict(self.values(test, scope, frame), bool)

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, scope: Scope, frame: Frame | None) -> Truth:
        other = _constant(right)
        compare = _COMPARE.get(type(op))
        if other is UNKNOWN or compare is None:
            return Truth.UNKNOWN

        def holds(value: object) -> bool:
            return bool(compare(value, other))

        try:
            return _verdict(self.values(left, scope, frame), holds)
        except TypeError:
            return Truth.UNKNOWN


_COMPARE: dict[type[ast.cmpop], Callable[[object, object], object]] = {
    ast.Is: lambda a, b: a is b or a == b,
    ast.IsNot: lambda a, b: not (a is b or a == b),
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Gt: lambda a, b: a > b,  # type: ignore[operator]
    ast.GtE: lambda a, b: a >= b,  # type: ignore[operator]
    ast.Lt: lambda a, b: a < b,  # type: ignore[operator]
    ast.LtE: lambda a, b: a <= b,  # type: ignore[operator]
}


def _verdict(values: list[Default] | None, holds: Callable[[object], bool]) -> Truth:
    if not values:
        return Truth.UNKNOWN
    outcomes = {holds(v.value) for v in values}
    if len(outcomes) > 1:
        return Truth.UNKNOWN
    settable = any(v.settable for v in values)
    if outcomes == {True}:
        return Truth.USUALLY if settable else Truth.ALWAYS
    return Truth.RARELY if settable else Truth.NEVER


def _joined(truths: list[Truth], *, any_of: bool) -> Truth:
    """`or` of the truths, or `and` by De Morgan."""
    if not any_of:
        return _joined([t.inverted() for t in truths], any_of=True).inverted()
    for strongest in (Truth.ALWAYS, Truth.USUALLY, Truth.UNKNOWN, Truth.RARELY):
        if strongest in truths:
            return strongest
    return Truth.NEVER
