"""Paths choose what is reported, not what is understood: `torchrepro-lint data.py`, as pre-commit runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run

DATA = """\
import numpy as np


def batches(items):
    return np.random.permutation(items)
"""
TRAIN = """\
import torch
from data import batches

if __name__ == "__main__":
    torch.manual_seed(0)
    for batch in batches([1.0, 2.0]):
        torch.tensor(batch, requires_grad=True).backward()
"""
OTHER = "import random\n\nimport torch\n\nrandom.shuffle([torch.ones(1, requires_grad=True).backward()])\n"


@pytest.fixture
def program(project: Path) -> Path:
    """An entry point that draws in another file, and one that has nothing to do with either."""
    for name, text in (("data.py", DATA), ("train.py", TRAIN), ("other.py", OTHER)):
        (project / name).write_text(text)
    return project


def found(run: Run, *paths: str) -> list[str]:
    """The findings as path:line:column and code."""
    done = run("--select", "TRP101,TRP203", "--output-format", "concise", *paths)
    return [" ".join(line.split()[:2]) for line in done.stdout.splitlines() if ": TRP" in line]


def test_a_finding_is_reported_when_a_related_place_is_in_the_given_file(run: Run, program: Path) -> None:
    assert found(run, "data.py") == ["train.py:4:1: TRP101"]


def test_what_the_entry_point_of_another_program_does_is_not(run: Run, program: Path) -> None:
    assert found(run, "train.py") == ["train.py:4:1: TRP101"]
    assert found(run, "other.py") == ["other.py:5:1: TRP101"]


def test_the_given_file_is_clean_when_another_file_seeds(run: Run, program: Path) -> None:
    (program / "train.py").write_text("import numpy as np\nnp.random.seed(0)\n" + TRAIN)
    assert found(run, "data.py") == []


def test_through_a_third_file(run: Run, program: Path) -> None:
    (program / "loading.py").write_text("from data import *\n")
    (program / "train.py").write_text(TRAIN.replace("from data", "from loading"))
    assert found(run, "data.py") == ["train.py:4:1: TRP101"]


def test_a_file_that_was_not_given_is_not_written(run: Run, program: Path) -> None:
    done = run("--select", "TRP101", "--fix", "data.py")
    assert done.exit_code == 1
    assert (program / "train.py").read_text() == TRAIN


def test_an_editor_hears_of_its_own_file_only(run: Run, program: Path) -> None:
    done = run("--select", "TRP101", "--stdin-filename", "data.py", "-", stdin=DATA)
    assert "train.py" not in done.stdout


def test_a_project_without_packaging(run: Run, program: Path) -> None:
    (program / "pyproject.toml").unlink(missing_ok=True)
    (program / ".git").mkdir()
    assert found(run, "data.py") == ["train.py:4:1: TRP101"]
