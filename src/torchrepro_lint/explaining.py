"""What was found out about each program that starts in the files asked for, by the analysis that the rules use.
Reports nothing and prints nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.engine import Run
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.loading.worker_draws import unseen_loaders
from torchrepro_lint.seeding.report import ProgramReport, Spot, report, spot
from torchrepro_lint.seeding.seedings import seedings


class Explained(NamedTuple):
    """What was found out about the programs that start in the files asked for; `idle` are the files that start none,
    `unread` the configuration files that could not be read, with the reasons; `unseen_loaders` the loaders in all
    programs that have workers whose draws could not be seen."""

    root: Path
    programs: tuple[ProgramReport, ...]
    idle: tuple[str, ...]
    problems: tuple[str, ...]
    unread: tuple[tuple[str, str], ...] = ()
    unseen_loaders: tuple[Spot, ...] = ()


def explain(run: Run, files: Iterable[Path]) -> Explained:
    """Walk every program that starts in one of these files."""
    programs: list[ProgramReport] = []
    idle: list[str] = []
    loaders: list[Spot] = []
    problems = [f"no such file or folder: {path}" for path in run.missing]
    problems += run.problems
    for path in files:
        facts = run.program.load(str(path))
        if facts is None or run.checker.failure(path):
            problems.append(f"{run.rel(path)}: {run.checker.failure(path) or 'not read'}")
        if facts is None:
            continue
        found = [report(seeding, run.program) for seeding in seedings(facts, run.program)]
        programs += found
        idle += [] if found else [run.rel(path)]
        _read_configurations(facts, run.program)
        loaders += [spot(facts, call.node) for call in unseen_loaders(Module(facts, run.program))]
        run.program.release()
    unread = [
        (run.rel(path), run.checker.failure(path) or "not read")
        for path in sorted(run.program.project.configurations.unread)
    ]
    return Explained(run.root, tuple(programs), tuple(idle), tuple(problems), tuple(unread), tuple(loaders))


def _read_configurations(facts: ModuleFacts, program: Program) -> None:
    """Read the configuration files that a file reads, so that those are told which cannot be."""
    for call in Module(facts, program).calls(catalogue.names("configurations", "readers").keys()):
        program.origins(call.node, call.scope)
        if program.defaults is not None:
            program.defaults.value(call.node, call.scope)
