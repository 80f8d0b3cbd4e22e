"""The part of TRP102 about calls that choose a new seed by themselves: `np.random.seed()`, `torch.seed()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import as_first
from torchrepro_lint.checks.configured import is_none, placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.nonconstant_seed_fix import is_worker_init, seed_or_workers
from torchrepro_lint.dataflow.binding import keyword_value
from torchrepro_lint.dataflow.calls import Call, Module
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reachability import cleans_up, reached_by_default
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Scope
from torchrepro_lint.model import Edit
from torchrepro_lint.project.declarations import attribute_of, flags_of
from torchrepro_lint.project.unknown import UNKNOWN
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.seed_options import SEED_NAME
from torchrepro_lint.syntax import Import, import_name, replace

_COMPUTES = frozenset({"torch", "numpy", "lightning", "pytorch_lightning", "transformers", "accelerate"})
NONE_IS_RANDOM = {"numpy.random.seed": "seed", "random.seed": "a", "cupy.random.seed": "seed"}


def without_seed(module: Module, program: Program) -> Iterator[Draft]:
    """Seeders without a seed, or with None, take one from the operating system."""
    for call in module.calls(NONE_IS_RANDOM.keys()):
        seed = call.argument(NONE_IS_RANDOM[call.name], 0)
        if seed is UNKNOWN or (isinstance(seed, Site) and not _is_none(seed, program)):
            continue
        if not _counts(call, program):
            continue
        text, imports = seed_or_workers(program, call.scope, call.node)
        edits = as_first(call, seed, text)
        if call.facts.packages.isdisjoint(_COMPUTES):
            edits = ()  # whatever it plays or chooses, it trains nothing
        in_worker = is_worker_init(call.scope, program)
        unsafe = not (in_worker or runs_once(program, call.node, call.scope))
        often = not in_worker and runs_often(program, call.node, call.scope)
        edits = (*edits, *imports) if edits and not often else ()
        draft = Draft(call.node, {"call": call.written}, "none", edits=edits, unsafe=unsafe)
        given = seed if isinstance(seed, Site) else None
        yield placed(draft, given, program, str(program.project.seed), is_none)


def drawn_by_default(module: Module, program: Program) -> Iterator[Draft]:
    """Options for the seed whose default is drawn anew in each run."""
    for node, scope in module.facts.calls.get("add_argument", ()):
        flag = next((f for f in flags_of(node) if SEED_NAME.fullmatch(attribute_of(f))), None)
        default = keyword_value(node, "default")
        if flag is None or default is None:
            continue
        from torchrepro_lint.rng.entropy import Entropy  # imported late: few files have such an option
        from torchrepro_lint.rng.usual_seed import usual_seed

        sources = Entropy(program).sources(default, scope)
        if sources:
            edits = (replace(module.facts, default, str(usual_seed(module.facts, program))),)
            yield Draft(default, {"call": flag, "what": sources[0].what}, "option", edits=edits)


def _counts(call: Call, program: Program) -> bool:
    """Whether a call seeds what comes after it, unless an option says otherwise."""
    return not cleans_up(call.node, call.scope, program) and reached_by_default(
        call.node, call.scope, program, about_seed
    )


def _is_none(seed: Site, program: Program) -> bool:
    """Whether the seed is None, and no test such as `if seed:` prevents its use."""
    if isinstance(seed.node, ast.Constant):
        return seed.node.value is None
    if conditions(seed.node, seed.scope):
        return False
    values = program.constants(seed.node, seed.scope)
    return bool(values) and all(v is None for v in values or ())


def reseeded(module: Module, program: Program) -> Iterator[Draft]:
    """Calls that draw a new seed and use it."""
    rows = catalogue.names("generators", "reseeders")
    found = list(module.calls(rows.keys()))
    for node, scope in module.facts.calls.get("seed", ()):
        if not node.args and not node.keywords and _is_on_generator(node, scope, program):
            found.append(Call(node, scope, "torch.Generator.seed", program))
    for call in found:
        if not _forwards(call) and _counts(call, program):
            yield _reseed(call, rows.get(call.name), program)


def _forwards(call: Call) -> bool:
    """Whether `seed()` is what a function of the same name is: an interface over several back ends calls nothing."""
    name = call.scope.function.own_name
    return isinstance(call.facts.parents[call.node], ast.Return) and name == call.written.rpartition(".")[2]


def _is_on_generator(call: ast.Call, scope: Scope, program: Program) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    match call.func.value:
        case ast.Subscript(value=several) if program.qualified(several, scope) == "torch.cuda.default_generators":
            return True
    return "torch.Generator" in program.makers(call.func.value, scope)


def _reseed(call: Call, row: Mapping[str, Any] | None, program: Program) -> Draft:
    """`torch.seed()` becomes `torch.manual_seed(SEED)`, unless its result, the new seed, is used."""
    edits: tuple[Edit, ...] = ()
    in_worker = is_worker_init(call.scope, program)
    often = not in_worker and runs_often(program, call.node, call.scope)
    if isinstance(call.facts.parents[call.node], ast.Expr) and not often:
        instead = Import(f"{call.written.removesuffix('seed')}manual_seed")
        if row is not None:
            instead = import_name(call.facts, row["instead"], call.scope, call.node)
        seed, more = seed_or_workers(program, call.scope, call.node)
        edits = (replace(call.facts, call.node, f"{instead.text}({seed})"), *instead.edits, *more)
    unsafe = not (in_worker or runs_once(program, call.node, call.scope))
    return Draft(call.node, {"call": call.written}, "reseed", edits=edits, unsafe=unsafe)
