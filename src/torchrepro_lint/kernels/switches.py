"""Which settings of a switch last: one may be undone before it matters, be chosen by an option, or hold for a while
only, by what the same function sets elsewhere, what the functions that it calls set, and what its callers set after it.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Module, Program, remembered, start_of
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.conditions import are_exclusive, conditions
from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.index import ModuleFacts, Scope, calls_in, names_in
from torchrepro_lint.kernels.flags import Setting, assigned, mentions, passed, state
from torchrepro_lint.rng.predicates import determinism, flag, is_requested

_QUIET = frozenset({"torch", "numpy", "random", "os", "builtins", "logging", "warnings"})
_PAIRED = frozenset({"__enter__", "__exit__", "setUp", "tearDown", "setUpClass", "tearDownClass",
                     "setup_method", "teardown_method"})  # fmt: skip
_PLACE = attrgetter("place")
MAX_OTHERS = 64  # settings to another value that are looked at for each: nobody writes more of one switch
MAX_CALLS = 3  # further ones, of one another
MAX_BETWEEN = 64  # statements after which a switch is not set back at once

Set: TypeAlias = "tuple[Setting, bool | None]"


class Switch:
    """Every place of a file that sets one switch, with the state that it sets; None where it is not known. `of` gives
    the same of another file: a call of a function that sets the switch is such a place, too."""

    def __init__(
        self,
        settings: Sequence[Set],
        program: Program,
        of: Callable[[Module], Switch] = lambda m: Switch((), m.program),
    ) -> None:
        self.settings = sorted(settings, key=lambda item: item[0].place)
        self._program = program
        self._of = of
        self._elsewhere: dict[ModuleFacts, Switch] = {}
        self._own: dict[Scope, list[Set]] = {}
        self._in_function: dict[tuple[Scope, bool | None], list[Setting]] = {}
        self._in_halves: dict[tuple[Scope | None, bool | None], list[Setting]] = {}  # of context managers, by class
        for setting, value in self.settings:
            function = setting.scope.function
            self._own.setdefault(function, []).append((setting, value))
            if function.own_name in _PAIRED:
                self._in_halves.setdefault((function.method_class, value), []).append(setting)

    def _in(self, facts: ModuleFacts) -> Switch:
        """The same of another file."""
        if facts not in self._elsewhere:
            self._elsewhere[facts] = self._of(Module(facts, self._program))
        return self._elsewhere[facts]

    def _others(self, function: Scope, value: bool | None) -> list[Setting]:
        """The places in a function that set the switch to this, in source order."""
        if (function, value) not in self._in_function:
            sets = chain(self._own.get(function, ()), self._called(function))
            found = [setting for setting, state in sets if state is value]
            self._in_function[function, value] = sorted(found, key=_PLACE)
        return self._in_function[function, value]

    def _called(self, function: Scope) -> Iterator[Set]:
        """What the calls in a function set in functions of the project, whatever these are given."""
        for call, scope in function.runs:
            if isinstance(call, ast.Call):
                yield from self._called_by(call, scope, MAX_CALLS)

    def _called_by(self, call: ast.Call, scope: Scope, further: int) -> Iterator[Set]:
        for target in self._program.functions_run(call, scope):
            if target.kind == "function" and target is not scope.function:
                switch = self._in(target.facts)
                for inner, value in switch.in_any_case(target, further):
                    yield _at_call(call, scope, inner), value
                for inner, value in switch.where_asked(target, call):
                    yield _at_call(call, scope, inner), value

    def _calls(self, setting: Setting) -> Iterator[tuple[Switch, Setting]]:
        """The calls that lead to a place that its function comes by in any case, as places of their files."""
        function = setting.scope.function
        is_certain = setting.scope is function and setting.statement in getattr(function.node, "body", ())
        calls = self._program.callers_of(function) if is_certain and function.kind == "function" else None
        for call, scope in calls or ():
            switch = self if scope.facts is setting.facts else self._in(scope.facts)
            yield switch, _at_call(call, scope, setting)

    def in_any_case(self, function: Scope, further: int) -> Iterator[Set]:
        """What a function sets whatever it is given, by itself or by the calls that are statements of it."""
        body = getattr(function.node, "body", ())
        for setting, value in self._own.get(function, ()):
            if setting.scope is function and value is not None and setting.statement in body:
                yield setting, value
        for statement in body if further else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                yield from self._called_by(statement.value, function, further - 1)

    def where_asked(self, function: Scope, call: ast.Call) -> Iterator[Set]:
        """What a function sets where `call` asks it for determinism, by an argument that its user may choose."""
        for setting, value in self._own.get(function, ()):
            if value is None or not is_requested(setting.node, setting.scope):
                continue
            tested = names_in(*(c.test for c in conditions(setting.node, setting.scope)))
            passed = (argument_for(call, function, name) for name in tested)
            if any(p is not None and not isinstance(p, ast.Constant) for p in passed):
                yield setting, value

    def undone(self, setting: Setting, here: bool, further: int = MAX_CALLS) -> bool:
        """Whether a later setting gives a switch that is set to `here` the other value before it matters: at once, or
        wherever determinism is asked for; in the same function, or after each call of it."""
        calls = list(self._calls(setting)) if further else []
        if calls and all(switch.undone(call, here, further - 1) for switch, call in calls):
            return True
        opposite = self._others(setting.scope.function, not here)
        later = opposite[bisect_right(opposite, setting.place, key=_PLACE) :][: MAX_OTHERS + 1]
        for other in later:
            if are_exclusive((setting.node, setting.scope), (other.node, other.scope)):
                continue
            if _is_requested(other) or _at_once(self._program, setting, other):
                return True
        return len(later) > MAX_OTHERS

    def chosen(self, setting: Setting, here: bool) -> bool:
        """Whether an option decides between this value and the other one, which the other arm of its test gives, or
        which stands where the test is not asked yet."""
        others = self._others(setting.scope.function, not here)[:MAX_OTHERS]
        if any(_is_taken_back(other, setting) for other in others):
            return True
        own = {c.test: c.holds for c in conditions(setting.node, setting.scope) if flag(c.test) is not None}
        return bool(own) and any(
            own.get(c.test, c.holds) is not c.holds for other in others for c in conditions(other.node, other.scope)
        )

    def temporary(self, setting: Setting, here: bool, further: int = MAX_CALLS) -> bool:
        """Whether a switch that is set to `here` is so for a while only: it is set back later in the same
        function or by the other half of a context manager, this line sets back what the same block set before,
        or the function is there to undo what another one did."""
        function = setting.scope.function
        if function.kind == "function" and determinism(ast.Name(function.own_name)) is False:
            return True
        calls = list(self._calls(setting)) if further else []
        if calls and all(switch.temporary(call, here, further - 1) for switch, call in calls):
            return True
        unlike = islice(self._unlike(setting, here), MAX_OTHERS)
        place = setting.node, setting.scope
        both = (other for other in unlike if not are_exclusive(place, (other.node, other.scope)))
        return any(_set_back(setting, other) or _two_halves(setting.scope, other.scope) for other in both)

    def _unlike(self, setting: Setting, here: bool) -> Iterator[Setting]:
        """The settings to another value that may belong to this one."""
        function = setting.scope.function
        for value in (not here, None):
            yield from self._others(function, value)
            if function.own_name in _PAIRED:
                yield from self._in_halves.get((function.method_class, value), ())


def stated(module: Module, owner: str, name: str) -> Switch:
    """Every place of a file that sets `owner.name`, also by a call of the catalogue."""
    states = _states(module.facts, owner, name, module.program) if mentions(module.facts, name) else ()
    return Switch(states, module.program, lambda other: stated(other, owner, name))


@remembered
def _states(facts: ModuleFacts, owner: str, name: str, program: Program) -> tuple[Set, ...]:
    module = Module(facts, program)
    settings = [*assigned(module, owner, name), *passed(module, catalogue.names("backend_flags", name))]
    return tuple((setting, state(program, setting)) for setting in settings)


def _is_requested(setting: Setting) -> bool:
    """Whether determinism is asked for there, or in the function that is called there."""
    is_inside = setting.inner is not None and _is_requested(setting.inner)
    return is_inside or is_requested(setting.node, setting.scope)


def _is_taken_back(first: Setting, setting: Setting) -> bool:
    """Whether a switch that is set in any case is set anew under a test of what the function is given."""
    before = conditions(first.node, first.scope)
    own = [c for c in conditions(setting.node, setting.scope) if c not in before]
    tests = [condition.test for condition in own]
    read = names_in(*tests)
    if first.place >= setting.place or any(calls_in(*tests)) or not read:
        return False
    bound = (s.bindings.get(name, ()) for s in setting.scope.function.descend() for name in read)
    return any(isinstance(binding.node, ast.arg) for bindings in bound for binding in bindings)


def _at_once(program: Program, first: Setting, second: Setting) -> bool:
    """Both stand in one block, and nothing between them can run a kernel."""
    facts = first.facts
    block = block_of(facts, first.statement)
    start, end = _index(block, first.statement), _index(block, second.statement)
    if start is None or end is None or end - start > MAX_BETWEEN:
        return False
    between = [(s, first.scope) for s in block[start + 1 : end]]
    after, before = first.inner, second.inner
    while after is not None:  # in the function that is called, what comes after it
        between += [(s, after.scope) for s in _around(after)[1]]
        after = after.inner
    while before is not None:
        between += [(s, before.scope) for s in _around(before)[0]]
        before = before.inner
    return all(_is_quiet(*site, program) for site in between)


def _at_call(call: ast.AST, scope: Scope, inner: Setting) -> Setting:
    return Setting(call, inner.value, scope, inner.value_scope, inner=inner)


def _around(setting: Setting) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What its block runs before and after it."""
    block = block_of(setting.facts, setting.statement)
    place = _index(block, setting.statement) or 0
    return block[:place], block[place + 1 :]


