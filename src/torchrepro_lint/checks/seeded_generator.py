"""The fix that TRP201 and TRP203 share: give a loader, sampler or split its own seeded generator.

Inside a loop or comprehension the generator is made before it: made again in each iteration, it would give each
iteration the same numbers. Where each epoch makes a new sampler, the generator has to outlive it, and there is no fix.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torchrepro_lint import catalogue
from torchrepro_lint.checks.seed_edit import seed_fix
from torchrepro_lint.dataflow.binding import named_parameters
from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.enclosing import outermost_loop
from torchrepro_lint.dataflow.execution_count import times
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.loading.loaders import argument, loaders, workers
from torchrepro_lint.loading.looked_at import is_only_looked_at
from torchrepro_lint.loading.same_order import (
    differs_by_rank,
    is_made_for_each_epoch,
    is_made_side_by_side,
    number_beside,
)
from torchrepro_lint.loading.worker_draws import worker_draws
from torchrepro_lint.model import Edit
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.entries import files_of_programs, is_tried_out
from torchrepro_lint.project.versions import allowed_in
from torchrepro_lint.rng.own_seed import generator_seed
from torchrepro_lint.rng.ranks import has_ranks
from torchrepro_lint.rng.seed_options import SEED_NAME
from torchrepro_lint.rng.usual_seed import has_own_seed, is_turned_off
from torchrepro_lint.seeding.seeding import Seeding
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.training import MAX_PROGRAMS, is_for_training, is_run_to_evaluate, trains_nothing
from torchrepro_lint.seeding.unseeded import Unseeded, unseeded
from torchrepro_lint.syntax import import_name, insert_before, is_within_width, top_line, with_argument

_PLAIN = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
_KIND = re.compile(r"_?(?:data_?)?loader$", re.IGNORECASE)
_SPLITS = "torch.utils.data.random_split"
_STANDS_IN = re.compile(r" or | if |^\(?max\(")  # for a seed that its user chose not to give: `args.seed or 0`
_DEFAULT_DEVICE = re.compile(rb"\bset_default_(?:device|tensor_type)\(")
# What no PyTorch with generators for loaders can run, or understands: github.com/pytorch/pytorch/releases/tag/v0.4.0
_BEFORE_0_5 = re.compile(rb"\bvolatile=True\b|\b\w{0,80}loss\w{0,80}\.data\[0\]")


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
    exists = allowed_in(program.project.torch_version, catalogue.names("loaders", "arguments")["generator"]["torch"])
    runs = times(program, call.scope)
    if exists == "none" or runs == "often" or is_made_for_each_epoch(call):
        return GeneratorFix()  # made there, it would give each epoch the same order
    facts, loop = call.facts, outermost_loop(call.facts, call.node) or _comprehending(call)
    made = import_name(facts, "torch.Generator", call.scope, loop or call.node)
    seed = generator_seed(call.scope, loop or call.node, program, number_beside(call))
    generator = f"{made.text}().manual_seed({seed})"
    unsafe = exists == "some" or runs == "unknown" or _cuda_by_default(program) or _is_for_old_torch(program)
    unsafe = unsafe or differs_by_rank(call) or is_made_side_by_side(call)
    unsafe = unsafe or _is_tried_out(call) or is_run_to_evaluate(facts, program) or _augments_alike(call)
    unsafe = unsafe or is_only_looked_at(call)
    unsafe = unsafe or _STANDS_IN.search(seed) is not None
    unsafe = unsafe or (seed.isdecimal() and (_is_given_a_seed(call.scope.function) or _misses_seed(call)))
    style = program.project.style
    inline = with_argument(facts, call.node, "generator", generator, style)
    is_apart = inline.text.startswith("(")  # what the call is part of is laid out anew
    above = loop if loop is not None or (is_within_width(facts, inline, style) and not is_apart) else _holding(call)
    if above is None:
        return GeneratorFix((inline, *made.edits), unsafe)
    name = _free_name(call)
    named = with_argument(facts, call.node, "generator", name, style)
    if is_apart and loop is None and "\n" in named.text:
        return GeneratorFix((inline, *made.edits), unsafe)
    apart = [""] if loop is not None and top_line(facts, above) < above.lineno else []  # its comments are not ours
    before = insert_before(facts, above, f"{name} = {generator}", *apart, below_comments=loop is None)
    return GeneratorFix((before, named, *made.edits), unsafe)


def _augments_alike(call: Call) -> bool:
    """Whether the workers of each rank would begin with one seed, and draw."""
    if call.name not in loaders() or workers(call) is False or not has_ranks(call.facts, call.program):
        return False
    programs = seedings(call.facts, call.program)
    is_alone = bool(programs) and not any(True for s in programs for _ in s.calls("init_process_group"))
    return not is_alone and bool(worker_draws(call).found)


def _is_given_a_seed(function: Scope) -> bool:
    """Whether a function has a parameter for the seed, which may be none: a number would stand in for it."""
    return function.kind == "function" and any(SEED_NAME.fullmatch(name) for name in named_parameters(function))


def _misses_seed(call: Call) -> bool:
    """Whether a program that runs the file has a seed that cannot be read there, or that its author has turned off. A
    data set is better split alike whatever that is."""
    return call.name != _SPLITS and (
        _has_own_seed(call.facts, call.program) or _is_left_unseeded(call.facts, call.program)
    )


@remembered
def _has_own_seed(facts: ModuleFacts, program: Program) -> bool:
    files = files_of_programs(facts, program.project)
    return has_own_seed(files, program) or is_turned_off(files, program)


@remembered
def _is_left_unseeded(facts: ModuleFacts, program: Program) -> bool:
    """Whether the programs that run the file are reported as unseeded, and a safe fix seeds none of them: then only the
    order of their samples would be the same on every run."""
    own = facts.source.path
    loaded = (program.load(str(path)) for path in (own, *program.project.users([own])[:MAX_PROGRAMS]))
    found = [(s, unseeded(s, program)) for f in loaded if f is not None for s in seedings(f, program)]
    return bool(found) and not any(left is None or _is_seeded_safely(s, left, program) for s, left in found)


def _is_seeded_safely(seeding: Seeding, left: Unseeded, program: Program) -> bool:
    fix = seed_fix(program, seeding, left)
    return fix is not None and not fix.unsafe and is_for_training(seeding, program)


def _is_tried_out(call: Call) -> bool:
    """Whether this is how a module is tried out, under its own guard, where nothing is trained."""
    facts, program = call.facts, call.program
    in_guard = facts.guard is not None and facts.guard in facts.ancestors(call.node)
    if not in_guard or "backward" in facts.calls:
        return False
    return is_tried_out(facts, program.project) or trains_nothing(facts, program)


def _replaceable(call: Call, passed: object) -> bool:
    """Only `None` and PyTorch's own global generator, written at this call, can be replaced."""
    keyword = next((k.value for k in call.node.keywords if k.arg == "generator"), None)
    if keyword is None or not isinstance(passed, Site) or passed.node is not keyword:
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


