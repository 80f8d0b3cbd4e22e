"""Runs of one project that disturb each other or are killed, and whether a later one is told something wrong."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from incremental.comparing import lint
from torchrepro_lint.cache.storage import FOLDER

# A run that dies once a part of what it keeps is on the disk.
_DYING = """\
import os, sys
from pathlib import Path
from torchrepro_lint.cli import main

class Dying:
    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.file.write(data[: len(data) * part // 100])
        self.file.flush()
        os.kill(os.getpid(), 9)

part, opened = int(sys.argv.pop(1)), Path.open

def opening(path, *how, **more):
    file = opened(path, *how, **more)
    return Dying(file) if path.suffix == ".new" else file

Path.open = opening
main()
"""


def command(*options: str) -> list[str]:
    """The command, for a process of its own."""
    return [sys.executable, "-m", "torchrepro_lint", "check", "--output-format", "json", *options]


def killed_while_writing(project: Path, rounds: int) -> Iterator[str]:
    """Let so many runs die with a part of what they keep written; what is wrong then."""
    generator, text = random.Random(2), (project / "model.py").read_text()
    expected = lint(project, "--output-format", "json", "--no-cache")
    for number in range(rounds):
        (project / "model.py").write_text(f"{text}# {number}\n")
        if number % 4 == 0:
            shutil.rmtree(project / FOLDER, ignore_errors=True)
        dying = [sys.executable, "-c", _DYING, str(generator.randint(0, 100)), "check"]
        code = subprocess.run(dying, cwd=project, capture_output=True, check=False).returncode
        if code not in (-9, 9):
            yield f"run {number} wrote nothing: it ended with {code}"
        if lint(project, "--output-format", "json") != expected:
            yield f"killed run {number}: a run after it prints something else"


def two_at_once(project: Path, rounds: int) -> Iterator[str]:
    """Begin two runs together after an edit, so many times; what is wrong then."""
    for number in range(rounds):
        (project / "model.py").write_text(f"import torch\nx{number} = torch.rand({number})\n")
        runs = [subprocess.Popen(command("."), cwd=project, stdout=subprocess.PIPE) for _ in range(2)]
        printed = [run.communicate()[0] for run in runs]
        expected = lint(project, "--output-format", "json", ".", "--no-cache").out
        if printed != [expected, expected] or lint(project, "--output-format", "json", ".").out != expected:
            yield f"round {number}: two runs at once, or one after them, print something else"
