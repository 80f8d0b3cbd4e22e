"""What a call runs in a program: functions, methods by the class of the object, constructors, what is
unpickled. No state, no order."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import UNKNOWN, Call, Program, Site, remembered
from torchrepro_lint.dataflow.abstract_values import Display, Origin, Reference, Result, Unknown
from torchrepro_lint.dataflow.binding import is_super
from torchrepro_lint.dataflow.filling import filling
from torchrepro_lint.dataflow.frames import HANDS_ON, Frame
from torchrepro_lint.index import Scope, keyword_value, last_name
from torchrepro_lint.loading.worker_draws import worker_draws
from torchrepro_lint.rng.draws import is_made_by
from torchrepro_lint.rng.seeded_before import SEEDS_BY_NAME
from torchrepro_lint.seeding.run_by import IMPORTS, SETS_DEFAULTS, Run, chosen, may_run
from torchrepro_lint.seeding.terms import ENTERS, KEEPS, LEAVES

MAX_OWNERS = 4
_PROCESS = "multiprocessing.Process"
_RUN = (_PROCESS, "threading.Thread")  # their objects are made to be started
EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})
FRESH_STARTS = ("spawn", "forkserver")  # of processes that share nothing with the one that starts them
# What starts processes and gives each its number first, by default afresh: a `start_method` may be passed.
NUMBERING = frozenset({"torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"})
_SPAWNERS = NUMBERING | {"torch.distributed.launcher.elastic_launch",
                         "torch.distributed.launcher.api.elastic_launch"}  # fmt: skip
_ELSEWHERE = frozenset({"worker_init_fn", "collate_fn"})  # run in the loader's workers
ItemDraw: TypeAlias = "tuple[str, ast.Call, Scope]"
"""The external function that draws an item, where it is called."""
LAZY = frozenset({"builtins.map", "builtins.filter"})  # run what they are given for each item that is taken
_SEQUENCE = "torch.nn.Sequential"
_OF_TRIAL = ["setup", "step", "_setup", "_train"]  # what Ray calls of an object that it is given the class of
_REMOTE = "torch.distributed.rpc."  # makes an object of a class that it is given; others mostly keep the class
MAX_UNPICKLED = 6  # between the model and the call that loads it
MAX_METHODS = 3
MAX_FILES = 12  # with functions of that name, which are read to see whose methods they are


class Callees:
    """Answers for the calls of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def of(self, call: ast.Call, scope: Scope, frame: Frame) -> tuple[str | Scope, ...]:
        """External names, functions and classes."""
        function = call.func
        if frame.owner is not None and isinstance(function, ast.Attribute) and _is_self(function.value, frame):
            method = self._program.names.class_member(frame.owner, function.attr)
            if isinstance(method, Scope):  # a subclass may have its own
                return (method,)
        found = self._program.runs(call, scope) or methods_of_unpickled(call, scope, self._program)
        found = found or self._method_of_instantiated(function, scope) or chosen(function, scope, self._program)
        found = found or self._task(function, scope) or tuple(self._held_by_partial(function, scope))
        return found or self._layers(function, scope) or seeder_of_unknown(call, scope, self._program)

    def _task(self, function: ast.expr, scope: Scope) -> tuple[Scope, ...]:
        """What runs where a task is run by a method, `job.remote(0.1)` of what is decorated with `@ray.remote`, or a
        method of an object that was made so, `worker.fit.remote()`."""
        if not isinstance(function, ast.Attribute) or function.attr not in _running():
            return ()
        task = self._decorated(function.value, function.attr, scope)
        if task is not None or not isinstance(function.value, ast.Attribute):
            return (task,) if task is not None else ()
        owners: list[Scope | None] = []
        for made in self._program.results(function.value.value, scope):
            match made.node.func:
                case ast.Attribute(value=kind, attr=method) if method == function.attr:
                    owners.append(self._decorated(kind, method, made.scope))
        return tuple(m for owner in owners if owner is not None for m in self._own(owner, (function.value.attr,)))

    def _decorated(self, written: ast.expr, method: str, scope: Scope) -> Scope | None:
        """The function or class of the project that a task was made of, which this method runs: of `job`,
        `job.options(...)`."""
        match written:
            case ast.Call(func=ast.Attribute(value=named, attr="options")) | named if isinstance(named, ast.Name):
                target = self._program.resolve(named, scope)
                if isinstance(target, Scope) and target.kind in ("function", "class"):
                    row = self._row_of(target)
                    return target if row is not None and method in row["methods"] else None
        return None

    def _row_of(self, target: Scope) -> Mapping[str, Any] | None:
        """What makes a task of a function or a class, if anything does."""
        rows, outer = catalogue.names("callables", "tasks"), target.parent or target
        named = (self._program.qualified(decorator, outer) for decorator in target.decorators)
        return next((rows[name] for name in named if name is not None and name in rows), None)

    def _method_of_instantiated(self, function: ast.expr, scope: Scope) -> tuple[str | Scope, ...]:
        """What is called of an object that Hydra makes, `instantiate(cfg.engine).run()`, or of one of a class that it
        gives, `get_class(cfg.model._target_)(4)(x)`; and that class."""
        named = self._given_by_name(function, scope)
        found = [
            m for owner in self._made_by_default(function, scope) for m in self._own(owner, ("__call__", "forward"))
        ]
        if isinstance(function, ast.Attribute):
            owners = self._made_by_default(function.value, scope)
            found += [m for owner in owners for m in self._own(owner, (function.attr,))]
        return (*named, *found)

    def _own(self, owner: Scope, names: Sequence[str]) -> list[Scope]:
        """The first of these methods that a class has."""
        return [m for name in names if (m := self._program.names.method(owner, name)) is not None][:1]

    def _made_by_default(self, made: ast.expr, scope: Scope) -> list[Scope]:
        """The classes of the objects that Hydra makes, or that are made of what it gives."""
        targets: list[str | Scope] = []
        for result in self._program.results(made, scope):
            site = result.node, result.scope
            targets += [i.target for i in self._program.instantiated(*site) if i.is_outermost]
            targets += self._given_by_name(result.node.func, result.scope)
        return [target for target in targets if isinstance(target, Scope) and target.kind == "class"]

    def _given_by_name(self, function: ast.expr, scope: Scope) -> list[str | Scope]:
        """What `get_class(cfg.model._target_)` gives by default."""
        defaults, known = self._program.defaults, catalogue.names("callables", "gives")
        if defaults is None or not isinstance(function, ast.Call | ast.Name):
            return []
        calls = [r for r in self._program.results(function, scope) if r.callee in known and r.node.args]
        named = [target for r in calls for target in defaults.named(r.node.args[0], r.scope)]
        found = named or [o.target for o in defaults.value(function, scope) if isinstance(o, Reference)]
        return [t for t in found if isinstance(t, str) or t.kind != "module"]

    def _layers(self, function: ast.expr, scope: Scope) -> tuple[Scope, ...]:
        """What runs where a sequence of layers is called: the `forward` of those that the project defines."""
        made = [m for m in self._program.results(function, scope) if m.callee == _SEQUENCE]
        given = [site for m in made for value in m.node.args for site in self._listed(value, m.scope)]
        return tuple(method for value, where in given for method, _ in self.methods([value], ("forward",), where))

    def _listed(self, value: ast.expr, scope: Scope) -> Iterator[Site]:
        """An argument, or those of `*layers`: what a list is made with, and what is put into it."""
        if not isinstance(value, ast.Starred):
            yield Site(value, scope)
            return
        for origin in self._program.origins(value.value, scope):
            match origin:
                case Display(node=ast.List(elts=items) as made, scope=where):
                    yield from (Site(item, where) for item in items)
                    yield from (Site(put.node, put.scope) for put in filling(made, where, self._program).puts)

    def owners(self, method: Scope, call: ast.Call, scope: Scope, frame: Frame) -> list[Scope | None]:
        """The classes of the objects that a method may be called on; [None] for one that is not known."""
        function = call.func
        if method.self_name is None or method.parent is None:
            return [None]
        receiver = function.value if isinstance(function, ast.Attribute) else function
        if is_super(receiver) or any(_is_self(e, frame) for e in (receiver, *call.args[:1])):
            return [frame.owner]
        made = dict.fromkeys(self.classes(receiver, scope))
        known: list[Scope | None] = [c for c in made if method.parent in self._program.names.bases(c)]
        return known[:MAX_OWNERS] or [None]

    def constructors(self, owner: Scope) -> Iterator[Scope]:
        """The methods that run when a class of the project is called; `run` of a process runs soon after, as does `fit`
        of a client, and the steps of a trial."""
        names = ["__new__", "__init__", "__post_init__"]
        bases = self._program.external_bases(owner)
        names += ["setup"] if any("LightningModule" in b for b in bases) else []
        names += ["run"] if any(b.endswith(_RUN) for b in bases) else []
        names += ["fit"] if any(b.startswith("flwr.") and b.endswith("Client") for b in bases) else []
        names += _OF_TRIAL if any(b.startswith("ray.tune.") and b.endswith(".Trainable") for b in bases) else []
        names += self._steps(owner) if any(b.endswith(".FlowSpec") for b in bases) else []
        for name in names:
            method = self._program.names.method(owner, name)
            if method is not None:
                yield method

    def _steps(self, flow: Scope) -> list[str]:
        """The methods of a class for Metaflow that are steps of it, in the order in which they are written."""
        methods = (m for c in self._program.names.classes(flow) for m in c.children.values() if m.kind == "function")
        return [m.own_name for m in methods if any(last_name(d) == "step" for d in m.decorators)]

    def overridden(self, owner: Scope) -> Iterator[Scope]:
        """The methods of a class of the project that its base, a trainer of transformers, calls in training."""
        trainers = catalogue.names("frameworks", "hf_trainers")
        if any(base in trainers for base in self._program.external_bases(owner)):
            for name in catalogue.table("frameworks")["hf_hooks"]["names"]:
                method = self._program.names.class_member(owner, name)
                if isinstance(method, Scope):
                    yield method

    def is_run_of_process(self, method: Scope, owner: Scope) -> bool:
        """Whether a method that `constructors` gives is what an object of the class runs in a process of its own."""
        is_run = method.own_name == "run"
        return is_run and any(b.endswith(_PROCESS) for b in self._program.external_bases(owner))

    def inherited_constructors(self, owner: Scope) -> list[str]:
        """The external classes that are constructed with a class that has no `__init__`."""
        own = self._program.names.method(owner, "__init__")
        return [] if own is not None else self._program.external_bases(owner)

    def given(self, name: str | None, call: ast.Call, scope: Scope) -> Iterator[Scope]:
        """The functions and classes that the external `name` may run for being given them."""
        if name in catalogue.names("callables", "never_run") or name in catalogue.names("callables", "wraps"):
            return
        if name is None and last_name(call.func) in catalogue.table("callables")["keeping_methods"]["names"]:
            return
        held = self._program.wrapped(call.func, scope)  # `run = partial(f, 0.1)` and now `run()`
        if held is not None and held.kind != "class":
            yield held
        for keyword, function in self._program.given(call, scope):
            if keyword in _run_later(last_name(call.func)) or self._is_kept(keyword, call):
                continue
            is_started = name in _elsewhere() or (keyword == "target" and self.starts_process(name, call))
            is_started = is_started or name in catalogue.names("callables", "parses")
            if function.kind != "class" or is_started or (name or "").startswith(_REMOTE):
                yield function
        if isinstance(call.func, ast.Attribute) and call.func.attr == "submit":  # a job for another machine
            yield from (method for method, _ in self.methods(call.args[:1], ("__call__",), scope))

    def _is_kept(self, keyword: str | None, call: ast.Call) -> bool:
        """Whether options keep a function until it is called as `args.run()`; `chosen` knows that call."""
        is_kept = keyword is not None and last_name(call.func) == SETS_DEFAULTS
        return is_kept and bool(self._program.project.text.containing(f".{keyword}("))

    def classes(self, value: ast.expr, scope: Scope) -> Iterator[Scope]:
        """The project's classes that a value may be an instance of, those included that `partial` holds."""
        for origin in self._program.origins(value, scope):
            match origin:
                case Result(callee=Scope(kind="class") as owner):
                    yield owner
                case (
                    Result(callee=None, node=call, scope=where)
                    | Unknown(node=ast.Call() as call, scope=Scope() as where)
                ):
                    yield from self._held_by_partial(call.func, where)

    def _held_by_partial(self, function: ast.expr, scope: Scope) -> Iterator[Scope]:
        """`make(rows)` after `make = partial(Rows, 0.1)`"""
        for made in self._program.results(function, scope):
            if made.callee == "functools.partial" and isinstance(made.node, ast.Call) and made.node.args:
                held = self._program.definition(made.node.args[0], made.scope)
                if held is not None and held.kind == "class":
                    yield held

    def taken(self, node: ast.AST, scope: Scope) -> list[Run]:
        """What runs where a loop takes the items of an object of the project, where one is chosen by its number, or
        where a `with` begins and ends: `for batch in Batches(10):`, `rows[0]`, `with Seeded(0):`."""
        if isinstance(node, ast.Subscript):
            return self._items_of_made(node.value, scope)
        if isinstance(node, ast.withitem):
            return self.methods([node.context_expr], (*ENTERS, *LEAVES), scope)
        assert isinstance(node, ast.For | ast.AsyncFor)
        items = node.iter
        while isinstance(items, ast.Call) and items.args and self._program.qualified(items.func, scope) in HANDS_ON:
            items = items.args[0]
        return self.methods([items], ("__iter__",), scope) or self._items_of_made(items, scope)

    def _items_of_made(self, value: ast.expr, scope: Scope) -> list[Run]:
        """What gives the items of the objects that a name is given by calls."""
        is_made = any(isinstance(binding.value, ast.Call) for binding in scope.bindings_of(value))
        return self.methods([value], ("__getitem__",), scope) if is_made else []

    def methods(self, values: Iterable[ast.expr], names: Sequence[str], scope: Scope) -> list[Run]:
        """The methods of these names, one name after the other, of the objects of the project that the values are."""
        defined = list(filter(self._program.project.text.defines_function, names))
        owners = [owner for value in values for owner in self.classes(value, scope)] if defined else []
        found = [(self._program.names.method(owner, name), owner) for name in defined for owner in owners]
        return [(method, owner) for method, owner in found if method is not None]

    def is_job(self, callee: Scope, call: ast.Call, scope: Scope) -> bool:
        """Whether a call has another process run a task, or make the object of one: a worker of Ray, a container."""
        row = self._row_of(callee.method_class or callee)
        if row is None or not row["apart"]:
            return False
        return callee in self._task(call.func, scope) if row["methods"] else isinstance(call.func, ast.Name)

    def sends_away(self, name: str | None, call: ast.Call, scope: Scope) -> bool:
        """Whether a call has other processes, which begin afresh, run a function that it is given: `executor.submit(f)`
        of submitit, `Parallel(n_jobs=4)(delayed(f)(x) for x in items)` of joblib."""
        if name is not None:
            row = catalogue.names("callables", "pooled").get(name)
            return row is not None and self._has_workers(row, call, scope)
        row = catalogue.names("callables", "elsewhere_methods").get(last_name(call.func))
        is_method = row is not None and isinstance(call.func, ast.Attribute)
        return is_method and is_made_by(row, call.func.value, scope, self._program)  # type: ignore[arg-type,attr-defined]

    def _has_workers(self, row: Mapping[str, Any], call: ast.Call, scope: Scope) -> bool:
        """Whether the pool around a call has several workers, and no option that may keep the work in this process."""
        around = (n for n in scope.facts.ancestors(call) if isinstance(n, ast.Call))
        pools = (p for outer in around for p in self._program.results(outer.func, scope))
        pool = next((p for p in pools if p.callee in row["pools"]), None)
        if pool is None or any(keyword_value(pool.node, option) is not None for option in row["unless"]):
            return False
        count = Call(pool.node, pool.scope, str(pool.callee), self._program).literal(row["workers"], 0)
        return count is not UNKNOWN and count not in (None, 1)

    @staticmethod
    def starts_process(name: str | None, call: ast.Call) -> bool:
        """Whether a call may run functions in another process."""
        return name in _SPAWNERS or name in _elsewhere() or last_name(call.func) == "Process"

    @staticmethod
    def hands_on(name: str | None, call: ast.Call) -> bool:
        """Whether a call is there to run a function that it is given, which may be one that its caller was given."""
        return name in _handing_on() or last_name(call.func) == "Process"

    @staticmethod
    def spawns(name: str | None, call: ast.Call) -> bool:
        """Whether it runs them in one that starts afresh, whatever is set."""
        method = keyword_value(call, "start_method")
        return name in _elsewhere() or (
            name in _SPAWNERS and not (isinstance(method, ast.Constant) and method.value == "fork")
        )


