"""What the tool believes about programs: each one that starts in the files asked for, walked as the rules see it.
Reports nothing and prints nothing."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torchrepro_lint.engine import Request, Run
from torchrepro_lint.program.randomness.belief import ProgramBelief, belief


class Explained(NamedTuple):
    """What is believed about the programs that start in the files asked for; `idle` are those that start none."""

    root: Path
    programs: tuple[ProgramBelief, ...]
    idle: tuple[str, ...]
    problems: tuple[str, ...]


def explain(request: Request) -> Explained:
    """Walk every program that starts in a file that the paths name."""
    run = Run(request)
    programs: list[ProgramBelief] = []
    idle: list[str] = []
    problems = [f"no such file or folder: {path}" for path in run.missing]
    problems += run.problems
    for path in run.files:
        facts = run.program.load(str(path))
        if facts is None:
            problems.append(f"{run.rel(path)}: {run.failure(path)}")
            continue
        found = [belief(seeding, run.program) for seeding in run.program.seedings(facts)]
        programs += found
        idle += [] if found else [run.rel(path)]
        run.program.release()
    return Explained(run.root, tuple(programs), tuple(idle), tuple(problems))
