"""Epoch loops, and the distributed samplers that are iterated in them.

Finds the loop that repeats a pass over the data (in the same function or in one that calls it), and whether
any part of the program tells a sampler which epoch it is. Where a sampler goes is worked out by `flow`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.calls import Argument, Call
from torchrepro_lint.program.flow import Flow, follow
from torchrepro_lint.program.program import Module, Program
from torchrepro_lint.program.values import Constant, Result

MAX_CALLERS = 6
_EPOCH = re.compile(r"epoch", re.IGNORECASE)
_OTHER_COUNT = re.compile(
    r"fold|seed|rank|trial|task|split|client|worker|gpu|model|repeat|attack", re.IGNORECASE
)
_EVALUATION = re.compile(
    r"(?:^|[^a-z])(?:val|valid|test|testing|eval|dev|infer|inference)(?:[^a-z]|set|$)|evaluat|validat|predict",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"train", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class EpochLoop:
    """A loop that repeats a pass; `counts` is whether its variable is the number of the epoch, `sure` whether
    its names say that it is about epochs."""

    node: ast.For | ast.AsyncFor | ast.While
    scope: Scope
    counts: bool
    sure: bool

    @property
    def variable(self) -> str | None:
        """The loop variable, where it is a plain name that counts."""
        target = getattr(self.node, "target", None)
        return target.id if self.counts and isinstance(target, ast.Name) else None


def samplers(module: Module, program: Program) -> Iterator[tuple[Call, bool]]:
    """Constructions of training samplers that shuffle by epoch; False where an expression decides whether."""
    rows = catalogue.names("distributed", "samplers")
    for call in module.calls(rows):
        if isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "__init__":
            continue
        shuffles = _shuffles(call, rows[call.name])
        if shuffles is not False and not evaluates(call):
            yield call, shuffles is True


def _shuffles(call: Call, row: dict[str, Any] | Any) -> bool | None:
    """None: it does where the program passes True for a parameter."""
    if call.subclass is not None and not _uses_epoch(call.subclass):
        return False
    match call.argument("shuffle", row["shuffle"]):
        case None:
            return True
        case Argument(node=node, scope=scope):
            origins = call.program.origins(node, scope)
            truths = [bool(o.value) for o in origins if isinstance(o, Constant)]
            if truths and all(truths) and len(truths) == len(origins):
                return True
            return None if True in truths else False
    return False


def _uses_epoch(owner: Scope) -> bool:
    """Whether a project's sampler keeps the base's order, or makes its own from `self.epoch` without
    advancing it."""
    if "__iter__" not in owner.bindings:
        return True
    own = owner.children.get(owner.bindings["__iter__"][-1].node)
    if own is None:
        return False
    reads = [n for n in ast.walk(own.node) if isinstance(n, ast.Attribute) and n.attr == "epoch"]
    return bool(reads) and all(isinstance(n.ctx, ast.Load) for n in reads)


def evaluates(call: Call) -> bool:
    """Whether names say that the sampler is for evaluation, where the order does not matter."""
    facts = call.facts
    statement = facts.statement(call.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = [facts.text(t) for t in targets if isinstance(t, ast.Name | ast.Attribute)]
    data = call.argument("dataset", 0)
    if isinstance(data, Argument):
        names.append(data.scope.facts.text(data.node))
    return any(_EVALUATION.search(n) and not _TRAINING.search(n) for n in names)


# -- loops --------------------------------------------------------------------------------------------
def epoch_loop(program: Program, node: ast.AST, scope: Scope, flow: Flow) -> EpochLoop | None:
    """The loop that repeats `node`, in its own function or around a call of it; nearest first.

    Going up, the calls are followed that brought the flow's object into the function.
    """
    return _repeated(program, node, scope, flow, set(), 0)


def _repeated(
    program: Program, node: ast.AST, scope: Scope, flow: Flow, seen: set[int], depth: int
) -> EpochLoop | None:
    for loop in _loops_around(scope.facts, node):
        found = _as_epochs(program, loop, scope.facts.scope_of(loop))
        if found is not None:
            return None if _without_gradients(scope.facts, node, loop) else found
    function = scope.function
    if function.kind != "function" or depth >= MAX_CALLERS or id(function) in seen:
        return None
    seen.add(id(function))
    if _evaluates(scope.facts, function) or _without_gradients(scope.facts, node, function.node):
        return None
    for call, caller in flow.calls_of(program, function):
        found = _repeated(program, call, caller, flow, seen, depth + 1)
        if found is not None:
            return found
    return None


def _loops_around(facts: ModuleFacts, node: ast.AST) -> Iterator[ast.For | ast.AsyncFor | ast.While]:
    """The loops whose body holds `node`, up to its function, innermost first."""
    child = node
    for parent in facts.ancestors(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            return
        if isinstance(parent, ast.For | ast.AsyncFor | ast.While) and child in parent.body:
            yield parent
        child = parent


def _as_epochs(program: Program, loop: ast.For | ast.AsyncFor | ast.While, scope: Scope) -> EpochLoop | None:
    facts = scope.facts
    if isinstance(loop, ast.While):
        named = bool(_EPOCH.search(facts.text(loop.test))) or any(
            isinstance(n, ast.AugAssign) and _EPOCH.search(facts.text(n.target)) for n in ast.walk(loop)
        )
        return EpochLoop(loop, scope, counts=False, sure=named)
    target, iterable = facts.text(loop.target), facts.text(loop.iter)
    named = bool(_EPOCH.search(target) or _EPOCH.search(iterable))
    counter = _counter(program, loop.iter, scope)
    if counter is None and not _EPOCH.search(target):
        return None
    if (not named and _OTHER_COUNT.search(f"{target} {iterable}")) or (
        counter is not None and _once(program, counter, scope)
    ):
        return None
    return EpochLoop(loop, scope, counts=counter is not None, sure=named)


def _counter(program: Program, expr: ast.expr, scope: Scope) -> ast.Call | None:
    """The `range(...)` or the like that is iterated, below a progress bar."""
    table = catalogue.table("distributed")
    while isinstance(expr, ast.Call):
        name = program.callee(expr, scope)
        if name in table["counters"]["names"]:
            return expr
        if name not in table["wrappers"]["names"] or name == "builtins.enumerate" or not expr.args:
            return None
        expr = expr.args[0]
    return None


def _once(program: Program, counter: ast.Call, scope: Scope) -> bool:
    values = [program.literal(a, scope) for a in counter.args]
    numbers = [v for v in values if isinstance(v, int)]
    return 0 < len(numbers) == len(values) and len(range(*numbers)) <= 1


def _evaluates(facts: ModuleFacts, function: Scope) -> bool:
    """Whether a function is named after evaluation, or decorated to run without gradients."""
    node = function.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    named = _EVALUATION.search(node.name) and not _TRAINING.search(node.name)
    return bool(named) or any(_no_grad(facts, d) for d in node.decorator_list)


def _without_gradients(facts: ModuleFacts, node: ast.AST, until: ast.AST) -> bool:
    """Whether a `with torch.no_grad()` lies around `node`, below `until`."""
    for parent in facts.ancestors(node):
        if parent is until:
            return False
        if isinstance(parent, ast.With) and any(_no_grad(facts, item.context_expr) for item in parent.items):
            return True
    return False


def _no_grad(facts: ModuleFacts, expr: ast.expr) -> bool:
    return bool(re.search(r"\b(no_grad|inference_mode)\b", facts.text(expr)))


# -- one sampler --------------------------------------------------------------------------------------
def repeated_order(program: Program, call: Call) -> tuple[EpochLoop, Flow] | None:
    """The epoch loop that iterates this sampler with nothing ever telling it the epoch, and where the
    sampler went."""
    flow = follow(program, call.node, call.scope)
    if flow.escaped or "set_epoch" in flow.called or "epoch" in flow.called:
        return None
    loop = passes(program, flow)
    if loop is None or may_be_told_elsewhere(program, call, flow):
        return None
    return loop, flow


def passes(program: Program, flow: Flow) -> EpochLoop | None:
    """The epoch loop around a place that iterates the sampler or what holds it; one that is surely so
    first."""
    found = [epoch_loop(program, node, scope, flow) for node, scope in flow.iterated]
    loops = [loop for loop in found if loop is not None]
    return next((loop for loop in loops if loop.sure), loops[0] if loops else None)


def may_be_told_elsewhere(program: Program, call: Call, flow: Flow) -> bool:
    """Whether a `set_epoch` that the flow did not meet could still be called on this sampler."""
    paths = program.text.mentioning("set_epoch")
    if paths is None:
        return True
    attributes = {h.name for h in flow.holders if h.owner.kind in ("class", "module")}
    for path in sorted({str(p) for p in paths} | flow.files):
        facts = program.load(str(Path(path)))
        if facts is not None and any(
            _may_mean(program, site, call, path in flow.files, attributes) for site in _sites(facts)
        ):
            return True
    return False


def _sites(facts: ModuleFacts) -> Iterator[tuple[ast.expr | None, Scope]]:
    """The receivers of `set_epoch` calls in a file; None where one is fetched by name."""
    for node, scope in facts.calls.get("set_epoch", ()):
        yield (node.func.value if isinstance(node.func, ast.Attribute) else None), scope
    for node, scope in facts.calls.get("getattr", ()):
        if (
            len(node.args) > 1
            and isinstance(node.args[1], ast.Constant)
            and node.args[1].value == "set_epoch"
        ):
            yield node.args[0], scope


def _may_mean(
    program: Program, site: tuple[ast.expr | None, Scope], call: Call, in_flow: bool, attributes: set[str]
) -> bool:
    receiver, scope = site
    if receiver is None:
        return in_flow
    origins = program.origins(receiver, scope)
    if any(isinstance(o, Result) and o.node is call.node for o in origins):
        return True
    if origins and all(isinstance(o, Constant) or (isinstance(o, Result) and o.callee) for o in origins):
        return False
    names = {n.attr for n in ast.walk(receiver) if isinstance(n, ast.Attribute)}
    return in_flow or bool(names & attributes)


def made_by(program: Program, receiver: ast.expr, scope: Scope) -> list[Call]:
    """The sampler constructions that the value of `receiver` comes from, where every origin is known."""
    rows = catalogue.names("distributed", "samplers")
    found: list[Call] = []
    for origin in program.origins(receiver, scope):
        match origin:
            case Constant(value=None):
                continue
            case Result(node=node, scope=made, callee=str() as name) if name in rows:
                found.append(Call(node, made, name, program))
            case Result(callee=str()):
                continue
            case _:
                return []
    return [call for call in found if _shuffles(call, rows[call.name]) and not evaluates(call)]
