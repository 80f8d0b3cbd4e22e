"""What an expression is when the program runs as it is configured by default.

Options can be set by the user, so a test on one is usually true or usually false, never always.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import NamedTuple

from torchrepro_lint.dataflow.abstract_values import (
    Constant,
    Display,
    Origin,
    Parameter,
    Result,
    Unknown,
    display_item,
    is_configured,
)
from torchrepro_lint.dataflow.binding import argument_for, field_value, positional_parameters
from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.enclosing import ancestors, arm_of
from torchrepro_lint.dataflow.frames import Frame, Reach, constructions, is_constructor, shared_depth
from torchrepro_lint.dataflow.outcomes import COMPARE, Truth, joined, truth_of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reaching_definitions import reaching
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.store import remembered, remembered_in_file
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import Binding, ModuleFacts, Scope, last_name
from torchrepro_lint.project.declarations import (
    Declared,
    Default,
    constant,
    declared_in,
    declared_options,
    described,
    is_section,
)
from torchrepro_lint.project.unknown import UNKNOWN

_ENVIRONMENT = frozenset({"os.environ.get", "os.getenv"})
MAX_ARMS = 4  # assignments to one name
MAX_DEPTH = 8  # steps from one expression to the next
NEAR = 4  # steps within which several calls of a function are looked at
OBJECT = object()
"""Stands for a container or an object, which is not None."""


@remembered_in_file
def _declared(facts: ModuleFacts) -> Declared:
    return declared_in(facts)


class _At(NamedTuple):
    """Where an expression is evaluated: in a scope, by a call in progress if one is known, so many steps from where the
    question was asked."""

    scope: Scope
    frame: Frame | None
    depth: int = 0

    def deeper(self) -> _At:
        return _At(self.scope, self.frame, self.depth + 1)

    def moved(self, scope: Scope, frame: Frame | None = None) -> _At:
        """One step away."""
        return _At(scope, frame, self.depth + 1)


class Options:
    """Evaluates expressions under the defaults declared in `files`, which may grow; the first one that knows wins.

    With `first`, options and parameters have the values that they come with, before the program chooses others.
    `reach` is how far out answers rest on how an object was constructed, `of_files` counts those that are written in a
    configuration file.
    """

    def __init__(self, program: Program, files: Collection[ModuleFacts], *, first: bool = False) -> None:
        self._program = program
        self._files = files
        self._first = first
        self.reach = Reach()
        self.of_files = 0
        self._count = 0  # of the files that the tables have
        self._with_option: dict[str, Declared] = {}
        self._with_setting: dict[str, Declared] = {}
        self._set_on_others: set[str] = set()  # attributes of objects that are not `self`
        self._last: tuple[Frame, list[Frame] | None] | None = None
        self._known: dict[tuple[ast.expr, Scope], tuple[list[Default] | None, int]] = {}  # what is written

    def values(self, expr: ast.expr, scope: Scope, frame: Frame | None) -> list[Default] | None:
        """Every value that `expr` has by default, or None when that is unknown."""
        return self._values(expr, _At(scope, frame))

    def truth(self, test: ast.expr, scope: Scope, frame: Frame | None) -> Truth:
        """How `test` comes out when the program runs as configured by default."""
        return self._truth(test, _At(scope, frame))

    # -- values ---------------------------------------------------------------------------------------------------
    def _values(self, expr: ast.expr, at: _At) -> list[Default] | None:
        found = self._held(expr, at)
        return None if found is None or any(v.value is OBJECT for v in found) else found

    def _held(self, expr: ast.expr, at: _At) -> list[Default] | None:
        """The same, with OBJECT for a container or an object, whichever constructor makes it."""
        if at.depth > MAX_DEPTH:
            return None
        match expr:
            case ast.Constant(value=value):
                return [Default(value, settable=False)]
            case ast.IfExp():
                return self._of_arms(expr, at)
            case ast.Compare() | ast.BoolOp() if _is_test(expr):
                truth = self._truth(expr, at.deeper())
                return [Default(truth.usual, settable=truth.certain is None)] if truth.usual is not None else None
            case ast.Name():
                return self._of_name(expr, at)
            case ast.Attribute(value=holder, attr=name):
                found = self._of_object(expr, at) or self._written(expr, at.scope) or self._parsed(expr, at.scope)
                found = found or self._of_annotated(holder, name, at.scope)
                return found or self._configured(name, at.scope, of_section=is_section(holder))
            case ast.Subscript(value=holder, slice=ast.Constant(value=key)):
                found = self._written(expr, at.scope)
                return found or self._configured(str(key), at.scope, of_section=is_section(holder))
            case ast.Call():
                return self._written(expr, at.scope) or self._of_environment(expr, at.scope)
            case _:
                return self._written(expr, at.scope)

    def _of_name(self, name: ast.Name, at: _At) -> list[Default] | None:
        """What a call in progress says of a name, then what is written, whichever call it is."""
        if at.frame is not None:
            frame, others = self._passing(name, at.scope, at.frame)
            passed = self._passed(name.id, frame, at) if frame is not None else None
            if frame is not None and not others:
                return passed
            if passed is not None:  # `if restore: restore = False`
                there = at.moved(at.scope.binding_scope(name.id) or at.scope, at.frame)
                chosen = _joined([passed, *(self._bound(binding, there) for binding in others)])
                if chosen is not None:
                    return chosen
            assigned = self._assigned(name, at) if at.frame.call is not None else None
            if assigned is not None:
                return assigned
        found = self._written(name, at.scope) or self._assigned(name, at) or self._named(name, at.scope)
        return found or self._left(name, at) or self._given(name, at) or self._chosen_among(name, at)

    def _written(self, expr: ast.expr, scope: Scope) -> list[Default] | None:
        """What the code or a configuration file says, whichever calls are in progress."""
        key = (expr, scope)
        known = self._known.get(key)
        if known is None:
            read = self.of_files
            found = self._find_written(expr, scope)
            known = self._known[key] = found, self.of_files - read
            return found
        self.of_files += known[1]
        return known[0]

    def _find_written(self, expr: ast.expr, scope: Scope) -> list[Default] | None:
        found = self._program.origins(expr, scope)
        if found and all(isinstance(o, Constant) for o in found):
            self.of_files += all(map(is_configured, found))
            is_field = _is_field(expr, scope)
            return [Default(o.value, settable=is_field) for o in found if isinstance(o, Constant)]
        if all(_is_made(o) for o in found):
            return [Default(OBJECT, settable=False)]
        return self._in_files(expr, scope)

    def _of_environment(self, call: ast.Call, scope: Scope) -> list[Default] | None:
        """A seed that the environment may hold, `os.environ.get("SEED")`: what it is where nobody sets the variable; or
        one that `getattr` finds in no configuration file."""
        inner = call.args[0] if len(call.args) == 1 else None
        if isinstance(call.func, ast.Name) and call.func.id == "int" and isinstance(inner, ast.Call):
            return self._of_environment(inner, scope)
        match call.args:
            case [ast.Constant(value=str(name)), *rest] if len(rest) <= 1 and _is_for_seed(name):
                asked = self._program.qualified(call.func, scope)
                value = constant(rest[0]) if rest else None
                return [Default(value, settable=True)] if asked in _ENVIRONMENT and value is not UNKNOWN else None
        return self._left_out(call, scope) if getattr(call.func, "id", "") == "getattr" else None

    def _left_out(self, call: ast.Call, scope: Scope) -> list[Default] | None:
        """`getattr(config, "seed", None)` of an entry that the configuration files have not."""
        match call:
            case ast.Call(func=ast.Name(id="getattr"), args=[holder, ast.Constant(value=str(name)) as key, other]) if (
                _is_for_seed(name)
            ):
                value = constant(other) if self._has_entry(holder, key, scope) is Truth.RARELY else UNKNOWN
                return [Default(value, settable=True)] if value is not UNKNOWN else None
        return None

    def _of_arms(self, choice: ast.IfExp, at: _At) -> list[Default] | None:
        truth = self._truth(choice.test, at.deeper())
        arms = {Truth.UNKNOWN: [choice.body, choice.orelse]}.get(truth, [choice.body if truth.usual else choice.orelse])
        if truth is not Truth.UNKNOWN and _falls_back_on_namesake(choice, arms[0]):
            found = [self._written(arms[0], at.scope)]
        else:
            found = [self._held(arm, at.deeper()) for arm in arms]
        return _joined(found, settable=truth.certain is None and truth is not Truth.UNKNOWN)

    # -- objects --------------------------------------------------------------------------------------------------
    def _of_object(self, expr: ast.Attribute, at: _At) -> list[Default] | None:
        """What `self.name` holds by the constructions of the object, if they are known and over."""
        frame, function = at.frame, at.scope.function
        if frame is None or frame.owner is None or function is not frame.function or is_constructor(function):
            return None
        if not at.scope.is_self(expr.value):
            return None
        self._take_in_new_files()
        if expr.attr in self._set_on_others:
            return None
        made = self._constructions(frame)
        depth = at.depth + 1
        found = _joined([self._set_by(constructed, expr.attr, frame.owner, depth) for constructed in made or ()])
        if found is not None:
            self.reach.note(min(shared_depth(frame, constructed) for constructed in made or ()))
        return found

    def _constructions(self, frame: Frame) -> list[Frame] | None:
        """How the object of a frame was made: of the last frame, since a method tests its attributes one by one."""
        if self._last is None or self._last[0] is not frame:
            self._last = frame, constructions(frame, self._program)
        return self._last[1]

    def _set_by(self, constructed: Frame, name: str, owner: Scope, depth: int) -> list[Default] | None:
        """What the constructor sets an attribute to, over what the class has; other methods may have set it since."""
        found: list[list[Default] | None] = []
        settable = False
        for base in reversed(self._program.names.classes(owner)):
            for binding in base.bindings.get(name, ()):
                given = _given_to_field(name, constructed)
                if isinstance(given, ast.expr) and constructed.caller is not None:
                    found = [self._held(given, _At(constructed.caller.function, constructed.caller, depth))]
                else:
                    found = [self._bound(binding, _At(base, None, depth)) if given is None else None]
            for binding, where in base.attributes.get(name, ()):
                kept, there = self._program.values.kept(binding, where, owner)
                own = constructed if there.function is constructed.function else None
                known = own if there is where else None  # of the constructor of a base no call is in progress
                comes = self._comes_by(binding.node, _At(where, known, depth + 1)) if own is not None else Truth.UNKNOWN
                settable |= comes in (Truth.USUALLY, Truth.RARELY)
                if comes.usual is not False:
                    found = [*(found if comes.usual is None else ()), self._bound(kept, _At(there, own, depth))]
        return _joined(found, settable=settable)

    def _bound(self, binding: Binding, at: _At) -> list[Default] | None:
        if binding.kind != "assign" or binding.value is None or binding.path:
            return None
        return self._held(binding.value, at)

    def _comes_by(self, node: ast.AST, at: _At) -> Truth:
        """Whether a call of a function gets to a statement of its own."""
        truths, inner, function = [Truth.ALWAYS], node, at.scope.function.node
        for block in ancestors(node, at.scope):
            if isinstance(block, ast.If):
                truth = self._truth(block.test, at)
                truths.append(truth if arm_of(block, inner) == "body" else truth.inverted())
            elif isinstance(block, ast.stmt) and not isinstance(block, ast.With) and block is not function:
                truths.append(Truth.UNKNOWN)
            inner = block
        return joined(truths, any_of=False)

    def _in_files(self, expr: ast.expr, scope: Scope) -> list[Default] | None:
        """What configuration files say that the user may override."""
        values = _of_files(expr, scope, self._program)
        return [Default(o.value, settable=True) for o in values] if values else None

    def _passing(self, read: ast.Name, scope: Scope, frame: Frame) -> tuple[Frame | None, Sequence[Binding]]:
        """The call in progress whose function has the name as a parameter that may be as it was given: this one, or one
        around it that defined the function which is called. And what else the function may have set it to."""
        owner = scope.binding_scope(read.id)
        while owner is not frame.function and frame.caller is not None:
            frame = frame.caller
        if owner is not frame.function or owner.kind != "function" or frame.call is None or frame.caller is None:
            return None, ()
        bindings = owner.bindings[read.id]  # what the function assigns to it may come later
        found = bindings[:1] if self._first else reaching(bindings, read, owner, scope)
        is_given = bool(found) and found[0] is bindings[0] and bindings[0].kind == "parameter"
        return (frame, found[1:]) if is_given and len(found) <= MAX_ARMS else (None, ())

    def _passed(self, name: str, frame: Frame, at: _At) -> list[Default] | None:
        """The value of a parameter of a call in progress."""
        assert frame.call is not None
        assert frame.caller is not None
        owner, calling = frame.function, frame.caller.function
        given: object = argument_for(frame.call, owner, name)
        if isinstance(given, ast.expr):
            return self._held(given, at.moved(calling, frame.caller))
        if given is not None:  # `**mapping` may pass it
            place = positional_parameters(owner).index(name) if name in positional_parameters(owner) else None
            given = Call(frame.call, calling, "", self._program).argument(name, place)
        if isinstance(given, Site):
            return self._held(given.node, at.moved(given.scope))
        default = owner.bindings[name][0].value
        if given is None and default is not None:
            return self._held(default, at.moved(owner.parent or owner))
        if given is None:
            return self._filled_in(name, owner)
        return self._configured(name, calling) if _passes_options(frame.call, calling) else None

    def _filled_in(self, name: str, owner: Scope) -> list[Default] | None:
        """A parameter that a decorator passes, as click's do."""
        option = declared_options(owner.facts).get(name) if getattr(owner.node, "decorator_list", ()) else None
        return [option] if option is not None else None

    def _assigned(self, expr: ast.Name, at: _At) -> list[Default] | None:
        """A name with one binding, which assigns it."""
        owner, bindings = at.scope.binding_scope(expr.id), at.scope.bindings_of(expr)
        is_told = len(bindings) == 1 or (bindings and self._first)
        return self._bound(bindings[0], at.moved(owner, at.frame)) if owner is not None and is_told else None

    def _chosen_among(self, expr: ast.Name, at: _At) -> list[Default] | None:
        """A name that statements of its function or module assign, some of them in arms of tests: `sampler = None`."""
        owner = at.scope.binding_scope(expr.id)
        if owner is None or owner is not at.scope.function or owner.kind not in ("function", "module"):
            return None
        bindings = owner.bindings[expr.id]
        if not 1 < len(bindings) <= MAX_ARMS or any(b.kind != "assign" or b.path for b in bindings):
            return None
        found: list[list[Default] | None] = []
        settable = False
        there = at.moved(owner, at.frame)
        for binding in reaching(bindings, expr, owner, at.scope):
            comes = self._comes_by(binding.node, there)
            settable |= comes in (Truth.USUALLY, Truth.RARELY)
            if comes.usual is not False:
                found = [*(found if comes.usual is None else ()), self._bound(binding, there)]
        return _joined(found, settable=settable)

    def _left(self, expr: ast.Name, at: _At) -> list[Default] | None:
        """A parameter that none of the calls of its function gives anything."""
        owner, bindings = at.scope.binding_scope(expr.id), at.scope.bindings_of(expr)
        if owner is None or owner.kind != "function" or [b.kind for b in bindings] != ["parameter"]:
            return None
        default = bindings[0].value
        calls = self._program.callers_of(owner) if isinstance(default, ast.Constant) else None
        if default is None or not calls or any(argument_for(c, owner, expr.id) is not None for c, _ in calls):
            return None
        return self._held(default, at.moved(owner.parent or owner))

    def _given(self, expr: ast.Name, at: _At) -> list[Default] | None:
        """A parameter that each of the few calls of its function gives something that is known."""
        owner, bindings = at.scope.binding_scope(expr.id), at.scope.bindings_of(expr)
        if at.frame is not None or owner is None or owner.kind != "function":
            return None
        if [b.kind for b in bindings] != ["parameter"]:
            return None
        calls = self._program.callers_of(owner) or ()
        if not 0 < len(calls) <= (MAX_ARMS if at.depth < NEAR else 1):
            return None
        place = positional_parameters(owner).index(expr.id) if expr.id in positional_parameters(owner) else None
        given = [Call(call, scope, "", self._program).argument(expr.id, place) for call, scope in calls]
        sites = [site for site in given if isinstance(site, Site)]
        return _joined([self._held(s.node, at.moved(s.scope)) for s in sites]) if len(sites) == len(given) else None

    def _named(self, expr: ast.Name, scope: Scope) -> list[Default] | None:
        """A parameter that click or hydra fills in, or that is given all options at once."""
        owner = scope.binding_scope(expr.id)
        option = _declared(owner.facts).options.get(expr.id) if owner is not None else None
        if option is None:
            return None
        is_parameter = any(isinstance(o, Parameter) and o.name == expr.id for o in self._program.origins(expr, scope))
        if not is_parameter and [b.kind for b in scope.bindings_of(expr)] == ["parameter"] and owner is not None:
            calls = self._program.callers_of(owner)
            is_parameter = bool(calls) and all(_passes_options(*call) for call in calls or ())
        return [option] if is_parameter else None

    def _configured(self, name: str, scope: Scope, *, of_section: bool = False) -> list[Default] | None:
        """`args.name` or `cfg["name"]`: an option of that name in this file, then in any file; then a setting. What is
        read of a section of a configuration is no option, since those stand side by side."""
        own = _declared(scope.facts)
        self._take_in_new_files()
        first = own if name in own.options else self._with_option.get(name)
        if first is not None and not of_section:
            return [first.options[name]] if name not in first.chosen or self._first else None
        first = own if name in own.settings else self._with_setting.get(name)
        return first.settings[name] if first is not None else None

    def _parsed(self, read: ast.Attribute, scope: Scope) -> list[Default] | None:
        """An option of an object that a parser of another file gives: `args = parse()`."""
        found: list[list[Default] | None] = []
        for made in self._program.origins(read.value, scope):
            if not isinstance(made, Result) or last_name(made.node.func) != "parse_args":
                return None
            declared = _declared(made.scope.facts)
            is_told = read.attr in declared.options and (read.attr not in declared.chosen or self._first)
            found.append([declared.options[read.attr]] if is_told else None)
        return _joined(found)

    def _of_annotated(self, holder: ast.expr, name: str, scope: Scope) -> list[Default] | None:
        """A field of the class that a name is annotated with, which other classes may have with other defaults."""
        self._take_in_new_files()
        if name in self._set_on_others:
            return None
        said = [getattr(binding.node, "annotation", None) for binding in scope.bindings_of(holder)]
        kinds = [self._program.resolve(kind, scope) for kind in said if isinstance(kind, ast.Name | ast.Attribute)]
        made = [
            binding.value
            for kind in kinds[:1]
            if isinstance(kind, Scope) and kind.kind == "class"
            for base in self._program.names.classes(kind)
            for binding in base.bindings.get(name, ())
        ]
        default = constant(described(made[0])) if made and made[0] is not None else UNKNOWN
        return [Default(default, settable=True)] if default is not UNKNOWN else None

    def _take_in_new_files(self) -> None:
        for facts in islice(self._files, self._count, None):
            declared = _declared(facts)
            for name in declared.options:
                self._with_option.setdefault(name, declared)
            for name in declared.settings:
                self._with_setting.setdefault(name, declared)
            self._set_on_others |= _set_on_others(facts)
        self._count = len(self._files)

    # -- tests ----------------------------------------------------------------------------------------------------
    def _truth(self, test: ast.expr, at: _At) -> Truth:
        if _is_for_checkers(test):
            return Truth.NEVER
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._truth(operand, at).inverted()
            case ast.BoolOp(op=op, values=values):
                return joined([self._truth(value, at) for value in values], any_of=isinstance(op, ast.Or))
            case ast.IfExp():
                return self._chosen(test, at)
            case ast.NamedExpr(value=value):
                return self._truth(value, at)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(left, op, right, at)
            case ast.Call(func=ast.Name(id="hasattr"), args=[holder, ast.Constant(value=str(name)) as key]) if (
                _is_for_seed(name)  # other names may be those of methods
            ):
                return self._has_entry(holder, key, at.scope)
            case _:
                return truth_of(self._values(test, at), bool)

    def _has_entry(self, holder: ast.expr, key: ast.Constant, scope: Scope) -> Truth:
        """Whether configuration files that the user may override say something of a key."""
        defaults = self._program.defaults
        held = defaults.configured_entries(holder, scope) if defaults is not None else None
        if defaults is None or not held or defaults.configured.sets(holder, str(key.value), scope):
            return Truth.UNKNOWN
        return truth_of([Default(display_item(d, key) is not None, settable=True) for d in held], bool)

    def _chosen(self, choice: ast.IfExp, at: _At) -> Truth:
        body, orelse, chosen = (self._truth(part, at) for part in (choice.body, choice.orelse, choice.test))
        if chosen.certain is None:
            return body if body is orelse else Truth.UNKNOWN
        return body if chosen.certain else orelse

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, at: _At) -> Truth:
        if isinstance(op, ast.In | ast.NotIn) and self._program.qualified(right, at.scope) == "os.environ":
            is_for_seed = isinstance(left, ast.Constant) and _is_for_seed(str(left.value))
            return (Truth.RARELY if isinstance(op, ast.In) else Truth.USUALLY) if is_for_seed else Truth.UNKNOWN
        if isinstance(op, ast.In | ast.NotIn) and isinstance(left, ast.Constant):
            is_there = self._has_entry(right, left, at.scope)
            return is_there if isinstance(op, ast.In) else is_there.inverted()
        other, compare = constant(right), COMPARE.get(type(op))
        if other is UNKNOWN or compare is None:
            return Truth.UNKNOWN
        try:
            found = self._held(left, at) if other is None else self._values(left, at)
            return truth_of(found, lambda value: bool(compare(value, other)))
        except TypeError:
            return Truth.UNKNOWN


