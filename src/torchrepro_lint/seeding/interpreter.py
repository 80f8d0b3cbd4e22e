"""The abstract interpreter: runs the term of an entry point, and of everything that it calls, in order.

Keeps which generators are seeded on each path, and notes in a `Seeding` what was drawn before. What one call does to
that state is told by `transfer`; what needs not be run is left out by `summaries`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Program, Site
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.choices import MAX_CHOSEN
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.dynamic_lookup import MethodPick, picked, picked_method
from torchrepro_lint.dataflow.evaluate import MAX_MODULES
from torchrepro_lint.dataflow.exits import ends
from torchrepro_lint.dataflow.frames import Frame, depth_of, kept_arguments, outwards, shared_depth
from torchrepro_lint.dataflow.made_of_given import made_of_given
from torchrepro_lint.dataflow.options import Options
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.dataflow.program import MAX_CALLEES
from torchrepro_lint.dataflow.run_constant import is_in_worker
from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope, arguments_of, keyword_value, last_name
from torchrepro_lint.loading.loaders import argument, handed_on, loaders
from torchrepro_lint.project.configured import is_named
from torchrepro_lint.project.disk import exists
from torchrepro_lint.project.entries import Entry, is_module
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.rng.draws import Seeder
from torchrepro_lint.seeding.callees import (
    EXITS,
    FRESH_STARTS,
    LAZY,
    ItemDraw,
    drawn_by_items,
    is_left_for_later,
    is_parameter,
    methods_named,
)
from torchrepro_lint.seeding.run_by import (
    FIRE,
    IMPORTS,
    Run,
    commands,
    deployed,
    handlers,
    is_first,
    offered,
    run_by,
    started,
    wrappers,
)
from torchrepro_lint.seeding.seeding import Link, Seeding, Witness
from torchrepro_lint.seeding.state import (
    FRESH,
    State,
    by_default,
    either,
    joined,
    left,
    level_by_default,
    replayed,
    telling,
)
from torchrepro_lint.seeding.summaries import Notes, summaries
from torchrepro_lint.seeding.terms import (
    NOTHING,
    Attempt,
    Branch,
    Exit,
    Guard,
    Import,
    Invoke,
    Later,
    Loop,
    Select,
    Taken,
    Term,
)
from torchrepro_lint.seeding.transfer import Effects

MAX_DEPTH = 40  # calls within calls
MAX_CALLS = 30_000
MAX_FILES = 3_000  # that are imported
MAX_LINES = 90_000  # of the files that code is run of
_MAY_BE_KNOWN = (ast.Constant, ast.Name, ast.Attribute, ast.IfExp)
_HAS_GPU = "torch.cuda.is_available"
_POOLED = ("submit", "map", "apply", "apply_async", "map_async", "starmap", "starmap_async", "imap", "imap_unordered")


def seeding_of(entry: Entry, program: Program) -> Seeding:
    """Interpret one entry."""
    interpreter = _Interpreter(entry, program)
    try:
        interpreter.run()
    except RecursionError:  # an expression nested a thousand deep
        interpreter.found.bounds.add("nesting")
    return interpreter.found


class _Interpreter:
    def __init__(self, entry: Entry, program: Program) -> None:
        self.program = program
        front = entry.facts.source.path.parent / "__init__.py"
        self.found = Seeding(entry, program, program.project.disk(exists, str(front)))
        self.options = Options(program, self.found.files)
        self.effects = Effects(program, self.found, self.options)
        self._summaries = summaries(program)
        self._callees = self._summaries.callees
        self._noted: set[Run] = set()
        self._imported: set[str] = set()
        self._active: set[tuple[Scope, bool]] = set()
        self._memo: dict[object, State] = {}
        self._actors: dict[Scope | None, tuple[State, tuple[Witness, ...]]] = {}
        self._exits: list[list[State]] = []
        self._calls = 0
        self._lines = 0

    def run(self) -> None:
        entry = self.found.entry
        self._imported.add(str(entry.facts.source.path))
        self._see(entry.facts)
        packages = self._summaries.imports.around(str(entry.facts.source.path)) if is_module(entry) else ()
        state = self._run_imports(packages, Link(entry.node, entry.facts.scope), FRESH)
        state = self._module(entry.facts, state)
        if entry.function is not None:
            state = self._function(entry.function, None, Frame(entry.facts.scope), state)
        if entry.function is not None or entry.command:
            command = entry.function or self.program.names.lookup(entry.command, entry.facts.scope)
            state = self._run_command(offered(command, self.program), state, Frame(entry.facts.scope))
        for function, made in started(entry.facts, self.program):
            frame = Frame(entry.facts.scope)
            state = self.effects.seed(Seeder(FAMILIES, made, entry.facts.scope, None, "constant"), state, frame)
            state = self._function(function, None, frame, state)
        for runs, is_apart in deployed(entry.facts, self.program):
            with self.effects.process_of(runs[0][0]) if is_apart else nullcontext(state) as begun:
                for function, owner in runs:
                    begun = self._function(function, None, Frame(entry.facts.scope), begun, owner)
        for facts in tuple(self.found.files):
            for function in handlers(facts, self.program):
                self._function(function, None, Frame(facts.scope), state)
        self.effects.finish()

    # -- modules and functions --------------------------------------------------------------------------------
    def _module(self, facts: ModuleFacts, state: State) -> State:
        self._see(facts)
        term, notes = self._summaries.of((facts.scope, None))
        self._note(notes)
        self._exits.append([])
        state = self._term(term, state, Frame(facts.scope))
        self._exits.pop()
        return state

    def _see(self, facts: ModuleFacts) -> None:
        if facts not in self.found.files:
            self.found.files[facts] = None
            self._lines += facts.lines
            if self._lines > MAX_LINES and len(self.found.files) > 1:  # the program's own file is followed to its end
                self.found.bounds.add("files")

    def _run_imports(self, paths: Iterable[str], step: Link, state: State) -> State:
        """Run the top level of project modules the first time that they are imported."""
        for path in paths:
            if path in self._imported or state is None:
                continue
            self._imported.add(path)
            if len(self._imported) > MAX_FILES:
                self.found.bounds.add("files")
            facts = self.program.load(path) if self.found.complete else None
            if facts is not None:
                with self.effects.at(*step):
                    state = self._module(facts, state) or state
        return state

    def _function(
        self,
        function: Scope,
        call: ast.Call | None,
        frame: Frame,
        state: State,
        owner: Scope | None = None,
        receiver: ast.expr | None = None,
    ) -> State:
        """Run a project function, or take the result of an equal run from the memo. `owner` is the class of the
        object that a method is called on; `receiver` is that object where the call does not show it."""
        if state is None:
            return state
        term, notes = self._summaries.of((function, owner))
        if not term or self._adds_nothing((function, owner), state):
            self._note_run((function, owner))
            return state
        self.found.entered.add(function)
        key = (function, call is None)
        if key in self._active or not self._within_bounds():
            return state
        signature = (owner, self._signature(function, call, frame, state))
        if signature in self._memo:
            return replayed(self._memo[signature], state)
        self._active.add(key)
        self._see(function.facts)
        if (function, owner) not in self._noted:
            self._noted.add((function, owner))
            self._note(notes)
        self._exits.append([])
        entered = Frame(function, call, frame, owner, receiver)
        with self.effects.running(function), self.options.reach.inside() as reach:
            ended = self._term(term, state, entered)
            after = either([ended, *self._exits.pop()]) or state
            if reach.outermost >= depth_of(entered):
                self._memo[signature] = after
        self._active.discard(key)
        return after

    def _adds_nothing(self, run: Run, state: State) -> bool:
        """Whether a function only draws, and only what this program is already known to draw in this state, and imports
        what has been imported."""
        if self._summaries.only_draws(run) is None:
            return False
        effect = self._summaries.effect_of(run)
        return self._imported.issuperset(effect.imports) and self.effects.adds_nothing(effect.draws, state)

    def _note(self, notes: Notes) -> None:
        """What is to be known of code that is not run."""
        self.found.reached |= notes.called
        self.found.unfollowed += notes.unfollowed
        for run in notes.runs:
            self._note_run(run)

    def _note_run(self, run: Run) -> None:
        """The same of a function without effect, and of those that it runs."""
        pending = [run]
        while pending:
            run = pending.pop()
            if run in self._noted:
                continue
            self._noted.add(run)
            self._see(run[0].facts)
            self.found.entered.add(run[0])
            notes = self._summaries.only_draws(run) or self._summaries.of(run).notes  # dead code may do more than draw
            self.found.reached |= notes.called
            self.found.unfollowed += notes.unfollowed
            pending += reversed(notes.runs)

    def _within_bounds(self) -> bool:
        self._calls += 1
        if self._calls > MAX_CALLS:
            self.found.bounds.add("calls")
        if len(self.effects.chain) > MAX_DEPTH:
            self.found.bounds.add("depth")
        return self.found.complete

    def _signature(self, function: Scope, call: ast.Call | None, frame: Frame, state: State) -> object:
        """What the outcome depends on: the state and the known values of the arguments."""
        assert state is not None
        passed: list[object] = []
        if call is not None:
            given: list[tuple[object, ast.expr]] = [(None, a) for a in call.args]
            given += [(k.arg or call, k.value) for k in call.keywords]  # what `**mapping` holds, each call says itself
            for name, value in given:
                known = self.options.values(value, frame.function, frame) if isinstance(value, _MAY_BE_KNOWN) else None
                passed.append((name, repr([(d.value, d.settable) for d in known]) if known else "?"))
        levels = tuple((f.level, f.early is None, f.taken) for f in state)
        now = self.effects.around
        around = now.process, now.in_workers, now.in_use, now.doubts > 0, now.rare > 0, now.paused, now.pretrained
        return function, levels, tuple(passed), around

    # -- terms --------------------------------------------------------------------------------------------------
    def _term(self, term: Term, state: State, frame: Frame) -> State:
        """Run the items of a term one after the other, until the path ends."""
        for item in term:
            if state is None:
                break
            match item:
                case Invoke(node=node, scope=scope):
                    state = self._call(node, state, scope, frame)
                case Branch():
                    state = self._branch(item, state, frame)
                case Import(node=statement, scope=scope, paths=paths):
                    if not self._imported.issuperset(paths):
                        state = self._run_imports(paths, Link(statement, scope), state)
                case Taken():
                    state = self._take(item, state, frame)
                case Loop():
                    state = self._loop(item, state, frame)
                case Attempt():
                    state = self._attempt(item, state, frame)
                case Select(arms=arms):
                    state = either([*(self._term(arm, state, frame) for arm in arms), state])
                case Guard(body=body):
                    if frame.function.facts is self.found.entry.facts:
                        state = self._term(body, state, frame)
                case Later(body=body):
                    with self.effects.in_use(self.effects.around.in_workers):
                        state = self._term(body, state, frame)
                case Exit():
                    self._exits[-1] += [state] if item is Exit.LEAVE else ()
                    state = None
        return state

    def _branch(self, item: Branch, state: State, frame: Frame) -> State:
        test = item.node.test
        truth = self._truth(test, item.scope, frame)
        if truth is Truth.UNKNOWN and isinstance(test, ast.Call) and self.program.callee(test, item.scope) == _HAS_GPU:
            truth = Truth.USUALLY  # what is seeded where there is none alone is not seeded where programs train
        if isinstance(item.node, ast.If):
            self.found.tests[item.node] = truth
        if isinstance(item.node, ast.IfExp) and truth.certain is None:
            return either([self._term(item.body, state, frame), self._term(item.orelse, state, frame)])
        if truth is Truth.UNKNOWN and isinstance(item.node, ast.If) and ends(item.node.orelse):
            return self._term(item.body, state, frame)  # else there is no more of the program
        return self._either_arm(truth, item.body, item.orelse, state, frame, is_case=_is_case(test))

    def _truth(self, test: ast.expr, scope: Scope, frame: Frame) -> Truth:
        in_worker = is_in_worker(test, scope, self.program) if "get_worker_info" in scope.facts.calls else None
        if in_worker is not None and self.effects.around.in_workers is not None:
            return Truth.ALWAYS if in_worker is self.effects.around.in_workers else Truth.NEVER
        read = self.options.of_files
        truth = self.options.truth(test, scope, frame)
        if truth is Truth.NEVER and self.options.of_files > read:
            return Truth.RARELY  # with another number in the file it is true: what would be run then is noted
        return truth

    def _either_arm(
        self, truth: Truth, body: Term, orelse: Term, state: State, frame: Frame, *, is_case: bool = False
    ) -> State:
        """Run the arm that a test chooses which comes out as `truth`, or both."""
        if truth.certain is not None:
            return self._term(body if truth.certain else orelse, state, frame)
        effects, before, usual = self.effects, self.effects.deferred, truth.usual
        with effects.in_arm():
            chosen, after_body = self._arm(body, state, frame, usual, is_case), effects.deferred
            effects.deferred = before
            usual_else = None if usual is None else not usual
            other, after_orelse = self._arm(orelse, state, frame, usual_else, is_case), effects.deferred
        if truth is Truth.RARELY:
            chosen, other, after_body, after_orelse = other, chosen, after_orelse, after_body
        level = max if truth is Truth.UNKNOWN else level_by_default
        effects.deferred = telling(joined(before, after_body, after_orelse, level), effects.around.arm)
        return either([chosen, other]) if truth is Truth.UNKNOWN else by_default(chosen, other)

    def _arm(self, arm: Term, state: State, frame: Frame, is_usual: bool | None, is_case: bool) -> State:
        """Run an arm that the program runs by default, or does not, or nobody knows."""
        ends = self._exits[-1]
        count = len(ends)
        with self.effects.in_doubt(is_case=is_case, is_rare=is_usual is False):
            after = self._term(arm, state, frame)
        if not is_case or is_usual:
            return after
        ends[count:] = [left(end, state) for end in ends[count:]]
        return left(after, state)

    def _take(self, item: Taken, state: State, frame: Frame) -> State:
        receiver = item.node.value if isinstance(item.node, ast.Subscript) else item.node
        for method, owner in item.methods:
            with self.effects.at(item.node, item.scope):
                state = self._function(method, None, frame, state, owner, receiver)
        return state

    def _loop(self, item: Loop, state: State, frame: Frame) -> State:
        truth = self._truth(item.times, item.scope, frame) if item.times is not None else Truth.UNKNOWN
        if truth.usual is False:  # not run even once
            body = self._either_arm(truth, item.body, NOTHING, state, frame)
        else:
            body = self._term(item.body, state, frame)
        return self._term(item.orelse, body if body is not None else state, frame)

    def _attempt(self, item: Attempt, state: State, frame: Frame) -> State:
        body = self._term(item.body, state, frame)
        ended = self._term(item.orelse, body, frame)
        handled = [self._term(handler, state, frame) for handler in item.handlers]
        after = ended if ended is not None else either(handled)
        return self._term(item.finalbody, after, frame) if after is not None else None

    # -- calls --------------------------------------------------------------------------------------------------
    def _call(self, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        self.found.reached.add(last_name(call.func))
        callees = self._targets(call, scope, frame)
        if not callees:
            self.found.unfollowed.append(Link(call, scope))
            state = self._external(None, call, state, scope, frame)
        elif len(callees) == 1:
            state = self._enter(callees[0], call, state, scope, frame)
        else:
            with self.effects.in_doubt():
                state = self._enter_some(callees, call, state, scope, frame)
        return self._run_all(commands(call, scope, self.program), call, state, scope, frame, are_commands=True)

    def _enter_some(
        self, callees: Sequence[str | Scope], call: ast.Call, state: State, scope: Scope, frame: Frame
    ) -> State:
        """Run one of several, of which it is not known which; or each in its turn, where a loop goes through them."""
        if not _is_of_each_round(call.func, scope):
            return either([self._enter(callee, call, state, scope, frame) for callee in callees])
        for callee in callees:
            state = self._enter(callee, call, state, scope, frame) if state is not None else None
        return state

    def _run_all(
        self, runs: Sequence[Run], call: ast.Call, state: State, scope: Scope, frame: Frame, *, are_commands: bool
    ) -> State:
        """Functions of the project that a framework runs for this call, one after the other; of commands, only one."""
        if not runs or state is None:
            return state
        signature = (tuple(runs), self._signature(runs[0][0], None, frame, state))
        if signature in self._memo:
            return replayed(self._memo[signature], state)
        with self.options.reach.inside() as reach:
            if are_commands:
                with self.effects.at(call, scope):
                    after = self._run_command(runs, state, frame)
            else:
                after = self._run_each(runs, call, state, scope, frame)
            if reach.outermost > depth_of(frame):
                self._memo[signature] = after
        return after

    def _run_command(self, runs: Sequence[Run], state: State, frame: Frame) -> State:
        """One of several functions that a command line offers, after those that come before any of them."""
        commands = [run for run in runs if not is_first(run[0])]
        for function, owner in runs:
            if is_first(function):
                state = self._function(function, None, frame, state, owner)
        if len(commands) < 2:
            return self._function(commands[0][0], None, frame, state, commands[0][1]) if commands else state
        ends, made, later = [], self.effects.deferred, self.effects.deferred
        for function, owner in commands:
            self.effects.deferred = made
            with self.effects.in_doubt(is_case=True):
                ends.append(left(self._function(function, None, frame, state, owner), state))
            later = joined(made, later, self.effects.deferred, max)
        self.effects.deferred = telling(later, self.effects.around.arm)
        return either(ends)

    def _run_each(
        self, runs: Sequence[Run], call: ast.Call, state: State, scope: Scope, frame: Frame, of: ast.expr | None = None
    ) -> State:
        """Functions, or methods of the object that `of` is where the frame is."""
        for function, owner in runs:
            with self.effects.at(call, scope):
                state = self._function(function, None, frame, state, owner, of)
        return state

    def _run_one_of(self, runs: Sequence[Run], loader: Call, name: str, state: State, frame: Frame) -> State:
        """Methods of the object that a loader is given, or of one of several, of which nobody knows which is used."""
        call, scope = loader.node, loader.scope
        given = argument(loader, name)
        of = given.node if isinstance(given, Site) and given.scope.function is frame.function else None
        owners = dict.fromkeys(owner for _, owner in runs)
        if len(owners) < 2:
            return self._run_each(runs, call, state, scope, frame, of)
        own = [[run for run in runs if run[1] is owner] for owner in owners]
        with self.effects.in_doubt():
            return either([self._run_each(methods, call, state, scope, frame, of) for methods in own])

    def _targets(self, call: ast.Call, scope: Scope, frame: Frame) -> tuple[str | Scope, ...]:
        handed = self._handed(call.func, scope, frame)
        if handed is not None:
            return (handed,)
        found = self._callees.of(call, scope, frame) or self._chosen(call.func, scope, frame)
        return self._of_given(found, call, scope, frame) if found and isinstance(found[0], Scope) else found

    def _chosen(self, function: ast.expr, scope: Scope, frame: Frame) -> tuple[Scope, ...]:
        """What is called by the choice of an option, or of whoever made the object."""
        return self._picked(function, scope, frame) or self._methods_of_given(function, scope, frame)

    def _methods_of_given(self, function: ast.expr, scope: Scope, frame: Frame) -> tuple[Scope, ...]:
        """The methods of that name which objects have that the function or `self` was given."""
        if not isinstance(function, ast.Attribute) or not self.program.project.text.defines_function(function.attr):
            return ()
        methods = (self.program.names.method(owner, function.attr) for owner in self._owners(function, scope, frame))
        return tuple(dict.fromkeys(method for method in methods if method is not None))[:MAX_CALLEES]

    def _owners(self, method: ast.Attribute, scope: Scope, frame: Frame) -> list[Scope]:
        """The classes of an object that the function or `self` was given."""
        given = self._given(method.value, scope, frame) or ()
        return list(dict.fromkeys(owner for site in given for owner in self._callees.classes(*site)))

    def _of_given(
        self, found: tuple[str | Scope, ...], call: ast.Call, scope: Scope, frame: Frame
    ) -> tuple[str | Scope, ...]:
        """What a call runs; of an object that the function or `self` was given, what its own class has, not what others
        were given."""
        given = self._given(call.func, scope, frame)
        if given is not None:
            owners = {owner for site in given for owner in self._callees.classes(*site)}
        elif len(found) > 1 and isinstance(call.func, ast.Attribute):
            owners = set(self._owners(call.func, scope, frame))
        else:
            return found
        above = {base for owner in owners for base in self.program.names.bases(owner)}
        fitting = [c for c in found if not isinstance(c, Scope) or c.method_class is None or c.method_class in above]
        return tuple(fitting) if owners else found

    def _given(self, function: ast.expr, scope: Scope, frame: Frame) -> list[Site] | None:
        """The object that is called, or whose method is, as it was given in the calls in progress, if it was."""
        match function:
            case ast.Attribute(value=ast.Name(id=name)):
                method = scope.binding_scope(name)
                around = next((at for at in outwards(frame) if at.function is method), None)
                if around is None or around.function.self_name != name:
                    return None
                made = kept_arguments(function.attr, around, self.program)
                if not made:
                    return None
                self.options.reach.note(min(shared_depth(frame, m) for _, m in made))
                return [Site(value, m.caller.function) for value, m in made if m.caller is not None]
            case ast.Name():
                passed = self._passed(function, scope, frame)
                return [passed] if passed.node is not function else None
        return None

    def _passed(self, value: ast.expr, scope: Scope, frame: Frame) -> Site:
        """What a parameter is given in the call in progress, where it is no parameter of the caller; other values are
        themselves."""
        at: Frame | None = frame
        while at is not None and at.call is not None and at.caller is not None and isinstance(value, ast.Name):
            given = argument_for(at.call, at.function, value.id) if is_parameter(value, scope, at.function) else None
            if not isinstance(given, ast.expr):
                break
            self.options.reach.note(depth_of(at) - 1)
            value, scope, at = given, at.caller.function, at.caller
        return Site(value, scope)

    def _picked(self, function: ast.expr, scope: Scope, frame: Frame) -> tuple[Scope, ...]:
        """What a look-up by name gives when the program runs as it is configured by default."""
        pick = picked(function, scope, self.program)
        if pick is None:
            method = picked_method(function, scope, self.program)
            return tuple(self._named_methods(method, frame)) if method is not None else ()
        names = self.options.values(pick.key, scope, frame)
        return tuple(pick.choices([n.value for n in names], self.program)) if names else ()

    def _named_methods(self, pick: MethodPick, frame: Frame) -> list[Scope]:
        """The methods that a look-up by name gives: those of the object's class, where the name is not known all that
        the class offers; of objects of which nothing is known and that a loop goes through, as hooks are, those of all
        classes."""
        values = self.options.values(pick.key, pick.scope, frame)
        names = [v.value for v in values if isinstance(v.value, str)] if values else pick.said()
        if isinstance(pick.holder, ast.Name) and pick.holder.id == frame.function.self_name:
            owners = [frame.owner] if frame.owner is not None else []
        else:
            owners = list(self._callees.classes(pick.holder, pick.scope))
        if not names:
            owners, names = owners[:1], [name for owner in owners[:1] for name in _offered(owner, pick, self.program)]
        found = [self.program.names.method(owner, name) for owner in owners for name in names]
        if not owners and pick.is_of_each:
            found = [method for name in names for method in methods_named(name, self.program) or ()]
        methods = list(dict.fromkeys(method for method in found if method is not None))
        return methods if len(methods) <= MAX_CHOSEN else []

    def _handed(self, function: ast.expr, scope: Scope, frame: Frame) -> str | Scope | None:
        """What a parameter stands for in the calls in progress: a function of the project, or of a library."""
        if frame.call is None or not isinstance(function, ast.Name):
            return None
        if not is_parameter(function, scope, frame.function):
            return None
        passed, where = self._passed(function, scope, frame)
        is_lambda = isinstance(passed, ast.Lambda)
        found = where.children.get(passed) if is_lambda else self.program.resolve(passed, where)
        return found if isinstance(found, str | Scope) else None

    def _enter(self, callee: str | Scope, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        if isinstance(callee, str):
            return self._external(callee, call, state, scope, frame)
        if any(is_named(callee, name) for name in self.program.project.seed_functions):
            return self.effects.seed(Seeder(FAMILIES, call, scope, None, "constant"), state, frame)
        meaning = self.program.project.configured.of_own(callee)
        if meaning is not None:
            return self._external(meaning, call, state, scope, frame)
        with self.effects.at(call, scope):
            if self._callees.is_job(callee, call, scope) and not self._is_local_ray:
                self._job(callee, call, frame)
                return state
            if callee.kind == "class":
                return self._construct(callee, call, state, scope, frame)
            if callee.kind not in ("function", "lambda"):
                return state
            for wrapper in wrappers(callee, self.program):
                state = self._function(wrapper, None, frame, state)
            owners = self._callees.owners(callee, call, scope, frame)
            if (owners == [None] or len(owners) > 1) and isinstance(call.func, ast.Attribute):
                made = self._owners(call.func, scope, frame)
                owners = [owner for owner in made if callee.parent in self.program.names.bases(owner)] or owners
            is_lazy = callee.yields and not callee.decorators
            with self._later(call, scope) if is_lazy else nullcontext():
                return either([self._function(callee, call, frame, state, owner) for owner in owners])

    def _later(self, call: ast.Call, scope: Scope) -> AbstractContextManager[None]:
        """What runs when the items are taken of what a call gives, which may be at once."""
        is_later = is_left_for_later(call, scope, self.program)
        return self.effects.in_use(self.effects.around.in_workers) if is_later else nullcontext()

    def _construct(self, owner: Scope, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        called = last_name(call.func)
        is_pretrained = called in catalogue.names("callables", "constructs_pretrained")
        given = None if is_pretrained else call
        with self.effects.pretrained() if is_pretrained else nullcontext():
            for method in self._callees.constructors(owner):
                if self._callees.is_run_of_process(method, owner):
                    with self.effects.forked(method):
                        self._function(method, given, frame, state, owner)
                else:
                    state = self._function(method, given, frame, state, owner)
        for base in self._callees.inherited_constructors(owner):
            self.found.reached.add(base.rpartition(".")[2])
            name = f"{base}.{called}" if is_pretrained else base
            state = self.effects.apply(name, call, state, scope, frame)
            for method, of in run_by(base, call, scope, self.program):
                state = self._function(method, None, frame, state, of)
            state = self._worker_code(Call(call, scope, base, self.program), state, frame)
        handed = handed_on(owner, self.program)
        if handed is not None:
            state = self._worker_code(Call(call, scope, handed.name, self.program, subclass=owner), state, frame)
        for method in self._callees.overridden(owner):
            state = self._function(method, None, frame, state, owner)
        return state

    def _external(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """A call of something outside the project, or of an unknown object; it may run what it is passed."""
        name = name.removesuffix(".__init__") if name else None
        if name in EXITS:
            return None
        if name == IMPORTS and call.args:
            return self._import_one_of(self.program.values.names_like(call.args[0], scope), call, state, scope)
        state = self.effects.apply(name, call, state, scope, frame)
        for function in self._callees.given(name, call, scope):
            if state is None:
                return None
            state = self._run_callback(name, function, call, state, scope, frame)
        if frame.caller is not None and state is not None and self._callees.hands_on(name, call):
            for function in self._handed_on(call, scope, frame):
                state = self._run_callback(name, function, call, state, scope, frame)
        runs, are_commands = run_by(name, call, scope, self.program), name in FIRE
        state = self._run_all(runs, call, state, scope, frame, are_commands=are_commands)
        return self._worker_code(Call(call, scope, name, self.program), state, frame) if name else state

    def _import_one_of(self, names: Sequence[str], call: ast.Call, state: State, scope: Scope) -> State:
        """Run one of several modules, of which it is not known which is imported, where they are not many."""
        if not names or len(names) > MAX_MODULES:
            return state
        importer, step = str(scope.facts.source.path), Link(call, scope)
        with self.effects.in_doubt() if len(names) > 1 else nullcontext():
            named = (self._summaries.imports.named([(name, 0)], importer) for name in names)
            return either([self._run_imports(paths, step, state) for paths in named])

    def _handed_on(self, call: ast.Call, scope: Scope, frame: Frame) -> Iterator[Scope]:
        """The functions of its caller's that a call hands on: `spawn(f)` in `launch(f)`."""
        for value in arguments_of(call):
            handed = self._handed(value, scope, frame)
            if isinstance(handed, Scope) and handed.kind == "function":
                yield handed
        if any(isinstance(a, ast.Starred) and _is_gathered(a.value, scope, frame) for a in call.args):
            assert frame.call is not None
            assert frame.caller is not None
            yield from (f for _, f in self.program.given(frame.call, frame.caller.function) if f.kind == "function")

    def _run_callback(
        self, name: str | None, function: Scope, call: ast.Call, state: State, scope: Scope, frame: Frame
    ) -> State:
        with self.effects.at(call, scope):
            is_class = function.kind == "class"
            is_fresh = function.kind != "lambda" and self._starts_afresh(name, call, scope)
            if is_fresh or self._callees.starts_process(name, call):
                made, run = self.program.callers.as_called(function, call, scope), self.effects.process_of(function)
                with run if is_fresh else self.effects.forked(function) as fresh:
                    inside = fresh if is_fresh else state
                    for method in self._callees.constructors(function) if is_class else [function]:
                        inside = self._function(method, made, frame, inside, function if is_class else None)
            elif is_class:
                parsed = dict(made_of_given(name or "", call, scope, self.program.origins))
                return self._construct(function, parsed.get(function, call), state, scope, frame)
            else:
                with self._later(call, scope) if name in LAZY else nullcontext():
                    return self._function(function, None, frame, state)
        return state

    def _starts_afresh(self, name: str | None, call: ast.Call, scope: Scope) -> bool:
        """Whether a call runs functions in processes that share nothing with this one, not even by a fork."""
        if self._callees.spawns(name, call):
            return not self._is_local_ray
        if self._callees.sends_away(name, call, scope):
            return True
        if name == "multiprocessing.Process":
            chosen = [c for f in self.found.files for c, _ in f.calls.get("set_start_method", ())]
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "Process":
            chosen = self._contexts(call.func.value, scope)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _POOLED:
            pools = [p for p in self.program.results(call.func.value, scope) if _begins_at_once(p.node)]
            given = [(_context_of(pool.node), pool.scope) for pool in pools]
            chosen = [made for value, where in given if value is not None for made in self._contexts(value, where)]
        else:
            return False
        return any(isinstance(a, ast.Constant) and a.value in FRESH_STARTS for c in chosen for a in c.args)

    def _contexts(self, value: ast.expr, scope: Scope) -> list[ast.Call]:
        """The calls that made a context of multiprocessing: `get_context("spawn")`."""
        made = self.program.results(value, scope)
        return [result.node for result in made if str(result.callee).endswith("get_context")]

    @property
    def _is_local_ray(self) -> bool:
        """Whether Ray is told to run jobs in this process, as to debug them: `ray.init(local_mode=True)`."""
        started = (call for facts in self.found.files for call, _ in facts.calls.get("init", ()))
        return any(keyword_value(call, "local_mode") is not None for call in started)

    def _job(self, callee: Scope, call: ast.Call, frame: Frame) -> None:
        """What a worker of Ray runs: a task, or a method of an actor, after what it was made with."""
        owner = callee if callee.kind == "class" else callee.method_class
        methods = [*self._callees.constructors(callee)] if callee is owner else [callee]
        with self.effects.process_of(callee) as fresh:
            state, self.effects.deferred = self._actors.get(owner, (fresh, ()))
            for method in methods:
                state = self._function(method, call, frame, state, owner)
            if owner is not None:
                self._actors[owner] = state, self.effects.deferred
            if callee is owner:
                self.effects.deferred = ()  # used by its methods, if at all

    def _worker_code(self, made: Call, state: State, frame: Frame) -> State:
        """What a loader's data set, and objects given to a transform, draw when they are used."""
        if state is None:
            return state
        if made.name in loaders():
            return self._loaded(made, state, frame)
        if ".transforms." in made.name:
            call = made.node
            listed = [e for a in call.args for e in (a.elts if isinstance(a, ast.List | ast.Tuple) else [a])]
            called = self._callees.methods(listed, ("__call__",), made.scope)
            with self.effects.in_use(workers=None):
                return self._run_each(called, call, state, made.scope, frame)
        return state

    def _loaded(self, loader: Call, state: State, frame: Frame) -> State:
        """The samplers of a loader run in its process, and the data set in its workers, if it has some."""
        call, scope = loader.node, loader.scope
        for given in ("sampler", "batch_sampler"):
            if iterated := self._methods_of(loader, given, "__iter__"):
                with self.effects.in_use(workers=False):
                    state = self._run_one_of(iterated, loader, given, state, frame)
        items = self._methods_of(loader, "dataset", "__getitem__", "__iter__")
        draws = drawn_by_items(loader, self.program)
        if not items and not draws:
            return state
        drawn, workers = self.effects.drawn_in_workers, self._has_workers(loader, frame)
        with self.effects.in_use(workers):
            after = self._run_one_of(items, loader, "dataset", state, frame)
            unseen = [draw for draw in draws if draw[2].function not in self.found.entered]
            after = self._drawn_by_items(unseen, call, after, scope)
        state = state if workers else after  # what other processes seed is not seeded here
        return self.effects.seed_workers(call, scope, state) if self.effects.drawn_in_workers > drawn else state

    def _drawn_by_items(self, draws: Sequence[ItemDraw], call: ast.Call, state: State, scope: Scope) -> State:
        """What a pipeline of transforms draws that the data set was constructed with: by the class of each."""
        with self.effects.at(call, scope):
            for name, draw, where in draws:
                state = self.effects.apply(name, draw, state, where, Frame(where.function))
        return state

    def _methods_of(self, loader: Call, name: str, *methods: str) -> list[Run]:
        """The methods of the project's objects that a loader is given."""
        given = argument(loader, name)
        return self._callees.methods([given.node], methods, given.scope) if isinstance(given, Site) else []

    def _has_workers(self, loader: Call, frame: Frame) -> bool | None:
        """Whether the loader has worker processes for certain or by default; None where it may have, but for those that
        its options get under a condition: without them it draws by itself."""
        workers = argument(loader, "num_workers")
        if workers is None:
            return False
        if not isinstance(workers, Site):
            return None
        parents = loader.facts.parents
        if workers.scope is loader.scope and parents[parents[workers.node]] is not loader.node:  # in `**options`
            around = {condition.owner for condition in conditions(loader.node, loader.scope)}
            if any(condition.owner not in around for condition in conditions(*workers)):
                return False
        values = self.options.values(workers.node, workers.scope, frame if workers.scope is loader.scope else None)
        return any(v.value for v in values) if values else None


