"""The fix of TRP101 in a program that does not seed by default: another default of the option that decides it."""

from __future__ import annotations

import ast

from torchrepro_lint.checks.seed_beside import seeds_below
from torchrepro_lint.checks.seed_calls import SeedFix
from torchrepro_lint.checks.seed_doubts import is_for_something_else, warns
from torchrepro_lint.checks.seed_families import families_of
from torchrepro_lint.checks.seed_option import option_that_is_off, with_default
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.execution_count import times
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.seeding.seeding import Seeding, SeedMet
from torchrepro_lint.seeding.unseeded import Unseeded


def switched_on(program: Program, seeding: Seeding, found: Unseeded, process: Scope | None = None) -> SeedFix | None:
    """The default of the option without which the program, or what a process runs, does not seed, with the seeds that
    are missing there."""
    first = min((w.number for w in found.draws.values() if w.process is process), default=0)
    met = [m for m in seeding.met if m.process is process and m.seeder is not None and m.number <= first]
    for last in reversed(met):
        option = option_that_is_off(seeding, last)
        if option is None or times(program, last.scope) == "often":
            continue
        together = [m for m in met if m.scope is last.scope and m.seeder is not None]
        done = {family for m in together if m.seeder is not None for family in m.seeder.families}
        missing = [f for f in families_of(program, seeding, found, process) if f not in done]
        added = seeds_below(program, last, missing)
        is_enough = bool(added) or not missing or done.issuperset(found.draws)
        number = str(usual_seed(option.facts, program) or int(_wants_more_than_none(last)))
        edits = (*with_default(option, number, program), *added)
        return SeedFix(edits, warns(last) or is_for_something_else(last, program)) if is_enough else None
    return None


def _wants_more_than_none(met: SeedMet) -> bool:
    """Whether a test before a call that seeds, or one that leads to it, takes 0 for no seed: `if args.seed > 0:`,
    `if args.seed:`."""
    sites = ((met.node, met.scope), *((step.node, step.scope) for step in met.chain))
    tests = (c.test for node, scope in sites for c in conditions(node, scope) if c.holds)
    return any(isinstance(t, ast.Name | ast.Attribute | ast.Subscript) or _is_positive(t) for t in tests)


def _is_positive(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            return True
    return False
