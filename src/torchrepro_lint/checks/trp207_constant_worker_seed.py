"""TRP207: a loader's workers are seeded from their numbers only, so every epoch draws the same numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Program, Site, remembered
from torchrepro_lint.dataflow.abstract_values import Reference, Result
from torchrepro_lint.dataflow.domain import Of
from torchrepro_lint.dataflow.exits import breaks
from torchrepro_lint.dataflow.run_constant import RunConstant
from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope, arguments_of, walk
from torchrepro_lint.loading.samplers import evaluates
from torchrepro_lint.model import Edit
from torchrepro_lint.rng.reseeds import SeedCall, is_helper, seed_calls
from torchrepro_lint.syntax import import_module, replace

MAX_CALLS = 2  # from the function that workers start with to the one that seeds
_SEED = "{torch}.initial_seed() % 2**32"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report the first repeating seed of each function that starts workers."""
    by_function: dict[Scope, list[SeedCall]] = {}
    for seeding in seed_calls(module, program):
        function = _function(seeding.scope)
        if function is not None and seeding.seed is not None and _repeats(seeding, function, program):
            by_function.setdefault(function, []).append(seeding)
    reported: set[Scope] = set()
    for function, seedings in by_function.items():
        loader = next(_loaders(function, program), None)
        if loader is not None:
            reported.add(function)
            yield _draft(function, seedings, loader)
    for function, seedings in by_function.items():
        calling = _calling(function, program, MAX_CALLS) if not is_helper(function, program) else ()
        for started in calling:  # a helper is reported where it is called
            loader = next(_loaders(started, program), None)
            if loader is not None and reported.isdisjoint({function, started}):
                reported |= {function, started}
                yield _draft(function, seedings, loader)._replace(edits=())  # others may call it, too


def _function(scope: Scope) -> Scope | None:
    """The function or lambda that contains the call."""
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope if scope.kind in ("function", "lambda") else None


def _parameters(function: Scope) -> list[str]:
    assert isinstance(function.node, FunctionNode | ast.Lambda)
    arguments = function.node.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _repeats(seeding: SeedCall, function: Scope, program: Program) -> bool:
    assert seeding.seed is not None
    return _lasts(seeding.seed.node, seeding.seed.scope, function, program)


def _lasts(node: ast.expr, scope: Scope, function: Scope, program: Program) -> bool:
    """Whether a value in a function that starts workers is the same in every epoch."""
    lasting = _InWorker(program, function, tuple(_parameters(function)))  # a worker's number, and what `partial` adds
    return lasting.keeps(node, scope)


@dataclass(frozen=True)
class _InWorker(RunConstant):
    """What keeps its value from epoch to epoch where a worker starts.

    PyTorch has seeded numpy there with several numbers, and then the first word of numpy's state is always 2**31;
    before 1.9 it is the parent's, which seldom changes.
    """

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[bool]) -> bool:
        match container, key:
            case ast.Subscript(value=state, slice=ast.Constant(value=1)), ast.Constant(value=0):
                if set(self.program.makers(state, scope)) == {"numpy.random.get_state"}:
                    return True
        return super().item(container, key, scope, of)


# -- which loader runs it --------------------------------------------------------------------
def _loaders(function: Scope, program: Program) -> Iterator[Call]:
    """The training loaders that start new workers in every epoch, each with `function`."""
    files = [function.facts]
    if function.kind == "function":
        starting = set(program.project.text.mentioning("worker_init_fn") or ())
        named = program.project.text.mentioning(function.own_name) or ()
        others = [p for p in named if p in starting and p != function.facts.source.path]
        files += program.loaded(others)
    for facts in files:
        for call in _starting(facts, program).get(function, ()):
            if _starts_anew(call) and not evaluates(call) and not _is_endless(call):
                yield call