def _offered(owner: Scope, pick: MethodPick, program: Program) -> list[str]:
    """The methods that a class has for others, without the one that looks one up by its name; no layer's, whose parts
    are looked up in this way."""
    if any(base.startswith("torch.nn.") for base in program.external_bases(owner)):
        return []
    methods = (m for m in owner.children.values() if m.kind == "function" and m is not pick.scope.function)
    return [m.own_name for m in methods if not m.own_name.startswith("_")]


def _begins_at_once(pool: ast.Call) -> bool:
    """Whether the processes of a pool run nothing before the functions that they are given."""
    return keyword_value(pool, "initializer") is None


def _context_of(pool: ast.Call) -> ast.expr | None:
    """What says how a pool starts its processes: `ProcessPoolExecutor(mp_context=context)`, `context.Pool(4)`."""
    is_method = isinstance(pool.func, ast.Attribute) and pool.func.attr == "Pool"
    return pool.func.value if is_method else keyword_value(pool, "mp_context")  # type: ignore[attr-defined]


def _is_of_each_round(function: ast.expr, scope: Scope) -> bool:
    """Whether what is called, or its method, is what a loop goes through: `for stage in stages: stage.run()`."""
    bindings = scope.bindings_of(function.value if isinstance(function, ast.Attribute) else function)
    return bool(bindings) and all(binding.kind == "loop" for binding in bindings)


def _is_gathered(value: ast.expr, scope: Scope, frame: Frame) -> bool:
    """Whether a name is the `*args` of a call in progress."""
    node = frame.function.node
    extra = node.args.vararg if isinstance(node, FunctionNode) else None
    return extra is not None and isinstance(value, ast.Name) and value.id == extra.arg and scope is frame.function


def _is_case(test: ast.expr) -> bool:
    """`name == "cifar10"`, `name in ("mnist", "cifar10")`: one of several cases."""
    if isinstance(test, ast.BoolOp):
        return all(_is_case(v) for v in test.values)
    return isinstance(test, ast.Compare) and (
        isinstance(test.ops[0], ast.In)
        or (isinstance(test.ops[0], ast.Eq) and isinstance(getattr(test.comparators[0], "value", None), str))
    )
