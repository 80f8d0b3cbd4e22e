"""The option that decides whether a program seeds, where by default it does not."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchrepro_lint.dataflow.binding import keyword_value
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, last_name
from torchrepro_lint.model import Edit
from torchrepro_lint.project.declarations import constant, declarations, declared_options, takes_integers
from torchrepro_lint.seeding.seeding import Seeding, SeedMet
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
        if any(k.arg == "default" and is_negative(constant(k.value)) for k in call.keywords)
    ]
    return found[0] if len(found) == 1 else None


def is_negative(value: object) -> bool:
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
    if option is None or not (option.value is None or (type(option.value) is int and option.value < 0)):
        return []
    return [Declaration(call, facts) for call in takes_integers(name, facts)]
