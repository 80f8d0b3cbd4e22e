"""The seeds that a file passes to seeders and generators, and whether they are new in every run.

Knows the catalogue's seeders. A project function whose name says that it seeds counts as one where it is
called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Module, Program, Site, remembered, start_of
from torchrepro_lint.dataflow.binding import argument_place, parameter_at
from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope, keyword_value
from torchrepro_lint.rng.entropy import Entropy, Source
from torchrepro_lint.rng.generators import names_something

_SEEDS = re.compile(r"(?:^|_)(?:seed|seeds|reseed|seeding)(?:$|_)", re.IGNORECASE)
_READS = re.compile(r"^_*(?:get|make|is|has|add|draw|pick|choose|new|random|parse|generate)_", re.IGNORECASE)
_IS_SEED = re.compile(r"(?:seeds?|random_?state)$", re.IGNORECASE)
_OWN_SEED = ("seed", "random_seed", "manual_seed", "base_seed", "rng_seed")


class Seeding(NamedTuple):
    """A call that seeds; `seed` is what it is given, and `sources` what makes that new in every run."""

    call: ast.Call
    scope: Scope
    seed: Site
    sources: tuple[Source, ...] = ()


@cache
def _parameters() -> Mapping[str, tuple[str, int | None]]:
    """Seeder or generator -> its seed parameter's name and place."""
    found: dict[str, tuple[str, int | None]] = {}
    for table, key in (("rng", "seeders"), ("generators", "seeders"), ("generators", "generators")):
        for name, row in catalogue.names(table, key).items():
            if not name.endswith("state"):
                found.setdefault(name, (row["seed"], row.get("position")))
    return found


@remembered
def seeds_anew(facts: ModuleFacts, program: Program) -> tuple[Seeding, ...]:
    """The seedings of a file whose seed is new in every run, in source order."""
    entropy = Entropy(program)
    found = (s._replace(sources=tuple(entropy.sources(*s.seed))) for s in _seedings(Module(facts, program), program))
    return tuple(sorted((seeding for seeding in found if seeding.sources), key=lambda seeding: start_of(seeding.call)))


def _seedings(module: Module, program: Program) -> Iterator[Seeding]:
    seen: set[ast.Call] = set()
    parameters = _parameters()
    for call in module.calls(parameters.keys()):
        seed = call.argument(*parameters[call.name])
        seen.add(call.node)
        if isinstance(seed, Site) and not names_something(call, program):
            yield Seeding(call.node, call.scope, seed)
    for node, scope in module.facts.calls.get("manual_seed", ()):  # of a generator
        seed = Call(node, scope, "", program).argument("seed", 0)
        if node not in seen and isinstance(seed, Site):
            yield Seeding(node, scope, seed)
    yield from _by_name(module, program)


def _by_name(module: Module, program: Program) -> Iterator[Seeding]:
    """Calls of the project's own functions whose name says that they seed."""
    for name, sites in module.facts.calls.items():
        if not _SEEDS.search(name) or _READS.search(name):
            continue
        for node, scope in sites:
            callee = program.resolve(node.func, scope)
            if not isinstance(callee, Scope) or callee.kind != "function":
                continue
            if not _gives_a_seed(node, scope.facts) and not _is_asked(node, scope.facts):
                seed = _given_as_seed(node, callee)
                if seed is not None and not isinstance(seed, ast.Starred) and _may_seed_with(seed, node, callee):
                    program.by_name(True, "that a function seeds", scope, name)
                    yield Seeding(node, scope, Site(seed, scope))


def _given_as_seed(call: ast.Call, function: Scope) -> ast.expr | None:
    """The argument that a function seeds with, by its name: its first, unless it needs several and none is a seed."""
    named = keyword_value(call, *_OWN_SEED)
    assert isinstance(function.node, FunctionNode)
    arguments = function.node.args
    required = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    needed = [a.arg for a in required if a.arg != function.self_name]
    if named is None and len(needed) > 1 and not any(map(_IS_SEED.search, needed)):
        return None
    return named or next(iter(call.args), None)


def _gives_a_seed(call: ast.Call, facts: ModuleFacts) -> bool:
    """Whether what a call gives is called a seed: `seed = worker_seed(base, rank)` works one out, and sets none."""
    match facts.parents[call]:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return _SEEDS.search(name) is not None
        case ast.keyword(arg=str(name)):
            return _SEEDS.search(name) is not None
    return False


def _is_asked(call: ast.Call, facts: ModuleFacts) -> bool:
    """Whether a call is part of a test, as of functions that answer a question: `if misses_seed(place):`."""
    asked: ast.AST = call
    while isinstance(facts.parents[asked], ast.BoolOp | ast.Compare | ast.UnaryOp):
        asked = facts.parents[asked]
    match facts.parents[asked]:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return test is asked
        case ast.comprehension(ifs=tests):
            return asked in tests
        case ast.Expr():
            return False  # `args.seed and set_seed(args.seed)`
    return asked is not call


def _may_seed_with(given: ast.expr, call: ast.Call, function: Scope) -> bool:
    """Whether a function can seed with what it is given: it passes that on, or keeps it in an object."""
    keyword = next((k.arg for k in call.keywords if k.value is given), None)
    parameter = parameter_at(function, keyword, argument_place(call, given))
    reads = function.facts.reads(function.node).of_name(parameter) if parameter is not None else ()
    return parameter is None or any(_is_handed_on(read, function.facts) for read in reads)


def _is_handed_on(read: ast.Name, facts: ModuleFacts) -> bool:
    inner: ast.AST = read
    for outer in facts.ancestors(read):
        match outer:
            case ast.Call(func=called) if inner is not called:
                return True
            case ast.Assign(targets=[*targets]) | ast.AnnAssign(target=targets):
                kept = targets if isinstance(targets, list) else [targets]
                return any(isinstance(target, ast.Attribute | ast.Subscript) for target in kept)
            case ast.stmt():
                return False
        inner = outer
    return False


def seeds_by_name(scope: Scope) -> bool:
    """Whether a function's name says that it seeds: what it is given is judged where it is called."""
    return scope.kind == "function" and bool(_SEEDS.search(scope.own_name))
