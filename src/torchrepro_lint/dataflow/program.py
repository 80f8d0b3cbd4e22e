"""The program: one project, and what can be worked out about the values and calls in it. Every question that crosses
files begins here, and everything that is worked out is kept in `store` until a file changes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Constant, Origin, Reference, Result
from torchrepro_lint.dataflow.call_graph import Callers
from torchrepro_lint.dataflow.choices import may_choose
from torchrepro_lint.dataflow.domain import Domain
from torchrepro_lint.dataflow.evaluate import Evaluation, Values
from torchrepro_lint.dataflow.sites import CallSite
from torchrepro_lint.dataflow.store import Store
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.index.compact import by_kind
from torchrepro_lint.project.kinds import COUNTED, CUT, NAMED
from torchrepro_lint.project.names import Target, Variable
from torchrepro_lint.project.project import Project
from torchrepro_lint.project.unknown import UNKNOWN, Opaque

if TYPE_CHECKING:
    from torchrepro_lint.dataflow.defaults import Defaults, Instantiation
    from torchrepro_lint.evidence import Evidence, Measured

V = TypeVar("V")
MAX_CALLEES = 4  # that one call is taken to run
# What can be a function, or wrap one.
_MAY_BE_CODE = frozenset(by_kind(dict.fromkeys((ast.Lambda, ast.Name, ast.Attribute, ast.Call))))
_BUILTIN_METHODS = frozenset(name for kind in (str, list, dict, set, tuple) for name in dir(kind)) - {"__init__"}


class Program:
    """Answers questions that cross files. `evidence` is what the user measured of operations."""

    def __init__(self, project: Project, evidence: Sequence[Measured] = ()) -> None:
        self.project = project
        self.names = project.names
        self.tracker = project.tracker
        self.store = Store(project.tracker)
        self.callers = Callers(project)
        self.values = Values(project, self.callers.passing, self.store)
        self._own_evidence = evidence
        self._defaults: Defaults | None = None

    @cached_property
    def evidence(self) -> Evidence:
        """What was measured of the catalogue's operations: by the user, and what ships."""
        from torchrepro_lint.evidence import Evidence  # only findings on operations ask

        return Evidence(self._own_evidence)

    # -- files ------------------------------------------------------------------------------------------------
    def load(self, path: str) -> ModuleFacts | None:
        """The facts of a file of the project; None for a folder and a file that cannot be read."""
        return self.project.load(path)

    def loaded(self, paths: Iterable[Path | str]) -> Iterator[ModuleFacts]:
        """The facts of those of these files that can be read, each when it is asked for."""
        return (facts for path in paths if (facts := self.load(str(path))) is not None)

    def release(self) -> None:
        """Free files when too many are held. Call it between files only: a rule may still look at them."""
        if self.project.release():
            self._forget()
            self.store.free()

    def change(self, path: Path, text: str | None) -> None:
        """The file now holds `text`, or again what is on disk."""
        self.project.change(path, text)
        self._forget()
        self.store.forget()

    def _forget(self) -> None:
        self.values.forget()
        if self._defaults is not None:
            self._defaults.forget()
        self.callers.forget()

    def counted(self) -> dict[str, int]:
        """How often a bound kept a question from being answered, by what was given up, and how often a name alone
        decided something, by what."""
        found = {CUT: self.store.cuts, NAMED: self.store.names}
        told = {COUNTED[kind].format(what): len(at) for kind, rows in found.items() for what, at in rows.items()}
        return dict(sorted(told.items()))

    def by_name(self, says: bool, what: str, scope: Scope, name: str) -> bool:
        """Whether a name of something in `scope` says so, which is counted: `what` rests on it alone."""
        if says:
            self.store.decided_by_name(what, (scope.facts.source.rel, name))
        return says

    # -- names and values ---------------------------------------------------------------------------------------
    def resolve(self, expr: ast.expr, scope: Scope) -> Target | None:
        """What a name or attribute chain means; see `project.names`."""
        return self.names.resolve(expr, scope)

    def qualified(self, expr: ast.expr, scope: Scope) -> str | None:
        """The canonical external dotted name that `expr` means, if it is one."""
        target = self.names.resolve(expr, scope)
        if isinstance(target, Scope):
            return self.project.configured.of_own(target) or self.project.libraries.name_of(target, scope)
        return target if isinstance(target, str) else None

    def origins(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        """Where the value of `expr` may come from; see `evaluate`."""
        return self.values.value(expr, scope)

    @property
    def defaults(self) -> Defaults | None:
        """The values that configuration files give by default; None in a project that reads none."""
        if not self.values.configured.are_any():  # asked each time, so that the answer is noted as depending on it
            return None
        if self._defaults is None:
            from torchrepro_lint.dataflow.defaults import Defaults  # few projects get here

            self._defaults = Defaults(self.project, self.callers.passing)
        return self._defaults

    def evaluate(self, expr: ast.expr, scope: Scope, domain: Domain[V]) -> V:
        """The value of an expression over a domain."""
        return self.evaluation(domain).value(expr, scope)

    def evaluation(self, domain: Domain[V]) -> Evaluation[V]:
        """What evaluates over a domain."""
        evaluation: Evaluation[V] = self.store.table("evaluations").get(
            domain, lambda: Evaluation(domain, self.names, self.callers.passing, self.values)
        )
        return evaluation

    def callee(self, call: ast.Call, scope: Scope) -> str | None:
        """The canonical external name that `call` calls, constructs, or inherits through `super()`."""
        name = self.qualified(call.func, scope)
        if name is not None:
            return name
        found = self.values.callees(call, scope)
        only = found[0] if len(found) == 1 else None
        return self.project.libraries.name_of(only, scope) if isinstance(only, Scope) else only

    def constants(self, expr: ast.expr, scope: Scope) -> list[object] | None:
        """All values that `expr` can have, or None when one of them is not a constant."""
        found = self.origins(expr, scope)
        values = [o.value for o in found if isinstance(o, Constant)]
        return values if found and len(values) == len(found) else None

    def literal(self, expr: ast.expr, scope: Scope) -> object | Opaque:
        """The one constant that `expr` is, or UNKNOWN."""
        values = self.constants(expr, scope)
        if not values or any(v != values[0] or type(v) is not type(values[0]) for v in values):
            return UNKNOWN
        return values[0]

    def results(self, expr: ast.expr, scope: Scope) -> list[Result]:
        """The calls that may have made the value of `expr`."""
        return [origin for origin in self.origins(expr, scope) if isinstance(origin, Result)]

    def makers(self, expr: ast.expr, scope: Scope) -> set[str | Scope]:
        """The functions and classes that may have made the value of `expr`, as far as they are known."""
        return {made.callee for made in self.results(expr, scope) if made.callee is not None}

    def is_made_by(self, names: Collection[str], expr: ast.expr, scope: Scope) -> bool:
        """Whether the value of `expr` was made by these external functions and classes, whatever way it came."""
        found = self.origins(expr, scope)
        return bool(found) and all(isinstance(o, Result) and o.callee in names for o in found)

    def classes_of(self, expr: ast.expr, scope: Scope) -> list[Scope]:
        """The project's classes that the value of `expr` may be an instance of."""
        made = (result.callee for result in self.results(expr, scope))
        return [callee for callee in made if isinstance(callee, Scope) and callee.kind == "class"]

    def external_bases(self, owner: Scope) -> list[str]:
        """The external classes that a project class derives from, and those of a library that the project contains."""
        libraries = self.project.libraries
        known = (b if isinstance(b, str) else libraries.name_of(b, owner) for b in self.names.bases(owner))
        return [name for name in known if name is not None]

    # -- calls ----------------------------------------------------------------------------------------------------
    def runs(self, call: ast.Call, scope: Scope) -> tuple[str | Scope, ...]:
        """What a call may run: external names, functions and classes of the project, the first few; for a call of
        an object, its `__call__`, or the `forward` of an nn.Module."""
        found: tuple[str | Scope, ...] = self.store.table("runs").get((call, scope), lambda: self._runs(call, scope))
        return found

    def functions_run(self, call: ast.Call, scope: Scope) -> list[Scope]:
        """Those of the project, and its classes."""
        return [target for target in self.runs(call, scope) if isinstance(target, Scope)]

    def _runs(self, call: ast.Call, scope: Scope) -> tuple[str | Scope, ...]:
        target = self.names.resolve(call.func, scope)
        if isinstance(target, str):
            return tuple(made.target for made in self._instantiated(target, call, scope)) or (target,)
        chosen = self.values.chosen(call, scope) if may_choose(call) else None
        if chosen is not None and chosen.is_called:
            return tuple(chosen.targets)
        if isinstance(target, Scope):
            return (target,)
        if isinstance(call.func, ast.Attribute) and self.is_of_builtin(call.func.attr):
            return ()
        callees = self.values.callees(call, scope)
        called = dict.fromkeys(c for c in callees if c is not None)
        if len(called) < len(callees) or not called:  # a function, or an object that is called as one
            called |= dict.fromkeys(self._calls_of_object(call, scope))
        return tuple(called)[:MAX_CALLEES]

    def instantiated(self, call: ast.Call, scope: Scope) -> list[Instantiation]:
        """What `hydra.utils.instantiate(cfg.model)` calls, by the names in the configuration."""
        return self._instantiated(self.names.resolve(call.func, scope), call, scope)

    def _instantiated(self, target: Target | None, call: ast.Call, scope: Scope) -> list[Instantiation]:
        if not isinstance(target, str) or not target.startswith("hydra.") or self.defaults is None:
            return []
        return self.defaults.instantiated(target, call, scope)

    def is_of_builtin(self, method: str) -> bool:
        """Whether a method is one of texts, lists, dicts or sets, and of nothing that the project defines: then what
        it is called on need not be worked out."""
        return method in _BUILTIN_METHODS and not self.project.text.defines_function(method)

    def given(self, call: ast.Call, scope: Scope) -> tuple[tuple[str | None, Scope], ...]:
        """The project's functions and classes that a call is given, each with its keyword, and may run."""

        def find() -> tuple[tuple[str | None, Scope], ...]:
            passed: list[tuple[str | None, ast.expr]] = [(None, a) for a in call.args if a.__class__ in _MAY_BE_CODE]
            passed += [(k.arg, k.value) for k in call.keywords if k.value.__class__ in _MAY_BE_CODE]
            found = [(name, self.definition(value, scope)) for name, value in passed]
            return tuple([(name, function) for name, function in found if function is not None])

        functions: tuple[tuple[str | None, Scope], ...] = self.store.table("given").get((call, scope), find)
        return functions

    def definition(self, value: ast.expr, scope: Scope, within: Sequence[ast.Call] = ()) -> Scope | None:
        """The function or class that an expression is, or wraps: `partial(f, 0.1)` is `f` here. `within` are the calls
        that wrap it: what is wrapped again and again would never end."""
        found: object = None
        match value:
            case ast.Lambda():
                found = scope.children.get(value)
            case ast.Name() | ast.Attribute():
                found = self.names.resolve(value, scope)
                if found is None:
                    found = next((o.target for o in self.origins(value, scope) if isinstance(o, Reference)), None)
                elif isinstance(found, Variable):
                    found = self.wrapped(value, scope, within)
            case ast.Call():
                found = self._wrapped(value, scope, within)
        return found if isinstance(found, Scope) and found.kind in ("function", "lambda", "class") else None

    def wrapped(self, name: ast.expr, scope: Scope, within: Sequence[ast.Call] = ()) -> Scope | None:
        """The function or class that is wrapped in what a name is bound to: `f` after `name = partial(f, 1)`."""
        found = self.names.resolve(name, scope)
        if not isinstance(found, Variable) or not self._may_be_wrapped(found):
            return None
        found_in = (self._wrapped(o.node, o.scope, within) for o in self.results(name, scope))
        return next((function for function in found_in if function is not None), None)

    def _may_be_wrapped(self, variable: Variable) -> bool:
        key = variable.name, variable.scope
        may_be = self.store.table("may be wrapped").get(key, lambda: any(_may_wrap(b.value) for b in variable.bindings))
        return bool(may_be)

    def _wrapped(self, call: ast.Call, scope: Scope, within: Sequence[ast.Call]) -> Scope | None:
        """The function of `partial(f, 0.1)` and the like."""
        is_wrapper = (
            _may_wrap(call)
            and bool(call.args)
            and call not in within
            and self.qualified(call.func, scope) in catalogue.names("callables", "wraps")
        )
        return self.definition(call.args[0], scope, (*within, call)) if is_wrapper else None

    def _calls_of_object(self, call: ast.Call, scope: Scope) -> Iterator[Scope]:
        for owner in self.classes_of(call.func, scope):
            methods = (self.names.method(owner, name) for name in ("__call__", "forward"))
            yield from [m for m in methods if m is not None][:1]

    def callers_of(self, function: Scope) -> list[CallSite] | None:
        """Every call of a project function that the program can see; None when there may be others.

        Calls in other files count when the project is small enough to be searched by text.
        """
        return self.callers.of(function)


@cache
def _wrappers() -> frozenset[str]:
    """The last names of the callees whose result, when it is called, runs their first argument."""
    return frozenset(catalogue.last_parts(catalogue.names("callables", "wraps")))


def _may_wrap(value: ast.expr | None) -> bool:
    """Whether a value is written as a call of something with the name of a wrapper."""
    function = value.func if isinstance(value, ast.Call) else None
    return last_name(function) in _wrappers()
