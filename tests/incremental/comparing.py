"""A project that is edited step by step, and what runs with a cache and without one print of it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from incremental.edits import edit, modules

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


def lint(root: Path, *options: str) -> Printed:
    """A run as a user starts it, in the project's folder."""
    command = [sys.executable, "-m", "torchrepro_lint", "check", *options]
    done = subprocess.run(command, cwd=root, capture_output=True, env={**os.environ, "COLUMNS": "120"}, check=False)
    return Printed(done.returncode, done.stdout, done.stderr)


def differences(root: Path, steps: int, seed: int, jobs: Sequence[str] = ("1", "2")) -> Iterator[str]:
    """Edit the project so many times, and say after which edits, and how, a run with a cache differed."""
    generator = random.Random(seed)
    done: list[str] = []
    for step in range(steps):
        done.append(edit(root, generator))
        while generator.random() < 0.2:  # several at once, as when branches are switched
            done.append(edit(root, generator))
        options = generator.choice(_OPTIONS)
        paths = ["."]
        if generator.random() < 0.3 and modules(root):
            paths = [str(generator.choice(modules(root)).relative_to(root))]
        expected = lint(root, *options, *paths, "--no-cache")
        for number in jobs:
            found = lint(root, *options, *paths, "--jobs", number)
            if found != expected:
                yield f"step {step}, {' '.join((*options, *paths))}, {number} jobs, after {done[-4:]}"
