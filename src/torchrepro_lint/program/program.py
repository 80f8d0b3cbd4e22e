"""The program: every file of the project that is asked for, linked. Paths choose what is reported, not what
is understood. Files are read when a question leads to them, and forgotten again when too many are held.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.callers import Callers
from torchrepro_lint.program.calls import UNKNOWN, Argument, Opaque, entries_of
from torchrepro_lint.program.configured import Configured
from torchrepro_lint.program.console_scripts import console_scripts
from torchrepro_lint.program.files import Files
from torchrepro_lint.program.importers import imported, reachable, users
from torchrepro_lint.program.module import Module
from torchrepro_lint.program.modules import ModuleFinder
from torchrepro_lint.program.names import Names, Target
from torchrepro_lint.program.origins import Constant, Display, Origin, Reference, Result
from torchrepro_lint.program.project import ProjectText
from torchrepro_lint.program.randomness.seeds import Seeds
from torchrepro_lint.program.values import Values

if TYPE_CHECKING:
    from torchrepro_lint.evidence import Evidence, Measured
    from torchrepro_lint.program.declarations import Declared
    from torchrepro_lint.program.randomness.quiet import QuietFunctions
    from torchrepro_lint.program.randomness.seeding import Seeding

MAX_CALLEES = 4  # that one call is taken to run


class Program:
    """Answers questions that cross files. `read` gives the facts of a file, or None when it cannot be read."""

    def __init__(
        self,
        root: Path,
        read: Callable[[Path], ModuleFacts | None],
        *,
        files: Callable[[], Collection[Path]] = tuple,
        sources: Collection[Path] = (),
        torch_version: Callable[[], str | None] = lambda: None,
        seed: int = 0,
        seed_functions: Collection[str] = (),
        loader_classes: Collection[str] = (),
        rng_functions: Collection[str] = (),
        evidence: Sequence[Measured] = (),
    ) -> None:
        self.root = root
        self._torch_version = torch_version
        self._own_evidence = evidence
        self.seed = seed
        self.seeds = Seeds(self, seed)
        self.seed_functions = frozenset(seed_functions)
        self.configured = Configured(loader_classes, rng_functions)
        self.text = ProjectText(files)
        self.files = Files(read, self.text.read)
        self.finder = ModuleFinder(root, sources, self.files.search_path)
        self.names = Names(self.finder, self.load, lambda name: self.configured.meaning(catalogue.canonical(name)))
        self.callers = Callers(self)
        self.values = Values(self.names, self.callers.passing)
        self._runs: dict[tuple[ast.Call, Scope], tuple[str | Scope, ...]] = {}
        self._given: dict[tuple[ast.Call, Scope], tuple[tuple[str | None, Scope], ...]] = {}
        self._declared: dict[ModuleFacts, Declared] = {}
        self._quiet: QuietFunctions | None = None
        self._seedings: tuple[ModuleFacts, list[Seeding]] | None = None
        self._cut_short: set[str] = set()  # files with a program whose walk was given up

    @cached_property
    def torch_version(self) -> str | None:
        """The torch version or specifier that the rules go by; None for the newest known."""
        return self._torch_version()

    def users(self, files: Collection[Path]) -> list[Path]:
        """The files of the project that import these, the nearest first, up to a bound."""
        return users(files, self.text, self.finder)

    def imported(self, path: Path) -> frozenset[str]:
        """The files of the project that a file imports."""
        return imported(path, self.text, self.finder)

    def reachable(self, path: Path) -> set[Path]:
        """The files that a program which starts in `path` may run code of."""
        return reachable(path, self.text, self.finder)

    @cached_property
    def console_scripts(self) -> dict[str, list[str]]:
        """File -> the names of its functions that the project's packaging makes commands of."""
        return console_scripts(self.root, self.finder)

    @cached_property
    def evidence(self) -> Evidence:
        """What was measured of the catalogue's operations: by the user, and what ships."""
        from torchrepro_lint.evidence import Evidence  # only findings on operations ask

        return Evidence(self._own_evidence)

    # -- files ------------------------------------------------------------------------------------------------
    def load(self, path: str) -> ModuleFacts | None:
        """The facts of a file of the project; None for a folder and a file that cannot be read."""
        return self.files.load(path)

    def release(self) -> None:
        """Free files when too many are held. Call it between files only: a rule may still look at them."""
        if self.files.release():
            self._forget_answers()

    def change(self, path: Path, text: str | None) -> None:
        """The file now holds `text`, or again what is on disk: read it anew when it is next asked for."""
        self.files.forget(str(path))
        self.text.change(path, text)
        self.finder.forget()
        self._forget_answers()

    def _forget_answers(self) -> None:
        self.names.forget()
        self.values.forget()
        self.callers.forget()
        self._quiet = None
        self._runs.clear()
        self._given.clear()
        self._declared.clear()
        self._seedings = None

    def module(self, facts: ModuleFacts) -> Module:
        """The view of one file that a rule gets."""
        return Module(facts, self)

    # -- names and values ---------------------------------------------------------------------------------------
    def resolve(self, expr: ast.expr, scope: Scope) -> Target | None:
        """What a name or attribute chain means; see `names`."""
        return self.names.resolve(expr, scope)

    def qualified(self, expr: ast.expr, scope: Scope) -> str | None:
        """The canonical external dotted name that `expr` means, if it is one."""
        target = self.names.resolve(expr, scope)
        if isinstance(target, Scope):
            return self.configured.of_own(target)
        return target if isinstance(target, str) else None

    def origins(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        """Where the value of `expr` may come from; see `values`."""
        return self.values.origins(expr, scope)

    def callee(self, call: ast.Call, scope: Scope) -> str | None:
        """The canonical external name that `call` calls, constructs, or inherits through `super()`."""
        name = self.qualified(call.func, scope)
        if name is not None:
            return name
        found = self.values.callees(call, scope)
        return found[0] if len(found) == 1 and isinstance(found[0], str) else None

    def constants(self, expr: ast.expr, scope: Scope) -> list[object] | None:
        """All values that `expr` can have, or None when one of them is not a constant."""
        found = self.origins(expr, scope)
        return [o.value for o in found if isinstance(o, Constant)] if _all_constant(found) else None

    def literal(self, expr: ast.expr, scope: Scope) -> object | Opaque:
        """The one constant that `expr` is, or UNKNOWN."""
        values = self.constants(expr, scope)
        if not values or any(v != values[0] or type(v) is not type(values[0]) for v in values):
            return UNKNOWN
        return values[0]

    def instance_of(self, expr: ast.expr, scope: Scope) -> set[str | Scope] | None:
        """The classes (or functions) that made the value of `expr`, or None when one is unknown."""
        made = {o.callee for o in self.origins(expr, scope) if isinstance(o, Result) and o.callee is not None}
        return made or None

    def entries(self, mapping: ast.expr, scope: Scope) -> dict[str, Argument] | None:
        """The entries of a dict whose every key is known, later `d["k"] = v` and `d.update(k=v)` included."""
        found = self.origins(mapping, scope)
        if len(found) != 1:
            return None
        made = found[0]
        match made:
            case Display():
                entries = entries_of(made)
            case Result(callee="builtins.dict", node=call) if not call.args:
                named = {k.arg: Argument(k.value, made.scope) for k in call.keywords if k.arg}
                entries = named if len(named) == len(call.keywords) else None
            case _:
                return None
        statement = made.scope.facts.parents.get(made.node)
        first = statement.targets[0] if isinstance(statement, ast.Assign) else None
        for name, where in ((first, made.scope), (mapping, scope)):  # what it is called where it is made, and here
            if entries is not None and isinstance(name, ast.Name):
                entries = self._with_updates(entries, name.id, where)
        return entries

    def _with_updates(self, entries: dict[str, Argument], name: str, scope: Scope) -> dict[str, Argument] | None:
        owner = scope.binding_scope(name)
        for key, sets in scope.facts.subscript_sets.items():
            for item in sets:
                target = item.target.value
                if isinstance(target, ast.Name) and target.id == name and item.scope.binding_scope(name) is owner:
                    if item.value is None:
                        return None
                    entries[key] = Argument(item.value, item.scope)
        for call, where in scope.facts.calls.get("update", ()):
            function = call.func
            if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
                continue
            if function.value.id == name and where.binding_scope(name) is owner:
                added = _given(call, where)
                if added is None:
                    return None
                entries.update(added)
        return entries

    def seedings(self, facts: ModuleFacts) -> list[Seeding]:
        """The seeding walk of each program that a file starts."""
        if self._seedings is None or self._seedings[0] is not facts:
            self._seedings = (facts, self._walked(facts))
            if not all(s.complete for s in self._seedings[1]):
                self._cut_short.add(facts.source.rel)
        return self._seedings[1]

    def _walked(self, facts: ModuleFacts) -> list[Seeding]:
        from torchrepro_lint.program.entries import entries

        started = entries(facts, self)
        if not started:
            return []
        from torchrepro_lint.program.randomness.seed_walk import seeding_of

        return [seeding_of(entry, self) for entry in started]

    @property
    def quiet(self) -> QuietFunctions:
        """The functions that a seeding walk need not enter."""
        from torchrepro_lint.program.randomness.quiet import QuietFunctions

        if self._quiet is None:
            self._quiet = QuietFunctions(self)
        return self._quiet

    def declared(self, facts: ModuleFacts) -> Declared:
        """The options and settings of a file."""
        from torchrepro_lint.program.declarations import declared_in

        if facts not in self._declared:
            self._declared[facts] = declared_in(facts)
        return self._declared[facts]

    def bounds(self) -> dict[str, int]:
        """How often a bound kept a question from being answered, by what was given up."""
        counted = {
            "files with a program not walked to its end": len(self._cut_short),
            "values not followed to their origin": self.values.bounds_hit,
        }
        return {what: number for what, number in counted.items() if number}

    # -- calls ----------------------------------------------------------------------------------------------------
    def runs(self, call: ast.Call, scope: Scope) -> tuple[str | Scope, ...]:
        """What a call may run: external names, functions and classes of the project, the first few; for a call of
        an object, its `__call__`, or the `forward` of an nn.Module."""
        key = (call, scope)
        if key not in self._runs:
            target = self.names.resolve(call.func, scope)
            if isinstance(target, str | Scope):
                self._runs[key] = (target,)
            else:
                called = dict.fromkeys(c for c in self.values.callees(call, scope) if c is not None)
                self._runs[key] = tuple(called or self._calls_of_object(call, scope))[:MAX_CALLEES]
        return self._runs[key]

    def given(self, call: ast.Call, scope: Scope) -> tuple[tuple[str | None, Scope], ...]:
        """The project's functions and classes that are arguments of a call, each with its keyword."""
        key = (call, scope)
        if key not in self._given:
            passed = (*((None, a) for a in call.args), *((k.arg, k.value) for k in call.keywords))
            found = ((name, self._definition(value, scope)) for name, value in passed)
            self._given[key] = tuple((name, function) for name, function in found if function is not None)
        return self._given[key]

    def _definition(self, value: ast.expr, scope: Scope) -> Scope | None:
        """The function or class that an expression is."""
        found: object = None
        if isinstance(value, ast.Lambda):
            found = scope.children.get(value)
        elif isinstance(value, ast.Name | ast.Attribute):
            found = self.names.resolve(value, scope)
            if found is None:
                found = next((o.target for o in self.origins(value, scope) if isinstance(o, Reference)), None)
        return found if isinstance(found, Scope) and found.kind in ("function", "lambda", "class") else None

    def _calls_of_object(self, call: ast.Call, scope: Scope) -> Iterator[Scope]:
        for origin in self.origins(call.func, scope):
            if isinstance(origin, Result) and isinstance(origin.callee, Scope) and origin.callee.kind == "class":
                methods = (self.names.class_member(origin.callee, name) for name in ("__call__", "forward"))
                yield from [m for m in methods if isinstance(m, Scope)][:1]

    def callers_of(self, function: Scope) -> list[tuple[ast.Call, Scope]] | None:
        """Every call of a project function that the program can see; None when there may be others.

        Calls in other files count when the project is small enough to be searched by text.
        """
        return self.callers.of(function)

    def external_bases(self, owner: Scope) -> list[str]:
        """The external classes that a project class derives from."""
        return [b for b in self.names.bases(owner) if isinstance(b, str)]


def _given(update: ast.Call, scope: Scope) -> dict[str, Argument] | None:
    """The entries that `d.update({...}, k=v)` adds; None where they are not written out."""
    written = [entries_of(Display(a, scope)) if isinstance(a, ast.Dict) else None for a in update.args]
    if None in written or any(k.arg is None for k in update.keywords):
        return None
    named = {k.arg: Argument(k.value, scope) for k in update.keywords if k.arg}
    return {key: value for entries in written if entries for key, value in entries.items()} | named


def _all_constant(found: list[Origin]) -> bool:
    return bool(found) and all(isinstance(o, Constant) for o in found)


__all__ = ["Module", "Program", "Reference"]