def _holding(call: Call) -> ast.stmt | None:
    """The statement that makes the call, where a line can go above it."""
    around = list(call.facts.ancestors(call.node))
    statement = next(node for node in around if isinstance(node, ast.stmt))
    in_class = isinstance(call.facts.parents[statement], ast.ClassDef)
    is_later = any(isinstance(node, ast.Lambda) for node in around[: around.index(statement)])
    return statement if isinstance(statement, _PLAIN) and not in_class and not is_later else None


def _cuda_by_default(program: Program) -> bool:
    """Where tensors are made on the GPU by default, samplers need a generator of that device. What a unit test sets
    holds for tests alone."""
    text = program.project.text
    setting = [path for path in text.containing("set_default_") or () if text.has(path, _DEFAULT_DEVICE)]
    files = (program.load(str(path)) for path in setting)
    return any(facts is None or not is_test(facts) for facts in files)


def _is_for_old_torch(program: Program) -> bool:
    """Whether the project is written for a PyTorch of long ago, whatever it says that it needs."""
    return bool(program.project.text.any_match(_BEFORE_0_5, (b"volatile=true", b".data[0]")))


def _free_name(call: Call) -> str:
    """A name for the generator: of a second one, after what it is for."""
    function, number = call.scope.function, number_beside(call)
    inside, outside = _names_in(function, call.program), function.facts.scope.bindings
    held = _KIND.sub("", _target(call)) or "loader"
    names = [f"{held}_generator", f"generator_{number + 1}"] if number else ["generator", "loader_generator"]
    return next(n for n in (*names, "data_generator", "seeded_generator_") if n not in inside and n not in outside)


@remembered
def _names_in(function: Scope, program: Program) -> set[str]:  # noqa: ARG001
    return {name for scope in function.descend() for name in scope.bindings}


def _target(call: Call) -> str:
    """The name that the result of the call gets: `loader`, of `self.loader` too."""
    match call.facts.parents[call.node]:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            return last_name(target)
    return ""
