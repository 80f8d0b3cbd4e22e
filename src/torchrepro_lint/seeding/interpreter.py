"""The seeding walk: from an entry point through everything it runs, in order.

An abstract run over the syntax trees: statements, calls into project functions, constructors and imported
modules. What a call does to the state, and what is noted of it, is the effects' business.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.dynamic_lookup import picked
from torchrepro_lint.dataflow.options import Frame, Options
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.index.execution import evaluated, steps
from torchrepro_lint.index.facts import FunctionNode
from torchrepro_lint.project.configured import is_named
from torchrepro_lint.project.entries import Entry
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.rng.draws import Seeder
from torchrepro_lint.seeding.callees import EXITS, is_parameter
from torchrepro_lint.seeding.effect_summaries import QuietCall, quiet_functions
from torchrepro_lint.seeding.run_by import IMPORTS, Run, wrappers
from torchrepro_lint.seeding.seed_effects import Effects
from torchrepro_lint.seeding.seed_state import FRESH, State, by_default, either, replayed
from torchrepro_lint.seeding.seeding import Seeding, Step

MAX_DEPTH = 40  # calls within calls
MAX_CALLS = 30_000
MAX_FILES = 3_000  # that are imported
MAX_LINES = 90_000  # of the files that code is run of
_FRESH_STARTS = ("spawn", "forkserver")


def seeding_of(entry: Entry, program: Program) -> Seeding:
    """Walk one entry."""
    walk = _Walk(entry, program)
    try:
        walk.run()
    except RecursionError:  # an expression nested a thousand deep
        walk.found.bounds.add("nesting")
    return walk.found


class _Walk:
    def __init__(self, entry: Entry, program: Program) -> None:
        self.program = program
        self.found = Seeding(entry)
        self.options = Options(program, self.found.files)
        self.effects = Effects(program, self.found, self.options)
        self._callees = quiet_functions(program).callees
        self._imports = quiet_functions(program).imports
        self._quiet: set[Run] = set()
        self._imported: set[str] = set()
        self._active: set[tuple[Scope, bool]] = set()
        self._memo: dict[object, State] = {}
        self._chain = self.effects.chain
        self._exits: list[list[State]] = []
        self._calls = 0
        self._lines = 0

    def run(self) -> None:
        entry = self.found.entry
        self._imported.add(str(entry.facts.source.path))
        state = self._module(entry.facts, FRESH, guard=True)
        if entry.function is not None:
            self._function(entry.function, None, Frame(entry.facts.scope), state)

    # -- modules and functions --------------------------------------------------------------------------------
    def _module(self, facts: ModuleFacts, state: State, *, guard: bool) -> State:
        self._see(facts)
        frame = Frame(facts.scope)
        self._exits.append([])
        for statement in steps(facts.tree.body, facts.scope):
            if state is not None and (guard or statement is not facts.guard):
                state = self._statement(statement, state, facts.scope, frame)
        self._exits.pop()
        return state

    def _see(self, facts: ModuleFacts) -> None:
        if facts not in self.found.files:
            self.found.files[facts] = None
            self._lines += facts.lines
            if self._lines > MAX_LINES:
                self.found.bounds.add("files")

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope, state: State) -> State:
        """Run the top level of a project module the first time it is imported."""
        return self._run_imports(self._imports.by(node, scope), Step(node, scope), state)

    def _run_imports(self, paths: Iterable[str], step: Step, state: State) -> State:
        """A module that does nothing at its top level is passed by, but not what it imports."""
        for path in paths:
            if path in self._imported or state is None:
                continue
            self._imported.add(path)
            if len(self._imported) > MAX_FILES:
                self.found.bounds.add("files")
            outline = self.program.project.files.outline(path) if self.found.complete else None
            if outline is None:
                continue
            if not outline.active:
                state = self._run_imports(self._imports.by_file(path, outline), step, state)
                continue
            facts = self.program.load(path)
            if facts is not None:
                self._chain.append(step)
                state = self._module(facts, state, guard=False) or state
                self._chain.pop()
        return state

    def _function(
        self, function: Scope, call: ast.Call | None, frame: Frame, state: State, owner: Scope | None = None
    ) -> State:
        """Run a project function, or take the result of an equal run from the memo. `owner` is the class of the
        object that a method is called on."""
        if state is None or self._is_quiet((function, owner)):
            return state
        self.found.entered.add(function)
        key = (function, call is None)
        if key in self._active or not self._within_bounds():
            return state
        signature = (owner, self._signature(function, call, frame, state))
        if signature in self._memo:
            return replayed(self._memo[signature], state)
        depending = self.effects.depending
        self._active.add(key)
        self._see(function.facts)
        after = self._body(function, Frame(function, call, frame, owner), state)
        self._active.discard(key)
        if depending == self.effects.depending:
            self._memo[signature] = after
        return after

    def _note(self, quiet: QuietCall, call: ast.Call, scope: Scope) -> None:
        """A call that need not be followed: what is to be known of it."""
        if not quiet.is_followed:
            self.found.unfollowed.append(Step(call, scope))
        for run in quiet.runs:
            self._is_quiet(run)

    def _is_quiet(self, run: Run) -> bool:
        """Whether a function need not be entered; what is to be known of it is noted."""
        pending = [run]
        while pending:
            run = pending.pop()
            if run in self._quiet:
                continue
            quiet = quiet_functions(self.program).of(run)
            if quiet is None:
                return False
            self._quiet.add(run)
            self._see(run[0].facts)
            self.found.entered.add(run[0])
            self.found.reached |= quiet.reached
            self.found.unfollowed += quiet.unfollowed
            pending += reversed(quiet.runs)
        return True

    def _body(self, function: Scope, frame: Frame, state: State) -> State:
        node = function.node
        if not isinstance(node, FunctionNode):
            assert isinstance(node, ast.Lambda)
            return self._expression(node.body, state, function, frame) or state
        self._exits.append([])
        after = self._block(node.body, state, function, frame)
        return either([after, *self._exits.pop()]) or state

    def _within_bounds(self) -> bool:
        self._calls += 1
        if self._calls > MAX_CALLS:
            self.found.bounds.add("calls")
        if len(self._chain) > MAX_DEPTH:
            self.found.bounds.add("depth")
        return self.found.complete

    def _signature(self, function: Scope, call: ast.Call | None, frame: Frame, state: State) -> object:
        """What the outcome depends on: the state and the known values of the arguments."""
        assert state is not None
        passed: list[object] = []
        if call is not None:
            for value in (*call.args, *(k.value for k in call.keywords)):
                known = self.options.values(value, frame.function, frame) if _may_be_known(value) else None
                passed.append(repr([(d.value, d.settable) for d in known]) if known else "?")
        levels = tuple((f.level, f.early is None) for f in state)
        effects = self.effects
        return function, levels, tuple(passed), effects.process, effects.in_workers, effects.doubts > 0

    # -- statements ---------------------------------------------------------------------------------------------
    def _block(self, body: list[ast.stmt], state: State, scope: Scope, frame: Frame) -> State:
        for statement in steps(body, scope):
            if state is None:
                break
            state = self._statement(statement, state, scope, frame)
        return state

    def _statement(self, node: ast.stmt, state: State, scope: Scope, frame: Frame) -> State:
        match node:
            case ast.Expr() | ast.Assign():
                return self._expression(node, state, scope, frame)
            case ast.Import() | ast.ImportFrom():
                return self._import(node, scope, state)
            case ast.If():
                return self._if(node, state, scope, frame)
            case ast.For() | ast.AsyncFor():
                return self._loop(node.iter, node, state, scope, frame)
            case ast.While():
                return self._loop(node.test, node, state, scope, frame)
            case ast.Try():
                return self._try(node, state, scope, frame)
            case ast.With() | ast.AsyncWith():
                state = self._expressions([i.context_expr for i in node.items], state, scope, frame)
                return self._block(node.body, state, scope, frame)
            case ast.Match():
                state = self._expression(node.subject, state, scope, frame)
                return either([self._block(c.body, state, scope, frame) for c in node.cases] + [state])
            case ast.Return():
                self._exits[-1].append(self._expression(node.value, state, scope, frame))
                return None
            case ast.Raise():
                return None
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._expressions([*node.decorator_list, *node.args.defaults], state, scope, frame)
            case ast.ClassDef():
                inner = scope.children.get(node)
                return self._block(node.body, state, inner, frame) if inner is not None else state
        return self._expression(node, state, scope, frame)

    def _loop(
        self, head: ast.expr, node: ast.For | ast.AsyncFor | ast.While, state: State, scope: Scope, frame: Frame
    ) -> State:
        state = self._expression(head, state, scope, frame)
        if not isinstance(node, ast.While):
            for method, owner in self._callees.iterated(head, scope):
                self._chain.append(Step(head, scope))
                state = self._function(method, None, frame, state, owner)
                self._chain.pop()
        body = self._block(node.body, state, scope, frame)
        return self._block(node.orelse, body if body is not None else state, scope, frame)

    def _if(self, node: ast.If, state: State, scope: Scope, frame: Frame) -> State:
        if node is scope.facts.guard:
            return self._block(node.body, state, scope, frame)
        state = self._expression(node.test, state, scope, frame)
        truth = self.found.tests[node] = self.options.truth(node.test, scope, frame)
        if truth is Truth.ALWAYS:
            return self._block(node.body, state, scope, frame)
        if truth is Truth.NEVER:
            return self._block(node.orelse, state, scope, frame)
        with self.effects.in_doubt(_is_case(node.test)):
            body = self._block(node.body, state, scope, frame)
            orelse = self._block(node.orelse, state, scope, frame)
        match truth:
            case Truth.USUALLY:
                return by_default(body, orelse)
            case Truth.RARELY:
                return by_default(orelse, body)
        return either([body, orelse])

    def _try(self, node: ast.Try, state: State, scope: Scope, frame: Frame) -> State:
        body = self._block(node.body, state, scope, frame)
        ended = self._block(node.orelse, body, scope, frame)
        handled = [self._block(h.body, state, scope, frame) for h in node.handlers]
        after = ended if ended is not None else either(handled)
        return self._block(node.finalbody, after, scope, frame) if after is not None else None

    # -- expressions ----------------------------------------------------------------------------------------------
    def _expressions(self, nodes: Iterable[ast.AST | None], state: State, scope: Scope, frame: Frame) -> State:
        for node in nodes:
            state = self._expression(node, state, scope, frame)
        return state

    def _expression(self, node: ast.AST | None, state: State, scope: Scope, frame: Frame) -> State:
        """Run the calls in a node, innermost first; lambdas and comprehensions in their own scopes."""
        if node is None:
            return state
        for item, inner in evaluated(node, scope):
            if state is None:
                break
            if isinstance(item, ast.Call):
                state = self._call(item, state, inner, frame)
            else:
                state = self._choice(item, state, inner, frame)
        return state

    def _choice(self, node: ast.IfExp, state: State, scope: Scope, frame: Frame) -> State:
        state = self._expression(node.test, state, scope, frame)
        match self.options.truth(node.test, scope, frame):
            case Truth.ALWAYS:
                return self._expression(node.body, state, scope, frame)
            case Truth.NEVER:
                return self._expression(node.orelse, state, scope, frame)
        return either([self._expression(arm, state, scope, frame) for arm in (node.body, node.orelse)])

    # -- calls --------------------------------------------------------------------------------------------------
    def _call(self, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        self.found.reached.add(getattr(call.func, "attr", getattr(call.func, "id", "")))
        quiet = quiet_functions(self.program).call(call, scope, frame)
        if quiet is not None:
            self._note(quiet, call, scope)
            return state
        callees = self._targets(call, scope, frame)
        if not callees:
            self.found.unfollowed.append(Step(call, scope))
            state = self._external(None, call, state, scope, frame)
        elif len(callees) == 1:
            state = self._enter(callees[0], call, state, scope, frame)
        else:
            with self.effects.in_doubt():
                state = either([self._enter(callee, call, state, scope, frame) for callee in callees])
        return self._run_all(self._callees.commands(call, scope), call, state, scope, frame)

    def _run_all(self, runs: Iterable[Run], call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """Functions of the project that a framework runs for this call."""
        for function, owner in runs:
            self._chain.append(Step(call, scope))
            state = self._function(function, None, frame, state, owner)
            self._chain.pop()
        return state

    def _targets(self, call: ast.Call, scope: Scope, frame: Frame) -> tuple[str | Scope, ...]:
        handed = self._handed(call.func, scope, frame)
        if handed is not None:
            return (handed,)
        return self._callees.of(call, scope, frame) or self._picked(call.func, scope, frame)

    def _picked(self, function: ast.expr, scope: Scope, frame: Frame) -> tuple[Scope, ...]:
        """What a look-up by name gives when the program runs as it is configured by default."""
        pick = picked(function, scope, self.program)
        names = self.options.values(pick.key, scope, frame) if pick is not None else None
        return tuple(pick.choices([n.value for n in names], self.program)) if pick is not None and names else ()

    def _handed(self, function: ast.expr, scope: Scope, frame: Frame) -> Scope | None:
        """The project's function that a parameter stands for in the call in progress."""
        at: Frame | None = frame
        while at is not None and at.call is not None and at.caller is not None and isinstance(function, ast.Name):
            if not is_parameter(function, scope, at.function):
                return None
            self.effects.depending += 1
            given = argument_for(at.call, at.function, function.id)
            if not isinstance(given, ast.expr):
                return None
            function, scope, at = given, at.caller.function, at.caller
            is_lambda = isinstance(function, ast.Lambda)
            found = scope.children.get(function) if is_lambda else self.program.resolve(function, scope)
            if isinstance(found, Scope):
                return found
        return None

    def _enter(self, callee: str | Scope, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        if isinstance(callee, str):
            return self._external(callee, call, state, scope, frame)
        if any(is_named(callee, name) for name in self.program.project.seed_functions):
            return self.effects.seed(Seeder(FAMILIES, call, scope, None, "constant"), state, frame)
        meaning = self.program.project.configured.of_own(callee)
        if meaning is not None:
            return self._external(meaning, call, state, scope, frame)
        self._chain.append(Step(call, scope))
        if callee.kind == "class":
            state = self._construct(callee, call, state, scope, frame)
        elif callee.kind in ("function", "lambda"):
            for wrapper in wrappers(callee, self.program):
                state = self._function(wrapper, None, frame, state)
            owners = self._callees.owners(callee, call, scope, frame)
            state = either([self._function(callee, call, frame, state, owner) for owner in owners])
        self._chain.pop()
        return state

    def _construct(self, owner: Scope, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        for method in self._callees.constructors(owner):
            state = self._function(method, call, frame, state, owner)
        for base in self._callees.inherited_constructors(owner):
            state = self.effects.apply(base, call, state, scope, frame)
        return state

    def _external(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """A call of something outside the project, or of an unknown object; it may run what it is passed."""
        name = name.removesuffix(".__init__") if name else None
        if name in EXITS:
            return None
        if name == IMPORTS and call.args and isinstance(call.args[0], ast.Constant):
            paths = self._imports.named([(str(call.args[0].value), 0)], str(scope.facts.source.path))
            return self._run_imports(paths, Step(call, scope), state)
        state = self.effects.apply(name, call, state, scope, frame)
        for function in self._callees.given(name, call, scope):
            if state is None:
                return None
            state = self._run_callback(name, function, call, state, scope, frame)
        state = self._run_all(self._callees.run_by(name, call, scope), call, state, scope, frame)
        return self._worker_code(name, call, state, scope, frame)

    def _run_callback(
        self, name: str | None, function: Scope, call: ast.Call, state: State, scope: Scope, frame: Frame
    ) -> State:
        self._chain.append(Step(call, scope))
        if function.kind == "function" and self._starts_afresh(name, call, scope):
            with self.effects.process_of(function) as fresh:
                self._function(function, None, frame, fresh)
        elif function.kind == "class":
            state = self._construct(function, call, state, scope, frame)
        else:
            state = self._function(function, None, frame, state)
        self._chain.pop()
        return state

    def _starts_afresh(self, name: str | None, call: ast.Call, scope: Scope) -> bool:
        """Whether a call runs functions in processes that share nothing with this one, not even by a fork."""
        if self._callees.spawns(name):
            return True
        if name == "multiprocessing.Process":
            chosen = [c for f in self.found.files for c, _ in f.calls.get("set_start_method", ())]
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "Process":
            made = self.program.origins(call.func.value, scope)
            chosen = [o.node for o in made if isinstance(o, Result) and str(o.callee).endswith("get_context")]
        else:
            return False
        return any(isinstance(a, ast.Constant) and a.value in _FRESH_STARTS for c in chosen for a in c.args)

    def _worker_code(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """What a loader's data set, and objects given to a transform, draw when they are called."""
        if name is None or state is None:
            return state
        if name == "torch.utils.data.DataLoader" and call.args:
            samplers = [k.value for k in call.keywords if k.arg in ("sampler", "batch_sampler")]
            drawing = self._callees.classes(samplers, scope)
            state = self._run_in_workers(drawing, "__iter__", call, state, scope, frame, False)
            owners = self._callees.classes([call.args[0]], scope)
            has_workers, drawn = self._has_workers(call, scope, frame), self.effects.drawn_in_workers
            for method in ("__getitem__", "__iter__"):
                state = self._run_in_workers(owners, method, call, state, scope, frame, has_workers)
            state = self._drawn_by_items(call, state, scope, has_workers)
            return self.effects.seed_workers(call, scope, state) if self.effects.drawn_in_workers > drawn else state
        if ".transforms." in name:
            listed = [e for a in call.args for e in (a.elts if isinstance(a, ast.List | ast.Tuple) else [a])]
            return self._run_in_workers(
                self._callees.classes(listed, scope), "__call__", call, state, scope, frame, True
            )
        return state

    def _drawn_by_items(self, call: ast.Call, state: State, scope: Scope, workers: bool) -> State:
        """What a pipeline of transforms draws that the data set was constructed with: by the class of each."""
        outer, self.effects.in_workers = self.effects.in_workers, workers
        self._chain.append(Step(call, scope))
        for name, draw, where in self._callees.drawn_by_items(call, scope):
            state = self.effects.apply(name, draw, state, where, Frame(where.function))
        self._chain.pop()
        self.effects.in_workers = outer
        return state

    def _has_workers(self, call: ast.Call, scope: Scope, frame: Frame) -> bool:
        """Whether the loader has worker processes for certain or by default."""
        workers = next((k.value for k in call.keywords if k.arg == "num_workers"), None)
        values = self.options.values(workers, scope, frame) if workers is not None else []
        return workers is not None and (not values or any(v.value for v in values))

    def _run_in_workers(
        self, owners: list[Scope], method: str, call: ast.Call, state: State, scope: Scope, frame: Frame, workers: bool
    ) -> State:
        outer, self.effects.in_workers = self.effects.in_workers, workers
        for owner in owners:
            found = self.program.names.class_member(owner, method)
            if isinstance(found, Scope):
                self._chain.append(Step(call, scope))
                state = self._function(found, None, frame, state, owner)
                self._chain.pop()
        self.effects.in_workers = outer
        return state


def _is_case(test: ast.expr) -> bool:
    """`name == "cifar10"`, `name in ("mnist", "cifar10")`: one of several cases."""
    if isinstance(test, ast.BoolOp):
        return all(_is_case(v) for v in test.values)
    return isinstance(test, ast.Compare) and (
        isinstance(test.ops[0], ast.In)
        or (isinstance(test.ops[0], ast.Eq) and isinstance(getattr(test.comparators[0], "value", None), str))
    )


def _may_be_known(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant | ast.Name | ast.Attribute)
