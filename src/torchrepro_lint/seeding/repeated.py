"""What runs code again and again in training: a sample, a batch, or a loop over steps or epochs.

Knows the methods and functions that are called for each sample or batch, and the loops that train. Code for
evaluation, and loops over runs, folds or settings, are none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.index import LoopNode, Scope, calls_in, last_name, walk
from torchrepro_lint.loading.samplers import is_evaluation
from torchrepro_lint.project import roles
from torchrepro_lint.rng.updates import is_of_optim

MAX_CALLS = 3  # from what is repeated to the place
_ITEMS = {"__getitem__": "sample", "__getitems__": "batch"}
_PASSES = ("torch.utils.data.IterableDataset", "torch.utils.data.Sampler", "torch.utils.data.BatchSampler",
           "torch.utils.data.DistributedSampler")  # fmt: skip
_MODULES = ("torch.nn.Module", "pytorch_lightning.LightningModule")
_ROUNDS = re.compile(r"epoch|step|iter(?!m)|batch|loader", re.IGNORECASE)
_OTHER = re.compile(
    r"fold|seed|rank|trial|task|split|run|exp|model|repeat|config|setting|param|task|attack|client|\blrs?\b",
    re.IGNORECASE,
)
_RESTORES = ("setstate", "set_state", "set_rng_state", "set_rng_state_all", "fork_rng", "isolate_rng")
_TRAINS = frozenset({"backward", "manual_backward", "zero_grad", "training_step"})
_TRAINING = re.compile(r"^_*(?:train|fit|run_epoch|update|optimi[sz]e)(?:_|$)|_train$|train_(?:one_)?(?:epoch|step)")


def repeated_by(node: ast.AST, scope: Scope, program: Program, further: int = MAX_CALLS) -> str | None:
    """For each of what `node` runs once more: "sample", "batch", "step", "epoch"; None where that is not known."""
    function = scope.function
    if _is_for_evaluation(function) or _is_undone(function, MAX_CALLS, program):
        return None
    unit = _by_loop(node, scope, program) or _by_method(function, program)
    return unit if unit is not None or not further else _by_callers(function, program, further - 1)


# -- functions ------------------------------------------------------------------------------------------------
def _is_for_evaluation(function: Scope) -> bool:
    if function.kind != "function":
        return False
    owner = function.method_class
    names = [function.own_name, *([owner.own_name] if owner is not None else [])]
    words = [w for n in names for w in (n, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", n).lower())]
    return any(is_evaluation(w) or roles.of_function(w, ()) == "evaluation" for w in words)


@remembered
def _is_undone(function: Scope, further: int, program: Program) -> bool:
    """Whether the function restores an earlier state of a generator, or calls one that does."""
    calls = function.facts.calls
    if any(where.function is function for name in _RESTORES for _, where in calls.get(name, ())):
        return True
    called = (program.resolve(call.func, where) for call, where in function.calls)
    return further > 0 and any(
        isinstance(f, Scope) and f.kind == "function" and _is_undone(f, further - 1, program)
        for f in dict.fromkeys(called)
    )


def _by_method(function: Scope, program: Program) -> str | None:
    """Methods of data sets, transforms and modules, and functions that collate, are called for each sample or batch."""
    name, owner = function.own_name, function.parent
    if "collate" in name.lower() and function.kind == "function":
        return "batch"
    if function.kind != "function" or owner is None or owner.kind != "class":
        return None
    if name in _ITEMS:
        return _ITEMS[name]
    bases = program.external_bases(owner)
    if name == "__iter__":
        return "epoch" if any(b in _PASSES for b in bases) else None
    if name == "__call__":
        if "collat" in owner.name.lower():
            return "batch"
        return "sample" if roles.of_class([owner.own_name]) == "data" else None
    is_module = any(b in _MODULES for b in bases)
    return "batch" if is_module and name in ("forward", "training_step") else None


def _by_callers(function: Scope, program: Program, further: int) -> str | None:
    """A function whose every call is repeated; outside of a loop that trains, where no test decides about it."""
    calls = (program.callers_of(function) or []) if function.kind == "function" else []
    units = [_by_loop(*c, program) if any(conditions(*c)) else repeated_by(*c, program, further) for c in calls]
    return units[0] if units and None not in units else None


# -- loops ----------------------------------------------------------------------------------------------------
def _by_loop(node: ast.AST, scope: Scope, program: Program) -> str | None:
    """The unit of the innermost loop around `node` that trains."""
    loop = next((loop for loop in loops_around(scope.facts, node) if _trains(loop, scope, program)), None)
    return _unit(loop, scope) if loop is not None else None


def _header(loop: LoopNode, scope: Scope) -> str:
    text = scope.facts.text
    return text(loop.test) if isinstance(loop, ast.While) else f"{text(loop.target)} {text(loop.iter)}"


def _unit(loop: LoopNode, scope: Scope) -> str:
    inner = (n for statement in loop.body for n in walk(statement) if isinstance(n, LoopNode))
    is_of_passes = any(last_name(call.func) == "backward" for n in inner for call in calls_in(*n.body))
    return "epoch" if is_of_passes or "epoch" in _header(loop, scope).lower() else "step"


def _trains(loop: LoopNode, scope: Scope, program: Program) -> bool:
    """Whether the loop goes on training one model: with an optimizer that is there before it. Where each round makes
    one, it starts another run; where none is seen, names say what the rounds are."""
    calls = list(calls_in(*loop.body))
    if any(_makes_optimizer(c, scope, program) for c in calls):
        return False
    own = {n.id for n in walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if any(holder not in own for holder in _stepped(calls, scope, program)):
        return True
    header = _header(loop, scope)
    if not _ROUNDS.search(header) or ("epoch" not in header.lower() and _OTHER.search(header)):
        return False
    names = {last_name(c.func) for c in calls}
    says = bool(names & _TRAINS) or any(_TRAINING.search(n) for n in names)
    return program.by_name(says, "that a loop goes on training", scope, header)


def _stepped(calls: list[ast.Call], scope: Scope, program: Program) -> Iterator[str]:
    """The names of the optimizers that take steps here, or in a function that they are passed to."""
    yield from _steps(calls)
    for call in calls:
        callee = program.resolve(call.func, scope) if isinstance(call.func, ast.Name) else None
        if isinstance(callee, Scope) and isinstance(callee.node, ast.FunctionDef):
            for name in _steps([node for node, _ in callee.calls]):
                passed = argument_for(call, callee, name)
                yield from (passed.id,) if isinstance(passed, ast.Name) else ()


def _steps(calls: list[ast.Call]) -> Iterator[str]:
    """The names of which `step()` is called, in code that computes gradients: optimizers, and what goes with them."""
    if not any(last_name(call.func) == "backward" for call in calls):
        return
    for call in calls:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="step"), args=[], keywords=[]):
                yield name


def _makes_optimizer(call: ast.Call, scope: Scope, program: Program) -> bool:
    name = program.qualified(call.func, scope) or ""
    return is_of_optim(name) and name.rpartition(".")[2][:1].isupper() and "lr_sched" not in name
