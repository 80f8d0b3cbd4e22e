"""Classes and functions that a program keeps in a table under their names, to choose one of them later: what
`@MODELS.register()` decorates, what a decorator of the project puts into a dict, what `TABLE[cls.__name__] = cls` does.

Goes by what is written at the top of files. Which of them is chosen is not its business.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope
from torchrepro_lint.index.facts import SubscriptSet
from torchrepro_lint.project.names import Target, Variable
from torchrepro_lint.project.project import Project
from torchrepro_lint.tracking import Memo

MAX_FILES = 48  # that mention a table: one for each model of a family
MAX_ENTRIES = 64
_REGISTERS = ("register", "add")  # what methods of a registry, which are given a class, begin with
Targets: TypeAlias = "Callable[[ast.expr, Scope], list[Scope]]"


class Entry(NamedTuple):
    """A function or class, and the name that it is kept under, if that is known."""

    name: str | None
    target: Scope


class Registries:
    """Answers for one program. `targets` are the functions and classes that an expression may be."""

    def __init__(self, project: Project, targets: Targets) -> None:
        self._project = project
        self._names = project.names
        self._targets = targets
        self._known: Memo[tuple[Entry, ...]] = Memo(project.tracker)
        self._defined: Memo[tuple[tuple[Scope, ast.expr], ...]] = Memo(project.tracker)

    def of(self, table: ast.expr, scope: Scope) -> tuple[Entry, ...]:
        """What is kept in the table, or by the object, that an expression names; nothing where that is no variable of
        a module that is bound once, and no class."""
        if not isinstance(table, ast.Name | ast.Attribute):
            return ()
        found = self._names.resolve(table, scope)
        match found:
            case Variable(scope=Scope(kind="module"), bindings=[binding]) if _makes_table(binding.value):
                name, key = found.name, (found.name, found.scope)
            case Scope(kind="class"):
                name, key = found.own_name, (found.own_name, found)
            case _:
                return ()
        return self._known.get(key, self._find, (name, found))

    def _find(self, name: str, holder: Variable | Scope) -> tuple[Entry, ...]:
        paths = self._project.text.mentioning(name)
        home = holder.scope.facts if isinstance(holder, Variable) else holder.facts
        if not paths or len(paths) > MAX_FILES:
            return ()
        loaded = [self._project.load(str(path)) for path in paths]
        files = [facts for facts in loaded if facts is not None]
        putting = {scope for item in _put_into(name, home) if (scope := _outermost(item.scope)) is not None}
        found = dict.fromkeys(self._entries(name, holder, putting, files))
        return tuple(found) if len(found) <= MAX_ENTRIES else ()

    def _entries(
        self, name: str, holder: Variable | Scope, putting: set[Scope], files: list[ModuleFacts]
    ) -> Iterator[Entry]:
        more = [self._project.load(str(p)) for f in putting for p in self._project.text.mentioning(f.own_name) or ()]
        every = {id(f): f for f in (*files, *more[:MAX_FILES]) if f is not None}
        for facts in every.values():
            for definition, decorator in self._defined.get(facts, _decorated, (facts,)):
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if self._is(holder, called, facts) or self._names.resolve(called, facts.scope) in putting:
                    yield Entry(_named(decorator) or definition.own_name, definition)
        for facts in files:
            for item in _put_into(name, facts):
                if item.value is not None and _same(self._names.resolve(item.target.value, item.scope), holder):
                    targets = self._targets(item.value, item.scope)
                    yield from (Entry(_key(item.target.slice, target), target) for target in targets)
            for spelled, sites in facts.calls.items():
                for call, scope in sites if spelled.startswith(_REGISTERS) else ():
                    if self._is(holder, call.func, facts) and isinstance(call.func, ast.Attribute):
                        given = [*call.args, *(k.value for k in call.keywords)]
                        classes = [
                            self._names.resolve(v, scope) for v in given if isinstance(v, ast.Name | ast.Attribute)
                        ]
                        kept = (c for c in classes if isinstance(c, Scope) and c.kind in ("class", "function"))
                        yield from (Entry(_named(call) or target.own_name, target) for target in kept)

    def _is(self, holder: Variable | Scope, called: ast.expr, facts: ModuleFacts) -> bool:
        """Whether `MODELS.register` is a method of a registry."""
        held = called.value if isinstance(called, ast.Attribute) else called
        return isinstance(held, ast.Name | ast.Attribute) and _same(self._names.resolve(held, facts.scope), holder)


def _same(found: Target | None, holder: Variable | Scope) -> bool:
    if isinstance(found, Variable) and isinstance(holder, Variable):
        return (found.name, found.scope) == (holder.name, holder.scope)
    return found is holder


def _makes_table(value: ast.expr | None) -> bool:
    """An empty dict, or what a call makes: a registry."""
    return isinstance(value, ast.Call) or (isinstance(value, ast.Dict) and not value.keys)


def _put_into(name: str, facts: ModuleFacts) -> Iterator[SubscriptSet]:
    """Where a file says `name[key] = value`."""
    for items in facts.subscript_sets.values():
        yield from (i for i in items if isinstance(i.target.value, ast.Name) and i.target.value.id == name)


def _outermost(scope: Scope) -> Scope | None:
    """The function at the top of a file, or the method, that code lies in."""
    function, found = scope.function, None
    while function.kind == "function" and function.parent is not None:
        found, function = function, function.parent.function
    return found


def _decorated(facts: ModuleFacts) -> tuple[tuple[Scope, ast.expr], ...]:
    """The functions and classes at the top of a file, with each of their decorators."""
    definitions = (s for s in facts.scope.children.values() if isinstance(s.node, FunctionNode | ast.ClassDef))
    return tuple((s, decorator) for s in definitions for decorator in s.node.decorator_list)  # type: ignore[attr-defined]


def _key(key: ast.expr, target: Scope) -> str | None:
    """What a class is kept under: a text, or its name, `TABLE[cls.__name__] = cls`."""
    if isinstance(key, ast.Attribute) and key.attr == "__name__":
        return target.own_name
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _named(call: ast.expr) -> str | None:
    """The name that is given to what is registered: the first text."""
    given = [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
    return next((v.value for v in given if isinstance(v, ast.Constant) and isinstance(v.value, str)), None)