def _is_quiet(statement: ast.AST, scope: Scope, program: Program, depth: int = 2) -> bool:
    """Whether a statement runs no kernel, as far as its calls show."""
    for target in (program.resolve(call.func, scope) for call in calls_in(statement)):
        if isinstance(target, Scope):
            if target.kind != "function" or depth == 0 or not _is_quiet(target.node, target, program, depth - 1):
                return False
        elif not isinstance(target, str) or target.partition(".")[0] not in _QUIET:
            return False
    return True


def _set_back(setting: Setting, other: Setting) -> bool:
    if setting.scope.function is not other.scope.function or setting.scope.function.kind != "function":
        return False
    if other.place > setting.place:
        return True
    block = block_of(setting.facts, setting.statement)
    here, there = _index(block, setting.statement), _index(block, other.statement)
    return here is not None and there is not None and here - there > 1


def _index(block: Sequence[ast.stmt], statement: ast.stmt) -> int | None:
    """Where a statement stands in a block, None for one that does not."""
    found = bisect_left(block, start_of(statement), key=start_of)
    return found if found < len(block) and block[found] is statement else None


def _two_halves(first: Scope, second: Scope) -> bool:
    one, two = first.function, second.function
    names = {one.own_name, two.own_name}
    return names <= _PAIRED and one.method_class is not None and one.method_class is two.method_class
