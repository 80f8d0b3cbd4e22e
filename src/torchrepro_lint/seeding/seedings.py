"""The programs that a file starts, each interpreted once; kept for the file that was asked for last.

And whether one that a file belongs to may seed numpy's global generator. For a file that starts a program the seeding
walk tells. For any other, which may serve many programs, the project's text is searched for a call that seeds: in doubt
the answer is that it may be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchrepro_lint.dataflow import Program, remembered_last
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.project.entries import entries

if TYPE_CHECKING:
    from torchrepro_lint.seeding.seeding import Seeding

NUMPY = "numpy"
# A call of numpy's seeder, or of something named like a helper that seeds. Parts of names are bounded: a name of a
# million characters would be searched from each of them.
_SEEDS = re.compile(
    rb"\b(?:np|numpy)\.random\.seed\("
    rb"|(?<!def )(?<!\.)\b(?!manual_|initial_|get_|is_)\w{0,80}"
    rb"(?:seed|determinis|reproduc|randomness|(?:set|fix|init)_random)\w{0,80}\("
    rb"|\.(?!initial_)\w{0,40}(?:set|fix|init|every)\w{0,40}seed\w{0,80}\(|\.seed_\w+\(",
    re.IGNORECASE,
)
_SIGNS = (b"seed", b"determinis", b"reproduc", b"randomness", b"_random")


@remembered_last
def seedings(facts: ModuleFacts, program: Program) -> list[Seeding]:
    """What the interpreter found of each program that a file starts."""
    started = entries(facts, program.project)
    if not started:
        return []
    from torchrepro_lint.seeding.interpreter import seeding_of  # most files start no program

    with program.project.timed("program", facts.source.rel):
        found = [seeding_of(entry, program) for entry in started]
    if not all(s.complete for s in found):
        program.store.cut("files with a program not walked to its end", facts.source.rel)
    return found


# -- numpy's generator ------------------------------------------------------------------------------------------------
def may_be_seeded(facts: ModuleFacts, program: Program) -> bool:
    """Whether a seed may reach numpy's global generator before code of this file draws from it."""
    programs = seedings(facts, program)
    if programs:
        met = (s for s in programs if s.complete)
        seeds = (NUMPY in s.conditional or any(NUMPY in seeder.families for seeder in s.seeders) for s in met)
        return not all(s.complete for s in programs) or any(seeds)
    is_in_project = program.project.text.any_match(_SEEDS, _SIGNS) is not False
    return is_in_project or _SEEDS.search(facts.source.text.encode()) is not None


def is_unseeded(scope: Scope, program: Program) -> bool:
    """Whether code runs in a program that its file starts and that was followed to its end, which never seeds numpy."""
    programs = seedings(scope.facts, program)
    runs = scope.function.kind == "module" or any(scope.function in seeding.entered for seeding in programs)
    seeders = [*(seeder for s in programs for seeder in s.seeders), *(m.seeder for s in programs for m in s.met)]
    may_seed = any(seeder is None or NUMPY in seeder.families for seeder in seeders)
    return bool(programs) and runs and not may_seed and all(s.complete for s in programs)


def is_reported(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program that this file starts is reported for not seeding numpy at all."""
    return any(seeding.missing(NUMPY) is not None for seeding in seedings(facts, program))
