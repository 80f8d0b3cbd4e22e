"""Whether code runs once in a program, as far as can be seen.

A constant seed is harmless there; in code that runs again and again it would give the same numbers each
time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from torchrepro_lint.dataflow.enclosing import outermost_loop
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts, Scope, last_name

_ONCE = frozenset({"main", "main_worker", "train", "run", "setup", "setup_training"})
_COMMANDS = frozenset({"main", "command", "record"})
_PASSES = frozenset({"__iter__", "__next__", "__getitem__", "__getitems__", "forward", "training_step"})
_EPOCH = re.compile(r"(?:^|_)epoch$")  # train_one_epoch, run_epoch
# What runs the function that it is given a single time in this process, or once in each of those that it starts.
_RUNS_IT_ONCE = frozenset(
    {"Process", "Thread", "spawn", "start_processes", "launch", "Fire", "run", "partial", "wraps"}
)
# What runs it for each of many items, or in each worker of a pool.
_RUNS_IT_OFTEN = frozenset(
    {"map", "imap", "imap_unordered", "starmap", "map_async", "starmap_async", "submit", "apply_async", "delayed",
     "Pool", "ProcessPoolExecutor", "ThreadPoolExecutor", "vmap", "apply_along_axis", "repeat", "timeit"}
)  # fmt: skip
MAX_CALLERS = 4  # how far up the calls is looked
MAX_FILES = 24  # that mention a function


def runs_once(program: Program, node: ast.AST, scope: Scope, depth: int = 0) -> bool:
    """Whether `node` stands outside loops, in a function that is called at one place that runs once.

    A function with the name of one that runs a whole program may be called at several such places, or none in sight.
    """
    if scope.kind in ("lambda", "comprehension") or _again_and_again(scope.facts, node) is not None:
        return False
    function = scope.function
    if function.kind == "module":
        return True
    if any(name not in _RUNS_IT_ONCE for name in _handed_to(function, program)):
        return False
    calls = program.callers_of(function) if depth < MAX_CALLERS else None
    if function.name.rpartition(".")[2] in _ONCE:
        return all(runs_once(program, *call, depth + 1) for call in calls or ())
    return calls is not None and len(calls) == 1 and runs_once(program, *calls[0], depth + 1)


def times(program: Program, scope: Scope, depth: int = 0) -> Literal["once", "unknown", "often"]:
    """How many times a function runs in one program, whatever loops are inside.

    A method that nobody in sight calls is a framework's to call, as often as it likes; so is what a generator yields
    to. Several callers may all be in one program.
    """
    function = scope.function
    if function.kind == "module":
        return "once"
    handed = _handed_to(function, program)
    if _yields(function) or not handed.isdisjoint(_RUNS_IT_OFTEN) or is_called_in_a_loop(function, program):
        return "often"
    if runs_in_each_pass(scope, program):
        return "often"
    callers = (program.callers_of(function) or ()) if depth < MAX_CALLERS else ()
    if callers:
        worst = {times(program, where, depth + 1) for _, where in callers}
        together = len({where.facts for _, where in callers}) < len(callers)
        return "often" if "often" in worst else "unknown" if together or "unknown" in worst else "once"
    name = function.name.rpartition(".")[2]
    if name in _ONCE or not handed.isdisjoint(_RUNS_IT_ONCE) or _is_command(function):
        return "once"
    return "often" if function.method_class is not None and name != "__init__" else "unknown"


def _yields(function: Scope) -> bool:
    """Whether a function is a generator."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom) and function.facts.scope_of(node).function is function
        for node in ast.walk(function.node)
    )


def _is_command(function: Scope) -> bool:
    """Whether a decorator makes a function a program of its own: `@hydra.main(...)`, `@click.command()`."""
    decorators = getattr(function.node, "decorator_list", ())
    spelled = {ast.unparse(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2] for d in decorators}
    return not spelled.isdisjoint(_COMMANDS)


