"""Draws that a model is only tried out with: the input that it is traced or measured with, or called with to see that
it runs, or what shape comes out.

Told by what becomes of the numbers in this run, through the calls that lead to the draw, or else by the names around
it. What is kept, shown, decided on or trained with is a result, and so is whatever goes where it cannot be followed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.abstract_values import Origin, Result, Unknown
from torchrepro_lint.dataflow.conditions import conditions, contradict, known
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.frames import Frame, outwards
from torchrepro_lint.dataflow.options import Options
from torchrepro_lint.dataflow.use import ESCAPED, STOP, Sink, Step, Steps, Use
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.rng.draws import Draw
from torchrepro_lint.rng.predicates import training_mode
from torchrepro_lint.seeding.seeding import Link

MAX_USES = 150  # of one draw; a model that is written out layer by layer has a hundred
DESCRIBES = frozenset({"shape", "size", "dtype", "device", "ndim", "numel", "dim", "requires_grad"})
_NAMES = (
    r"dummy|dump_?input|example_?input|fake_?(?:[a-z]+_)?(?:input|image|img|batch)"
    r"|flops|macs|complexity|profil|onnx|latency|warm_?up"
)
_MODEL = re.compile(r"(?:^|_)(?:model|module|net|network|backbone|encoder|extractor)$")
_RESULT: Steps = (Sink(None),)
_LEARNS = frozenset({"backward", "step", "register_hook", "share_memory_"})


def purpose(draw: Draw, chain: Sequence[Link], frame: Frame | None, options: Options, program: Program) -> str:
    """What a sample is drawn for: "stand-in" where a model is only tried out with it, "training" where nothing else
    reads it, else "sample"."""
    if _is_named_so(draw, chain, program):
        return "stand-in"
    if _fills(draw.node):
        return "sample"
    uses = _Uses(draw, frame, options)
    asked, within = "what is made of a draw", uses.judge_container
    search = Follow(Policy[None, None](asked, uses.judge, within, is_complete=True, bound=MAX_USES), program)
    for step, inner in pairwise(chain):
        if isinstance(step.node, ast.Call):
            search.edges.entered[inner.scope.function] = [(step.node, step.scope)]
    start = [Use(draw.node, draw.scope, None)]
    if any(True for _ in search.found(start)) or search.escaped:
        return "stand-in" if _is_tried(start, program) else "sample"
    return "training" if uses.are_for_training else "stand-in"


def _fills(call: ast.Call) -> bool:
    """Whether a draw fills something that was there before: `noise.normal_()`, `torch.rand(4, out=noise)`."""
    is_fresh = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)
    return any(k.arg == "out" for k in call.keywords) or (last_name(call.func).endswith("_") and not is_fresh)


def _is_named_so(draw: Draw, chain: Sequence[Link], program: Program) -> bool:
    """Whether the names around a draw say that a model is measured, traced or tried out with it."""
    statement = draw.scope.facts.statement(draw.node)
    names = [ast.unparse(t) for t in getattr(statement, "targets", ())]
    names += [step.scope.function.own_name for step in chain]
    found = next((name for name in names if re.search(_NAMES, name)), "")
    return program.by_name(bool(found), "that a draw only tries a model out", draw.scope, found)


def _is_tried(start: Steps, program: Program) -> bool:
    """Whether a draw as it is becomes the input that a model is traced, exported or measured with, and is not kept:
    who does that wants any input, whatever else is looked at."""
    tried: Policy[None, bool] = Policy("what is tried out with a draw", _trial, _trial, bound=MAX_USES)
    return {*Follow(tried, program).found(start)} == {True}


def _trial(use: Use[None], edges: Edges) -> Steps | None:
    """A sink with True where a model is tried out, with False where the draw is kept."""
    if use.call is None:
        return None
    name = edges.program.callee(use.call, use.scope)
    if name is None:
        return STOP
    if name in catalogue.table("rng")["kept"]["functions"]:
        return (Sink(False),)
    is_tried = name in catalogue.table("rng")["tried"]["functions"] and not name.startswith("builtins.")
    return (Sink(True),) if is_tried else None


class _Uses:
    """Judges the uses of what a draw gives, and of all that is computed from it, in a call in progress."""

    def __init__(self, draw: Draw, frame: Frame | None, options: Options) -> None:
        self.draw = draw
        self.options = options
        self.frames = {f.function: f for f in outwards(frame)}
        self.are_for_training = False

    def judge_container(self, use: Use[None], edges: Edges) -> Steps | None:
        """What holds it counts as it does."""
        return self.judge(replace(use, path=()), edges)

    def judge(self, use: Use[None], edges: Edges) -> Steps | None:
        if known(training_mode, use.node, use.scope):
            self.are_for_training = True
            return STOP
        if self._is_left_out(use):
            return STOP
        parent = use.parent
        match parent:
            case ast.Expr():
                return _RESULT if use.scope.facts.source.kind == "notebook" else STOP
            case ast.Assert() | ast.Delete():
                return STOP
            case ast.Attribute(attr=attr) if attr in DESCRIBES:
                return STOP
            case ast.Attribute(ctx=ast.Load()):
                return _attribute(use, parent)
            case ast.Assign(targets=targets):
                return (step for target in targets for step in _into(target, parent, use, edges))
            case ast.For(target=target) | ast.AsyncFor(target=target):
                return _into(_of_value(target, use), parent, use, edges)
            case ast.comprehension(target=target) if parent.iter is use.node:
                owner = use.scope.facts.parents[parent]
                inner = replace(use, scope=use.scope.children.get(owner, use.scope))
                return _into(_of_value(target, use), owner, inner, edges)
            case ast.Call() | ast.keyword() if use.call is not None:
                return _passed(use, use.call, edges)
            case ast.AugAssign(target=target):
                return _into(target, parent, use, edges)
            case ast.Return() | ast.Yield() if not edges.callers(use.scope.function):
                return (ESCAPED,)  # a framework calls it
            case ast.AnnAssign() | ast.NamedExpr() | ast.Return() | ast.Yield():
                return None
            case ast.Subscript(ctx=ast.Store(), value=value) if value is use.node:
                return STOP
            case ast.Call() | ast.Lambda() | ast.Await() | ast.YieldFrom() | ast.Subscript(ctx=ast.Store()):
                return (ESCAPED,)  # it is called, or waited for, or decides where something is put
            case ast.expr():
                return (use.at(parent),)
        return (ESCAPED,)

    def _is_left_out(self, use: Use[None]) -> bool:
        """Whether this run does not come by: a test says otherwise, by what the calls in progress are given, or it came
        out otherwise where the number was drawn."""
        frame = self.frames.get(use.scope.function)
        if frame is not None and any(
            self.options.truth(c.test, use.scope, frame).certain is (not c.holds)
            for c in conditions(use.node, use.scope)
        ):
            return True
        return contradict((self.draw.node, self.draw.scope), (use.node, use.scope))


def _attribute(use: Use[None], parent: ast.Attribute) -> Steps:
    """Something that is made of the numbers, or done with them."""
    if use.method is None:
        return (use.at(parent),)
    name, call = use.method
    return _RESULT if name in _LEARNS or _keeps().match(name) else (use.at(call),)


def _of_value(target: ast.expr, use: Use[None]) -> ast.expr:
    """What of a loop's target holds the numbers: not the keys of `for key, value in outputs.items():`."""
    match target, use.node:
        case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Attribute(attr="items") | ast.Name(id="enumerate")):
            return value
    return target


