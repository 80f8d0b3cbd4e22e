"""Results of several workers that are taken in the order in which they are done, and what that order decides: samples,
updates of a model, sums of floats.

Whether an order shows is for `order` to say; here stands what brings such an order about. Judges nothing where there is
one worker.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, CallSite, Module, Program, calls_like, remembered, start_of
from torchrepro_lint.dataflow.abstract_values import Constant, Origin, Result
from torchrepro_lint.dataflow.enclosing import ancestors, run_with
from torchrepro_lint.index import LoopNode, ModuleFacts, Scope, keyword_value, last_name, names_in, walk
from torchrepro_lint.loading.decisions import Decision
from torchrepro_lint.loading.order import decided_by, decided_in
from torchrepro_lint.rng.updates import updates_model

_WHOLE = re.compile(r"u?int|long$|short$|byte$|bool")  # types in which a sum does not depend on the order

MAX_RETURNS = 3  # functions that return the result of one another


class Arrival(NamedTuple):
    """A call that gives results as they are done, and what their order decides."""

    call: ast.Call
    scope: Scope
    decision: Decision


def arrivals(module: Module, program: Program) -> Iterator[Arrival]:
    """Those of a file whose order decides something, in source order."""
    found = [*_completed(module, program), *_unordered(module, program), *_queued(module, program)]
    yield from sorted(found, key=lambda item: start_of(item.call))


# -- pools and futures ---------------------------------------------------------------------------------------------
def _completed(module: Module, program: Program) -> Iterator[Arrival]:
    rows = catalogue.names("order", "arrivals")
    for call in module.calls(rows.keys()):
        row = rows[call.name]
        waits = (_last_name(call.argument(name)) == value for name, value in row.get("only_if", {}).items())
        if all(waits) and not (_waits_for_all(call.node) or _has_one_worker(call.node, call.scope, program)):
            yield from _arrival(call.node, call.scope, row.get("part"), program)


def _unordered(module: Module, program: Program) -> Iterator[Arrival]:
    for name in catalogue.names("order", "arrival_methods"):
        for call, scope in module.facts.calls.get(name, ()):
            if isinstance(call.func, ast.Attribute) and not _has_one_worker(call, scope, program):
                yield from _arrival(call, scope, None, program)


def _arrival(call: ast.Call, scope: Scope, part: int | None, program: Program) -> Iterator[Arrival]:
    path = () if part is None else (part,)
    decision = decided_by(call, scope, program, path) or _decided_in_loop(call, scope, program)
    if decision is not None:
        yield Arrival(call, scope, decision)


def _waits_for_all(call: ast.Call) -> bool:
    """Whether it waits for one result alone, `ray.wait([ref])`, or for as many as there are, which come as they were
    given: `ray.wait(refs, num_returns=len(refs))`."""
    match call.args[:1], keyword_value(call, "num_returns"):
        case [ast.List(elts=[single])], _:
            return not isinstance(single, ast.Starred)
        case [given], ast.Call(func=ast.Name(id="len"), args=[counted]):
            return ast.dump(given) == ast.dump(counted)
    return False


def _last_name(argument: object) -> str:
    """The last part of a name that is passed, or the text: `concurrent.futures.FIRST_COMPLETED`."""
    node = getattr(argument, "node", None)
    return str(node.value) if isinstance(node, ast.Constant) else last_name(node)


def _has_one_worker(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether the pool that a method belongs to, or one that is made in the same function, has one worker."""
    pools = catalogue.names("order", "pools")
    holder = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    made = [result for result in program.results(holder, scope) if result.callee in pools]
    sites = [(o.node, o.scope, str(o.callee)) for o in made] or [
        (node, where, name)
        for node, where in calls_like(pools, scope.facts)
        if where.function is scope.function and (name := program.callee(node, where) or "") in pools
    ]
    counts = [Call(n, s, name, program).literal(pools[name]["workers"], 0) for n, s, name in sites]
    return bool(counts) and all(count == 1 for count in counts)


# -- queues ----------------------------------------------------------------------------------------------------------
def _queued(module: Module, program: Program) -> Iterator[Arrival]:
    """`queue.get()` in a loop, or in a function that is called in one, where several processes were given the queue."""
    queues = catalogue.names("order", "queues")
    for call, scope in module.facts.calls.get("get", ()):
        if not isinstance(call.func, ast.Attribute) or not _takes_next(call):
            continue
        made = program.results(call.func.value, scope)
        if any(result.callee in queues and _fed_by_several(result, program) for result in made):
            decisions = (_decided_by_rounds(*site, program) for site in _given_by(call, scope, program, MAX_RETURNS))
            yield from islice((Arrival(call, scope, found) for found in decisions if found is not None), 1)


def _given_by(call: ast.Call, scope: Scope, program: Program, further: int) -> Iterator[CallSite]:
    """A call, and those of the functions that return what it gives."""
    yield call, scope
    match scope.facts.statement(call):
        case ast.Return(value=value) if value is call and further:
            for site in program.callers_of(scope.function) or ():
                yield from _given_by(*site, program, further - 1)


