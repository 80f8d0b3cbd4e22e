"""Where the fix of TRP101 seeds: before anything that may draw, where the program's own seed is known."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from torchrepro_lint import syntax
from torchrepro_lint.dataflow import Program
from torchrepro_lint.index import Scope, last_name, walk
from torchrepro_lint.model import Edit
from torchrepro_lint.rng.own_seed import own_seed, parsed_above
from torchrepro_lint.rng.seed_sources import OwnSeed
from torchrepro_lint.seeding.seeding import Seeding
from torchrepro_lint.seeding.setting_up import Beginning, filled_options
from torchrepro_lint.seeding.unseeded import Unseeded

_RANK = re.compile(r"(?:global_|world_|dist_|ddp_)?rank")
_DIVIDES = re.compile(r"(?:^|_)(?:splits?|folds?|partitions?)(?:_|$)")


class Place(NamedTuple):
    """Where seeds go: before or after a statement of `scope`; `own` is the program's seed there."""

    scope: Scope
    statement: ast.stmt
    is_after: bool
    own: OwnSeed | None = None


def works_of(seeding: Seeding, found: Unseeded, process: Scope | None, families: Collection[str]) -> Iterator[ast.AST]:
    """Calls and imports before which the seeds of `families` must stand: those that lead to a draw, or to a seed of one
    of them that counts only sometimes, which is then the user's choice."""
    for witness in found.draws.values():
        if witness.process is process:
            yield from (step.node for step in witness.chain)
    for met in seeding.met:
        if met.process is process and (met.seeder is None or not set(families).isdisjoint(met.seeder.families)):
            yield from (step.node for step in met.way)


def place_of(levels: Collection[Beginning] | Iterator[Beginning], program: Program) -> Place | None:
    """The outermost place where the program's own seed is known, else the outermost of all programs that share it."""
    outermost: Place | None = None
    for scope, body, statement, is_shared in levels:
        if statement is None:
            break
        own = own_seed(scope, statement, program) or parsed_above(scope, statement, body, program)
        if own is not None and own.name.is_parameter and divides_data(scope, program):
            own = None
        if own is not None:
            made = own.name.binding.node
            if own.is_parsed and isinstance(made, ast.stmt) and made in body:
                return Place(scope, _last_filling(body, made, own.name.text), is_after=True, own=own)
            return Place(scope, syntax.top_of_paragraph(scope.facts, body, statement, made), is_after=False, own=own)
        if outermost is None or is_shared:
            outermost = Place(scope, syntax.top_of_paragraph(scope.facts, body, statement), is_after=False)
    return outermost


def ranked_place(levels: Collection[Beginning], works: Collection[ast.AST]) -> tuple[Place, str] | None:
    """Where the work begins in the function that names the rank of its process first, and by which name."""
    for scope, body, statement, _ in levels:
        if statement is None or any(n in works for n in walk(statement) if _names_rank(statement, scope)):
            return None
        index = body.index(statement) + 1 if statement in body else 0
        for made in body[:index] if scope.kind == "function" else ():
            if (name := _names_rank(made, scope)) is not None:
                return Place(scope, made, is_after=True), name
    return None


def _names_rank(statement: ast.stmt, scope: Scope) -> str | None:
    """The name that a statement gives to the rank among all processes, once: `rank, device = init()`."""
    if not isinstance(statement, ast.Assign) or "local" in ast.unparse(statement.value).lower():
        return None
    names = (n.id for target in statement.targets for n in walk(target) if isinstance(n, ast.Name))
    return next((n for n in names if _RANK.fullmatch(n) and len(scope.bindings.get(n, ())) == 1), None)


def divides_data(scope: Scope, program: Program) -> bool:
    """Whether a function only divides data, by its name: its seed is not that of the program."""
    name = scope.function.own_name
    told = scope.function.kind == "function" and _DIVIDES.search(name) is not None
    return program.by_name(told, "that a function only divides data", scope, name)


def _last_filling(body: Sequence[ast.stmt], parsed: ast.stmt, name: str) -> ast.stmt:
    """The last statement that may give the options other values than the command line."""
    following = body[body.index(parsed) + 1 :]
    return next((s for s in reversed(following) if name in filled_options(s)), parsed)


def inserted(place: Place, lines: Sequence[str]) -> Edit:
    scope, statement, is_after, own = place
    facts = scope.facts
    if is_after:
        is_block = hasattr(statement, "body")
        return syntax.insert_after(facts, statement, *[""] * is_block, *lines)
    if own is None and (line := syntax.below_header(facts, statement)) is not None:
        return syntax.insert_at(facts, line, statement, *lines, "")
    if (line := syntax.above_heading(facts, statement)) is not None:
        return syntax.insert_at(facts, line, statement, *lines, "")
    is_below = syntax.is_below_import(facts, statement) or syntax.is_below_check(facts, statement)
    is_joined = is_below or syntax.joins_others(facts, statement)
    apart = is_joined or (syntax.stands_apart(facts, statement) and not _seeds(statement))
    return syntax.insert_before(facts, statement, *[""] * is_joined, *lines, *[""] * apart)


def _seeds(statement: ast.stmt) -> bool:
    """Whether a statement is a call that seeds, by its name, as of the GPUs alone."""
    match statement:
        case ast.Expr(value=ast.Call(func=function)):
            return "seed" in last_name(function)
    return False
