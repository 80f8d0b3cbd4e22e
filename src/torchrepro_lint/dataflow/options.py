"""What an expression is when the program runs as it is configured by default.

Options can be set by the user, so a test on one is usually true or usually false, never always.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from itertools import islice
from typing import NamedTuple

from torchrepro_lint.dataflow.abstract_values import Constant, Display, Parameter, Result, is_configured
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.outcomes import COMPARE, Truth, joined, truth_of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.project.declarations import Declared, Default, constant, declared_in, declared_options
from torchrepro_lint.project.unknown import UNKNOWN, Opaque


class Frame(NamedTuple):
    """A call in progress: `function` entered by `call`, evaluated in `caller`; `owner` is the class of its `self`."""

    function: Scope
    call: ast.Call | None = None
    caller: Frame | None = None
    owner: Scope | None = None


@remembered
def _declared(facts: ModuleFacts, program: Program) -> Declared:  # noqa: ARG001
    return declared_in(facts)


class Options:
    """Evaluates expressions under the defaults declared in `files`, which may grow; the first one that knows wins.

    With `first`, options and parameters have the values that they come with, before the program chooses others.
    """

    def __init__(self, program: Program, files: Collection[ModuleFacts], *, first: bool = False) -> None:
        self._program = program
        self._files = files
        self._first = first
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
        configured = self._in_files(expr, scope)
        if configured is not None:
            return configured
        if isinstance(expr, ast.Attribute):
            return self._configured(expr.attr, scope)
        if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant):
            return self._configured(str(expr.slice.value), scope)
        if isinstance(expr, ast.Name):
            return self._named(expr, scope, frame, depth, [o.name for o in found if isinstance(o, Parameter)])
        return None

    def _in_files(self, expr: ast.expr, scope: Scope) -> list[Default] | None:
        """What configuration files say that the user may override."""
        if not isinstance(expr, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            return None
        defaults = self._program.defaults
        found = defaults.value(expr, scope) if defaults is not None else []
        values = [o for o in found if isinstance(o, Constant) and is_configured(o)]
        return [Default(o.value, settable=True) for o in values] if found and len(values) == len(found) else None

    def _passed(self, name: str, scope: Scope, frame: Frame, depth: int) -> list[Default] | Opaque | None:
        """The value of a parameter of the call in progress; UNKNOWN when `name` is not one."""
        owner = scope.binding_scope(name)
        if owner is not frame.function or owner.kind != "function" or frame.call is None or frame.caller is None:
            return UNKNOWN
        bindings = owner.bindings[name]
        if (len(bindings) != 1 and not self._first) or bindings[0].kind != "parameter":
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
        binding = bindings[0] if len(bindings) == 1 or (bindings and self._first) else None
        if owner is not None and binding is not None and binding.kind == "assign" and binding.value is not None:
            return self.values(binding.value, owner, frame, depth + 1)
        if expr.id in parameters and owner is not None:
            option = _declared(owner.facts, self._program).options.get(expr.id)
            return [option] if option is not None else None
        return None

    def _configured(self, name: str, scope: Scope) -> list[Default] | None:
        """`args.name` or `cfg["name"]`: an option of that name in this file, then in any file; then a setting."""
        own = _declared(scope.facts, self._program)
        self._take_in_new_files()
        first = own if name in own.options else self._with_option.get(name)
        if first is not None:
            return [first.options[name]] if name not in first.chosen or self._first else None
        first = own if name in own.settings else self._with_setting.get(name)
        return first.settings[name] if first is not None else None

    def _take_in_new_files(self) -> None:
        for facts in islice(self._files, self._count, None):
            declared = _declared(facts, self._program)
            for name in declared.options:
                self._with_option.setdefault(name, declared)
            for name in declared.settings:
                self._with_setting.setdefault(name, declared)
        self._count = len(self._files)

    def truth(self, test: ast.expr, scope: Scope, frame: Frame | None) -> Truth:
        """How `test` comes out when the program runs as configured by default."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.truth(operand, scope, frame).inverted()
            case ast.BoolOp(op=op, values=values):
                return joined([self.truth(v, scope, frame) for v in values], any_of=isinstance(op, ast.Or))
            case ast.IfExp():
                return self._chosen(test, scope, frame)
            case ast.NamedExpr(value=value):
                return self.truth(value, scope, frame)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(left, op, right, scope, frame)
            case _:
                return truth_of(self.values(test, scope, frame), bool)

    def _chosen(self, choice: ast.IfExp, scope: Scope, frame: Frame | None) -> Truth:
        body, orelse = (self.truth(arm, scope, frame) for arm in (choice.body, choice.orelse))
        chosen = self.truth(choice.test, scope, frame).certain
        if chosen is None:
            return body if body is orelse else Truth.UNKNOWN
        return body if chosen else orelse

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, scope: Scope, frame: Frame | None) -> Truth:
        other = constant(right)
        compare = COMPARE.get(type(op))
        if other is UNKNOWN or compare is None:
            return Truth.UNKNOWN
        if other is None and self._is_made(left, scope):
            return Truth.ALWAYS if isinstance(op, ast.IsNot | ast.NotEq) else Truth.NEVER

        def holds(value: object) -> bool:
            return bool(compare(value, other))

        try:
            return truth_of(self.values(left, scope, frame), holds)
        except TypeError:
            return Truth.UNKNOWN

    def _is_made(self, expr: ast.expr, scope: Scope) -> bool:
        """Whether a value is a container or an object, whichever constructor makes it: then it is not None."""
        origins = self._program.origins(expr, scope)
        return bool(origins) and all(
            isinstance(o, Display) or (isinstance(o, Result) and _is_class(o.callee)) for o in origins
        )


def outcome(expr: ast.expr, scope: Scope, program: Program) -> Truth:
    """How an expression comes out as a test, wherever in the program it is evaluated."""
    return Options(program, [scope.facts]).truth(expr, scope, None)


def _is_class(callee: str | Scope | None) -> bool:
    if isinstance(callee, Scope):
        return callee.kind == "class"
    return callee is not None and callee.rpartition(".")[2][:1].isupper()