@remembered
def drawn_by_items(loader: Call, program: Program) -> list[ItemDraw]:
    """The calls by which the items of a loader are drawn from global generators other than torch's."""
    found = worker_draws(loader).found
    draws = [(d.node, d.facts.scope_of(d.node)) for d in found if d.kind in ("numpy", "python")]
    named = [(program.qualified(d.func, s), d, s) for d, s in draws if isinstance(d, ast.Call)]
    return [(name, d, s) for name, d, s in named if name is not None]


def runs_only_what_it_is_given(name: str | None, written: str) -> bool:
    """Whether a call of the external `name`, which is `written` so, runs no code of the project but the functions
    among its arguments, starts no process, and goes on to the next statement."""
    runs_more = name in EXITS or name == IMPORTS or name in _handing_on() or written in ("Process", "submit")
    return not runs_more and not (name or "").startswith(_REMOTE) and not may_run(name, written)


@cache
def _handing_on() -> frozenset[str]:
    return _SPAWNERS.union(
        *(catalogue.names("callables", kind) for kind in ("command_lines", "launchers", "elsewhere"))
    )


@cache
def _running() -> frozenset[str]:
    """The methods by which tasks are run."""
    return frozenset(m for row in catalogue.table("callables")["tasks"] for m in row["methods"])


