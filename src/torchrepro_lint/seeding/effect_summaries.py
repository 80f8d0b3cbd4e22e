"""Functions that no seeding walk has to enter: nothing that they can run draws, seeds, ends the program, starts a
process or imports a module of the project.

Whatever their arguments and the tests in them, so it is worked out once for all programs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from torchrepro_lint.dataflow.dynamic_lookup import picked
from torchrepro_lint.dataflow.options import Frame
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import Scope
from torchrepro_lint.index.parents import children
from torchrepro_lint.project.configured import is_named
from torchrepro_lint.seeding.callees import EXITS, Callees, is_parameter
from torchrepro_lint.seeding.imports import Imports
from torchrepro_lint.seeding.run_by import IMPORTS, Run, wrappers
from torchrepro_lint.seeding.seed_effects import has_effect
from torchrepro_lint.seeding.seeding import LOADS, TRAINS, Step

MAX_DEPTH = 30  # calls within calls


class Quiet(NamedTuple):
    """What a quiet function does itself: the names that it calls, the calls that cannot be followed, and what it
    runs."""

    reached: frozenset[str]
    unfollowed: tuple[Step, ...]
    runs: tuple[Run, ...]


class QuietCall(NamedTuple):
    """What a quiet call runs, and whether it is known what is called."""

    runs: tuple[Run, ...]
    is_followed: bool


@remembered
def quiet_functions(program: Program) -> QuietFunctions:
    """The functions of a program that an interpreter need not enter."""
    return QuietFunctions(program)


class QuietFunctions:
    """Answers for one program, as long as its files are held."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.callees = Callees(program)
        self.imports = Imports(program.project.finder)
        self._calls: dict[tuple[ast.Call, Scope, Scope, Scope | None], QuietCall | None] = {}
        self._known: dict[Run, Quiet | None] = {}
        self._open: dict[Run, int] = {}  # those looked into, and how deep
        self._supposed: dict[Run, Quiet] = {}  # quiet if what is looked into is
        self._lowest = 0  # the outermost of those that something rests on
        self._is_cut = False

    def of(self, run: Run) -> Quiet | None:
        """What a function does, if it is quiet."""
        if run in self._known:
            return self._known[run]
        depth = len(self._open)
        if run in self._open:
            self._lowest = min(self._lowest, self._open[run])
            return _NOTHING
        if run in self._supposed:
            self._lowest = 0
            return self._supposed[run]
        if depth > MAX_DEPTH:
            self._is_cut = True
            return None
        outer, self._lowest, self._open[run] = self._lowest, depth, depth
        before = len(self._supposed)
        found = self._look(run)
        del self._open[run]
        self._settle(run, found, before, rests_on_outer=self._lowest < depth)
        self._lowest = min(outer, self._lowest)
        self._is_cut = self._is_cut and depth > 0
        return found

    def _settle(self, run: Run, found: Quiet | None, before: int, *, rests_on_outer: bool) -> None:
        """Keep the answer, and those supposed since, unless they rest on a function that is still looked into."""
        if found is not None:
            self._supposed[run] = found
        elif not self._is_cut:
            self._known[run] = None
        if found is None or not rests_on_outer:
            while len(self._supposed) > before:
                inner, quiet = self._supposed.popitem()
                if found is not None:
                    self._known[inner] = quiet

    def call(self, call: ast.Call, scope: Scope, frame: Frame) -> QuietCall | None:
        """What a call does that `frame` runs, if it is quiet. Not to be asked while a function is looked into."""
        key = (call, scope, frame.function, frame.owner)
        if key not in self._calls:
            self._calls[key] = self._look_at(call, scope, frame)
        return self._calls[key]

    # -- one function -------------------------------------------------------------------------------------------
    def _look(self, run: Run) -> Quiet | None:
        function, owner = run
        frame = Frame(function, owner=owner)
        reached: set[str] = set()
        unfollowed: list[Step] = []
        runs: dict[Run, None] = {}
        for node, scope in _run_in(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                if self._imports_project(node, scope):
                    return None
                continue
            if isinstance(node, ast.For | ast.AsyncFor):
                iterated = self.callees.iterated(node.iter, scope)
                if any(self.of(inner) is None for inner in iterated):
                    return None
                runs.update(dict.fromkeys(iterated))
                continue
            reached.add(getattr(node.func, "attr", getattr(node.func, "id", "")))
            called = self._look_at(node, scope, frame) if reached.isdisjoint(_TELLING) else None
            if called is None:
                return None
            if not called.is_followed:
                unfollowed.append(Step(node, scope))
            runs.update(dict.fromkeys(called.runs))
        return Quiet(frozenset(reached), tuple(unfollowed), tuple(runs))

    def _look_at(self, call: ast.Call, scope: Scope, frame: Frame) -> QuietCall | None:
        if isinstance(call.func, ast.Name) and is_parameter(call.func, scope, frame.function):
            return None  # what is called is the caller's choice
        callees = self.callees.of(call, scope, frame)
        if not callees and picked(call.func, scope, self._program) is not None:
            return None  # an option says what is called
        runs: dict[Run, None] = {}
        for callee in callees or (None,):
            entered = self._entered(callee, call, scope, frame)
            if entered is None or any(self.of(inner) is None for inner in entered):
                return None
            runs.update(dict.fromkeys(entered))
        return QuietCall(tuple(runs), is_followed=bool(callees))

    def _entered(self, callee: str | Scope | None, call: ast.Call, scope: Scope, frame: Frame) -> list[Run] | None:
        """The functions that a call enters; None where it has an effect itself."""
        callees = self.callees
        if callees.commands(call, scope):
            return None
        if callee is None or isinstance(callee, str):
            name = callee.removesuffix(".__init__") if callee else None
            if name in EXITS or name == IMPORTS or callees.starts_process(name, call) or _runs_workers(name):
                return None
            given = list(callees.given(name, call, scope))
            has_classes = any(function.kind == "class" for function in given)
            if has_classes or callees.run_by(name, call, scope) or has_effect(self._program, name, call, scope):
                return None
            return [(function, None) for function in given]
        if any(is_named(callee, name) for name in self._program.project.seed_functions):
            return None
        if self._program.project.configured.of_own(callee) is not None:
            return None
        if callee.kind == "class":
            if any(has_effect(self._program, b, call, scope) for b in callees.inherited_constructors(callee)):
                return None
            return [(method, callee) for method in callees.constructors(callee)]
        if callee.kind not in ("function", "lambda"):
            return []
        if next(wrappers(callee, self._program), None) is not None:
            return None
        return [(callee, owner) for owner in callees.owners(callee, call, scope, frame)]

    def _imports_project(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> bool:
        importer = str(scope.facts.source.path)
        if isinstance(node, ast.ImportFrom):
            return bool(node.level) or self._program.project.finder.find(node.module or "", 0, importer) is not None
        return any(self._program.project.finder.find(a.name, 0, importer) is not None for a in node.names)


_NOTHING = Quiet(frozenset(), (), ())
_TELLING = frozenset((*TRAINS, *LOADS))  # what a walk wants to come by itself


def _runs_workers(name: str | None) -> bool:
    return name is not None and (name == "torch.utils.data.DataLoader" or ".transforms." in name)


_Item: TypeAlias = "ast.Call | ast.For | ast.AsyncFor | ast.Import | ast.ImportFrom"


def _run_in(function: Scope) -> Iterator[tuple[_Item, Scope]]:
    """The calls, loops and imports that running a function runs, without the functions that it defines."""
    node = function.node
    body = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else [node.body]  # type: ignore[attr-defined]
    pending: list[tuple[ast.AST, Scope]] = [(n, function) for n in reversed(body)]
    while pending:
        item, scope = pending.pop()
        match item:
            case ast.Call() | ast.For() | ast.AsyncFor() | ast.Import() | ast.ImportFrom():
                yield item, scope
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pending += [(n, scope) for n in (*item.decorator_list, *item.args.defaults)]
                continue
            case ast.Lambda() | ast.Name() | ast.Constant():
                continue
        inner = scope.children.get(item, scope)
        pending += [(n, inner) for n in reversed(children(item))]
