"""Where a fix that gives one object a seed of its own is not safe: what makes it doubtful that the program's author
wants an order of its own for these samples (TRP201, TRP203), with this number (TRP112 as well). Such a fix is offered,
and a person decides.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.checks.said_on_purpose import is_on_purpose, lines_on_purpose
from torchrepro_lint.checks.seed_doubts import is_one_round
from torchrepro_lint.checks.seed_edit import seed_fix
from torchrepro_lint.dataflow import Call, Program, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Constant
from torchrepro_lint.dataflow.binding import named_parameters
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.dataflow.execution_count import runs_in_each_pass, runs_often
from torchrepro_lint.index import LoopNode, ModuleFacts, Scope, last_name, walk
from torchrepro_lint.loading.loaders import loader_calls, loaders, workers
from torchrepro_lint.loading.looked_at import is_for_evaluation, is_only_looked_at, replaced
from torchrepro_lint.loading.same_order import differs_by_rank, is_copied, is_made_side_by_side
from torchrepro_lint.loading.worker_draws import worker_draws
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.declarations import constant, declared_options
from torchrepro_lint.project.entries import entries, files_of_programs, is_tried_out
from torchrepro_lint.rng.own_seed import seeded_with
from torchrepro_lint.rng.ranks import has_ranks
from torchrepro_lint.rng.seed_options import SEED_NAME
from torchrepro_lint.rng.usual_seed import has_own_seed, is_turned_off, reads_configured
from torchrepro_lint.seeding import training
from torchrepro_lint.seeding.seeding import Seeding, SeedMet
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.unseeded import Unseeded, unseeded

_SPLITS = "torch.utils.data.random_split"
_STANDS_IN = re.compile(r" or | if |^\(?max\(")  # for a seed that its user chose not to give: `args.seed or 0`
_DEFAULT_DEVICE = re.compile(rb"\bset_default_(?:device|tensor_type)\(")
# What no PyTorch with generators for loaders can run, or understands: github.com/pytorch/pytorch/releases/tag/v0.4.0
_BEFORE_0_5 = re.compile(rb"\bvolatile=True\b|\b\w{0,80}loss\w{0,80}\.data\[0\]")


def is_unclear(call: Call, seed: str, program: Program) -> bool:
    """Whether a generator that is seeded with `seed` may not be what an author would give the loader or sampler."""
    return (
        is_seed_unclear(call, seed, program)
        or (lines_on_purpose(call.facts) and is_on_purpose(call.facts, call.node))
        or (_takes_other_generators(program) or differs_by_rank(call))
        or (is_made_side_by_side(call) or is_copied(call))
        or is_for_evaluation(call)
        or _augments_alike(call)
        or is_only_looked_at(call)
        or training.is_notebook_without_training(call.facts, program)
        or call.node in _made_again(call.facts, call.program)
    )


def is_seed_unclear(call: Call, seed: str, program: Program) -> bool:
    """Whether it is for a person to say if what `call` makes is to be seeded at all, or with another number."""
    return (
        is_only_tried_out(call)
        or _is_there_for_something_else(call.facts, program)
        or (call.name != _SPLITS and (_is_seeded_anew(call.facts, program) or _is_of_evaluations(call.facts, program)))
        or (_STANDS_IN.search(seed) is not None or _is_seeded_otherwise(call, seed))
        or (_is_given_a_seed(call.scope.function) if seed.isdecimal() else seed in _off_by_default(call.facts))
        or (call.name != _SPLITS and seed.isdecimal() and _misses_seed(call.facts, call.program))
        or (call.name != _SPLITS and is_never_seeded(call.facts, call.program))
        or (call.name != _SPLITS and _is_one_round(call.facts, call.program))
    )


@remembered
def _takes_other_generators(program: Program) -> bool:
    """Whether loaders of the project need a generator of another device, or run where they take none."""
    return _cuda_by_default(program) or _is_for_old_torch(program)


@remembered
def _is_there_for_something_else(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file evaluates, tests, or by its name does anything but train."""
    return training.is_run_to_evaluate(facts, program) or is_test(facts) or training.is_called_otherwise(facts, program)


def _is_seeded_otherwise(call: Call, seed: str) -> bool:
    """Whether the function seeds with something else: `args.seed` may split the data where `args.runseed` trains."""
    given = seeded_with(call.scope.function, call.node, call.program) if not seed.isdecimal() else None
    if call.name == _SPLITS or given is None:
        return False
    owner = call.scope.binding_scope(given)
    held = [ast.unparse(b.value) for b in owner.bindings[given] if b.value is not None] if owner is not None else []
    return not seed.startswith((given, *held))


