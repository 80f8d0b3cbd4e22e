"""The fix that TRP201 and TRP203 share: give a loader, sampler or split a generator of its own, seeded.

Inside a loop or comprehension the generator is made before it: made anew in each round, it would give each round the
same numbers. Where each epoch makes its sampler anew, the generator has to outlive it, and there is no fix.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torchrepro_lint.index import Scope
from torchrepro_lint.model import Edit
from torchrepro_lint.program import Argument, Call, Program
from torchrepro_lint.program.data.loaders import (
    argument,
    loader_calls,
    loaders,
    outermost_loop,
    samplers,
    shuffling,
)
from torchrepro_lint.program.intent import branches
from torchrepro_lint.program.once import is_called_for_each_epoch, is_called_in_a_loop, runs_in_each_pass
from torchrepro_lint.program.randomness.ranks import has_ranks
from torchrepro_lint.program.randomness.seeds import numbered
from torchrepro_lint.syntax import import_name, insert_before, with_argument

_PLAIN = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
_SPLIT = "torch.utils.data.random_split"
_LIGHTNING_HOOK = "train_dataloader"
_RELOADS = re.compile(rb"\breload_dataloaders_every_n?_?epochs?\s*=\s*(?!0|False)")
_DEFAULT_DEVICE = re.compile(rb"\bset_default_(?:device|tensor_type)\(")


@dataclass(frozen=True, slots=True)
class GeneratorFix:
    """The edits; `unsafe` when they can do more than choose which numbers are drawn."""

    edits: tuple[Edit, ...] = ()
    unsafe: bool = False


def seeded_generator(call: Call, program: Program) -> GeneratorFix:
    """Pass `generator=torch.Generator().manual_seed(SEED)`, or no edits where a person has to decide."""
    passed = argument(call, "generator")
    if passed is not None and not _replaceable(call, passed):
        return GeneratorFix()
    if call.subclass is not None and _is_constructor_of_subclass(call):
        return GeneratorFix()  # the class should take a generator and hand it on
    if _is_made_for_each_epoch(call, program):
        return GeneratorFix()  # made there, it would give each epoch the same order
    facts, loop = call.facts, outermost_loop(call.facts, call.node) or _comprehending(call)
    made = import_name(facts, "torch.Generator", call.scope, loop or call.node)
    seed = numbered(program.seeds.expression(call.scope, loop or call.node), _number(call, program))
    generator = f"{made.text}().manual_seed({seed})"
    unsafe = is_called_in_a_loop(call.scope.function, program) or _cuda_by_default(program)
    unsafe = unsafe or _differs_by_rank(call, program)
    if loop is None:
        return GeneratorFix((with_argument(facts, call.node, "generator", generator), *made.edits), unsafe)
    name = _free_name(call.scope.function)
    before = insert_before(facts, loop, f"{name} = {generator}")
    return GeneratorFix((before, with_argument(facts, call.node, "generator", name), *made.edits), unsafe)


def _number(call: Call, program: Program) -> int:
    """How many loaders and samplers the same function makes before that draw as well: from one seed, two of them would
    go through two data sets of one size in step, so that their samples meet as the same pairs in every epoch."""
    module = program.module(call.facts)
    drawing = [c for c in loader_calls(module) if shuffling(c) is not None]
    drawing += [c for c in module.calls(samplers().keys()) if c.name != _SPLIT]
    place = call.node.lineno, call.node.col_offset
    earlier = [c for c in drawing if (c.node.lineno, c.node.col_offset) < place and call.name != _SPLIT]
    return sum(c.scope.function is call.scope.function and not _is_other_arm(c, call) for c in earlier)


def _is_other_arm(one: Call, other: Call) -> bool:
    """Whether a test lets only one of the two be made."""
    ways = dict(branches(one.facts, one.node))
    return any(ways.get(test, way) is not way for test, way in branches(other.facts, other.node))


def _replaceable(call: Call, passed: object) -> bool:
    """Only `None` and PyTorch's own global generator, written at this call, can be put aside."""
    keyword = next((k.value for k in call.node.keywords if k.arg == "generator"), None)
    if keyword is None or not isinstance(passed, Argument) or passed.node is not keyword:
        return False
    return isinstance(keyword, ast.Constant) or call.program.qualified(keyword, call.scope) is not None


def _is_constructor_of_subclass(call: Call) -> bool:
    return isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "__init__"


def _comprehending(call: Call) -> ast.stmt | None:
    """The statement with a comprehension that makes the call for each of its items, where a line can go above it."""
    found = False
    child: ast.AST = call.node
    for parent in call.facts.ancestors(call.node):
        if isinstance(parent, ast.Lambda):
            return None
        if isinstance(parent, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            found = found or child is not parent.generators[0]
        if isinstance(parent, ast.stmt):
            in_class = isinstance(call.facts.parents[parent], ast.ClassDef)
            return parent if found and isinstance(parent, _PLAIN) and not in_class else None
        child = parent
    return None


def _is_made_for_each_epoch(call: Call, program: Program) -> bool:
    function = call.scope.function
    if runs_in_each_pass(call.scope, program) or is_called_for_each_epoch(function, program):
        return True
    is_hook = function.name.rpartition(".")[2] == _LIGHTNING_HOOK
    return is_hook and program.text.any_match(_RELOADS) is not False


def _differs_by_rank(call: Call, program: Program) -> bool:
    """Whether each rank may draw an order of its own from all samples: with one generator all would draw the same.

    Ranks that share the samples out have a sampler for it, and what is made without ranks stands under a condition.
    """
    shuffle = argument(call, "shuffle") if call.name in loaders() else None
    always = not isinstance(shuffle, Argument) or isinstance(shuffle.node, ast.Constant)
    drawn = call.name != _SPLIT and always and not any(branches(call.facts, call.node))
    return drawn and has_ranks(program)


def _cuda_by_default(program: Program) -> bool:
    """Where tensors are made on the GPU by default, samplers need a generator of that device."""
    return bool(program.text.any_match(_DEFAULT_DEVICE))


def _free_name(function: Scope) -> str:
    taken = {name for scope in function.descend() for name in scope.bindings} | set(function.facts.scope.bindings)
    return next(n for n in ("generator", "loader_generator", "data_generator", "seeded_generator_") if n not in taken)
