"""How many times a function runs in one program."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.execution_count import runs_in_each_pass, times


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("run()", "once"),
        ("Process(target=run).start()", "once"),
        ("Pool(4).map(run, range(4))", "often"),
        ("for fold in range(4):\n    run()", "often"),
        ("if quick:\n    run(1)\nelse:\n    run()", "once"),
        ("run(1)\nrun()", "unknown"),
    ],
)
def test_what_another_file_does_with_a_function_counts(called: str, expected: str, tmp_path: Path) -> None:
    train = f"from multiprocessing import Pool, Process\nfrom data import run\n{called}\n"
    project = SmallProject(tmp_path, {"data.py": "def run(part=0):\n    op()\n", "train.py": train})
    _, scope = project.call("op", "data.py")
    assert times(project.program, scope) == expected


@pytest.mark.parametrize(("caller", "expected"), [("train_one_epoch", True), ("prepare", False)])
def test_a_function_runs_as_often_as_the_one_that_calls_it(caller: str, expected: bool, tmp_path: Path) -> None:
    train = f"from data import run\ndef {caller}():\n    run()\n"
    project = SmallProject(tmp_path, {"data.py": "def run():\n    op()\n", "train.py": train})
    _, scope = project.call("op", "data.py")
    assert runs_in_each_pass(scope, project.program) is expected


@pytest.mark.parametrize(
    ("called", "imported", "expected"),
    [
        ("for i in range(9):\n    train()", "", "often"),
        ("train()", "", "once"),
        ("train()", "from mlp import *", "unknown"),
    ],
)
def test_where_callers_are_too_many_to_search_those_of_its_own_file_count(
    called: str, imported: str, expected: str, tmp_path: Path
) -> None:
    files = {f"other_{i}.py": "def train():\n    pass\n" for i in range(61)}
    files |= {"mlp.py": f"def train():\n    op()\n{called}\n", "sweep.py": f"{imported}\ntrain()\n"}
    project = SmallProject(tmp_path, files)
    _, scope = project.call("op", "mlp.py")
    assert times(project.program, scope) == expected
