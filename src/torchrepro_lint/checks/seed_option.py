"""The option that decides whether a program seeds, where by default it does not; and the fix of TRP101 that gives it
another default.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchrepro_lint.checks.draft import Fix
from torchrepro_lint.checks.seed_beside import seeds_below
from torchrepro_lint.checks.seed_calls import families_of
from torchrepro_lint.checks.seed_doubts import is_for_something_else, warns
from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.binding import keyword_value
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.execution_count import times
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.model import Edit
from torchrepro_lint.project.declarations import constant, declarations, declared_options, takes_integers
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.seeding.seeding import Seeding, SeedMet
from torchrepro_lint.seeding.unseeded import Unseeded
from torchrepro_lint.syntax import replace, with_argument

_TOLD = re.compile(r"(\bdefault(?:s to|:|=| is)?\s*)(?:-1|None)\b", re.IGNORECASE)


class Declaration(NamedTuple):
    """The call that declares an option, and its file."""

    call: ast.Call
    facts: ModuleFacts


def option_that_is_off(seeding: Seeding, met: SeedMet) -> Declaration | None:
    """The option that gives a call its seed, directly or through the calls that lead to it, where by default it is None
    or negative, and no test but those of a seed decides whether the program comes by."""
    sites = [*((step.node, step.scope) for step in met.chain), (met.node, met.scope)]
    calls = [node for node, _ in sites if isinstance(node, ast.Call)]
    passed = [value for call in calls for value in (*call.args, *(k.value for k in call.keywords))]
    tests = [ast.unparse(c.test).lower() for node, scope in sites for c in conditions(node, scope)]
    if any("seed" not in test and "__name__" not in test for test in tests):
        return None
    named = {last_name(a) for a in passed if isinstance(a, ast.Attribute | ast.Name)}
    names = {name for name in named if "seed" in name.lower()}
    declared = [d for name in sorted(names) for facts in seeding.visited for d in _off_by_default(name, facts)]
    return declared[0] if len(declared) == 1 else None


def negative_option(seeding: Seeding, name: str) -> Declaration | None:
    """The one declaration of an option of a program that is a negative number by default."""
    found = [
        Declaration(call, facts)
        for facts in seeding.visited
        for call, _ in declarations(name, facts)
        if any(k.arg == "default" and _is_negative(constant(k.value)) for k in call.keywords)
    ]
    return found[0] if len(found) == 1 else None


def _is_negative(value: object) -> bool:
    return type(value) is int and value < 0


def with_default(option: Declaration, value: str, program: Program) -> tuple[Edit, ...]:
    """Give an option another default, which its help may tell."""
    call, facts = option
    edits = [with_argument(facts, call, "default", value, program.project.style)]
    told = keyword_value(call, "help")
    if isinstance(told, ast.Constant):
        text = facts.text(told)
        new = _TOLD.sub(rf"\g<1>{value}", text)
        edits += [replace(facts, told, new)] if new != text else []
    return tuple(edits)


def _off_by_default(name: str, facts: ModuleFacts) -> list[Declaration]:
    option = declared_options(facts).get(name)
    if option is None or not (option.value is None or _is_negative(option.value)):
        return []
    return [Declaration(call, facts) for call in takes_integers(name, facts)]


def switched_on(program: Program, seeding: Seeding, found: Unseeded, process: Scope | None = None) -> Fix | None:
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
        return Fix(edits, warns(last) or is_for_something_else(last, program)) if is_enough else None
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
