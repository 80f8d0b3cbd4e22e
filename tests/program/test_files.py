"""How many of a project's files are held."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchrepro_lint import pool
from torchrepro_lint.project.files import COMPACT, WHOLE, Files

LINES = 10_000  # of each file


def files(names: list[str], size: float = 0.0) -> tuple[Files, list[str]]:
    """Files of so many lines, and which of them are read."""
    read: list[str] = []

    def reads(path: Path) -> Any:
        read.append(str(path))
        return SimpleNamespace(lines=LINES, release=lambda: None, is_own=None)

    return Files(reads, lambda _: b"", lambda *_: True, lambda: size), read


def passed(held: Files, names: list[str]) -> None:
    """Check one file after the other."""
    for name in names:
        held.load(name)
        held.release()


@pytest.mark.parametrize(("free", "is_held"), [(8_000_000_000, True), (1_000_000_000, False)])
def test_what_is_read_again_and_again_is_held_if_there_is_memory(
    free: int, is_held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "free_memory", lambda: free)
    names = [f"{n}.py" for n in range(COMPACT.held // LINES + 10)]
    assert len(names) * LINES < WHOLE.held
    held, read = files(names)
    passed(held, names)
    assert len(read) == len(names)
    for _ in range(3):
        passed(held, names)
    read.clear()
    passed(held, names)
    assert read == ([] if is_held else names)


def test_what_is_seldom_read_again_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "free_memory", lambda: 8_000_000_000)
    names = [f"{n}.py" for n in range(4 * COMPACT.held // LINES)]
    held, read = files(names)
    for name in names:
        passed(held, [name, names[0]])  # which all of them use
    assert len(read) == len(names)
    passed(held, names[1:10])
    assert len(read) == len(names) + 9


def test_a_project_that_cannot_be_held_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "free_memory", lambda: 8_000_000_000)
    names = [f"{n}.py" for n in range(40)]
    held, read = files(names, float("inf"))
    for _ in range(3):
        passed(held, names)
    read.clear()
    passed(held, names)
    assert read == names