def _decided_by_rounds(call: ast.Call, scope: Scope, program: Program) -> Decision | None:
    """What the order of the rounds decides in which one result each is taken."""
    loop, decision = _loop_around(call, scope), _decided_in_loop(call, scope, program)
    if decision is None and isinstance(loop, ast.For | ast.AsyncFor) and _is_kept(call, loop, scope, program):
        return decided_in(loop, scope, program)
    return decision


def _takes_next(call: ast.Call) -> bool:
    """`queue.get()`, `queue.get(timeout=5)`: not `mapping.get(key)`."""
    return all(isinstance(a, ast.Constant) and isinstance(a.value, bool) for a in call.args[:1])


def _is_kept(call: ast.Call, loop: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether what is taken is in a list after the round: `results.append(queue.get())`, also by a name."""
    kept: set[ast.AST | str] = {call}
    match scope.facts.statement(call):
        case ast.Assign(targets=targets, value=value) if any(call is inner for inner in walk(value)):
            kept |= names_in(*targets)
    return not _put_into_lists(loop, program).isdisjoint(kept)


@remembered
def _put_into_lists(loop: ast.AST, program: Program) -> frozenset[ast.AST | str]:  # noqa: ARG001
    """What a loop appends to lists: the nodes, of names the words."""
    body = run_with(getattr(loop, "body", []))
    fills = [n for n in body if isinstance(n, ast.Call) and last_name(n.func) in ("append", "extend")]
    inside = (inner for fill in fills for argument in fill.args for inner in walk(argument))
    return frozenset(inner.id if isinstance(inner, ast.Name) else inner for inner in inside)


@remembered
def _fed_by_several(queue: Result, program: Program) -> bool:
    """Whether several processes or threads are started in the file with the queue among their arguments."""
    starts = _starts(queue.scope.facts, program).get(queue, ())
    return len(starts) > 1 or any(runs_several(call, where, program) for call, where in starts)


@remembered
def _starts(facts: ModuleFacts, program: Program) -> dict[Origin, list[CallSite]]:
    """The calls of a file that start processes or threads, by what these are given."""
    found: dict[Origin, list[CallSite]] = {}
    for call, where in calls_like(catalogue.names("order", "runners"), facts):
        for origin in {o for a in given_to(call) for o in program.origins(a, where)}:
            found.setdefault(origin, []).append((call, where))
    return found


def given_to(call: ast.Call) -> Iterator[ast.expr]:
    """What a process is given to run with: the items of `args=(...)`, or of the second argument."""
    named = {k.arg: k.value for k in call.keywords}
    passed = named.get("args", call.args[1] if len(call.args) > 1 else None)
    yield from passed.elts if isinstance(passed, ast.Tuple | ast.List) else ()
    yield from (n for n in (named.get("kwargs"),) if isinstance(n, ast.Dict) for n in n.values)


def runs_several(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call that starts a process stands in a loop of more than one round, or starts several."""
    number = keyword_value(call, "nprocs")
    if number is not None:
        return [o.value for o in program.origins(number, scope) if isinstance(o, Constant)] != [1]
    holders = (a for a in ancestors(call, scope) if isinstance(a, ast.For | ast.ListComp | ast.GeneratorExp))
    return any(not _is_one(holder, scope, program) for holder in holders)


def _is_one(loop: ast.For | ast.ListComp | ast.GeneratorExp, scope: Scope, program: Program) -> bool:
    iterable = loop.iter if isinstance(loop, ast.For) else loop.generators[0].iter
    match iterable:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            return program.literal(count, scope) == 1
    return False


# -- what a loop does with them ----------------------------------------------------------------------------------------
def _decided_in_loop(call: ast.Call, scope: Scope, program: Program) -> Decision | None:
    """An update of a model or a sum of floats in the loop over the results."""
    loop = _loop_around(call, scope)
    return (_update_in(loop, scope, program) or _sum_in(loop, scope, program)) if loop is not None else None


def _loop_around(call: ast.Call, scope: Scope) -> ast.AST | None:
    return next((holder for holder in ancestors(call, scope) if isinstance(holder, LoopNode)), None)


@remembered
def _update_in(loop: ast.AST, scope: Scope, program: Program) -> Decision | None:
    for node in run_with(getattr(loop, "body", [])):
        if isinstance(node, ast.Call) and updates_model(node, scope.facts.scope_of(node), program):
            return Decision(scope.facts, node, "becomes the order of the updates")
    return None


@remembered
def _sum_in(loop: ast.AST, scope: Scope, program: Program) -> Decision | None:
    """`total += result`, where the total begins as a float or a tensor."""
    for node in run_with(getattr(loop, "body", [])):
        match node:
            case ast.AugAssign(op=ast.Add(), target=ast.Name() as total, value=value) if _varies(value):
                if any(_is_float(o) for o in program.origins(total, scope)):
                    return Decision(scope.facts, node, "is the order in which floats are added up")
    return None


def _varies(value: ast.expr) -> bool:
    is_count = isinstance(value, ast.Call) and last_name(value.func) in ("len", "int")
    return not isinstance(value, ast.Constant) and not is_count


def _is_float(origin: Origin) -> bool:
    match origin:
        case Constant(value=float()):
            return True
        case Result(callee=str() as name, node=call):
            is_whole = _WHOLE.match(last_name(keyword_value(call, "dtype"))) is not None
            return name.startswith(("torch.zeros", "numpy.zeros", "torch.tensor")) and not is_whole
    return False
