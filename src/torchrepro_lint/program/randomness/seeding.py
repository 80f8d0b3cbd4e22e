"""The seeding walk: from an entry point through everything it runs, which draws does no seed dominate?

An abstract run over the syntax trees: statements in order, calls into project functions, constructors and
imported modules. Per RNG family the state is unseeded, maybe (a seed behind a test that is false by
default) or seeded; what cannot be known counts as seeded, so that a doubt is never an alarm.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.index.facts import FunctionNode
from torchrepro_lint.program.entries import Entry
from torchrepro_lint.program.options import Frame, Options, Truth
from torchrepro_lint.program.program import Program
from torchrepro_lint.program.randomness import FAMILIES
from torchrepro_lint.program.randomness.rng import Draw, Seeder, draw_of, seeder_of
from torchrepro_lint.program.values import Reference, Result, is_super

UNSEEDED, MAYBE, SEEDED = 0, 1, 2
MAX_DEPTH = 40
MAX_CALLS = 30_000
_SEEDS_BY_NAME = r"(?i)seed|determinis|reproduc"
_SPAWNERS = frozenset({"torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"})
_STAND_IN = re.compile(
    r"dummy|dump_?input|example_?input|fake_?input|flops|macs|complexity|profil|onnx|latency|warm_?up"
)
_FRESH_STARTS = ("spawn", "forkserver")
_ELSEWHERE = frozenset({"worker_init_fn", "collate_fn"})  # run in the loader's workers
_REMOTE = "torch.distributed.rpc."  # makes an object of a class that it is given; others mostly keep the class
_EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})


class Step(NamedTuple):
    """One call on the way to a draw: where it is written."""

    node: ast.AST
    scope: Scope


class Witness(NamedTuple):
    """A draw and the calls that lead to it, outermost first. `process` is the function of the fresh process
    that it runs in, None in the program's own. `sure` where no test that cannot be worked out decides whether
    the program comes by; `one_case` where such a test compares a setting with one of its values."""

    draw: Draw
    chain: tuple[Step, ...]
    level: int
    process: Scope | None = None
    sure: bool = True
    one_case: bool = False


class Late(NamedTuple):
    """A family that is seeded after it was drawn from."""

    witness: Witness
    seeder: Seeder


class SeedMet(NamedTuple):
    """A seed call that the walk came by, how far it is believed, and the calls that lead to it. `seeder` is None
    for a call that is believed to seed for its name."""

    node: ast.Call
    scope: Scope
    seeder: Seeder | None
    level: int
    chain: tuple[Step, ...]


class _Family(NamedTuple):
    level: int = UNSEEDED
    early: Witness | None = None


State: TypeAlias = "tuple[_Family, ...] | None"  # one per FAMILIES; None: this path has ended
_FRESH: State = tuple(_Family() for _ in FAMILIES)


@dataclass(slots=True, eq=False)
class Seeding:
    """What the walk of one entry found."""

    entry: Entry
    unseeded: dict[str, Witness] = field(default_factory=dict)
    maybe: dict[str, Witness] = field(default_factory=dict)
    late: dict[str, Late] = field(default_factory=dict)
    seeders: list[Seeder] = field(default_factory=list)
    conditional: dict[str, Seeder] = field(default_factory=dict)
    kinds: dict[str, set[str]] = field(default_factory=dict)
    visited: list[ModuleFacts] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)  # names that are called
    entered: set[Scope] = field(default_factory=set)  # functions of the project that run
    met: list[SeedMet] = field(default_factory=list)
    drawn: dict[str, Witness] = field(default_factory=dict)  # the first draw of each family, seeded or not
    tests: dict[ast.If, Truth] = field(default_factory=dict)
    unfollowed: list[Step] = field(default_factory=list)
    bounds: set[str] = field(default_factory=set)
    complete: bool = True

    @property
    def trains(self) -> bool:
        """Whether gradients are computed anywhere on the path, or in a function of the name of one that is called."""
        names = ("backward", "manual_backward", "fit", "zero_grad")
        return any(n in self.reached for n in names) or any(
            self.runs(scope) for facts in self.visited for n in names for _, scope in facts.calls.get(n, ())
        )

    def runs(self, scope: Scope) -> bool:
        """Whether the function around `scope` runs: it is entered, or something of its name is called."""
        function = scope.function
        return function.kind == "module" or function in self.entered or function.name.rpartition(".")[2] in self.reached

    @property
    def loads_weights(self) -> bool:
        """Whether a checkpoint is loaded anywhere on the path."""
        return bool(self.reached & {"load_state_dict", "from_pretrained", "load_from_checkpoint", "load"})

    def missing(self, family: str) -> tuple[Witness, bool] | None:
        """The first draw that no seed dominates, and whether that is certain; None when there is none."""
        if not self.complete or family in self.late or not self._matters(family):
            return None
        own, behind_option = self.unseeded.get(family), self.maybe.get(family)
        if own is not None and own.process is None:
            return own, own.sure
        if behind_option is not None:
            return behind_option, False
        if own is not None:
            return own, not any(family in s.families for s in self.seeders)
        return None

    def _matters(self, family: str) -> bool:
        """A program that trains uses all it draws. One that loads a model samples from it. Any other is looked
        at only when it shuffles or splits data: a random input to try a model out is no result."""
        kinds = self.kinds.get(family, set())
        if self.trains:
            return bool(kinds)
        if self.loads_weights:
            return family == "torch" and "sample" in kinds
        return family != "torch" and "order" in kinds


def seeding_of(entry: Entry, program: Program) -> Seeding:
    """Walk one entry. When a bound is hit, nothing is claimed (`complete` is False)."""
    walk = _Walk(entry, program)
    try:
        walk.run()
    except RecursionError:  # an expression nested a thousand deep
        walk.found.complete = False
        walk.found.bounds.add("nesting")
    if program.is_exhausted:
        walk.found.complete = False
        walk.found.bounds.add("files")
    return walk.found


class _Walk:
    def __init__(self, entry: Entry, program: Program) -> None:
        self.program = program
        self.found = Seeding(entry)
        self.options = Options(program, self.found.visited)
        self._imported: set[str] = set()
        self._active: set[tuple[Scope, bool]] = set()
        self._memo: dict[object, tuple[tuple[int, ...], State]] = {}
        self._chain: list[Step] = []
        self._exits: list[list[State]] = []
        self._process: Scope | None = None
        self._in_workers = False
        self._overwrites = 0
        self._calls = 0
        self._doubts = 0  # how many tests that are not worked out lie between the entry and here
        self._cases = 0  # how many of them choose by a setting's value

    def run(self) -> None:
        entry = self.found.entry
        self._imported.add(str(entry.facts.source.path))
        state = self._module(entry.facts, _FRESH, guard=True)
        del state

    # -- modules and functions --------------------------------------------------------------------------------
    def _module(self, facts: ModuleFacts, state: State, *, guard: bool) -> State:
        self.found.visited.append(facts)
        frame = Frame(facts.scope)
        self._exits.append([])
        body = [n for n in facts.tree.body if guard or n is not facts.guard]
        state = self._block(body, state, facts.scope, frame)
        self._exits.pop()
        return state

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope, state: State) -> State:
        """Run the top level of a project module the first time it is imported."""
        if isinstance(node, ast.Import):
            wanted = [(a.name, 0) for a in node.names]
        else:
            base = node.module or ""
            names = [f"{base}.{a.name}".strip(".") for a in node.names if a.name != "*"] or [base]
            wanted = [(n, node.level) for n in names]
        return self._run_imports(wanted, str(scope.facts.source.path), Step(node, scope), state)

    def _run_imports(self, wanted: Iterable[tuple[str, int]], importer: str, step: Step, state: State) -> State:
        """A module that does nothing at its top level is passed by, but not what it imports."""
        for name, level in wanted:
            found = self.program.finder.find(name, level, importer)
            if found is None or found[0] in self._imported or state is None:
                continue
            self._imported.add(found[0])
            outline = self.program.files.outline(found[0])
            if outline is None:
                continue
            if not outline.active:
                state = self._run_imports(outline.imports, found[0], step, state)
                continue
            facts = self.program.load(found[0])
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
        node = function.node
        self._calls += 1
        self.found.entered.add(function)
        key = (function, call is None)
        if len(self._chain) > MAX_DEPTH:
            self.found.bounds.add("depth")
        if state is None or key in self._active or len(self._chain) > MAX_DEPTH or not self._within_bounds():
            return state
        signature = (owner, self._signature(function, call, frame, state))
        if signature in self._memo:
            return _replay(self._memo[signature], state)
        overwrites = self._overwrites
        self._active.add(key)
        self._exits.append([])
        self._see(function.facts)
        inner = Frame(function, call, frame, owner)
        if isinstance(node, FunctionNode):
            after = self._block(node.body, state, function, inner)
        else:
            assert isinstance(node, ast.Lambda)
            after = self._expression(node.body, state, function, inner)
        after = _either([after, *self._exits.pop()]) or state
        self._active.discard(key)
        if overwrites == self._overwrites:  # else the outcome depended on who called
            self._memo[signature] = (tuple(f.level for f in after), after)
        return after

    def _within_bounds(self) -> bool:
        if self._calls > MAX_CALLS:
            self.found.complete = False
            self.found.bounds.add("calls")
        return self.found.complete

    def _signature(self, function: Scope, call: ast.Call | None, frame: Frame, state: State) -> object:
        """What the outcome depends on: the state and the known values of the arguments."""
        assert state is not None
        passed: list[object] = []
        if call is not None:
            for value in (*call.args, *(k.value for k in call.keywords)):
                known = self.options.values(value, frame.function, frame) if _may_be_known(value) else None
                passed.append(repr([(d.value, d.settable) for d in known]) if known else "?")
        return (
            function,
            tuple((f.level, f.early is None) for f in state),
            tuple(passed),
            self._process,
            self._in_workers,
            self._doubts > 0,
        )

    def _see(self, facts: ModuleFacts) -> None:
        if facts not in self.found.visited:
            self.found.visited.append(facts)

    # -- statements ---------------------------------------------------------------------------------------------
    def _block(self, body: Iterable[ast.stmt], state: State, scope: Scope, frame: Frame) -> State:
        for statement in body:
            if state is None:
                break
            state = self._statement(statement, state, scope, frame)
        return state

    def _statement(self, node: ast.stmt, state: State, scope: Scope, frame: Frame) -> State:
        match node:
            case ast.Import() | ast.ImportFrom():
                return self._import(node, scope, state)
            case ast.If():
                return self._if(node, state, scope, frame)
            case ast.For() | ast.AsyncFor():
                state = self._expression(node.iter, state, scope, frame)
                body = self._block(node.body, state, scope, frame)
                return self._block(node.orelse, body if body is not None else state, scope, frame)
            case ast.While():
                state = self._expression(node.test, state, scope, frame)
                body = self._block(node.body, state, scope, frame)
                return self._block(node.orelse, body if body is not None else state, scope, frame)
            case ast.Try():
                return self._try(node, state, scope, frame)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    state = self._expression(item.context_expr, state, scope, frame)
                return self._block(node.body, state, scope, frame)
            case ast.Match():
                state = self._expression(node.subject, state, scope, frame)
                return _either([self._block(c.body, state, scope, frame) for c in node.cases] + [state])
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
            case _:
                return self._expression(node, state, scope, frame)

    def _if(self, node: ast.If, state: State, scope: Scope, frame: Frame) -> State:
        if node is scope.facts.guard:
            return self._block(node.body, state, scope, frame)
        state = self._expression(node.test, state, scope, frame)
        truth = self.found.tests[node] = self.options.truth(node.test, scope, frame)
        if truth is Truth.ALWAYS:
            return self._block(node.body, state, scope, frame)
        if truth is Truth.NEVER:
            return self._block(node.orelse, state, scope, frame)
        self._doubts += 1
        self._cases += _is_case(node.test)
        body = self._block(node.body, state, scope, frame)
        orelse = self._block(node.orelse, state, scope, frame)
        self._doubts -= 1
        self._cases -= _is_case(node.test)
        if body is None or orelse is None:
            return orelse if body is None else body
        match truth:
            case Truth.USUALLY:
                return _by_default(body, orelse)
            case Truth.RARELY:
                return _by_default(orelse, body)
        return _either([body, orelse])

    def _try(self, node: ast.Try, state: State, scope: Scope, frame: Frame) -> State:
        body = self._block(node.body, state, scope, frame)
        ended = self._block(node.orelse, body, scope, frame)
        handled = [self._block(h.body, state, scope, frame) for h in node.handlers]
        after = ended if ended is not None else _either(handled)
        return self._block(node.finalbody, after, scope, frame) if after is not None else None

    # -- expressions ----------------------------------------------------------------------------------------------
    def _expressions(self, nodes: Iterable[ast.AST | None], state: State, scope: Scope, frame: Frame) -> State:
        for node in nodes:
            state = self._expression(node, state, scope, frame)
        return state

    def _expression(self, node: ast.AST | None, state: State, scope: Scope, frame: Frame) -> State:
        """Run the calls in a node, innermost first; lambdas and comprehensions in their own scopes."""
        if node is None or state is None or isinstance(node, ast.Lambda | ast.Name | ast.Constant):
            return state
        inner = scope.children.get(node, scope)
        if isinstance(node, ast.IfExp):
            return self._choice(node, state, scope, frame)
        for child in ast.iter_child_nodes(node):
            state = self._expression(child, state, inner, frame)
        if isinstance(node, ast.Call) and state is not None:
            state = self._call(node, state, inner, frame)
        return state

    def _choice(self, node: ast.IfExp, state: State, scope: Scope, frame: Frame) -> State:
        state = self._expression(node.test, state, scope, frame)
        match self.options.truth(node.test, scope, frame):
            case Truth.ALWAYS:
                return self._expression(node.body, state, scope, frame)
            case Truth.NEVER:
                return self._expression(node.orelse, state, scope, frame)
        arms = [self._expression(arm, state, scope, frame) for arm in (node.body, node.orelse)]
        return _either(arms)

    # -- calls --------------------------------------------------------------------------------------------------
    def _call(self, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        self.found.reached.add(getattr(call.func, "attr", getattr(call.func, "id", "")))
        callees = self._callees(call, scope, frame)
        if not callees:
            self.found.unfollowed.append(Step(call, scope))
            return self._external(None, call, state, scope, frame)
        self._doubts += len(callees) > 1
        after = [self._enter(callee, call, state, scope, frame) for callee in callees]
        self._doubts -= len(callees) > 1
        return _either(after) if len(after) > 1 else after[0]

    def _callees(self, call: ast.Call, scope: Scope, frame: Frame) -> list[str | Scope]:
        function = call.func
        if frame.owner is not None and isinstance(function, ast.Attribute) and _is_self(function.value, frame):
            method = self.program.names.class_member(frame.owner, function.attr)
            if isinstance(method, Scope):  # a subclass may have its own
                return [method]
        target = self.program.resolve(call.func, scope)
        if isinstance(target, str | Scope):
            return [target]
        found: list[str | Scope] = []
        for callee in self.program.values.callees(call, scope):
            if callee is not None and callee not in found:
                found.append(callee)
        if not found:
            found = list(self._instance_calls(call, scope))
        return found[:4]

    def _instance_calls(self, call: ast.Call, scope: Scope) -> Iterator[Scope]:
        """`model(x)` runs `__call__`, or `forward` of an nn.Module."""
        for origin in self.program.origins(call.func, scope):
            if isinstance(origin, Result) and isinstance(origin.callee, Scope) and origin.callee.kind == "class":
                for name in ("__call__", "forward"):
                    method = self.program.names.class_member(origin.callee, name)
                    if isinstance(method, Scope):
                        yield method
                        break

    def _enter(self, callee: str | Scope, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        if isinstance(callee, str):
            return self._external(callee, call, state, scope, frame)
        if self._is_named_seeder(callee):
            return self._seed(Seeder(FAMILIES, call, scope, None, "constant"), state, scope, frame)
        self._chain.append(Step(call, scope))
        if callee.kind == "class":
            state = self._construct(callee, call, state, scope, frame)
        elif callee.kind in ("function", "lambda"):
            owners = self._owners(callee, call, scope, frame)
            state = _either([self._function(callee, call, frame, state, owner) for owner in owners])
        self._chain.pop()
        return state

    def _owners(self, method: Scope, call: ast.Call, scope: Scope, frame: Frame) -> list[Scope | None]:
        """The classes of the objects that a method may be called on; [None] for one that is not known."""
        function = call.func
        if method.self_name is None or method.parent is None:
            return [None]
        receiver = function.value if isinstance(function, ast.Attribute) else function
        if is_super(receiver) or any(_is_self(e, frame) for e in (receiver, *call.args[:1])):
            return [frame.owner]
        made = dict.fromkeys(self._classes([receiver], scope))
        known: list[Scope | None] = [c for c in made if method.parent in self.program.names.bases(c)]
        return known[:4] or [None]

    def _construct(self, owner: Scope, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        for name in ("__new__", "__init__", "__post_init__", "setup"):
            if name == "setup" and not any("LightningModule" in b for b in self.program.external_bases(owner)):
                continue
            method = self.program.names.class_member(owner, name)
            if isinstance(method, Scope):
                state = self._function(method, call, frame, state, owner)
        if not isinstance(self.program.names.class_member(owner, "__init__"), Scope):
            for base in self.program.external_bases(owner):
                state = self._apply(base, call, state, scope, frame)
        return state

    def _is_named_seeder(self, callee: Scope) -> bool:
        """Whether the setting `seed-functions` names this project function."""
        if not self.program.seed_functions or callee.kind != "function":
            return False
        module = callee.facts.source.rel.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        full = f"{module}.{callee.name}"
        return any(full == name or full.endswith(f".{name}") for name in self.program.seed_functions)

    def _external(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """A call of something outside the project, or of an unknown object."""
        name = name.removesuffix(".__init__") if name else None
        if name in _EXITS:
            return None
        state = self._apply(name, call, state, scope, frame)
        return self._callbacks(name, call, state, scope, frame)

    def _apply(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        if name in self.program.seed_functions:
            return self._seed(Seeder(FAMILIES, call, scope, None, "constant"), state, scope, frame)
        if name is not None:
            seeder = seeder_of(self.program, name, call, scope)
            if seeder is not None:
                return self._seed(seeder, state, scope, frame)
        draw = draw_of(self.program, name, call, scope)
        if draw is not None:
            return self._draw(draw, state)
        if self._may_seed(name, call):
            self.found.met.append(SeedMet(call, scope, None, SEEDED, tuple(self._chain)))
            return tuple(f._replace(level=SEEDED) for f in state or ()) if state is not None else None
        return state

    @staticmethod
    def _may_seed(name: str | None, call: ast.Call) -> bool:
        """An unknown function whose name says that it seeds is believed, but not one that only reads."""
        last = name.rpartition(".")[2] if name else getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name is not None and name.partition(".")[0] in ("torch", "numpy", "random", "builtins"):
            return False
        reads = last.startswith(("get_", "is_", "has_", "add_", "initial_", "print", "log", "manual_seed"))
        return bool(re.search(_SEEDS_BY_NAME, last)) and not reads

    def _callbacks(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """Project functions passed to an external callable may be run by it: `app.run(main)`, `spawn(worker)`."""
        passed = [*call.args, *(k.value for k in call.keywords if k.arg not in _ELSEWHERE)]
        for value in passed:
            if state is None or not isinstance(value, ast.Name | ast.Attribute | ast.Lambda):
                continue
            if isinstance(value, ast.Lambda):
                function: object = scope.children.get(value)
            else:
                function = self.program.resolve(value, scope)
                if function is None:
                    origins = self.program.origins(value, scope)
                    function = next((o.target for o in origins if isinstance(o, Reference)), None)
            if not isinstance(function, Scope):
                continue
            if function.kind in ("function", "lambda") or (
                function.kind == "class" and (name or "").startswith(_REMOTE)
            ):
                state = self._run_callback(name, function, call, state, scope, frame)
        return self._worker_code(name, call, state, scope, frame)

    def _run_callback(
        self, name: str | None, function: Scope, call: ast.Call, state: State, scope: Scope, frame: Frame
    ) -> State:
        self._chain.append(Step(call, scope))
        if function.kind == "function" and self._starts_afresh(name, call, scope):
            outer, self._process = self._process, function
            self._function(function, None, frame, self._child_state(function.facts))
            self._process = outer
        elif function.kind == "class":
            state = self._construct(function, call, state, scope, frame)
        else:
            state = self._function(function, None, frame, state)
        self._chain.pop()
        return state

    def _starts_afresh(self, name: str | None, call: ast.Call, scope: Scope) -> bool:
        """Whether a call runs functions in processes that share nothing with this one, not even by a fork."""
        if name in _SPAWNERS:
            return True
        if name == "multiprocessing.Process":
            chosen = [c for f in self.found.visited for c, _ in f.calls.get("set_start_method", ())]
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "Process":
            made = self.program.origins(call.func.value, scope)
            chosen = [o.node for o in made if isinstance(o, Result) and str(o.callee).endswith("get_context")]
        else:
            return False
        return any(isinstance(a, ast.Constant) and a.value in _FRESH_STARTS for c in chosen for a in c.args)

    def _child_state(self, facts: ModuleFacts) -> State:
        """A spawned process starts afresh and runs the module's top level only: seeds there do reach it."""
        levels = [UNSEEDED] * len(FAMILIES)
        for seeder in self.found.seeders:
            own = seeder.scope.facts in (facts, self.found.entry.facts)
            if own and seeder.scope.kind == "module" and not _is_guarded(seeder):
                for family in seeder.families:
                    levels[FAMILIES.index(family)] = SEEDED
        return tuple(_Family(level) for level in levels)

    def _worker_code(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """What a loader's data set, and objects given to a transform, draw when they are called."""
        if name is None or state is None:
            return state
        if name == "torch.utils.data.DataLoader" and call.args:
            owners = self._classes([call.args[0]], scope)
            return self._run_in_workers(
                owners, "__getitem__", call, state, scope, frame, self._workers(call, scope, frame)
            )
        if ".transforms." in name:
            listed = [e for a in call.args for e in (a.elts if isinstance(a, ast.List | ast.Tuple) else [a])]
            return self._run_in_workers(self._classes(listed, scope), "__call__", call, state, scope, frame, True)
        return state

    def _workers(self, call: ast.Call, scope: Scope, frame: Frame) -> bool:
        """Whether the loader has worker processes for certain or by default."""
        workers = next((k.value for k in call.keywords if k.arg == "num_workers"), None)
        values = self.options.values(workers, scope, frame) if workers is not None else []
        return workers is not None and (not values or any(v.value for v in values))

    def _classes(self, values: Iterable[ast.expr], scope: Scope) -> list[Scope]:
        """The project classes that these values are instances of."""
        made = [o.callee for v in values for o in self.program.origins(v, scope) if isinstance(o, Result)]
        return [c for c in made if isinstance(c, Scope) and c.kind == "class"]

    def _run_in_workers(
        self, owners: list[Scope], method: str, call: ast.Call, state: State, scope: Scope, frame: Frame, workers: bool
    ) -> State:
        outer, self._in_workers = self._in_workers, workers
        for owner in owners:
            found = self.program.names.class_member(owner, method)
            if isinstance(found, Scope):
                self._chain.append(Step(call, scope))
                state = self._function(found, None, frame, state, owner)
                self._chain.pop()
        self._in_workers = outer
        return state

    # -- seeds and draws ------------------------------------------------------------------------------------------
    def _seed(self, seeder: Seeder, state: State, scope: Scope, frame: Frame) -> State:
        if state is None:
            return None
        level = self._seed_level(seeder, scope, frame)
        self.found.met.append(SeedMet(seeder.node, scope, seeder, level, tuple(self._chain)))
        if level > UNSEEDED:
            self.found.seeders.append(seeder)
        families = list(state)
        for name in seeder.families:
            i = FAMILIES.index(name)
            old = families[i]
            if level == SEEDED and old.early is not None and name not in self.found.late and self._process is None:
                self.found.late[name] = Late(old.early, seeder)
            if level == MAYBE:
                self.found.conditional.setdefault(name, seeder)
            families[i] = old._replace(level=max(old.level, level))
        return tuple(families)

    def _seed_level(self, seeder: Seeder, scope: Scope, frame: Frame) -> int:
        """Seeded, unless the seed is None for certain or by default."""
        if seeder.none == "constant":
            return SEEDED
        if seeder.seed is None:
            return UNSEEDED if _left_out(seeder) else SEEDED
        values = self.options.values(seeder.seed, scope, frame)
        if not values or not all(v.value is None for v in values):
            return SEEDED
        return MAYBE if any(v.settable for v in values) else UNSEEDED

    def _overwritten(self, draw: Draw) -> bool:
        """Initial weights do not matter in a function that loads others over them and does not train."""
        return any(
            _loads_over(step) and not _uses("backward", step.scope.function) and not _uses("step", step.scope.function)
            for step in (*self._chain, Step(draw.node, draw.scope))
            if step.scope.function.kind in ("function", "module")
        )

    def _draw(self, draw: Draw, state: State) -> State:
        assert state is not None
        i = FAMILIES.index(draw.family)
        old = state[i]
        if self._in_workers and draw.family != "torch":  # a worker seeds its own generators from torch's
            old = old._replace(level=max(old.level, state[FAMILIES.index("torch")].level))
        seeded = old.level == SEEDED
        if (seeded and draw.family in self.found.drawn) or _chooses_seed(draw):
            return state
        kind = "init" if draw.kind == "sample" and _initialises(draw.scope) else draw.kind
        if kind == "init" and self._overwritten(draw):
            self._overwrites += 1
            return state
        chain = (*self._chain, Step(draw.node, draw.scope))
        if kind == "sample" and _is_stand_in(chain):
            kind = "stand-in"
        witness = Witness(draw, chain, old.level, self._process, self._doubts == 0, self._cases > 0)
        self.found.drawn.setdefault(draw.family, witness)
        if seeded:
            return state
        table = self.found.unseeded if old.level == UNSEEDED else self.found.maybe
        if draw.family not in table or (witness.sure and not table[draw.family].sure):
            table[draw.family] = witness
        self.found.kinds.setdefault(draw.family, set()).add(kind)
        if (old.early is None or (witness.sure and not old.early.sure)) and old.level == UNSEEDED:
            return (*state[:i], old._replace(early=witness), *state[i + 1 :])
        return state


def _is_case(test: ast.expr) -> bool:
    """`name == "cifar10"`, `name in ("mnist", "cifar10")`: one of several cases."""
    if isinstance(test, ast.BoolOp):
        return all(_is_case(v) for v in test.values)
    return isinstance(test, ast.Compare) and (
        isinstance(test.ops[0], ast.In)
        or (isinstance(test.ops[0], ast.Eq) and isinstance(getattr(test.comparators[0], "value", None), str))
    )


def _is_guarded(seeder: Seeder) -> bool:
    """Whether a call at module level stands under `if __name__ == "__main__"`, which a child does not run."""
    guard = seeder.scope.facts.guard
    return guard is not None and guard.lineno <= seeder.node.lineno <= (guard.end_lineno or 0)


def _is_self(node: ast.expr, frame: Frame) -> bool:
    return isinstance(node, ast.Name) and node.id == frame.function.self_name


def _initialises(scope: Scope) -> bool:
    """Whether a draw in `scope` makes initial weights, by the function's name."""
    return bool(re.search(r"init|reset_param", scope.function.name.rpartition(".")[2]))


def _is_stand_in(chain: tuple[Step, ...]) -> bool:
    """Whether a draw is an input that a model is measured, traced or tried out with, by the names around it."""
    draw = chain[-1]
    statement = draw.scope.facts.statement(draw.node)
    names = [ast.unparse(t) for t in getattr(statement, "targets", ())]
    names += [step.scope.function.name.rpartition(".")[2] for step in chain]
    return any(_STAND_IN.search(name) for name in names)


def _loads_over(step: Step) -> bool:
    """Whether the function that the step is in loads weights wherever the step is taken."""
    facts, function = step.scope.facts, step.scope.function
    loads = [call for call, where in facts.calls.get("load_state_dict", ()) if where.function is function]
    if not loads:
        return False
    around = set(facts.ancestors(step.node))
    return any(
        all(a in around for a in facts.ancestors(call) if isinstance(a, ast.If | ast.IfExp | ast.ExceptHandler))
        for call in loads
    )


def _uses(name: str, scope: Scope) -> bool:
    """Whether a method called `name` is called in this very function."""
    return any(where.function is scope for _, where in scope.facts.calls.get(name, ()))


def _left_out(seeder: Seeder) -> bool:
    return not seeder.node.args and not seeder.node.keywords


def _chooses_seed(draw: Draw) -> bool:
    """`args.seed = random.randint(...)`: the draw picks a seed, it is not drawn after one."""
    statement = draw.scope.facts.statement(draw.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    written = [getattr(t, "attr", getattr(t, "id", "")) for t in targets]
    return any("seed" in name.lower() for name in written)


def _may_be_known(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant | ast.Name | ast.Attribute)


def _replay(result: tuple[tuple[int, ...], State], state: State) -> State:
    """The outcome of an equal earlier run, keeping what was drawn early on this path."""
    _, after = result
    assert state is not None
    if after is None:
        return None
    return tuple(a._replace(early=s.early or a.early) for a, s in zip(after, state, strict=True))


def _either(states: list[State]) -> State:
    """Paths that meet where it is unknown which was taken: a seed on one of them is believed."""
    alive = [s for s in states if s is not None]
    if not alive:
        return None
    return tuple(
        _Family(max(f.level for f in families), next((f.early for f in families if f.early is not None), None))
        for families in zip(*alive, strict=True)
    )


def _by_default(usual: tuple[_Family, ...], other: tuple[_Family, ...]) -> State:
    """Two arms of which `usual` runs by default: a family seeded only in the other is `maybe` seeded."""
    return tuple(
        _Family(u.level if u.level >= o.level else max(u.level, min(o.level, MAYBE)), u.early or o.early)
        for u, o in zip(usual, other, strict=True)
    )
