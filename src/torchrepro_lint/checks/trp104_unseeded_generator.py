"""TRP104: a generator is made without a seed."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import as_first
from torchrepro_lint.checks.configured import is_none, placed
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.unseeded_augmentation import unseeded_augmentation
from torchrepro_lint.checks.unseeded_pipeline import unseeded_pipeline
from torchrepro_lint.checks.unseeded_search import unseeded_search
from torchrepro_lint.checks.unseeded_stream import unseeded_stream
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Program, Site, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Constant
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.dataflow.options import certainty_of
from torchrepro_lint.dataflow.reachability import reached_by_default
from torchrepro_lint.index import ModuleFacts, Scope, walk
from torchrepro_lint.model import Certainty, Edit, Level, Range
from torchrepro_lint.project.disk import exists
from torchrepro_lint.project.entries import files_of_programs
from torchrepro_lint.rng.generators import is_given_a_state, is_only_drawn_from, leaving_out, names_something
from torchrepro_lint.rng.own_seed import generator_seed, numbered
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.seeding.training import is_named_otherwise, trains_nothing
from torchrepro_lint.syntax import replace, top_line

_STARTS = frozenset({"Pool", "Process", "ProcessPoolExecutor", "Parallel", "spawn", "start_processes"})
_MEANT = re.compile(
    r"random(?:ly)? (?:choos|initiali[sz]|pick|seed|select|start)|(?:initiali[sz]|seed|start)ed? random(?:ly)?",
    re.IGNORECASE,
)


def check(module: Module, program: Program) -> Iterator[Draft]:
    rows = catalogue.names("generators", "generators")
    for call in module.calls(rows.keys()):
        row = rows[call.name]
        seed = call.argument(row["seed"], row["position"])
        certainty = _certainty(seed, program)
        if certainty is None or call.subclass is not None:
            continue
        if is_given_a_state(call, program) or names_something(call, program):
            continue
        if not reached_by_default(call.node, call.scope, program, about_seed):
            continue
        left_out = leaving_out(call, program)
        if left_out is not None and not left_out:
            continue  # no caller is known that passes no generator
        draft = Draft(
            call.node,
            {"call": call.written, "seed": seed.scope.facts.text(seed.node) if isinstance(seed, Site) else ""},
            None if seed is None else "option" if certainty is Certainty.LIKELY else "none",
            certainty=Certainty.LIKELY if left_out else certainty,
            properties={"family": row["family"]},
            related=tuple(Place(scope.facts, caller, "called without a generator") for caller, scope in left_out or ()),
            edits=_seeded(call, seed, certainty, program),
            unsafe=_is_variable(seed)
            or not runs_once(program, call.node, call.scope)
            or _is_meant(call)
            or _is_for_others(call, program)
            or _is_for_processes(call)
            or (left_out is not None and _is_of_package(call.facts, program))
            or (bool(call.facts.source.cells) and trains_nothing(call.facts, program))
            or is_named_otherwise(call.facts, program),
        )
        yield placed(draft, seed if isinstance(seed, Site) else None, program, str(program.project.seed), is_none)
    yield from _torch(module, program)
    yield from unseeded_augmentation(module, program)
    yield from unseeded_search(module, program)
    yield from unseeded_stream(module, program)
    yield from unseeded_pipeline(module, program)


def _torch(module: Module, program: Program) -> Iterator[Draft]:
    """A torch.Generator starts with a fixed default seed."""
    for call in module.calls({"torch.Generator"}):
        if call.subclass is None and is_only_drawn_from(call, program):
            seed = generator_seed(call.scope, call.node, program)
            end = call.facts.range(call.node).end
            edit = Edit(call.facts.source.rel, Range(end, end), f".manual_seed({seed})")
            once = runs_once(program, call.node, call.scope)
            yield Draft(call.node, {"call": call.written}, "constant", Level.NOTE,
                        properties={"family": "torch"}, edits=(edit,), unsafe=not once)  # fmt: skip


def _certainty(seed: object, program: Program) -> Certainty | None:
    """Certain without a seed or with None, likely for an option that is None by default; None where there is a seed."""
    if seed is None:
        return Certainty.CERTAIN
    if seed is UNKNOWN or not isinstance(seed, Site):
        return None
    return certainty_of(*seed, program, is_none)


def _seeded(call: Call, seed: object, certainty: Certainty, program: Program) -> tuple[Edit, ...]:
    """Pass the program's seed; a seed that is an option is the user's to choose. No edits where each sample, epoch or
    call would then draw the same."""
    if certainty is Certainty.LIKELY or runs_often(program, call.node, call.scope) or _draws_alike(call):
        return ()
    text = numbered(generator_seed(call.scope, call.node, program), _number(call, program))
    edits = as_first(call, seed, text)
    default = _default(seed, program) if isinstance(seed, Site) and not edits else None
    if default is None:
        return edits
    return (replace(default.scope.facts, default.node, str(usual_seed(call.facts, program))),)


def _number(call: Call, program: Program) -> int:
    """How many generators of this kind the file makes before, of those that a fix seeds: from one seed all would give
    the same numbers."""
    return bisect_left(_places(call.facts, call.name, program), (call.node.lineno, call.node.col_offset))


@remembered
def _places(facts: ModuleFacts, name: str, program: Program) -> list[tuple[int, int]]:
    calls = (c for c in Module(facts, program).calls({name}) if not runs_often(program, c.node, c.scope))
    return [(call.node.lineno, call.node.col_offset) for call in calls]


def _draws_alike(call: Call) -> bool:
    """Whether a function without parameters returns what it draws: seeded, it would always return the same value."""
    function = call.scope.function
    if not isinstance(function.node, ast.FunctionDef) or function.own_name == "main":
        return False
    if any(isinstance(a, ast.arg) for a in walk(function.node.args)):
        return False
    made = call.facts.parents[call.node]
    names = {t.id for t in made.targets if isinstance(t, ast.Name)} if isinstance(made, ast.Assign) else set()
    return not _drawn_from(function).isdisjoint({call.node, *names})


@remembered_in_file
def _drawn_from(function: Scope) -> frozenset[ast.expr | str]:
    """The objects, or their names, of which a method is called in what a function returns."""
    returned = [n.value for n in walk(function.node) if isinstance(n, ast.Return) and n.value is not None]
    drawn = (n.func for value in returned for n in walk(value) if isinstance(n, ast.Call))
    receivers = [f.value for f in drawn if isinstance(f, ast.Attribute)]
    return frozenset(r.id if isinstance(r, ast.Name) else r for r in receivers)


def _is_meant(call: Call) -> bool:
    """Whether a comment says that a generator starts with other numbers each time."""
    facts = call.facts
    statement = facts.statement(call.node)
    lines = range(top_line(facts, statement), (statement.end_lineno or 0) + 1)
    return any(_MEANT.search(facts.source.line(n).partition("#")[2]) for n in lines)


def _is_for_others(call: Call, program: Program) -> bool:
    """Whether a library has one generator for all who import it, which no program in sight does."""
    is_shared = call.scope.function.kind == "module" and not call.facts.source.cells
    return is_shared and not files_of_programs(call.facts, program.project)


def _is_for_processes(call: Call) -> bool:
    """Whether a file that starts processes has a generator at its top: those that import the file again would all begin
    with the same numbers."""
    return call.scope.kind == "module" and not _STARTS.isdisjoint(call.facts.calls)


def _is_of_package(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file is part of a package, whose functions others may call as well."""
    return bool(program.project.disk(exists, str(facts.source.path.parent / "__init__.py")))


def _is_variable(seed: object) -> bool:
    """Whether the fix is to change what a parameter is by default, for everybody who calls the function."""
    return isinstance(seed, Site) and not isinstance(seed.node, ast.Constant)


def _default(seed: Site, program: Program) -> Constant | None:
    """The default None of a parameter, when the seed can be nothing else."""
    origins = program.origins(seed.node, seed.scope)
    nodes = {getattr(origin, "node", None) for origin in origins}
    origin = origins[0] if len(nodes) == 1 else None
    if isinstance(origin, Constant) and isinstance(origin.scope.facts.parents.get(origin.node), ast.arguments):
        return origin
    return None
