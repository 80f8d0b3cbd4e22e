"""Epoch loops, and the distributed samplers that are iterated in them.

Finds the loop that repeats a pass over the data (in the same function or in one that calls it), and whether
any part of the program tells a sampler which epoch it is. Where a sampler goes is worked out by `sampler_uses`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, CallSite, Program, remembered
from torchrepro_lint.dataflow.abstract_values import Constant, Result
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.index import FunctionNode, LoopNode, ModuleFacts, Scope, walk
from torchrepro_lint.loading.sampler_uses import SamplerUses, uses_of
from torchrepro_lint.loading.samplers import is_evaluation

MAX_CALLERS = 6
MAX_WRAPPERS = 5  # around what counts: a name may hold a progress bar around itself
_EPOCH = re.compile(r"epoch", re.IGNORECASE)
_COUNTS = "that a loop counts epochs"
_OTHER_COUNT = re.compile(r"fold|seed|rank|trial|task|split|client|worker|gpu|model|repeat|attack", re.IGNORECASE)


class EpochLoop(NamedTuple):
    """A loop that repeats a pass; `counts` is whether its variable is the number of the epoch, `sure` whether
    its names say that it is about epochs."""

    node: LoopNode
    scope: Scope
    counts: bool
    sure: bool

    @property
    def variable(self) -> str | None:
        """The loop variable, where it is a plain name that counts, and not `_`."""
        target = getattr(self.node, "target", None)
        return target.id if self.counts and isinstance(target, ast.Name) and target.id.strip("_") else None


# -- loops --------------------------------------------------------------------------------------------
def epoch_loop(program: Program, node: ast.AST, scope: Scope, uses: SamplerUses) -> EpochLoop | None:
    """The loop that repeats `node`, in its own function or around a call of it; nearest first.

    Going up, the calls are followed that brought the sampler into the function.
    """
    return _repeated(program, node, scope, uses, set(), 0)


def _repeated(
    program: Program, node: ast.AST, scope: Scope, uses: SamplerUses, seen: set[int], depth: int
) -> EpochLoop | None:
    own = _own_loop(node, scope, program)
    if own is not None:
        return None if _without_gradients(scope.facts, node, own.node) else own
    function = scope.function
    if function.kind != "function" or depth >= MAX_CALLERS or id(function) in seen:
        return None
    seen.add(id(function))
    if _evaluates(scope.facts, function) or _without_gradients(scope.facts, node, function.node):
        return None
    above = (_repeated(program, *site, uses, seen, depth + 1) for site in uses.callers(function, program))
    return next((loop for loop in above if loop is not None), None)


@remembered
def _own_loop(node: ast.AST, scope: Scope, program: Program) -> EpochLoop | None:
    """The epoch loop around `node` in its own function: the innermost, of those that say so if any does."""
    around = (_as_epochs(loop, scope.facts.scope_of(loop), program) for loop in loops_around(scope.facts, node))
    loops = [loop for loop in around if loop is not None]
    return next((loop for loop in loops if loop.sure), loops[0] if loops else None)


@remembered
def _as_epochs(loop: LoopNode, scope: Scope, program: Program) -> EpochLoop | None:
    facts = scope.facts
    if isinstance(loop, ast.While):
        named = bool(_EPOCH.search(facts.text(loop.test))) or any(
            isinstance(n, ast.AugAssign) and _EPOCH.search(facts.text(n.target)) for n in walk(loop)
        )
        return EpochLoop(loop, scope, counts=False, sure=program.by_name(named, _COUNTS, scope, facts.text(loop.test)))
    target, iterable = facts.text(loop.target), facts.text(loop.iter)
    counter = _counter(program, loop.iter, scope)
    counted = counter[1].facts.text(counter[0]) if counter is not None else ""
    named = any(map(_EPOCH.search, (target, iterable, counted)))
    if counter is None and not _EPOCH.search(target):
        return None
    if (not named and _OTHER_COUNT.search(f"{target} {iterable}")) or (counter is not None and _once(program, counter)):
        return None
    sure = program.by_name(named, _COUNTS, scope, f"{target} {iterable}")
    return EpochLoop(loop, scope, counts=counter is not None, sure=sure)


def _counter(program: Program, expr: ast.expr, scope: Scope) -> CallSite | None:
    """The `range(...)` or the like that is iterated, below a progress bar or a name for it."""
    table = catalogue.table("distributed")
    for _ in range(MAX_WRAPPERS):
        expr, scope = _held(program, expr, scope)
        if not isinstance(expr, ast.Call):
            return None
        name = program.callee(expr, scope)
        if name in table["counters"]["names"]:
            return expr, scope
        if name not in table["wrappers"]["names"] or name == "builtins.enumerate" or not expr.args:
            return None
        expr = expr.args[0]
    return None


def _held(program: Program, expr: ast.expr, scope: Scope) -> tuple[ast.expr, Scope]:
    """The one call whose result an expression is, else the expression."""
    match program.origins(expr, scope):
        case [Result(node=node, scope=made)]:
            return node, made
    return expr, scope


def _once(program: Program, counter: CallSite) -> bool:
    call, scope = counter
    values = [program.literal(a, scope) for a in call.args]
    numbers = [v for v in values if isinstance(v, int)]
    return 0 < len(numbers) == len(values) and len(range(*numbers)) <= 1


def _evaluates(facts: ModuleFacts, function: Scope) -> bool:
    """Whether a function is named after evaluation, or decorated to run without gradients."""
    node = function.node
    if not isinstance(node, FunctionNode):
        return False
    return is_evaluation(node.name) or any(_no_grad(facts, d) for d in node.decorator_list)


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
def repeated_order(program: Program, call: Call) -> tuple[EpochLoop, SamplerUses] | None:
    """The epoch loop that iterates this sampler with nothing ever telling it the epoch, and where the
    sampler went."""
    uses = uses_of(call.node, call.scope, program)
    if uses.escaped or "set_epoch" in uses.attributes or "epoch" in uses.attributes:
        return None
    loop = passes(uses, program)
    if loop is None or may_be_told_elsewhere(program, call, uses):
        return None
    return loop, uses


@remembered
def passes(uses: SamplerUses, program: Program) -> EpochLoop | None:
    """The epoch loop around a place that iterates the sampler or what holds it; one that is surely so
    first."""
    found = [epoch_loop(program, node, scope, uses) for node, scope in uses.iterated]
    loops = [loop for loop in found if loop is not None]
    return next((loop for loop in loops if loop.sure), loops[0] if loops else None)


def may_be_told_elsewhere(program: Program, call: Call, uses: SamplerUses) -> bool:
    """Whether a `set_epoch` that is not among its uses could still be called on this sampler."""
    paths = program.project.text.mentioning("set_epoch")
    if paths is None:
        return True
    attributes = {h.name for h in uses.holders if h.owner.kind in ("class", "module")}
    return any(
        _may_mean(program, site, call, str(facts.source.path) in uses.files, attributes)
        for facts in program.loaded(sorted({str(p) for p in paths} | uses.files))
        for site in _sites(facts)
    )


def _sites(facts: ModuleFacts) -> Iterator[tuple[ast.expr | None, Scope]]:
    """The receivers of `set_epoch` calls in a file; None where one is fetched by name."""
    for node, scope in facts.calls.get("set_epoch", ()):
        yield (node.func.value if isinstance(node.func, ast.Attribute) else None), scope
    for node, scope in facts.calls.get("getattr", ()):
        if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value == "set_epoch":
            yield node.args[0], scope


def _may_mean(
    program: Program, site: tuple[ast.expr | None, Scope], call: Call, in_reach: bool, attributes: set[str]
) -> bool:
    receiver, scope = site
    if receiver is None:
        return in_reach
    origins, made = program.origins(receiver, scope), program.results(receiver, scope)
    if any(result.node is call.node for result in made):
        return True
    if made and all(isinstance(o, Constant) or (isinstance(o, Result) and o.callee) for o in origins):
        return False
    names = {n.attr for n in walk(receiver) if isinstance(n, ast.Attribute)}
    return in_reach or bool(names & attributes)
