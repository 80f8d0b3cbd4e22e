"""Whether the environments of a program of reinforcement learning stay without a seed when TRP101 seeds it: they have
generators of their own, so that two runs part at the first reset all the same. Such a fix is half of one, and a person
decides.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from torchrepro_lint.checks.trp112_unseeded_environment import left_unseeded
from torchrepro_lint.dataflow import Program, remembered_in_file
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.index import ModuleFacts, Scope, keyword_value, walk
from torchrepro_lint.rng.draws import is_seeder
from torchrepro_lint.seeding.seeding import Seeding

_ENVIRONMENTS = frozenset({"gym", "gymnasium"})


def leaves_environments(seeding: Seeding, program: Program) -> bool:
    """Whether all environments that a program makes stay without a seed; one that seeds something already is seeded
    as far as that goes."""
    if seeding.met:
        return False
    made = [
        is_left
        for facts in seeding.visited
        if not facts.packages.isdisjoint(_ENVIRONMENTS)
        for call, is_left in left_unseeded(facts, program).items()
        if seeding.runs(call, facts.scope_of(call))
    ]
    return bool(made) and all(made) and not _seeds_environments(seeding, program)


def _seeds_environments(seeding: Seeding, program: Program) -> bool:
    """Whether a call that may run gives a seed to what is no global generator: `env.seed(1)`, `env.reset(seed=1)`; not
    one for a command that nobody sends: `if command == "seed":`."""
    seeds = (site for site in seeding.calls("seed") if isinstance(site[0].func, ast.Attribute))
    sites = [site for site in seeds if not is_seeder(program.callee(*site))]
    sites += [site for site in seeding.calls("reset") if keyword_value(site[0], "seed") is not None]
    return any(not _waits_for_command(*site, seeding) for site in sites)


def _waits_for_command(call: ast.Call, scope: Scope, seeding: Seeding) -> bool:
    asked = (c.test for c in conditions(call, scope) if c.holds)
    parts = [n.value for test in asked for n in walk(test) if isinstance(n, ast.Constant)]
    commands = [value for value in parts if isinstance(value, str)]
    return bool(commands) and not any(_is_sent(command, scope.function, seeding) for command in commands)


def _is_sent(command: str, receiver: Scope, seeding: Seeding) -> bool:
    """Whether code that may run has the text of a command: not what receives it, nor what that alone calls."""
    nodes = [(node, facts) for facts in seeding.visited for node in _texts(facts).get(command, ())]
    sites = ((node, facts.scope_of(node)) for node, facts in nodes)
    return any(seeding.runs(n, scope) and _is_called(scope.function, receiver, seeding) for n, scope in sites)


def _is_called(sender: Scope, receiver: Scope, seeding: Seeding) -> bool:
    if sender is receiver or sender.kind == "module" or sender.own_name.startswith("__"):
        return sender is not receiver
    return any(scope.function is not receiver for _, scope in seeding.calls(sender.own_name))


@remembered_in_file
def _texts(facts: ModuleFacts) -> Mapping[str, Sequence[ast.Constant]]:
    """The texts that a file has, and where."""
    found: dict[str, list[ast.Constant]] = {}
    for node in walk(facts.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.setdefault(node.value, []).append(node)
    return found