def runs_often(program: Program, node: ast.AST, scope: Scope) -> bool:
    """Whether `node` is known to run again and again, or in each of many processes: there each round, call or worker
    would get the same from a constant."""
    if scope.kind in ("lambda", "comprehension") or _again_and_again(scope.facts, node) is not None:
        return True
    function = scope.function
    handed = not _RUNS_IT_OFTEN.isdisjoint(_handed_to(function, program))
    return handed or is_called_in_a_loop(function, program) or runs_in_each_pass(scope, program)


def is_called_in_a_loop(function: Scope, program: Program) -> bool:
    """Whether the function is called in a loop, or run by processes started in one: each call would then begin
    with the same numbers."""
    return next(_calling_loops(function, program), None) is not None


def is_called_for_each_epoch(function: Scope, program: Program) -> bool:
    """Whether a loop that counts epochs, by its names, calls the function."""
    return any("epoch" in name.lower() for loop in _calling_loops(function, program) for name in _header_names(loop))


def _calling_loops(function: Scope, program: Program, depth: int = 0) -> Iterator[ast.AST]:
    """The loops and comprehensions that call a function, directly or through others."""
    if function.kind == "module" or depth > MAX_CALLERS:
        return
    for call, scope in program.callers.passing(function) or ():
        loop = _again_and_again(scope.facts, call.func)
        if loop is not None:
            yield loop
        yield from _calling_loops(scope.function, program, depth + 1)


def _header_names(loop: ast.AST) -> Iterator[str]:
    for part in (getattr(loop, field, None) for field in ("target", "iter", "test")):
        for node in ast.walk(part) if part is not None else ():
            yield last_name(node)


def _again_and_again(facts: ModuleFacts, node: ast.AST) -> ast.AST | None:
    """The loop or comprehension of the same function that runs `node` for each of its items."""
    child = node
    for parent in facts.ancestors(node):
        if isinstance(parent, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            if child is not parent.generators[0]:
                return parent
        elif isinstance(parent, ast.stmt):
            break
        child = parent
    return outermost_loop(facts, node)


def _handed_to(function: Scope, program: Program) -> set[str]:
    """The last names of what is called with the function itself as an argument."""
    name = function.name.rpartition(".")[2]
    if function.kind != "function":
        return set()
    found: set[str] = set()
    paths = program.project.text.mentioning(name) or (function.facts.source.path,)
    for path in paths[:MAX_FILES]:
        facts = program.load(str(path))
        passed = _passed(facts, program).get(name, ()) if facts is not None else ()
        found.update(spelled for spelled, a, scope in passed if program.names.resolve(a, scope) is function)
    return found


@remembered
def _passed(facts: ModuleFacts, program: Program) -> dict[str, list[tuple[str, ast.expr, Scope]]]:  # noqa: ARG001
    """The names that the calls of a file are given, by their last part: what is called with them, and where."""
    found: dict[str, list[tuple[str, ast.expr, Scope]]] = {}
    for spelled, sites in facts.calls.items():
        for call, scope in sites:
            for value in (*call.args, *(keyword.value for keyword in call.keywords)):
                name = last_name(value)
                if name is not None:
                    found.setdefault(name, []).append((spelled, value, scope))
    return found


def runs_in_each_pass(scope: Scope, program: Program, depth: int = 0) -> bool:
    """Whether a method that runs for each epoch, batch or sample leads to the place."""
    function = scope.function
    if function.kind != "function" or depth > MAX_CALLERS:
        return False
    name = function.name.rpartition(".")[2]
    if name in _PASSES or _EPOCH.search(name):
        return True
    return any(runs_in_each_pass(where, program, depth + 1) for where in _calling(function, program))


def _calling(function: Scope, program: Program) -> Iterator[Scope]:
    """Where a function is called, and where methods of its class or of a base of that call it through `self`."""
    for _, where in program.callers_of(function) or ():
        yield where
    owner, name = function.method_class, function.name.rpartition(".")[2]
    if owner is None:
        return
    family = [owner, *(base for base in program.names.bases(owner) if isinstance(base, Scope))]
    for facts in {member.facts for member in family}:
        for call, where in facts.calls.get(name, ()):
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
            through_self = isinstance(receiver, ast.Name) and receiver.id == where.function.self_name
            if through_self and where.function.method_class in family:
                yield where
