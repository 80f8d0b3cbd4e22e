"""The places where a program sets a switch of a back end, in every spelling, and what it sets it to.

A switch is named by its owner and attribute (`torch.backends.cudnn`, `benchmark`). Knows how values reach a
switch and which later setting undoes an earlier one; what a value means for a rule is the rule's business.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import attrgetter
from typing import Any, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Reference
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.conditions import are_exclusive, conditions
from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.dataflow.instantiated import instantiated_calls, makers
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.index.parents import descendants
from torchrepro_lint.rng.predicates import determinism, flag, is_requested, mentions_request

_QUIET = frozenset({"torch", "numpy", "random", "os", "builtins", "logging", "warnings"})
_PAIRED = frozenset({"__enter__", "__exit__", "setUp", "tearDown", "setUpClass", "tearDownClass",
                     "setup_method", "teardown_method"})  # fmt: skip
_PLACE = attrgetter("place")
MAX_OTHERS = 64  # settings to another value that are looked at for each: nobody writes more of one switch
MAX_BETWEEN = 64  # statements after which a switch is not set back at once


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One place that sets a switch. `node` is what to show; `value` is evaluated in `value_scope`.

    `call` is the call that sets it, if one does, and `keyword` the name that the value is passed by. `inner` is the
    place in a function of the project where that is called, which `node` is then.
    """

    node: ast.AST
    value: ast.expr
    scope: Scope
    value_scope: Scope
    target: ast.Attribute | None = None
    call: ast.Call | None = None
    keyword: str | None = None
    inner: Setting | None = None

    @property
    def facts(self) -> ModuleFacts:
        """The file that it is written in."""
        return self.scope.facts

    @property
    def statement(self) -> ast.stmt:
        """The statement that does it."""
        return self.facts.statement(self.node)

    @property
    def place(self) -> tuple[int, int]:
        """Where that statement begins: line and column."""
        return self.statement.lineno, self.statement.col_offset

    @property
    def written(self) -> str:
        """How it is written, in short."""
        facts = self.facts
        if self.target is not None:
            return f"{facts.text(self.target)} = {facts.text(self.value)}"
        if self.call is not None and self.keyword:
            value = self.value_scope.facts.text(self.value)
            more = "..., " if len(self.call.args) + len(self.call.keywords) > 1 else ""
            return f"{facts.text(self.call.func)}({more}{self.keyword}={value})"
        return facts.text(self.node)


Set: TypeAlias = "tuple[Setting, bool | None]"


class Switch:
    """Every place of a file that sets one switch, with the state that it sets; None where it is not known. `called`
    says what the calls in a function set in functions of the project, whatever they are given."""

    def __init__(self, settings: Sequence[Set], called: Callable[[Scope], Iterable[Set]] = lambda _: ()) -> None:
        self.settings = sorted(settings, key=lambda item: item[0].place)
        self._called = called
        self._in_function: dict[tuple[Scope, bool | None], list[Setting]] = {}
        self._in_halves: dict[tuple[Scope | None, bool | None], list[Setting]] = {}  # of context managers, by class
        for setting, value in self.settings:
            function = setting.scope.function
            if _last(function).id in _PAIRED:
                self._in_halves.setdefault((function.method_class, value), []).append(setting)

    def _others(self, function: Scope, value: bool | None) -> list[Setting]:
        """The places in a function that set the switch to this, in source order."""
        if (function, value) not in self._in_function:
            own = (item for item in self.settings if item[0].scope.function is function)
            found = [setting for setting, state in chain(own, self._called(function)) if state is value]
            self._in_function[function, value] = sorted(found, key=_PLACE)
        return self._in_function[function, value]

    def in_any_case(self, function: Scope) -> Iterator[Set]:
        """What a function sets whatever it is given, by itself."""
        body = getattr(function.node, "body", ())
        for setting, value in self.settings:
            if setting.scope is function and value is not None and setting.statement in body:
                yield setting, value

    def undone(self, program: Program, setting: Setting, here: bool) -> bool:
        """Whether a later setting in the same function gives a switch that is set to `here` the other value
        before it matters: at once, or wherever determinism is asked for."""
        opposite = self._others(setting.scope.function, not here)
        later = opposite[bisect_right(opposite, setting.place, key=_PLACE) :][: MAX_OTHERS + 1]
        for other in later:
            if are_exclusive((setting.node, setting.scope), (other.node, other.scope)):
                continue
            if is_requested(other.node, other.scope) or _at_once(program, setting, other):
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

    def temporary(self, setting: Setting, here: bool) -> bool:
        """Whether a switch that is set to `here` is so for a while only: it is set back later in the same
        function or by the other half of a context manager, this line sets back what the same block set before,
        or the function is there to undo what another one did."""
        if setting.scope.function.kind == "function" and determinism(_last(setting.scope.function)) is False:
            return True
        return any(
            not are_exclusive((setting.node, setting.scope), (other.node, other.scope))
            and (_set_back(setting, other) or _two_halves(setting.scope, other.scope))
            for other in islice(self._unlike(setting, here), MAX_OTHERS)
        )

    def _unlike(self, setting: Setting, here: bool) -> Iterator[Setting]:
        """The settings to another value that may belong to this one."""
        function = setting.scope.function
        for value in (not here, None):
            yield from self._others(function, value)
            if _last(function).id in _PAIRED:
                yield from self._in_halves.get((function.method_class, value), ())


def stated(module: Module, owner: str, name: str) -> Switch:
    """Every place of a file that sets `owner.name`, also by a call of the catalogue."""
    if not mentions(module.facts, name):
        return Switch(())
    settings = [*assigned(module, owner, name), *passed(module, catalogue.names("backend_flags", name))]
    states = [(setting, state(module.program, setting)) for setting in settings]
    return Switch(states, lambda function: _called(function, owner, name, module.program))