def _calling(function: Scope, program: Program, further: int) -> Iterator[Scope]:
    """The functions that call one with nothing but what stays the same in a worker."""
    calls = program.callers_of(function) if further and function.kind == "function" else ()
    for call, scope in calls or ():
        caller = _function(scope)
        passed = arguments_of(call)
        if caller is not None and caller is not function and all(_lasts(p, scope, caller, program) for p in passed):
            yield caller
            yield from _calling(caller, program, further - 1)


@remembered
def _starting(facts: ModuleFacts, program: Program) -> dict[Scope, list[Call]]:
    """The calls of a file that start workers, by what they start each with."""
    found: dict[Scope, list[Call]] = {}
    for node, scope in facts.every_call() if facts.source.matches("worker_init_fn") else ():
        call = Call(node, scope, "", program)
        for function in dict.fromkeys(_started(call)):
            found.setdefault(function, []).append(call)
    return found


def _started(call: Call) -> Iterator[Scope]:
    """The functions that workers are started with, with nothing but what stays the same in a run."""
    passed = call.argument("worker_init_fn") if call.node.keywords else None
    if not isinstance(passed, Site):
        return
    if isinstance(passed.node, ast.Lambda):
        started = passed.scope.children.get(passed.node)
        yield from [started] if started is not None else ()
        return
    for origin in call.program.origins(passed.node, passed.scope):
        match origin:
            case Reference(target=Scope() as target):
                yield target
            case Result(callee="functools.partial", node=ast.Call(args=[inner, *more]) as made, scope=scope):
                function, lasting = call.program.resolve(inner, scope), RunConstant(call.program)
                added = (*more, *(k.value for k in made.keywords))
                if isinstance(function, Scope) and all(lasting.keeps(p, scope) for p in added):
                    yield function


def _starts_anew(call: Call) -> bool:
    """Whether each epoch starts workers: there are some, and they are not persistent."""
    lasting = call.literal("persistent_workers", default=False)
    return lasting is not UNKNOWN and not lasting and call.literal("num_workers", 5, default=0) != 0


def _is_endless(call: Call) -> bool:
    """Whether the data set goes on for ever: there is one epoch."""
    passed = call.argument("dataset", 0)
    made = call.program.results(*passed) if isinstance(passed, Site) else ()
    methods = (call.program.names.method(m.callee, "__iter__") for m in made if isinstance(m.callee, Scope))
    return any(_never_ends(method.node) for method in methods if method is not None)


def _never_ends(function: ast.AST) -> bool:
    if not isinstance(function, FunctionNode) or any(isinstance(n, ast.Return) for n in walk(function)):
        return False
    loops = (n for n in function.body if isinstance(n, ast.While))
    return any(isinstance(n.test, ast.Constant) and bool(n.test.value) and not breaks(n.body) for n in loops)


# -- what is reported ------------------------------------------------------------------------
def _draft(function: Scope, seedings: Sequence[SeedCall], loader: Call) -> Draft:
    first = seedings[0]
    assert first.seed is not None
    numbered = not isinstance(first.seed.node, ast.Constant)
    return Draft(
        first.node,
        {"call": first.written, "seed": first.seed.scope.facts.text(first.seed.node)},
        None if numbered else "same",
        related=(Place(loader.facts, loader.node, "every epoch starts new workers with this function"),),
        edits=tuple(dict.fromkeys(e for s in seedings for e in _edits(s, function))),
    )


def _edits(seeding: SeedCall, function: Scope) -> tuple[Edit, ...]:
    """Take the seed from the loader's own generator, at the call or where its variable is assigned."""
    assert seeding.seed is not None
    node, facts = seeding.seed.node, function.facts
    if seeding.seed.scope.facts is not facts or node not in walk(seeding.node):
        return ()
    bindings = function.bindings.get(node.id, []) if isinstance(node, ast.Name) else []
    if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
        node = bindings[0].value
    torch = import_module(facts, "torch", function, node)
    return (replace(facts, node, _SEED.format(torch=torch.text)), *torch.edits)
