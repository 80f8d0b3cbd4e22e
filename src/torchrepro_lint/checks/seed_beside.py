"""Seeds of other generators below a call that seeds one in any case, with the seed that it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchrepro_lint.checks import seed_calls
from torchrepro_lint.checks.draft import Fix
from torchrepro_lint.checks.seed_doubts import is_for_something_else
from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.execution_count import times
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit
from torchrepro_lint.rng.seed_options import is_seed
from torchrepro_lint.seeding.seeding import SEEDED, Seeding, SeedMet
from torchrepro_lint.seeding.unseeded import Unseeded
from torchrepro_lint.syntax import insert_after

_NAMES = frozenset(".".join(call) for call in seed_calls.SEED_CALLS.values())
_SEEDS = re.compile(r"seed|random|rng|reprod|determin|init|set_?up", re.IGNORECASE)


def beside(program: Program, seeding: Seeding, found: Unseeded) -> Fix | None:
    """Below a call that seeds another generator in any case, before all draws, with the seed that it is given."""
    first = min((w.number for w in found.draws.values() if w.process is None), default=0)
    for met in seeding.met:
        function = met.scope.function
        is_near = (
            met.scope.facts is seeding.entry.facts or _SEEDS.search(function.name) or seed_calls.leads(function, found)
        )
        is_sure = met.process is None and met.sure and met.level == SEEDED and met.number < first
        is_sure = is_sure and not seed_calls.may_be_left_out(program, met)
        if is_sure and is_near and not seed_calls.is_for_own_draws(program, seeding, found, function):
            edits = seeds_below(program, met, seed_calls.families_of(program, seeding, found, None))
            if edits and times(program, met.scope) != "often":
                return Fix(edits, is_for_something_else(met, program))
    return None


def seeds_below(program: Program, met: SeedMet, families: Sequence[str]) -> tuple[Edit, ...]:
    """Seeds of other generators below a call that seeds, where what it is given can be worked out again."""
    facts = met.scope.facts
    statement, seed = _last_of_seeds(facts, facts.statement(met.node)), _copied_seed(program, met)
    if seed is None or not families:
        return ()
    lines, edits = seed_calls.seed_calls(met.scope, statement, families, seed)
    return (*edits, insert_after(facts, statement, *lines))


def _copied_seed(program: Program, met: SeedMet) -> str | None:
    """The seed of a call that is a statement by itself, where it gives the same number when it is worked out again."""
    seed = met.seeder.seed if met.seeder is not None else None
    if seed is None or program.callee(met.node, met.scope) not in _NAMES:
        return None
    facts = met.scope.facts
    is_alone = isinstance(facts.parents.get(met.node), ast.Expr) and met.scope.kind in ("module", "function")
    is_number = not isinstance(seed, ast.Constant) or is_seed(seed)
    is_pure = not any(isinstance(n, ast.Call | ast.NamedExpr | ast.Await) for n in ast.walk(seed))
    return facts.text(seed) if is_alone and is_number and is_pure else None


def _last_of_seeds(facts: ModuleFacts, statement: ast.stmt) -> ast.stmt:
    """The last of the calls that seed in a row."""
    block: list[ast.stmt] = getattr(facts.parents[statement], "body", [])
    following = block[block.index(statement) + 1 :] if statement in block else []
    for other in following:
        match other:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if "seed" in name:
                statement = other
            case _:
                break
    return statement
