"""The proof of value: the example's runs differ, and after `--fix` they agree bit for bit.

Real runs of the real program in processes of their own, on two machines that differ in the hash seed and in the
order in which folders are listed. What is compared is all that the program prints: every loss with all its digits,
and the SHA-256 of the final weights.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import forked

from .machines import Machine

pytest.importorskip("torch", reason="the example is a PyTorch program")

EXAMPLE = Path(__file__).parents[2] / "examples" / "flowers"
# Each of these decides the result alone, on a CPU: with it left in, two runs still differ.
DECISIVE = ["TRP101", "TRP102", "TRP104", "TRP203", "TRP204", "TRP205"]
OTHERS = ["TRP109", "TRP201", "TRP202", "TRP401", "TRP501"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A copy of the example to change."""
    ignore = shutil.ignore_patterns("data", "__pycache__")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "flowers", ignore=ignore))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pictures that the example trains on."""
    made = tmp_path_factory.mktemp("pictures")
    subprocess.run([sys.executable, EXAMPLE / "make_data.py", made], check=True)
    return made


def two_runs(program: Path, data: Path, machines: list[Machine], *options: str) -> list[str]:
    """What two runs of the program print, one on each machine."""
    command = " ".join(["python train.py --data", str(data), *options])
    for machine in machines:
        machine.start(command, Path(shutil.copytree(program, program.with_name(f"machine{machine.number}"))))
    printed = [machine.printed() for machine in machines]
    assert all("weights " in out for out in printed), printed
    return printed


def lint(program: Path, *options: str) -> str:
    """What the linter says of the program; it must have done its work, with or without findings."""
    done = forked.lint("check", ".", "--output-format", "concise", *options, cwd=program)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert b"Traceback" not in done.stderr, done.stderr
    return done.stdout.decode()


def causes(program: Path) -> list[str]:
    """The decisive rules that the linter still has something to say about."""
    said = lint(program)
    return [code for code in DECISIVE if code in said]


@pytest.mark.slow
def test_two_runs_differ_as_the_program_stands(program: Path, data: Path, machines: list[Machine]) -> None:
    first, second = two_runs(program, data, machines)
    assert first.splitlines()[0] != second.splitlines()[0], "the losses of the first epoch"
    assert first.splitlines()[-1] != second.splitlines()[-1], "the final weights"


def test_the_linter_names_every_cause(program: Path) -> None:
    said = lint(program)
    assert [code for code in [*DECISIVE, *OTHERS] if code not in said] == []


@pytest.mark.slow
def test_two_runs_agree_bit_for_bit_after_the_safe_fixes(program: Path, data: Path, machines: list[Machine]) -> None:
    lint(program, "--fix")
    first, second = two_runs(program, data, machines)
    assert first == second


def test_the_fixes_leave_nothing_that_decides_the_result(program: Path) -> None:
    lint(program, "--fix")
    assert causes(program) == []


@pytest.mark.slow
@pytest.mark.parametrize("code", DECISIVE)
def test_each_of_the_decisive_fixes_is_needed(code: str, program: Path, data: Path, machines: list[Machine]) -> None:
    lint(program, "--fix", "--ignore", code)
    assert causes(program) == [code]
    first, second = two_runs(program, data, machines, "--epochs", "1", "--workers", "0")
    assert first != second