@cache
def _elsewhere() -> frozenset[str]:
    return frozenset(catalogue.names("callables", "elsewhere"))


@cache
def _run_later(called: str) -> frozenset[str]:
    """The keywords by which a call that is `called` so is given functions that it does not run itself."""
    rows = catalogue.names("callables", "keywords")
    return _ELSEWHERE.union(keyword for keyword, row in rows.items() if called in row["of"])


def is_parameter(name: ast.Name, scope: Scope, function: Scope) -> bool:
    """Whether a name is a parameter of `function`, and nothing else."""
    bindings = function.bindings.get(name.id, [])
    return len(bindings) == 1 and bindings[0].kind == "parameter" and scope.binding_scope(name.id) is function


def _is_self(node: ast.expr, frame: Frame) -> bool:
    return isinstance(node, ast.Name) and node.id == frame.function.self_name


def is_left_for_later(made: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether what a call of a generator, or of `map`, gives is kept or handed back, so that its code runs later, if at
    all: `rows = batches(3)`."""
    held: ast.AST = made
    parent = scope.facts.parents[held]
    while isinstance(parent, ast.Call) and held in parent.args and program.qualified(parent.func, scope) in HANDS_ON:
        held, parent = parent, scope.facts.parents[parent]
    return isinstance(parent, KEEPS)


# -- methods of objects whose class is not told ---------------------------------------------------------------------
def methods_of_unpickled(call: ast.Call, scope: Scope, program: Program) -> tuple[Scope, ...]:
    """The methods of the project's modules that a call on an unpickled object may run,
    `torch.load(path)["model"].infer(x)`: the file does not tell its class, but those with such a method do."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not program.project.text.defines_function(function.attr):
        return ()
    if not _is_unpickled(function.value, scope, program, set()):
        return ()
    found = [
        method
        for method in methods_named(function.attr, program) or ()
        if method.parent is not None and any(b.startswith("torch.nn.") for b in program.external_bases(method.parent))
    ]
    return tuple(found) if len(found) <= MAX_METHODS else ()


def seeder_of_unknown(call: ast.Call, scope: Scope, program: Program) -> tuple[Scope, ...]:
    """The one method of the project that a call on an object of an unknown class may run, `args.seed_everything()`,
    where its name says that it seeds: whether it does, and when, its code tells better."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not SEEDS_BY_NAME.search(function.attr):
        return ()
    if program.qualified(function, scope) is not None:
        return ()
    found = methods_named(function.attr, program) or ()
    return tuple(found) if len(found) == 1 else ()


@remembered
def methods_named(name: str, program: Program) -> list[Scope] | None:
    """The methods of a name that classes of the project define themselves; None where functions of that name stand in
    too many files to read."""
    defining = program.project.text.defining(name)
    if len(defining) > MAX_FILES:
        return None
    owners = [
        o for facts in program.loaded(sorted(defining)) for o in facts.scope.children.values() if o.kind == "class"
    ]
    methods = [(owner, program.names.method(owner, name)) for owner in owners]
    return [method for owner, method in methods if method is not None and method.parent is owner]


def _is_unpickled(node: ast.expr, scope: Scope, program: Program, seen: set[ast.Call]) -> bool:
    """Whether a value may be, or come from, what `torch.load` returned, through methods and keys."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            if node in seen:
                return False
            seen.add(node)
            if program.callee(node, scope) == "torch.load":
                return True
            node = node.func
            if not isinstance(node, ast.Attribute):
                return False
        node = node.value
    if not isinstance(node, ast.Name) or len(seen) > MAX_UNPICKLED:
        return False
    return any(_is_from_file(o, program, seen) for o in program.origins(node, scope))


def _is_from_file(origin: Origin, program: Program, seen: set[ast.Call]) -> bool:
    """An item of what a call returned is unknown, at that call."""
    match origin:
        case (
            Result(callee=str() | None, node=call, scope=scope)
            | Unknown(node=ast.Call() as call, scope=Scope() as scope)
        ):
            return _is_unpickled(call, scope, program, seen)
    return False
