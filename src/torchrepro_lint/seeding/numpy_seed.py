"""Whether numpy's global generator may be seeded in the programs that a file belongs to.

For a file that starts a program the seeding walk tells. For any other, which may serve many programs, the
project's text is searched for a call that seeds: in doubt the answer is that it may be.
"""

from __future__ import annotations

import re

from torchrepro_lint.dataflow import Program
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.seeding.seedings import seedings

FAMILY = "numpy"
# A call of numpy's seeder, or of something named like a helper that seeds. Parts of names are bounded: a name of a
# million characters would be searched from each of them.
_SEEDS = re.compile(
    rb"\b(?:np|numpy)\.random\.seed\("
    rb"|(?<!def )(?<!\.)\b(?!manual_|initial_|get_|is_)\w{0,80}(?:seed|determinis|reproduc)\w{0,80}\("
    rb"|\.(?!initial_)\w{0,40}(?:set|fix|init|every)\w{0,40}seed\w{0,80}\(|\.seed_\w+\(",
    re.IGNORECASE,
)
_SIGNS = (b"seed", b"determinis", b"reproduc")


def may_be_seeded(facts: ModuleFacts, program: Program) -> bool:
    """Whether a seed may reach numpy's global generator before code of this file draws from it."""
    programs = seedings(facts, program)
    if programs:
        met = (s for s in programs if s.complete)
        seeds = (FAMILY in s.conditional or any(FAMILY in seeder.families for seeder in s.seeders) for s in met)
        return not all(s.complete for s in programs) or any(seeds)
    is_in_project = program.project.text.any_match(_SEEDS, _SIGNS) is not False
    return is_in_project or _SEEDS.search(facts.source.text.encode()) is not None


def is_unseeded(scope: Scope, program: Program) -> bool:
    """Whether code runs in a program that its file starts and that was followed to its end, which seeds nothing."""
    programs = seedings(scope.facts, program)
    runs = scope.function.kind == "module" or any(scope.function in seeding.entered for seeding in programs)
    return bool(programs) and runs and all(s.complete and not s.seeders and not s.met for s in programs)


def is_reported(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program that this file starts is reported for not seeding numpy at all."""
    return any(seeding.missing(FAMILY) is not None for seeding in seedings(facts, program))
