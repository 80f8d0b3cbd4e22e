"""Who calls a function of the project: by its name where it is imported, through `self` and known objects, and as
what a new process, thread or pool is given to run.

Searches the project's text first, so that only files that can hold a call are read. Methods with a name that many
files mention (`forward`, `get`) have callers that nobody can list.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from torchrepro_lint.dataflow.abstract_values import Display, Reference, Result
from torchrepro_lint.dataflow.binding import CONSTRUCTOR, positional_parameters
from torchrepro_lint.dataflow.evaluate import Values
from torchrepro_lint.dataflow.sites import CallSite
from torchrepro_lint.index import ITEM, ModuleFacts, Scope
from torchrepro_lint.project.contents import calls_any, may_call, may_pass
from torchrepro_lint.project.importers import MAX_USERS
from torchrepro_lint.project.names import is_left_open
from torchrepro_lint.project.project import Project
from torchrepro_lint.tracking import Memo

MAX_FILES = 12
MAX_MENTIONS = 36  # files, of which those that only define or comment on the name are left out
_RUN_BY_KEYWORD = {"Process": "target", "Thread": "target", "Timer": "function"}
_RUN_BY_PLACE = ("spawn", "start_processes", "submit", "apply_async")
_RUNNERS = (*_RUN_BY_KEYWORD, *_RUN_BY_PLACE)
_OF_JOBS = ("submit", "apply_async")  # these give something that the function's result is got from
_Called: TypeAlias = "dict[Scope, dict[int, None]]"  # the calls of each function, by their places among all
_NUMBERED = ("spawn", "start_processes")  # the function gets the number of its process first


class _Start(NamedTuple):
    """A call that has a function run by a process, thread or pool, and what else it is given."""

    call: ast.Call
    runner: str
    scope: Scope
    target: ast.expr
    rest: list[ast.expr]
    named: dict[str, ast.expr]


class Callers:
    """Answers for one program; `forget` when files have changed."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._in_sight = Values(project, lambda function: None)  # else callers would be asked for callers
        self._known: Memo[list[CallSite] | None] = Memo(project.tracker)
        self._handed: Memo[list[CallSite]] = Memo(project.tracker)
        self._users: Memo[frozenset[Path]] = Memo(project.tracker)
        self._named: Memo[_Called] = Memo(project.tracker)
        self._of_objects: Memo[_Called] = Memo(project.tracker)
        self._starts: Memo[dict[Scope, dict[ast.Call, _Start]]] = Memo(project.tracker)

    def forget(self) -> None:
        """Files have changed or were dropped."""
        self._in_sight.forget()
        for known in (self._known, self._handed, self._users, self._named, self._of_objects, self._starts):
            known.clear()

    def of(self, function: Scope) -> list[CallSite] | None:
        """Every call of a function that can be seen; None when there may be others."""
        return self._known.get(function, lambda: self._find(function))

    def passing(self, function: Scope) -> list[CallSite] | None:
        """The calls that give a function its arguments: its own, and those that the calls of processes amount to."""
        calls = self.of(function)
        if calls is None:
            return None
        return calls + self._handed.get(function, lambda: list(self._handed_to(function)))

    def may_pass(self, function: Scope, parameter: str) -> bool:
        """Whether any file calls something of the name by which a function is called, and may pass it a parameter."""
        name = _called_by(function, function.method_class)
        naming = self._project.text.mentioning(name)
        if naming is None or len(naming) > MAX_FILES:
            return True
        positional = positional_parameters(function)
        place = str(positional.index(parameter) if parameter in positional else sys.maxsize)
        return any(self._project.files.says(str(path), may_pass, name, parameter, place) for path in naming)

    def in_sight(self, function: Scope) -> list[CallSite]:
        """The calls that can be seen, where there may be others as well: those of the function's own file at least."""
        calls, own = self.of(function), [function.facts.source.path]
        return calls if calls is not None else list(self._calls_in(own, function, function.parent))

    # -- files --------------------------------------------------------------------------------------------------
    def _naming(self, name: str) -> list[Path] | None:
        """The files that mention a name; where many do, those that do more than define it."""
        paths = self._project.text.mentioning(name)
        if paths is not None and MAX_FILES < len(paths) <= MAX_MENTIONS:
            paths = self._project.text.using(name)
        return paths

    def _paths(self, function: Scope, name: str) -> list[Path] | None:
        """The files that may call a function by this name: where many mention it, those that import its file."""
        own = function.facts.source.path
        paths = self._naming(name)
        if paths is not None and len(paths) > MAX_FILES:
            users = self._users.get(own, lambda: frozenset(self._project.users([own])))
            paths = [p for p in paths if p in users or p == own] if len(users) < MAX_USERS else None
        if paths is None or len(paths) > MAX_FILES:
            return None
        return paths or [own]

    # -- calls --------------------------------------------------------------------------------------------------
    def _find(self, function: Scope) -> list[CallSite] | None:
        found: list[CallSite] = []
        for owner in (owners := self._owners(function)) or ():
            paths = self._paths(function, _called_by(function, owner))
            if paths is None:
                return None
            found += self._calls_in(paths, function, owner)
        if not found and self._may_be_called_elsewhere(function):
            return None
        return found if owners is not None else None

    def _may_be_called_elsewhere(self, function: Scope) -> bool:
        """Whether a method that no file calls which imports its own has a name that many files mention: one of them may
        have been given the object."""
        if function.self_name is None or function.own_name == CONSTRUCTOR:
            return False
        return len(self._naming(function.own_name) or ()) > MAX_FILES

    def _owners(self, function: Scope) -> list[Scope | None] | None:
        """The class of a method; with a constructor's, those that have inherited it; None where they are many."""
        owner, names = function.parent, self._project.names
        if owner is None or function.own_name != CONSTRUCTOR:
            return [owner]
        derived = names.derived(owner)
        if derived is None:
            return None
        return [owner, *(c for c in derived if names.class_member(c, CONSTRUCTOR) is function)]

    def _calls_in(self, paths: Iterable[Path], function: Scope, owner: Scope | None) -> Iterator[CallSite]:
        """The calls in these files of a function, which may be a method of `owner`, or its constructor."""
        name = _called_by(function, owner)
        kind = owner.kind if owner is not None else ""
        for facts in self._project.load_those(paths, function.facts, may_call, name, kind):
            for spelled in (name, *sorted(facts.aliases.get(name, ())), ITEM):
                yield from self._spelled(facts, spelled, function, owner)

    def _spelled(self, facts: ModuleFacts, spelled: str, function: Scope, owner: Scope | None) -> Iterator[CallSite]:
        """The calls in a file that are written so and call the function, or its class, in source order."""
        sites = facts.calls.get(spelled)
        if not sites:
            return
        named = self._named.get((facts, spelled), partial(self._find_named, facts, spelled))
        numbered = named.get(function, {})
        if owner is not None:
            numbered = numbered | named.get(owner, {})
        if owner is not None and owner.kind == "class":
            of_objects = self._of_objects.get((facts, spelled), partial(self._find_of_objects, facts, spelled))
            above = [base for base in self._project.names.bases(owner)[1:] if isinstance(base, Scope)]
            methods = [method for base in above if (method := self._project.names.method(base, spelled)) is not None]
            for called in (function, *above, *filter(is_left_open, methods)):
                numbered = numbered | of_objects.get(called, {})
        yield from (sites[number] for number in sorted(numbered))

    def _find_named(self, facts: ModuleFacts, spelled: str) -> _Called:
        """The calls that are written so, by the function or class that is named, or taken out of a table."""
        found: _Called = {}
        for number, (call, scope) in enumerate(facts.calls.get(spelled, ())):
            if isinstance(call.func, ast.Subscript):  # `trainers[name](...)`
                held = self._in_sight.value(call.func, scope)
                targets = [origin.target for origin in held if isinstance(origin, Reference)]
            else:
                target = self._project.names.resolve(call.func, scope)
                targets = [target] if isinstance(target, Scope) else []
            for target in targets:
                if isinstance(target, Scope):
                    found.setdefault(target, {})[number] = None
        return found

    def _find_of_objects(self, facts: ModuleFacts, spelled: str) -> _Called:
        """The calls that are written so of methods of `self`, or of an object that is made in sight, by the method; by
        the class where that has no such method, so that a subclass must."""
        found: _Called = {}
        names = self._project.names
        for number, (call, scope) in enumerate(facts.calls.get(spelled, ())):
            if isinstance(call.func, ast.Attribute) and names.resolve(call.func, scope) is None:
                for made in self._classes(call.func.value, scope):
                    method = names.class_member(made, call.func.attr)
                    found.setdefault(method if isinstance(method, Scope) else made, {})[number] = None
        return found

    def _classes(self, receiver: ast.expr, scope: Scope) -> Iterator[Scope]:
        """The class of `self`, or of an object that is made in sight, and may be kept as an attribute of `self`."""
        is_kept = isinstance(receiver, ast.Attribute) and scope.is_self(receiver.value)
        is_made = isinstance(receiver, ast.Call) and isinstance(
            self._project.names.resolve(receiver.func, scope), Scope
        )
        if not isinstance(receiver, ast.Name) and not is_kept and not is_made:
            return
        if scope.is_self(receiver):
            yield from (scope.method_class,) if scope.method_class is not None else ()
            return
        for origin in self._in_sight.value(receiver, scope):
            match origin:
                case Result(callee=Scope(kind="class") as owner):
                    yield owner

    # -- processes ------------------------------------------------------------------------------------------------
    def _handed_to(self, function: Scope) -> Iterator[CallSite]:
        """`Process(target=f, args=(a, b))` and the like, as the calls `f(a, b)` that they lead to."""
        for started in self._starting(function):
            made = self._amounts_to(started)
            if made is not None:
                yield made, started.scope

    def jobs(self, function: Scope) -> Iterator[CallSite]:
        """The calls that hand a function to a pool: `future = executor.submit(f, a)`."""
        starts = self._starting(function)
        return ((started.call, started.scope) for started in starts if started.runner in _OF_JOBS)

    def _starting(self, function: Scope) -> Iterator[_Start]:
        name = function.own_name
        if function.kind != "function" or function.self_name is not None:
            return
        for facts in self._project.load_those(self._paths(function, name) or (), function.facts, calls_any, *_RUNNERS):
            yield from self._starts_in(facts, function).values()

    def as_called(self, function: Scope, start: ast.Call, scope: Scope) -> ast.Call | None:
        """The call that one of them amounts to."""
        started = self._starts_in(scope.facts, function).get(start)
        return self._amounts_to(started) if started is not None else None

    def _starts_in(self, facts: ModuleFacts, function: Scope) -> dict[ast.Call, _Start]:
        return self._starts.get(facts, partial(self._find_starts, facts)).get(function, {})

    def _find_starts(self, facts: ModuleFacts) -> dict[Scope, dict[ast.Call, _Start]]:
        """The calls in a file that have a function run, by that function."""
        found: dict[Scope, dict[ast.Call, _Start]] = {}
        for runner in _RUNNERS:
            for call, scope in facts.calls.get(runner, ()):
                named = {k.arg: k.value for k in call.keywords if k.arg}
                target = named.get(_RUN_BY_KEYWORD.get(runner, "fn"))
                rest = list(call.args)
                if target is None and runner in _RUN_BY_PLACE and rest:
                    target = rest.pop(0)
                function = self._project.names.resolve(target, scope) if target is not None else None
                if target is not None and isinstance(function, Scope):
                    found.setdefault(function, {})[call] = _Start(call, runner, scope, target, rest, named)
        return found

    def _amounts_to(self, start: _Start) -> ast.Call | None:
        call, runner, scope, target, rest, named = start
        passed = rest if runner == "submit" else self._items(named.get("args", rest[0] if rest else None), scope)
        if passed is None:
            return None
        number: list[ast.expr] = [ast.copy_location(ast.Yield(), call)] if runner in _NUMBERED else []  # unknown
        keywords = named.get("kwargs")
        made = ast.Call(target, [*number, *passed], [ast.keyword(None, keywords)] if keywords is not None else [])
        return ast.copy_location(made, call)

    def _items(self, arguments: ast.expr | None, scope: Scope) -> list[ast.expr] | None:
        if arguments is None:
            return []
        match self._in_sight.value(arguments, scope):
            case [Display(node=ast.Tuple(elts=items) | ast.List(elts=items), scope=where)] if where is scope:
                return items
        return None


def _called_by(function: Scope, owner: Scope | None) -> str:
    """The name by which a function is called: of a constructor that of the class."""
    return owner.own_name if owner is not None and function.own_name == CONSTRUCTOR else function.own_name
