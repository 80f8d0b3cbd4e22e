"""The programs that a file starts, each interpreted once; kept for the file that was asked for last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchrepro_lint.dataflow import Program, remembered_last
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.project.entries import entries

if TYPE_CHECKING:
    from torchrepro_lint.seeding.seeding import Seeding


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