@remembered_in_file
def _off_by_default(facts: ModuleFacts) -> set[str]:
    """How a file reads the option for its seed where its default is none: `default=0`, with `if args.seed != 0:` above
    what it seeds with."""
    found = set()
    for name in ("manual_seed", "seed", "seed_everything", "set_seed"):
        for call, scope in facts.calls.get(name, ()):
            for seed in call.args[:1]:
                if any(_is_off(c.test, c.holds, seed, facts) for c in conditions(call, scope)):
                    found.add(facts.text(seed))
    return found


def _is_off(test: ast.expr, holds: bool, seed: ast.expr, facts: ModuleFacts) -> bool:
    """Whether a test of a seed comes out otherwise for its default, a number; or tells seeds from one below 0 that
    stands for none, which whoever runs the program may give."""
    match test:
        case ast.Compare(left=left, ops=[_], comparators=[ast.UnaryOp(op=ast.USub(), operand=ast.Constant())]):
            return ast.unparse(left) == ast.unparse(seed)
        case ast.Compare(left=left, ops=[ast.GtE() | ast.Lt()], comparators=[ast.Constant(value=0)]):
            return ast.unparse(left) == ast.unparse(seed)
    option = declared_options(facts).get(last_name(seed))
    if option is None or type(option.value) is not int:
        return False
    match test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.NotEq() as op], comparators=[value]):
            least = constant(value)
            if ast.unparse(left) != ast.unparse(seed) or type(least) is not int:
                return False
            comes_out = option.value > least if isinstance(op, ast.Gt) else option.value != least
            return comes_out is not holds
    return ast.unparse(test) == ast.unparse(seed) and bool(option.value) is not holds


@remembered
def _made_again(facts: ModuleFacts, program: Program) -> set[ast.Call]:
    """The loaders that one function makes more than once, as where the first is exhausted: they should share one
    generator. In a notebook, where cells stand by themselves, none."""
    alike: dict[tuple[Scope, str], list[ast.Call]] = {}
    dumped: dict[str, str] = {}  # by the text
    left_out = replaced(facts, program)
    for call in [] if facts.source.cells else loader_calls(facts, program):
        if call.node in left_out:
            continue
        text = facts.text(call.node)
        if text not in dumped:
            dumped[text] = ast.dump(call.node)
        alike.setdefault((call.scope.function, dumped[text]), []).append(call.node)
    return {node for nodes in alike.values() if len(nodes) > 1 for node in nodes}


class _Seeded(NamedTuple):
    """How the programs that a file starts are seeded. `anew`: torch is seeded again and again, for each of several
    runs; a data set may seed for each sample. `chosen`: it is first seeded
    with what is no constant of the code. `left`: for each program whether it is reported as unseeded, and no safe
    fix seeds it. `never`: the same, and what draws then is seeded by nothing. `evaluates`: whether it uses a model, and
    trains none."""

    anew: bool
    chosen: bool
    left: tuple[bool, ...]
    never: tuple[bool, ...]
    evaluates: tuple[bool, ...]


@remembered
def _seeded(facts: ModuleFacts, program: Program) -> _Seeded:
    programs = seedings(facts, program)
    of_each = [[m for m in s.met if m.seeder is not None and "torch" in m.seeder.families] for s in programs]
    seeds = (m for found in of_each for m in found)
    anew = (m for m in seeds if runs_often(program, m.node, m.scope) or _begins_runs(m.scope.function, program))
    left = tuple(_is_left(seeding, program) for seeding in programs)
    never = (is_left or _is_unseen(seeding, program) for is_left, seeding in zip(left, programs, strict=True))
    return _Seeded(
        not all(runs_in_each_pass(m.scope.function, program) for m in anew),
        any(_is_chosen(found[0], program) for found in of_each if found),
        left,
        tuple(is_never and not _seeds_torch(s, program) for is_never, s in zip(never, programs, strict=True)),
        tuple(training.evaluates(s, program) for s in programs),
    )


def _is_chosen(met: SeedMet, program: Program) -> bool:
    """Whether a program is seeded with what is no number of its code. A data set may seed for each sample."""
    seed = met.seeder.seed if met.seeder is not None else None
    if seed is None or met.scope.function.own_name == "__getitem__":
        return False
    handed = [(a, link.scope) for link in met.chain[-1:] for a in getattr(link.node, "args", ())]
    given = [(seed, met.scope), *handed]  # of a function that many call, the one call that leads here
    return not any(isinstance(o, Constant) for a, scope in given for o in program.origins(a, scope))


def _seeds_torch(seeding: Seeding, program: Program) -> bool:
    """Whether a process of a program that is reported to draw may seed torch."""
    left = unseeded(seeding, program)
    drawing = {witness.process for witness in left.draws.values()} if left is not None else set()
    seeds = (m for m in seeding.met if not _is_of_item(m) and (m.seeder is None or "torch" in m.seeder.families))
    return any(not drawing or met.process in drawing for met in seeds)


def _is_of_item(met: SeedMet) -> bool:
    """Whether a data set seeds for each of its items, which says nothing of the run."""
    return met.scope.function.own_name == "__getitem__"


