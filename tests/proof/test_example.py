"""The proof of value: the example's runs differ, and after `--fix` they agree bit for bit.

Real runs of the real program in processes of their own, under different hash seeds and on folders whose
files were created in different orders. What is compared is all that the program prints: every loss with all
its digits, and the SHA-256 of the final weights.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

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
def data() -> Iterator[tuple[Path, Path]]:
    """The same pictures twice, created in different orders, which some file systems list in that order."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        made = Path(scratch, "made")
        subprocess.run([sys.executable, EXAMPLE / "make_data.py", made], check=True)
        yield copied(made, Path(scratch, "one"), seed=1), copied(made, Path(scratch, "two"), seed=2)


def copied(source: Path, target: Path, seed: int) -> Path:
    """A copy of `source` whose files are created in an order drawn with `seed`."""
    files = sorted(path for path in source.rglob("*") if path.is_file())
    random.Random(seed).shuffle(files)
    for path in files:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return target


def two_runs(program: Path, data: tuple[Path, Path], *options: str) -> list[str]:
    """What two runs of the program print, the second with another hash seed and another order of files."""
    # The two share the machine: threads that wait should not spin.
    shared = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONDONTWRITEBYTECODE": "1"}
    runs = [
        subprocess.Popen(
            [sys.executable, program / "train.py", "--data", folder, *options],
            env={**shared, "PYTHONHASHSEED": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, folder in enumerate(data, 1)
    ]
    printed = [run.communicate(timeout=300) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], printed
    assert all("weights " in out for out, _ in printed), printed
    return [out for out, _ in printed]


def lint(program: Path, *options: str) -> str:
    """What the linter says of the program; it must have done its work, with or without findings."""
    command = [sys.executable, "-m", "torchrepro_lint", "check", ".", "--output-format", "concise", *options]
    done = subprocess.run(command, cwd=program, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def causes(program: Path) -> list[str]:
    """The decisive rules that the linter still has something to say about."""
    said = lint(program)
    return [code for code in DECISIVE if code in said]


@pytest.mark.slow
def test_two_runs_differ_as_the_program_stands(program: Path, data: tuple[Path, Path]) -> None:
    first, second = two_runs(program, data)
    assert first.splitlines()[0] != second.splitlines()[0], "the losses of the first epoch"
    assert first.splitlines()[-1] != second.splitlines()[-1], "the final weights"


def test_the_linter_names_every_cause(program: Path) -> None:
    said = lint(program)
    assert [code for code in [*DECISIVE, *OTHERS] if code not in said] == []


@pytest.mark.slow
def test_two_runs_agree_bit_for_bit_after_the_safe_fixes(program: Path, data: tuple[Path, Path]) -> None:
    lint(program, "--fix")
    first, second = two_runs(program, data)
    assert first == second


def test_the_fixes_leave_nothing_that_decides_the_result(program: Path) -> None:
    lint(program, "--fix")
    assert causes(program) == []


@pytest.mark.slow
@pytest.mark.parametrize("code", DECISIVE)
def test_each_of_the_decisive_fixes_is_needed(code: str, program: Path, data: tuple[Path, Path]) -> None:
    if code == "TRP204" and listed(data[0]) == listed(data[1]):
        pytest.skip("this file system lists both folders in the same order")
    lint(program, "--fix", "--ignore", code)
    assert causes(program) == [code]
    first, second = two_runs(program, data, "--epochs", "1", "--workers", "0")
    assert first != second


def listed(folder: Path) -> list[Path]:
    """The files of `folder` in the order in which the program sees them."""
    return [path.relative_to(folder) for path in folder.glob("*/*.npy")]