def _is_test(expr: ast.Compare | ast.BoolOp) -> bool:
    """Whether the value is True or False, not one of the operands, as that of `name or "none"` is."""
    return isinstance(expr, ast.Compare) or all(isinstance(value, ast.Compare) for value in expr.values)


def outcome(expr: ast.expr, scope: Scope, program: Program) -> Truth:
    """How an expression comes out as a test, wherever in the program it is evaluated."""
    if isinstance(expr, ast.Constant):
        return Truth.ALWAYS if expr.value else Truth.NEVER
    return _outcome(expr, scope, program)


@remembered
def _outcome(expr: ast.expr, scope: Scope, program: Program) -> Truth:
    return Options(program, [scope.facts]).truth(expr, scope, None)


def is_of_files(expr: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether configuration files that the user may override say what a value is."""
    return bool(_of_files(expr, scope, program))


def _of_files(expr: ast.expr, scope: Scope, program: Program) -> list[Constant]:
    if not isinstance(expr, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return []
    found = program.defaults.value(expr, scope) if program.defaults is not None else []
    values = [o for o in found if isinstance(o, Constant) and (is_configured(o) or isinstance(expr, ast.Call))]
    return values if len(values) == len(found) else []


def is_never_reached(node: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether a test around a place keeps the program from it, whatever its user chooses: one of a parameter with a
    default, say, that no call gives anything else."""
    return any(
        outcome(condition.test, scope, program) is (Truth.NEVER if condition.holds else Truth.ALWAYS)
        for condition in conditions(node, scope)
    )


def certainty_of(expr: ast.expr, scope: Scope, program: Program, wanted: Callable[[object], bool]) -> Certainty | None:
    """Whether all values of an expression are `wanted`: certain, likely where its user can choose others, or None."""
    values = Options(program, [scope.facts]).values(expr, scope, None)
    if not values or not all(wanted(v.value) for v in values):
        return None
    return Certainty.LIKELY if any(v.settable for v in values) else Certainty.CERTAIN


def _passes_options(call: ast.Call, scope: Scope) -> bool:
    """Whether a call passes all attributes of an object on: `main(**vars(args))`, also by way of a name."""
    passed = [keyword.value for keyword in call.keywords if keyword.arg is None]
    if len(passed) == 1 and isinstance(passed[0], ast.Name):
        passed = [b.value for b in scope.bindings_of(passed[0]) if isinstance(b.value, ast.expr)]
    match passed:
        case [ast.Call(func=ast.Name(id="vars"), args=[_]) | ast.Attribute(attr="__dict__")]:
            return True
    return False


def _given_to_field(name: str, constructed: Frame) -> ast.expr | object | None:
    """What the construction of a dataclass gives one of its fields; OBJECT where it may be among `**values`."""
    call = constructed.call if constructed.function is constructed.owner else None
    if call is None:
        return None
    given = field_value(call, constructed.function, name)
    return OBJECT if isinstance(given, Unknown) else given


def _falls_back_on_namesake(choice: ast.IfExp, arm: ast.expr) -> bool:
    """Whether an arm is what else has the name of the option that is tested: `args.seed if args.seed is not None else
    config["seed"]`."""
    tested = choice.orelse if arm is choice.body else choice.body
    name = _key(arm)
    return bool(name) and _key(tested) == name and ast.unparse(arm) not in ast.unparse(choice.test)


def _key(expr: ast.expr) -> str:
    match expr:
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


def _is_field(expr: ast.expr, scope: Scope) -> bool:
    """Whether this is `self.seed` of a class with a line `seed: int = 0`, as whoever makes the object may choose."""
    owner = scope.method_class if isinstance(expr, ast.Attribute) and scope.is_self(expr.value) else None
    bindings = owner.bindings.get(expr.attr, ()) if owner is not None and isinstance(expr, ast.Attribute) else ()
    return any(isinstance(b.node, ast.AnnAssign) for b in bindings)


def _is_for_seed(variable: str) -> bool:
    """Whether a variable of the environment has a seed that a person sets: Python's and Lightning's are for processes
    that these start."""
    return "SEED" in variable.upper() and not variable.startswith(("PYTHON", "PL_"))


def _is_for_checkers(test: ast.expr) -> bool:
    """`TYPE_CHECKING`, or `TYPE_CHECKING or EAGERLY`, as packages say that import modules when they are asked for."""
    first = test.values[0] if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else test
    return last_name(first) == "TYPE_CHECKING"


def _joined(found: Sequence[list[Default] | None], *, settable: bool = False) -> list[Default] | None:
    """All values of several; None where one of them is unknown."""
    known = [values for values in found if values is not None]
    if not known or len(known) < len(found):
        return None
    return [v._replace(settable=v.settable or settable) for values in known for v in values]


@remembered_in_file
def _set_on_others(facts: ModuleFacts) -> frozenset[str]:
    """The attributes that a file sets of anything but `self`."""
    sets = facts.attribute_sets.items()
    return frozenset(name for name, found in sets if any(not s.scope.is_self(s.target.value) for s in found))


def _is_made(origin: Origin) -> bool:
    match origin:
        case Display() | Result(callee=Scope(kind="class")):
            return True
        case Result(callee=str() as name):
            return name.rpartition(".")[2][:1].isupper()
    return False