def _begins_runs(function: Scope, program: Program) -> bool:
    """Whether what seeds is a run of its own, with a loop, of which a file has several, one after the other: then each
    run, and each cell of a notebook, begins alike."""
    if function.kind == "module" or not any(isinstance(node, LoopNode) for node in walk(function.node)):
        return False
    calls = program.callers.in_sight(function)
    blocks = {id(block) for call, where in calls for block in [block_of(where.facts, where.facts.statement(call))]}
    return len(calls) > len(blocks)


def _is_unseen(seeding: Seeding, program: Program) -> bool:
    """Whether it is not known what the files that a program imports draw."""
    own = seeding.entry.facts.source.path
    is_alone = program.project.reachable(own) <= {own}
    return not is_alone and unseeded(seeding, program) is None


def _is_left(seeding: Seeding, program: Program) -> bool:
    left = unseeded(seeding, program)
    return left is not None and not _is_seeded_safely(seeding, left, program)


@remembered
def _is_seeded_anew(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program that runs the file seeds again and again: the order of one that goes on with the same generator
    would depend on those before it."""
    return any(_seeded(f, program).anew for f in _running(facts, program))


@remembered
def _is_one_round(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program that runs the file trains for one round: the next one would begin with the same order."""
    return any(map(is_one_round, _running(facts, program)))


def _running(facts: ModuleFacts, program: Program) -> Iterator[ModuleFacts]:
    """The file, and those that import it."""
    own = facts.source.path
    return program.loaded((own, *program.project.users([own])[: training.MAX_PROGRAMS]))


def _augments_alike(call: Call) -> bool:
    """Whether the workers of each rank would begin with one seed, and draw, or may and have not begun so until now."""
    if call.name not in loaders() or not has_ranks(call.facts, call.program) or workers(call) is False:
        return False
    programs = [s for facts in _running(call.facts, call.program) for s in seedings(facts, call.program)]
    of_ranks = [s for s in programs if any(s.calls("init_process_group"))]
    if programs and not of_ranks:
        return False
    draws, begin_alike = worker_draws(call), bool(of_ranks) and all(_seeds_torch(s, call.program) for s in of_ranks)
    return bool(draws.found) or (draws.unseen and not begin_alike)


def _is_given_a_seed(function: Scope) -> bool:
    """Whether a function has a parameter for the seed, which may be none: a number would stand in for it."""
    return function.kind == "function" and any(SEED_NAME.fullmatch(name) for name in named_parameters(function))


@remembered
def _misses_seed(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program that runs the file has a seed that cannot be read there, that its author has turned off, or
    that is chosen for each run."""
    return (
        _has_own_seed(facts, program)
        or _is_left_unseeded(facts, program)
        or any(_seeded(f, program).chosen for f in _running(facts, program))
    )


def _has_own_seed(facts: ModuleFacts, program: Program) -> bool:
    files = files_of_programs(facts, program.project)
    if has_own_seed(files, program) or is_turned_off(files, program):
        return True
    loaded = list(program.loaded(sorted({facts.source.path, *files})))
    seeding = catalogue.table("callables")["seeds_each_run"]["packages"]
    return any(not f.packages.isdisjoint(seeding) for f in loaded) or reads_configured(loaded, program)


def _is_left_unseeded(facts: ModuleFacts, program: Program) -> bool:
    """Whether the programs that run the file are reported as unseeded, and a safe fix seeds none of them: then only the
    order of their samples would be the same on every run."""
    left = [is_left for f in _running(facts, program) for is_left in _seeded(f, program).left]
    return bool(left) and all(left)


@remembered
def _is_of_evaluations(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file is no program, and those that run it only evaluate."""
    if entries(facts, program.project):
        return False
    found = [is_one for f in _running(facts, program) for is_one in _seeded(f, program).evaluates]
    return bool(found) and all(found)


@remembered
def is_never_seeded(facts: ModuleFacts, program: Program) -> bool:
    """Whether the programs that run the file seed nothing, nor does a safe fix: whatever option there is for it, they
    do not read it yet."""
    never = [is_never for f in _running(facts, program) for is_never in _seeded(f, program).never]
    return bool(never) and all(never)


def _is_seeded_safely(seeding: Seeding, left: Unseeded, program: Program) -> bool:
    fix = seed_fix(program, seeding, left)
    return fix is not None and not fix.unsafe and training.is_for_training(seeding, program)


def is_only_tried_out(call: Call) -> bool:
    """Whether this is how a module is tried out, under its own guard, where nothing is trained."""
    facts, program = call.facts, call.program
    in_guard = facts.guard is not None and facts.guard in facts.ancestors(call.node)
    if not in_guard or "backward" in facts.calls:
        return False
    return is_tried_out(facts, program.project) or training.trains_nothing(facts, program)


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
