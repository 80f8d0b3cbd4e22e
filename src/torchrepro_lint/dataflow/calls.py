"""Call sites as rules see them: what is called, and with which arguments; and the calls of one file, by the external
names that they really call. Knows nothing of what a rule wants to know of a call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.binding import positional_parameters, value_for
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import CallSite, Site, start_of
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import Binding, ModuleFacts, Scope, last_name
from torchrepro_lint.project.names import Variable
from torchrepro_lint.project.unknown import UNKNOWN, Opaque

MAX_WRITTEN = 80  # characters of a callee in a message


class Call(NamedTuple):
    """A call of `name` (a canonical external name), or of a project class derived from it (`subclass`)."""

    node: ast.Call
    scope: Scope
    name: str
    program: Program
    subclass: Scope | None = None

    @property
    def facts(self) -> ModuleFacts:
        """The file the call is written in."""
        return self.scope.facts

    @property
    def written(self) -> str:
        """The callee as the user wrote it, e.g. `torch.utils.data.DataLoader`, on one line and not too long."""
        text = " ".join(self.facts.text(self.node.func).split())
        return text if len(text) <= MAX_WRITTEN else f"{text[: MAX_WRITTEN - 3]}..."

    def argument(self, name: str, position: int | None = None) -> Site | Opaque | None:
        """The argument passed as keyword `name` or at 0-based `position`; None when it is absent.

        `**options` is looked into, on any path; an opaque `*args` or `**kwargs` that may hold it gives UNKNOWN.
        """
        unpacks = False
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return Site(keyword.value, self.scope)
            unpacks = unpacks or keyword.arg is None
        found = self._positional(position) if position is not None and self.node.args else None
        return found if found is not None or not unpacks else self._unpacked(name)

    def _positional(self, position: int) -> Site | Opaque | None:
        """The argument at a place; UNKNOWN where `*args` above may fill it."""
        for argument in self.node.args:
            if isinstance(argument, ast.Starred):
                if not self._holds_nothing(argument):
                    return UNKNOWN
            elif not position:
                return Site(argument, self.scope)
            else:
                position -= 1
        return None

    def _holds_nothing(self, argument: ast.Starred) -> bool:
        """Whether this is the `*args` of a function that no caller passes more than its parameters."""
        name = argument.value.id if isinstance(argument.value, ast.Name) else ""
        function = self.scope.binding_scope(name)
        node = getattr(function, "node", None)
        is_rest = isinstance(node, ast.FunctionDef) and node.args.vararg is not None and node.args.vararg.arg == name
        if function is None or not is_rest or len(function.bindings[name]) != 1:
            return False
        return _is_passed_no_more(function, self.program)

    def _unpacked(self, name: str) -> Site | Opaque | None:
        """The argument that `**options` hold."""
        from torchrepro_lint.dataflow.mappings import entries_of  # few calls unpack

        found: Site | None = None
        for keyword in self.node.keywords:
            if keyword.arg is None:
                entries = entries_of(keyword.value, self.scope, self.program)
                if entries is None:
                    return UNKNOWN
                found = entries.get(name, found)
                if found is not None and name in entries:
                    found = self._as_passed(found, keyword.value)
        return found

    def _as_passed(self, found: Site, mapping: ast.expr) -> Site:
        """Of `options(False)`, where `def options(train): return {"shuffle": train}`: False."""
        node, function = mapping, found.scope.function
        if isinstance(found.node, ast.Name) and isinstance(node, ast.Name):
            owner = self.scope.binding_scope(node.id)
            held = [b.value for b in owner.bindings[node.id]] if owner is self.scope else []
            node = held[0] if len(held) == 1 and held[0] is not None else node
        if not isinstance(found.node, ast.Name) or not isinstance(node, ast.Call):
            return found
        bindings = function.bindings.get(found.node.id, [])
        if [b.kind for b in bindings] != ["parameter"] or self.program.runs(node, self.scope) != (function,):
            return found
        return value_for(node, self.scope, function, bindings[0]) or found

    def literal(self, name: str, position: int | None = None, default: object = None) -> object:
        """The argument's constant value, `default` when it is absent, UNKNOWN when it is not one constant."""
        match self.argument(name, position):
            case Site(node=node, scope=scope):
                return self.program.literal(node, scope)
            case None:
                return default
        return UNKNOWN

    def given(self, name: str, position: int | None = None) -> bool | Opaque:
        """Whether the argument is passed and is not None."""
        match self.argument(name, position):
            case None:
                return False
            case Site(node=node, scope=scope):
                values = self.program.constants(node, scope)
                if values is not None and all(v is None for v in values):
                    return False
                return UNKNOWN if values is None and not isinstance(node, ast.Call) else True
        return UNKNOWN


