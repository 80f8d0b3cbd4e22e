"""Summaries of what functions and modules do to the random generators, worked out once for all programs: their term,
and what is to be known of the calls that were left out of it because nothing that they run has an effect.

A call only draws where nothing that it can run seeds, ends the program or starts a process: whatever its arguments and
the tests on the way. It may import modules, which run the first time only. Where it does neither, it has no effect.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.dataflow.dynamic_lookup import picked, picked_method
from torchrepro_lint.dataflow.frames import Frame, kept_parameter
from torchrepro_lint.dataflow.reached import reached
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.loading.loaders import loaders
from torchrepro_lint.project.configured import is_named
from torchrepro_lint.rng.draws import draw_of, may_draw
from torchrepro_lint.seeding.callees import (
    EXITS,
    Callees,
    is_parameter,
    methods_named,
    runs_only_what_it_is_given,
)
from torchrepro_lint.seeding.discarded import is_besides
from torchrepro_lint.seeding.imports import Imports
from torchrepro_lint.seeding.run_by import IMPORTS, Run, commands, run_by, wrappers
from torchrepro_lint.seeding.seeding import LOADS, TRAINS, Link
from torchrepro_lint.seeding.terms import NOTHING, Term, TermBuilder
from torchrepro_lint.seeding.transfer import kind_of, may_seed, seeds
from torchrepro_lint.tracking import Memo, Rests

MAX_DEPTH = 30  # calls within calls
Draws: TypeAlias = "frozenset[tuple[str, str]]"  # families and kinds


class Effect(NamedTuple):
    """What code does that only draws: the families and kinds of what it draws, and the files that it imports."""

    draws: Draws = frozenset()
    imports: frozenset[str] = frozenset()


class Notes(NamedTuple):
    """What is known of code that only draws: the names that it calls, the calls that cannot be followed, what it runs,
    and what it does itself."""

    called: frozenset[str] = frozenset()
    unfollowed: tuple[Link, ...] = ()
    runs: tuple[Run, ...] = ()
    effect: Effect = Effect()


class Summary(NamedTuple):
    """A function or module: its term, and the notes of what is not in it."""

    term: Term
    notes: Notes


class _OnlyDraws(NamedTuple):
    """What a call that only draws runs, what it draws itself, and whether it is known what is called."""

    runs: tuple[Run, ...]
    draws: Draws
    is_followed: bool


@dataclass
class _Noting:
    """Takes down what `Notes` say, call by call."""

    called: set[str] = field(default_factory=set)
    unfollowed: list[Link] = field(default_factory=list)
    runs: dict[Run, None] = field(default_factory=dict)
    draws: set[tuple[str, str]] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)

    def take(self, call: ast.Call, scope: Scope, found: _OnlyDraws) -> None:
        self.called.add(last_name(call.func))
        if not found.is_followed:
            self.unfollowed.append(Link(call, scope))
        self.runs.update(dict.fromkeys(found.runs))
        self.draws |= found.draws

    def notes(self) -> Notes:
        effect = Effect(frozenset(self.draws), frozenset(self.imports))
        return Notes(frozenset(self.called), tuple(self.unfollowed), tuple(self.runs), effect)


@remembered
def summaries(program: Program) -> Summaries:
    """The summaries of a program's functions and modules."""
    return Summaries(program)


