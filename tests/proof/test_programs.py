"""Every program: its two runs differ, and after the fix they agree bit for bit."""

from __future__ import annotations

import pytest

from .machines import Machine
from .program import Program, names
from .proving import prove

# The rules whose fixes decide what a run on a CPU computes.
DECISIVE = {"TRP101", "TRP102", "TRP103", "TRP104", "TRP111", "TRP203", "TRP204", "TRP205"}


def test_the_programs_are_many_and_have_every_flaw_that_decides_a_result() -> None:
    programs = [Program.read(name) for name in names()]
    assert len(programs) >= 30
    assert {code for program in programs for code in program.flaws} >= DECISIVE


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_two_runs_differ_and_after_the_fix_they_agree(name: str, machines: list[Machine]) -> None:
    program = Program.read(name)
    if program.missing:
        pytest.skip(f"{', '.join(program.missing)} is not installed")
    proof = prove(program, machines)
    assert proof.unnamed == [], "the linter has nothing to say about these flaws"
    assert len(proof.before) > 1, f"the runs of the unfixed program must differ in weights and losses: {proof.before}"
    assert proof.after == []