class Module:
    """One file seen as part of the program: what a rule works on."""

    def __init__(self, facts: ModuleFacts, program: Program) -> None:
        self.facts = facts
        self.program = program
        self._calls: dict[frozenset[str], list[Call]] = {}

    def calls(self, names: Collection[str]) -> list[Call]:
        """Calls of any of these external names, alias-resolved and subclass-aware, in source order."""
        key = frozenset(names)
        if key not in self._calls:
            found = [c for last, wanted in catalogue.by_last_part(key).items() for c in self._called(last, wanted)]
            found += [*self._subclass_calls(key), *self._chosen_calls(key)]
            unique = {id(c.node): c for c in found}
            self._calls[key] = sorted(unique.values(), key=lambda c: start_of(c.node))
        return self._calls[key]

    def _called(self, last: str, wanted: frozenset[str]) -> Iterator[Call]:
        facts = self.facts
        others = self.program.project.configured.other_spellings(last)
        for spelled in (last, *sorted(facts.aliases.get(last, ())), *others):
            for node, scope in facts.calls.get(spelled, ()):
                name = self.program.callee(node, scope)
                if name in wanted:
                    yield Call(node, scope, name, self.program)

    def _chosen_calls(self, names: frozenset[str]) -> Iterator[Call]:
        """Calls of what is chosen while the program runs, by the first that it may be, where all are wanted."""
        for node, scope in chosen(self.facts, self.program):
            found = self.program.values.callees(node, scope)
            named = next((name for name in found if isinstance(name, str)), None)
            if named is not None and all(self._is_one_of(callee, names) for callee in found):
                yield Call(node, scope, named, self.program)

    def _is_one_of(self, callee: str | Scope | None, names: Collection[str]) -> bool:
        """Whether it is one of these external classes, or a class of the project that is derived from one and gives the
        items in its order."""
        if isinstance(callee, Scope) and callee.kind == "class":
            is_as_base = self.program.names.class_member(callee, "__iter__") is None
            return is_as_base and not set(names).isdisjoint(self.program.external_bases(callee))
        return callee in names

    def _subclass_calls(self, names: frozenset[str]) -> Iterator[Call]:
        """Constructions of project classes derived from `names` that keep the base's constructor, and the
        `super().__init__(...)` calls in those that have their own."""
        for node, scope, owner, bases in self._constructions:
            base = next((b for b in bases if b in names), None)
            if base is not None:
                yield Call(node, scope, base, self.program, subclass=owner)
        for node, scope in self.facts.calls.get("__init__", ()):
            name = (self.program.callee(node, scope) or "").removesuffix(".__init__")
            if name in names and scope.method_class is not None:
                yield Call(node, scope, name, self.program, subclass=scope.method_class)

    @cached_property
    def _constructions(self) -> list[tuple[ast.Call, Scope, Scope, list[str]]]:
        """Calls of project classes that have external bases and no constructor of their own."""
        found: list[tuple[ast.Call, Scope, Scope, list[str]]] = []
        own = self.facts.scope.bindings
        for spelled, sites in self.facts.calls.items():
            local = spelled in own and own[spelled][-1].kind == "class"
            if not local and not (spelled[:1].isupper() and spelled.endswith(catalogue.CLASS_ENDINGS)):
                continue  # an imported class is looked at only when its name says what it is
            for node, scope in sites:
                target = self.program.resolve(node.func, scope)
                if isinstance(target, Scope) and target.kind == "class":
                    bases = self.program.external_bases(target)
                    if bases and self.program.names.class_member(target, "__init__") is None:
                        found.append((node, scope, target, bases))
        return found


def calls_like(names: Iterable[str], facts: ModuleFacts) -> Iterator[CallSite]:
    """The calls of a file that are written like calls of these external names."""
    for last in catalogue.last_parts(names):
        yield from facts.calls.get(last, ())


@remembered
def _is_passed_no_more(function: Scope, program: Program) -> bool:
    """Whether all callers of a function are known, and none passes more by position than it has parameters."""
    sites, most = program.callers_of(function), len(positional_parameters(function))
    calls = [call for call, _ in sites or ()]
    return (
        bool(calls)
        and function.self_name is None
        and not any(len(call.args) > most or any(isinstance(a, ast.Starred) for a in call.args) for call in calls)
    )


@remembered
def chosen(facts: ModuleFacts, program: Program) -> list[CallSite]:
    """Calls of what is no name of anything: `make(data)` after `make = A if test else B`, `{"a": A}[key](data)`, and of
    a parameter `make=A`."""
    return [site for site in facts.every_call() if _is_chosen(*site, program)]


def _is_chosen(call: ast.Call, scope: Scope, program: Program) -> bool:
    if not isinstance(call.func, ast.Name):
        return not isinstance(call.func, ast.Attribute) and _chooses(call.func, scope, program)
    target = program.resolve(call.func, scope)
    if not isinstance(target, Variable):
        return False
    if len(target.bindings) > 1:
        return True
    return any(_is_given_class(b) or _chooses(b.value, target.scope, program) for b in target.bindings)


def _is_given_class(binding: Binding) -> bool:
    """Whether it is a parameter that is a class by default, by its name: `def loader(data, klass=DataLoader)`."""
    return binding.kind == "parameter" and last_name(binding.value)[:1].isupper()


def _chooses(value: ast.expr | None, scope: Scope, program: Program) -> bool:
    """Whether a value may be one of several classes, by how it is written."""
    if isinstance(value, ast.Call):
        maker = program.resolve(value.func, scope)
        if isinstance(maker, Scope):
            return any(isinstance(program.resolve(returned, maker), str | Scope) for returned in maker.returns)
        return maker == "functools.partial"
    return isinstance(value, ast.IfExp | ast.BoolOp | ast.Subscript)