class Summaries:
    """Answers for one program, as long as its files are held."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.callees = Callees(program)
        self.imports = Imports(program.project.finder, program.project.files, program.tracker)
        self._summaries: Memo[Summary] = Memo(program.tracker)
        self._known: dict[Run, Notes | None] = {}
        self._rests: dict[Run, Rests] = {}  # what is known rests on these questions
        self._effects: Memo[Effect] = Memo(program.tracker)
        self._open: dict[Run, int] = {}  # those looked into, and how deep
        self._supposed: dict[Run, tuple[Notes, Rests]] = {}  # those that only draw if what is looked into does
        self._lowest = 0  # the outermost of those that something rests on
        self._is_cut = False
        self._plain: Memo[bool] = Memo(program.tracker)

    def of(self, run: Run) -> Summary:
        """The summary of a function as a method of a class, or of a module. Not to be asked while one is built."""
        return self._summaries.get(run, lambda: self._summary(run))

    def _summary(self, run: Run) -> Summary:
        notes = self.only_draws(run) if run[0].kind != "module" else None
        return Summary(NOTHING, notes) if notes is not None and not self.has_effect(run) else self._build(run)

    def _build(self, run: Run) -> Summary:
        function, owner = run
        frame, noting = Frame(function, owner=owner), _Noting()

        def has_effect(call: ast.Call, scope: Scope) -> bool:
            if scope.function.kind == "module" and scope.facts.in_guard(call):
                return True  # it is to be noted only where it runs
            found = self._look_at(call, scope, frame)
            if found is None or found.draws or any(map(self.has_effect, found.runs)):
                return True
            noting.take(call, scope, found)
            return False

        def taken(node: ast.AST, scope: Scope) -> tuple[Run, ...]:
            found = tuple(self.callees.taken(node, scope))
            if any(self.only_draws(inner) is None or self.has_effect(inner) for inner in found):
                return found
            noting.runs.update(dict.fromkeys(found))
            return ()

        return Summary(TermBuilder(has_effect, taken, self.imports.by).of(function), noting.notes())

    def has_effect(self, run: Run) -> bool:
        """Whether a function that only draws does so, or imports, with all that it runs."""
        return any(self.effect_of(run))

    def effect_of(self, run: Run) -> Effect:
        """What a function that only draws can do, with all that it runs."""
        return self._effects.get(run, lambda: self._whole_effect(run))

    def _whole_effect(self, run: Run) -> Effect:
        def notes(run: Run) -> Notes:
            found = self.only_draws(run)
            assert found is not None
            return found

        runs = reached([run], lambda run: () if run in self._effects else notes(run).runs)
        found = [self.effect_of(run) if run in self._effects else notes(run).effect for run in runs]
        draws, imports = zip(*found, strict=True)
        return Effect(frozenset().union(*draws), frozenset().union(*imports))

    # -- code that only draws -------------------------------------------------------------------------------------
    def only_draws(self, run: Run) -> Notes | None:
        """The notes of a function that does nothing to generators but draw and import; None for any other."""
        if run in self._known:
            self._program.tracker.rest_on(self._rests.get(run, ()))
            return self._known[run]
        return self._looked_into(run)

    def _looked_into(self, run: Run) -> Notes | None:
        depth = len(self._open)
        if run in self._open:
            self._lowest = min(self._lowest, self._open[run])
            return _NOTES_OF_NOTHING
        if run in self._supposed:
            self._lowest = 0
            found, rests = self._supposed[run]
            self._program.tracker.rest_on(rests)
            return found
        if depth > MAX_DEPTH:
            self._is_cut = True
            return None
        outer, self._lowest, self._open[run] = self._lowest, depth, depth
        before = len(self._supposed)
        begun = self._program.tracker.begin()
        looked = self._look(run)
        rests = self._program.tracker.end(begun)
        del self._open[run]
        self._settle(run, looked, rests, before, rests_on_outer=self._lowest < depth)
        self._lowest = min(outer, self._lowest)
        self._is_cut = self._is_cut and depth > 0
        return looked

    def _settle(self, run: Run, found: Notes | None, rests: Rests, before: int, *, rests_on_outer: bool) -> None:
        """Keep the answer, and those supposed since, unless they rest on a function that is still looked into. Those
        supposed rest on what the function rests on, in which all that was asked for them is."""
        if found is not None:
            self._supposed[run] = found, rests
        elif not self._is_cut:
            self._known[run], self._rests[run] = None, rests
        if found is None or not rests_on_outer:
            while len(self._supposed) > before:
                inner, (notes, _) = self._supposed.popitem()
                if found is not None:
                    self._known[inner], self._rests[inner] = notes, rests

    # -- one function -------------------------------------------------------------------------------------------
    def _look(self, run: Run) -> Notes | None:
        function, owner = run
        frame, noting = Frame(function, owner=owner), _Noting()
        for node, scope in function.runs:
            if isinstance(node, ast.Import | ast.ImportFrom):
                noting.imports.update(self.imports.by(node, scope))
            elif isinstance(node, ast.Call):
                found = self._look_at(node, scope, frame)
                if found is None:
                    return None
                noting.take(node, scope, found)
            else:
                taken = self.callees.taken(node, scope)
                if any(self.only_draws(inner) is None for inner in taken):
                    return None
                noting.runs.update(dict.fromkeys(taken))
        return noting.notes()

    def _look_at(self, call: ast.Call, scope: Scope, frame: Frame) -> _OnlyDraws | None:
        written = last_name(call.func)
        if written in _TELLING:
            return None
        if isinstance(call.func, ast.Name) and is_parameter(call.func, scope, frame.function):
            return None  # what is called is the caller's choice
        callees = self.callees.of(call, scope, frame)
        if not callees and self._is_chosen(call.func, scope, frame):
            return None
        if len(callees) <= 1 and self._is_plain(callees[0] if callees else None, call, scope):
            entered = self._given(callees, call, scope)
            if any(self.only_draws(run) is None for run in entered):
                return None
            return _OnlyDraws(entered, frozenset(), bool(callees)) if entered else _FOLLOWED[bool(callees)]
        runs: dict[Run, None] = {}
        draws: set[tuple[str, str]] = set()
        for callee in callees or (None,):
            found = self._entered(callee, call, scope, frame, draws)
            if found is None or any(self.only_draws(inner) is None for inner in found):
                return None
            runs.update(dict.fromkeys(found))
        return _OnlyDraws(tuple(runs), frozenset(draws), is_followed=bool(callees))

    def _is_chosen(self, method: ast.expr, scope: Scope, frame: Frame) -> bool:
        """Whether an option says what is called, or whoever made the object: it may be a method of the project, of an
        object that the function or `self` was given."""
        if picked(method, scope, self._program) or picked_method(method, scope, self._program):
            return True
        if not isinstance(method, ast.Attribute) or not self._program.project.text.defines_function(method.attr):
            return False
        match method.value:
            case ast.Name() as name:
                is_given = name.id != frame.function.self_name and is_parameter(name, scope, frame.function)
            case ast.Attribute() as held:
                is_given = _is_kept(held, scope, frame, self._program)
            case _:
                return False
        return is_given and self._may_matter(method.attr)

    def _may_matter(self, name: str) -> bool:
        """Whether any method of that name draws, seeds or trains, itself or in what it runs; so may those of many
        files."""
        methods = methods_named(name, self._program)
        if methods is None:
            return True
        runs: dict[Run, None] = dict.fromkeys((method, method.parent) for method in methods)
        pending = list(runs)
        while pending:
            notes = self.only_draws(pending.pop())
            if notes is None or notes.effect != Effect() or "backward" in notes.called:
                return True
            pending += [run for run in notes.runs if run not in runs]
            runs.update(dict.fromkeys(notes.runs))
        return False

    def _is_plain(self, callee: str | Scope | None, call: ast.Call, scope: Scope) -> bool:
        """Whether by its name a call neither seeds nor draws, and runs nothing but functions that it is given."""
        function = call.func
        if isinstance(callee, Scope) or not isinstance(function, ast.Name | ast.Attribute):
            return False
        if isinstance(function, ast.Name) and not isinstance(self._program.resolve(function, scope), str):
            return False  # it may be a command of a command line
        name, written = _constructed(callee), last_name(function)

        def find() -> bool:
            return not (
                may_draw(name, written)
                or may_seed(self._program, name, written)
                or _runs_workers(name)
                or not runs_only_what_it_is_given(name, written)
            )

        return self._plain.get((name, written), find)

    def _given(self, callees: tuple[str | Scope, ...], call: ast.Call, scope: Scope) -> tuple[Run, ...]:
        name = _constructed(callees[0]) if callees and isinstance(callees[0], str) else None
        return tuple([(function, None) for function in self.callees.given(name, call, scope)])

    def _entered(
        self, callee: str | Scope | None, call: ast.Call, scope: Scope, frame: Frame, draws: set[tuple[str, str]]
    ) -> list[Run] | None:
        """The functions that a call enters; None where it does more than draw, which is added to `draws`."""
        callees = self.callees
        if commands(call, scope, self._program):
            return None
        if callee is None or isinstance(callee, str):
            name = _constructed(callee)
            if name in EXITS or name == IMPORTS or callees.hands_on(name, call) or _runs_workers(name):
                return None
            given = list(callees.given(name, call, scope))
            has_classes = any(function.kind == "class" for function in given)
            if (
                has_classes
                or (given and callees.sends_away(name, call, scope))
                or run_by(name, call, scope, self._program)
                or not self._draws_itself(name, call, scope, draws)
            ):
                return None
            return [(function, None) for function in given]
        if any(is_named(callee, name) for name in self._program.project.seed_functions):
            return None
        if self._program.project.configured.of_own(callee) is not None:
            return None
        if callees.is_job(callee, call, scope):
            return None
        if callee.kind == "class":
            bases = callees.inherited_constructors(callee)
            if not all(self._draws_itself(base, call, scope, draws) for base in bases):
                return None
            if any(run_by(base, call, scope, self._program) for base in bases):
                return None
            return [(method, callee) for method in (*callees.constructors(callee), *callees.overridden(callee))]
        if callee.kind not in ("function", "lambda"):
            return []
        if callee.self_name is not None and _is_kept(call.func, scope, frame, self._program):
            return None  # what is called is the choice of whoever made the object
        if next(wrappers(callee, self._program), None) is not None:
            return None
        return [(callee, owner) for owner in callees.owners(callee, call, scope, frame)]

    def _draws_itself(self, name: str | None, call: ast.Call, scope: Scope, draws: set[tuple[str, str]]) -> bool:
        """Whether an external call does nothing but draw, if that; what it draws is added to `draws`."""
        if seeds(self._program, name, call, scope):
            return False
        draw = draw_of(self._program, name, call, scope)
        if draw is not None and not is_besides(draw, self._program):
            draws.add((draw.family, kind_of(draw, self._program)))
        return True


def _is_kept(held: ast.expr, scope: Scope, frame: Frame, program: Program) -> bool:
    """Whether this is an object that `self` was given when it was made: `self.model` of `self.model(x)`."""
    match held:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            method = scope.binding_scope(name)
            if method is None or method.self_name != name or method.parent is None:
                return False
            owner = frame.owner if method is frame.function and frame.owner is not None else method.parent
            return kept_parameter(attribute, owner, program) is not None
    return False


_NOTES_OF_NOTHING = Notes()
_FOLLOWED = {is_followed: _OnlyDraws((), frozenset(), is_followed) for is_followed in (False, True)}
_TELLING = frozenset((*TRAINS, *LOADS))  # calls that tell what a program is for: noted only where they are reached


def _constructed(callee: str | None) -> str | None:
    """The class for its constructor, which `super().__init__()` calls."""
    return callee.removesuffix(".__init__") if callee else None


def _runs_workers(name: str | None) -> bool:
    return name is not None and (name in loaders() or ".transforms." in name)
