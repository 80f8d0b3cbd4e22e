"""The two machines on which programs run list folders in different orders, by every function that lists."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .runs import machine

LISTINGS = {
    "os.listdir": "os.listdir('.')",
    "os.scandir": "[entry.name for entry in os.scandir()]",
    "os.walk": "[name for _, folders, files in os.walk('.') for name in [*folders, *files]]",
    "glob.glob": "glob.glob('*')",
    "Path.iterdir": "[path.name for path in pathlib.Path().iterdir()]",
    "Path.glob": "[path.name for path in pathlib.Path().glob('*')]",
    "Path.rglob": "[path.name for path in pathlib.Path().rglob('*.txt')]",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(20):
        (tmp_path / f"{number}.txt").touch()
    return tmp_path


def listed(expression: str, folder: Path, number: int) -> list[str]:
    code = f"import glob, os, pathlib; print(*{expression})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **machine(number)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("function", LISTINGS)
def test_the_order_is_the_machines_own(function: str, folder: Path) -> None:
    here, there = (listed(LISTINGS[function], folder, number) for number in (1, 2))
    assert here != there
    assert sorted(here) == sorted(there) == sorted(path.name for path in folder.iterdir())
    assert here == listed(LISTINGS[function], folder, 1)
