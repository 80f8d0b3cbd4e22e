"""Runs of one project that disturb each other or are killed, and whether a later one is told something wrong."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import forked
from incremental.comparing import lint
from torchrepro_lint.cache.storage import FOLDER


def dying(part: int) -> None:
    """From now on, this process dies once so many hundredths of a file that it keeps are on the disk."""
    opened = Path.open

    class Dying:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> Dying:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            self.file.write(data[: len(data) * part // 100])
            self.file.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    def opening(path: Path, *how: Any, **more: Any) -> Any:
        file = opened(path, *how, **more)
        return Dying(file) if path.suffix == ".new" else file

    Path.open = opening  # type: ignore[method-assign]


def killed_while_writing(project: Path, rounds: int) -> Iterator[str]:
    """Let so many runs die with a part of what they keep written; what is wrong then."""
    generator, text = random.Random(2), (project / "model.py").read_text()
    expected = lint(project, "--output-format", "json", "--no-cache")
    for number in range(rounds):
        (project / "model.py").write_text(f"{text}# {number}\n")
        if number % 4 == 0:
            shutil.rmtree(project / FOLDER, ignore_errors=True)
        code = forked.lint("check", cwd=project, before=partial(dying, generator.randint(0, 100))).returncode
        if code != -signal.SIGKILL:
            yield f"run {number} wrote nothing: it ended with {code}"
        if lint(project, "--output-format", "json") != expected:
            yield f"killed run {number}: a run after it prints something else"


def two_at_once(project: Path, rounds: int) -> Iterator[str]:
    """Begin two runs together after an edit, so many times; what is wrong then."""
    json = ("check", ".", "--output-format", "json")
    for number in range(rounds):
        (project / "model.py").write_text(f"import torch\nx{number} = torch.rand({number})\n")
        with ThreadPoolExecutor(2) as both:
            printed = list(both.map(lambda _: forked.lint(*json, cwd=project).stdout, range(2)))
        expected = lint(project, "--output-format", "json", ".", "--no-cache").out
        if printed != [expected, expected] or lint(project, "--output-format", "json", ".").out != expected:
            yield f"round {number}: two runs at once, or one after them, print something else"
