"""A project that is edited step by step, and what runs with a cache and without one print of it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from click.testing import CliRunner

from incremental.edits import EDITS, Edit, edit, modules
from torchrepro_lint.cli.program import program

_OPTIONS = (
    ("--output-format", "json"),
    ("--output-format", "full", "--statistics"),
    ("--output-format", "sarif"),
    ("--select", "TRP1,TRP4"),
    ("--output-format", "concise", "--torch-version", "1.12"),
)


@dataclass(frozen=True)
class Printed:
    """What a run wrote, and how it ended."""

    code: int
    out: bytes
    err: bytes

    @property
    def lines(self) -> list[str]:
        """All of it, for a person."""
        return f"{self.code}\n{(self.out + self.err).decode(errors='replace')}".splitlines()


def lint(root: Path, *options: str) -> Printed:
    """A run of the command in the project's folder, in this process."""
    before = Path.cwd()
    os.chdir(root)
    try:
        done = CliRunner(env={"COLUMNS": "120"}).invoke(program, ["check", *options])
    finally:
        os.chdir(before)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Printed(done.exit_code, done.stdout_bytes, done.stderr_bytes)


def differences(
    root: Path, steps: int, seed: int, jobs: Sequence[str] = ("1", "2"), edits: Sequence[Edit] = EDITS
) -> Iterator[str]:
    """Edit the project so many times, and say after which edits, and how, a run with a cache differed."""
    generator = random.Random(seed)
    done: list[str] = []
    for step in range(steps):
        done.append(edit(root, generator, edits))
        while generator.random() < 0.2:  # several at once, as when branches are switched
            done.append(edit(root, generator, edits))
        options = generator.choice(_OPTIONS)
        paths = ["."]
        if generator.random() < 0.3 and modules(root):
            paths = [str(generator.choice(modules(root)).relative_to(root))]
        expected = lint(root, *options, *paths, "--no-cache")
        for number in jobs:
            found = lint(root, *options, *paths, "--jobs", number)
            if found != expected:
                shown = "\n".join(unified_diff(expected.lines, found.lines, "without", "with", lineterm="", n=0))
                yield f"step {step}, {' '.join((*options, *paths))}, {number} jobs, after {done[-4:]}:\n{shown}"