def _called(function: Scope, owner: str, name: str, program: Program) -> Iterator[Set]:
    """What the calls in a function set in functions of the project, whatever these are given."""
    for call, scope in function.runs:
        for target in program.runs(call, scope) if isinstance(call, ast.Call) else ():
            if isinstance(target, Scope) and target.kind == "function" and target is not function:
                for inner, value in stated(Module(target.facts, program), owner, name).in_any_case(target):
                    yield Setting(call, inner.value, scope, inner.value_scope, inner=inner), value


def mentions(facts: ModuleFacts, name: str) -> bool:
    """Whether a file may set a switch of this name: it writes it, or takes what is written elsewhere."""
    return any(word in facts.source.text for word in (name, "**", *makers()))


def assigned(module: Module, owner: str, name: str) -> Iterator[Setting]:
    """Assignments to `owner.name`, chained, unpacked or through `setattr`, in source order."""
    program, facts = module.program, module.facts
    for item in facts.attribute_sets.get(name, ()):
        if program.qualified(item.target.value, item.scope) == owner:
            value = item.value or _unpacked(item.statement, item.target)
            if value is not None:
                yield Setting(item.statement, value, item.scope, item.scope, target=item.target)
    for call, scope in facts.calls.get("setattr", ()):
        match call.args:
            case [held, ast.Constant(value=str(attribute)), value] if attribute == name:
                if program.qualified(held, scope) == owner and isinstance(call.func, ast.Name):
                    yield Setting(call, value, scope, scope, call=call)


def _unpacked(statement: ast.stmt, target: ast.Attribute) -> ast.expr | None:
    """The item that `target` gets in `a.x, a.y = 1, 2`, also as `... = (1, 2) if test else (3, 4)`."""
    if not isinstance(statement, ast.Assign):
        return None
    for written in statement.targets:
        if isinstance(written, ast.Tuple | ast.List) and target in written.elts:
            return _item(statement.value, written.elts.index(target), len(written.elts))
    return None


def _item(value: ast.expr, index: int, size: int) -> ast.expr | None:
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items) if len(items) == size:
            return items[index]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            first, second = _item(body, index, size), _item(orelse, index, size)
            if first is not None and second is not None:
                return ast.copy_location(ast.IfExp(test, first, second), value)
    return None


def passed(module: Module, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Setting]:
    """Calls that set the switch by an argument, also those that a configuration writes; `rows` maps each name to its
    `argument` and `position`."""
    for call in (*module.calls(rows), *instantiated_calls(module, module.program, rows)):
        row = rows[call.name]
        found = call.argument(row.get("argument", ""), row.get("position"))
        if isinstance(found, Site):
            positional = found.node in call.node.args
            keyword = None if positional else row.get("argument")
            yield Setting(call.node, found.node, call.scope, found.scope, call=call.node, keyword=keyword)


def state(program: Program, setting: Setting) -> bool | None:
    """Whether the switch is set to something true; None when that is only known when the program runs."""
    if None in (program.constants(setting.value, setting.value_scope) or ()):
        return None
    return outcome(setting.value, setting.value_scope, program).certain


def follows_request(program: Program, setting: Setting) -> bool:
    """Whether a value that is not constant is worked out from a seed or determinism flag, or was saved
    before."""
    return mentions_request(setting.value) or any(
        _was_saved(origin) for origin in program.origins(setting.value, setting.value_scope)
    )


def _was_saved(origin: object) -> bool:
    return (
        isinstance(origin, Reference) and isinstance(origin.target, str) and origin.target.startswith("torch.backends")
    )


@remembered
def reads_switch(facts: ModuleFacts, owner: str, name: str, program: Program) -> bool:
    """Whether a file that sets the switch also reads it: it saves and restores."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Load)
        and program.qualified(node.value, facts.scope_of(node)) == owner
        for node in descendants(facts.tree)
    )


def _is_taken_back(first: Setting, setting: Setting) -> bool:
    """Whether a switch that is set in any case is set anew under a test of what the function is given."""
    before = conditions(first.node, first.scope)
    own = [c for c in conditions(setting.node, setting.scope) if c not in before]
    calls = any(isinstance(n, ast.Call) for c in own for n in ast.walk(c.test))
    read = {n.id for c in own for n in ast.walk(c.test) if isinstance(n, ast.Name)}
    if first.place >= setting.place or calls or not read:
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
    return _are_quiet(block[start + 1 : end], first.scope, program) and _is_first_of_its_call(second, program)


def _is_first_of_its_call(setting: Setting, program: Program) -> bool:
    """Whether the function that is called, if one is, runs no kernel before it sets the switch."""
    inner = setting.inner
    if inner is None:
        return True
    block = block_of(inner.facts, inner.statement)
    return _are_quiet(block[: _index(block, inner.statement)], inner.scope, program)


def _are_quiet(statements: Sequence[ast.stmt], scope: Scope, program: Program) -> bool:
    calls = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call)]
    return all((program.qualified(c.func, scope) or "").partition(".")[0] in _QUIET for c in calls)


def _last(function: Scope) -> ast.Name:
    return ast.Name(function.name.rpartition(".")[2], ast.Load())


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
    found = bisect_left(block, (statement.lineno, statement.col_offset), key=lambda s: (s.lineno, s.col_offset))
    return found if found < len(block) and block[found] is statement else None


def _two_halves(first: Scope, second: Scope) -> bool:
    one, two = first.function, second.function
    names = {_last(one).id, _last(two).id}
    return names <= _PAIRED and one.method_class is not None and one.method_class is two.method_class
