"""The machines differ in what they may differ in, and run a program as a new interpreter does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .machines import Broken, Machine, environment

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
        env={**os.environ, **environment(number)},
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


PROGRAM = """
import os, sys

def own():
    pass

if __name__ == "__main__":
    script = sys.modules["__main__"]
    print(__name__, __file__, script.own is own, sys.argv, sys.path, os.getcwd(), hash("a"), sys.stdin.read())
    assert "fail" not in sys.argv
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program/tool").mkdir(parents=True)
    (tmp_path / "program/tool/show.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path / "program"


@pytest.fixture
def bare() -> Iterator[Machine]:
    """The first machine, but each run is a new interpreter."""
    machine = Machine(1)
    yield machine
    machine.stop()


def printed(machine: Machine, command: str, folder: Path) -> str:
    machine.start(command, folder)
    return machine.printed()


@pytest.mark.parametrize("command", ["python tool/show.py --epochs 3", "python -m tool.show x"])
def test_a_fork_is_what_a_new_interpreter_is(
    command: str, machines: list[Machine], bare: Machine, program: Path
) -> None:
    said = printed(bare, command, program)
    assert said.startswith(f"__main__ {program / 'tool/show.py'} True")
    assert printed(machines[0], command, program) == said
    assert printed(machines[1], command, program) != said, "the hash seed is another one"


def test_a_machine_goes_on_after_a_run_that_fails_or_is_left(bare: Machine, program: Path) -> None:
    with pytest.raises(Broken, match=r"(?s)exit status 1\n__main__ .*AssertionError"):
        printed(bare, "python tool/show.py fail", program)
    bare.start("python tool/show.py left", program)
    assert "'next'" in printed(bare, "python tool/show.py next", program)