def _into(target: ast.expr, node: ast.AST, use: Use[None], edges: Edges) -> Iterator[Step]:
    """Each part of a target may hold it."""
    match target:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _into(part, node, use, edges)
        case ast.Starred(value=inner):
            yield from _into(inner, node, use, edges)
        case _:
            yield from edges.into(target, node, use)


def _passed(use: Use[None], call: ast.Call, edges: Edges) -> Steps | None:
    """An argument of a call: what the call gives is made of it, unless it is known what else becomes of it."""
    program, rows = edges.program, catalogue.table("rng")["tried"]
    name = program.callee(call, use.scope)
    if name is None:
        is_tried = isinstance(call.func, ast.Attribute) and call.func.attr in rows["methods"]
        return STOP if is_tried else (use.at(call),) if _is_model(call, use.scope, program) else None
    if name in rows["functions"] or name in rows["compares"]:
        return STOP
    if any(k.arg == "out" for k in call.keywords) or name in catalogue.table("rng")["kept"]["functions"]:
        return _RESULT
    return (use.at(call),) if name in rows["computes"] or _computes().match(name) else None


def _is_model(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether an object is called that computes: a module of torch, or of a library that builds models, or what is
    chosen while the program runs and named like one."""
    origins = program.origins(call.func, scope)
    made = [_makes_model(origin, program) for origin in origins]
    if made and None not in made:
        return all(made)
    name = last_name(call.func)
    is_named_so = False not in made and _MODEL.search(name) is not None
    return program.by_name(is_named_so, "that a model is called", scope, name)


def _makes_model(origin: Origin, program: Program) -> bool | None:
    """Whether an object is a model; None where it is not known what made it."""
    match origin:
        case Result(callee=Scope(kind="class") as owner):
            return program.names.method(owner, "forward") is not None
        case Result(callee=str() as name):
            package, transparent = name.partition(".")[0], catalogue.table("callables")["transparent"]["packages"]
            return package in ("torch", "torchvision") or package not in ("builtins", *transparent)
        case Result(callee=None) | Unknown():
            return None
    return False


@cache
def _computes() -> re.Pattern[str]:
    return re.compile("|".join(catalogue.table("rng")["tried"]["computing"]))


@cache
def _keeps() -> re.Pattern[str]:
    """The beginnings of names of functions that keep or show something."""
    return re.compile("|".join(catalogue.table("rng")["kept"]["names"]), re.IGNORECASE)
