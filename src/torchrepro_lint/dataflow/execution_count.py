"""Whether code runs once in a program, as far as can be seen.

A constant seed is harmless there; in code that runs again and again it would give the same numbers each
time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from torchrepro_lint.dataflow.binding import named_parameters
from torchrepro_lint.dataflow.conditions import are_exclusive
from torchrepro_lint.dataflow.enclosing import outermost_loop
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import CallSite
from torchrepro_lint.dataflow.store import remembered, remembered_in_file
from torchrepro_lint.index import Comprehension, ModuleFacts, Scope, calls_in, last_name, walk
from torchrepro_lint.project.contents import calls_any, defines, passes

Times: TypeAlias = "Literal['once', 'unknown', 'often']"
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


def runs_once(program: Program, node: ast.AST, scope: Scope) -> bool:
    """Whether `node` stands outside loops, in a function that is called at one place that runs once.

    A function with the name of one that runs a whole program may be called at several such places, or none in sight.
    """
    return _runs_with_its_function(node, scope) and _function_runs_once(scope.function, MAX_CALLERS, program)


def _runs_with_its_function(node: ast.AST, scope: Scope) -> bool:
    return scope.kind not in ("lambda", "comprehension") and _again_and_again(scope.facts, node) is None


@remembered
def _function_runs_once(function: Scope, further: int, program: Program) -> bool:
    """Whether it runs once, where its callers are looked at and theirs, `further` up."""
    if function.kind == "module":
        return True
    if not _handed_to(function, program) <= _RUNS_IT_ONCE or _is_repeated_by_decorator(function, program):
        return False
    calls = program.callers_of(function) if further else None
    if not _is_whole_run(function, program) and (calls is None or len(calls) != 1):
        return False
    return all(
        _runs_with_its_function(call, scope) and _function_runs_once(scope.function, further - 1, program)
        for call, scope in calls or ()
    )


def times(program: Program, scope: Scope) -> Times:
    """How many times a function runs in one program, whatever loops are inside.

    A method that nobody in sight calls is a framework's to call, as often as it likes; so is what a generator yields
    to. Several callers may all be in one program.
    """
    return _times_in(scope, MAX_CALLERS, program)


def _times_in(scope: Scope, further: int, program: Program) -> Times:
    """The same of a place: what stands in a lambda runs whenever that is called, which is not followed."""
    runs = _times(scope.function, further, program)
    return "unknown" if runs == "once" and scope.kind == "lambda" else runs


@remembered
def _times(function: Scope, further: int, program: Program) -> Times:
    """The same, where its callers are looked at and theirs, `further` up."""
    if function.kind == "module":
        return "once"
    if function.yields or _function_runs_often(function, program):
        return "often"
    callers = program.callers.in_sight(function) if further else ()
    own = function.facts.source.path
    is_called_by_name = function.method_class is None and function.own_name != "main"
    if is_called_by_name and program.callers_of(function) is None and program.project.users([own]):
        return "unknown"
    if callers:  # of which several may be in one program
        worst = {_times_in(where, further - 1, program) for _, where in callers}
        is_one_of_two = len(callers) == 2 and are_exclusive(*callers)
        on_import = any(
            where.function.kind == "module" and where.facts is function.facts and not where.facts.in_guard(call)
            for call, where in callers
        )  # then who imports the file to call the function has it called once more
        is_in_one_file = len({where.facts for _, where in callers}) < len(callers)
        together = (is_in_one_file and not is_one_of_two) or (on_import and len(callers) > 1)
        return "often" if "often" in worst else "unknown" if together or "unknown" in worst else "once"
    name = function.own_name
    if not _handed_to(function, program) <= _RUNS_IT_ONCE and name in _ONCE:
        return "unknown"  # `schedule.every().day.do(train)`
    handed_over = not _handed_to(function, program).isdisjoint(_RUNS_IT_ONCE)
    if _is_whole_run(function, program) or handed_over:
        return "once"
    if any(ast.unparse(d).rpartition(".")[2] in _COMMANDS for d in function.decorators):
        return "once"  # a program of its own: `@hydra.main(...)`, `@click.command()`
    return "often" if function.method_class is not None and name != "__init__" else "unknown"


def runs_often(program: Program, node: ast.AST, scope: Scope) -> bool:
    """Whether `node` is known to run again and again, or in each of many processes: there each round, call or worker
    would get the same from a constant."""
    return not _runs_with_its_function(node, scope) or _function_runs_often(scope.function, program)


@remembered
def _function_runs_often(function: Scope, program: Program) -> bool:
    handed = not _RUNS_IT_OFTEN.isdisjoint(_handed_to(function, program))
    return (
        handed
        or _is_repeated_by_decorator(function, program)
        or is_called_in_a_loop(function, program)
        or runs_in_each_pass(function, program)
    )


def _is_repeated_by_decorator(function: Scope, program: Program) -> bool:
    """Whether a decorator runs a function several times for each call of it: `@repeat(3)`."""
    for decorator in function.decorators:
        known = program.resolve(decorator, function.parent or function.facts.scope)
        if isinstance(known, Scope) and _repeats(known):
            return True
        if known is None and last_name(decorator) in _RUNS_IT_OFTEN:
            return True
    return False


@remembered_in_file
def _repeats(decorator: Scope) -> bool:
    """Whether a loop in a decorator calls what the decorator, or a function in it, is given."""
    given = {a.arg for n in walk(decorator.node) if isinstance(n, ast.arguments) for a in n.args}
    calls = (call for call in calls_in(decorator.node) if isinstance(call.func, ast.Name) and call.func.id in given)
    return any(_again_and_again(decorator.facts, call) is not None for call in calls)


@remembered
def is_called_in_a_loop(function: Scope, program: Program) -> bool:
    """Whether the function is called in a loop, or run by processes started in one: each call would then begin
    with the same numbers."""
    return next(_calling_loops(function, program), None) is not None


@remembered
def is_called_for_each_epoch(function: Scope, program: Program) -> bool:
    """Whether a loop that counts epochs, by its names, calls the function."""
    if not is_called_in_a_loop(function, program):  # most are in none, which is known by now
        return False
    return any("epoch" in name.lower() for loop in _calling_loops(function, program) for name in _header_names(loop))


def _calling_loops(function: Scope, program: Program) -> Iterator[ast.AST]:
    """The loops and comprehensions that call a function, directly or through others."""

    def calls(called: Scope) -> Sequence[CallSite]:
        if called.kind == "module":
            return ()
        return program.callers.passing(called) or program.callers.in_sight(called)

    for called in _upwards(function, lambda called: (scope for _, scope in calls(called))):
        for call, scope in calls(called):
            loop = _again_and_again(scope.facts, call.func)
            if loop is not None:
                yield loop


def _upwards(function: Scope, callers: Callable[[Scope], Iterable[Scope]]) -> Iterator[Scope]:
    """The function and those that lead to it, the nearest first, each once."""
    level = [function]
    seen = {function}
    for _ in range(MAX_CALLERS + 1):
        yield from level
        above = dict.fromkeys(scope.function for called in level for scope in callers(called))
        level = [scope for scope in above if scope not in seen]
        if not level:
            return
        seen.update(level)


def _header_names(loop: ast.AST) -> Iterator[str]:
    for part in (getattr(loop, field, None) for field in ("target", "iter", "test")):
        for node in walk(part) if part is not None else ():
            yield last_name(node)


def _again_and_again(facts: ModuleFacts, node: ast.AST) -> ast.AST | None:
    """The loop or comprehension of the same function that runs `node` for each of its items."""
    child = node
    for parent in facts.ancestors(node):
        if isinstance(parent, Comprehension):
            if child is not parent.generators[0]:
                return parent
        elif isinstance(parent, ast.stmt):
            break
        child = parent
    return outermost_loop(facts, node)


def _is_whole_run(function: Scope, program: Program) -> bool:
    """Whether a function is called like one that runs a whole program. A method of a class whose objects nobody in
    sight makes is for users of that class, who may call `trainer.train()` for each epoch; a property runs whenever it
    is read."""
    if function.own_name not in _ONCE or any(last_name(d) == "property" for d in function.decorators):
        return False
    owner = function.method_class
    constructor = program.names.method(owner, "__init__") if owner is not None else None
    if owner is not None and _may_be_called_in_a_loop(function, program):
        return False
    if constructor is None:
        return True
    return any(last_name(call.func) != "__init__" for call, _ in program.callers_of(constructor) or ())


@remembered
def _may_be_called_in_a_loop(method: Scope, program: Program) -> bool:
    """Whether a loop calls a method of this name of an object that cannot be told, with arguments that fit:
    `clients[i].train(model, optimizer)`."""
    name = method.own_name
    paths = program.project.text.mentioning(name) or ()
    files = (program.project.load_if(str(path), calls_any, name) for path in paths[:MAX_FILES])
    calls = (site for facts in files if facts is not None for site in facts.calls.get(name, ()))
    called = ((c, scope) for c, scope in calls if _fits(c, method) and isinstance(c.func, ast.Attribute))
    unknown = ((call, scope) for call, scope in called if program.resolve(call.func, scope) is None)
    return any(_again_and_again(scope.facts, call) is not None for call, scope in unknown)


def _fits(call: ast.Call, method: Scope) -> bool:
    """Whether a call passes arguments, as many as a method takes, by its names."""
    taken = getattr(method.node, "args", None)
    if taken is None or not (call.args or call.keywords):
        return False
    names = named_parameters(method)
    passed = {k.arg for k in call.keywords}
    required = len(names) - len(taken.defaults) - sum(d is not None for d in taken.kw_defaults)
    return passed <= set(names) and required <= len(call.args) + len(passed) <= len(names)


@remembered
def _handed_to(function: Scope, program: Program) -> set[str]:
    """The last names of what is called with the function itself as an argument."""
    name = function.own_name
    if function.kind != "function":
        return set()
    own = function.facts.source.path
    paths = (program.project.text.mentioning(name) or [own])[:MAX_FILES]
    passing = (str(path) for path in paths if path == own or _may_pass(str(path), function, program))
    files = filter(None, map(program.load, passing))
    return {spelled for facts in files for spelled in _handed(facts, name, program).get(function, ())}


def _may_pass(path: str, function: Scope, program: Program) -> bool:
    """Whether another file may hand a function over: not one that it imports from a file which has a function of the
    same name. That is asked of what the files say, so that nothing rests on the rest of their code."""
    says, name, own = program.project.files.says, function.own_name, str(function.facts.source.path)

    def may_be(imported: str, level: int) -> bool:
        module, rest = (program.project.finder.find(imported, level, path) if imported else None) or (own, "")
        return module == own or rest != name or not says(module, defines, name)

    return any(may_be(*imported) for imported in says(path, passes, name) or ())


@remembered
def _handed(facts: ModuleFacts, name: str, program: Program) -> dict[Scope, set[str]]:
    """The last names of what a file calls with functions of one name, by the function."""
    found: dict[Scope, set[str]] = {}
    for spelled, value, scope in facts.passed.get(name, ()):
        function = program.names.resolve(value, scope)
        if isinstance(function, Scope):
            found.setdefault(function, set()).add(spelled)
    return found


@remembered
def runs_in_each_pass(function: Scope, program: Program) -> bool:
    """Whether the function runs for each epoch, batch or sample, or is called by one that does."""

    def callers(called: Scope) -> Iterable[Scope]:
        return _calling(called, program) if called.kind == "function" else ()

    names = (called.own_name for called in _upwards(function, callers) if called.kind == "function")
    found = next((name for name in names if name in _PASSES or _EPOCH.search(name) is not None), "")
    return program.by_name(bool(found), "that a function runs in each epoch or step", function, found)


def _calling(function: Scope, program: Program) -> Iterator[Scope]:
    """Where a function is called, and where methods of its class or of a base of that call it through `self`."""
    for _, where in program.callers_of(function) or ():
        yield where
    owner, name = function.method_class, function.own_name
    if owner is None:
        return
    family = program.names.classes(owner)
    for facts in {member.facts for member in family}:
        calling = _through_self(name, facts)
        numbered = {number: where for member in family for number, where in calling.get(member, ())}
        yield from (numbered[number] for number in sorted(numbered))


@remembered_in_file
def _through_self(name: str, facts: ModuleFacts) -> dict[Scope, list[tuple[int, Scope]]]:
    """Where methods call one of this name of their own object, numbered, by their class."""
    found: dict[Scope, list[tuple[int, Scope]]] = {}
    for number, (call, where) in enumerate(facts.calls.get(name, ())):
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        owner = where.function.method_class
        if isinstance(receiver, ast.Name) and receiver.id == where.function.self_name and owner is not None:
            found.setdefault(owner, []).append((number, where))
    return found
