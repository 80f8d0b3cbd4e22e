"""`--add-noqa` writes comments that silence what is found, and changes nothing else."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from command_line import TRAIN, Run

LINES = TRAIN.splitlines(keepends=True)


def test_every_finding_is_silenced_once(run: Run, project: Path) -> None:
    done = run(".", "--add-noqa")
    assert (done.exit_code, done.stdout) == (0, "No problems in 2 files.\n")
    assert done.stderr == "torchrepro-lint: changed 1 file: train.py\n"
    assert (project / "train.py").read_text() == TRAIN.replace("True\n", "True  # noqa: TRP401\n").replace(
        "()))\n", "()))  # noqa: TRP102\n"
    )
    assert run(".").exit_code == 0
    before = (project / "train.py").read_text()
    assert run(".", "--add-noqa").stderr == ""
    assert (project / "train.py").read_text() == before


def test_with_a_reason_and_for_some_rules(run: Run, project: Path) -> None:
    assert run("train.py", "--select", "TRP1", "--add-noqa=a run each, TRP401 E501").exit_code == 0
    assert "()))  # noqa: TRP102 - a run each, TRP401 E501\n" in (project / "train.py").read_text()
    assert run("train.py", "--select", "TRP401").exit_code == 1


def test_what_follows_is_a_path_not_a_reason(run: Run, project: Path) -> None:
    (project / "other.py").write_text(TRAIN)
    run("--add-noqa", "train.py")
    assert (project / "other.py").read_text() == TRAIN


@pytest.mark.parametrize(
    ("text", "silenced"),
    [
        ("torch.manual_seed(\n int(time.time()),\n)\n", "torch.manual_seed(\n int(time.time()),\n)  # noqa: TRP102\n"),
        ("torch.seed()  # why\n", "torch.seed()  # why  # noqa: TRP102\n"),
        ("torch.seed()  # noqa: E501\n", "torch.seed()  # noqa: E501  # noqa: TRP102\n"),
        ("torch.seed()  # noqa: TRP401, TRP001 x\n", "torch.seed()  # noqa: TRP401, TRP001, TRP102 x\n"),
        ("torch.seed()  # torchrepro: ignore[TRP401] x\n", "torch.seed()  # torchrepro: ignore[TRP401, TRP102] x\n"),
        ("if torch.seed(): pass\n", "if torch.seed(): pass  # noqa: TRP102\n"),
        ("if (\n torch.seed()\n):\n  # x\n  pass\n", "if (\n torch.seed()\n):  # noqa: TRP102\n  # x\n  pass\n"),
        ("torch.seed() \t", "torch.seed()  # noqa: TRP102 \t"),
        ("x = '''\n# a\n''', torch.seed()\r\n", "x = '''\n# a\n''', torch.seed()  # noqa: TRP102\r\n"),
    ],
)  # fmt: skip
def test_the_comment_goes_to_the_end_of_the_statement(run: Run, project: Path, text: str, silenced: str) -> None:
    head = "import time\nimport torch\n"
    (project / "train.py").write_text(head + text, newline="")
    done = run("train.py", "--select", "TRP102", "--add-noqa")
    assert (done.exit_code, (project / "train.py").read_bytes().decode()) == (0, head + silenced)
    assert ast.dump(ast.parse(head + text)) == ast.dump(ast.parse(head + silenced))


def test_a_comment_that_would_end_up_in_a_string_is_not_written(run: Run, project: Path) -> None:
    text = "import torch\ntorch.seed(); x = '''\n'''\n"
    (project / "train.py").write_text(text)
    done = run("train.py", "--select", "TRP102", "--add-noqa")
    assert (done.exit_code, (project / "train.py").read_text()) == (1, text)
    assert "train.py: not changed: comments would change what the program does" in done.stderr


def test_a_notebook_keeps_every_other_byte(run: Run, project: Path) -> None:
    cell = {"cell_type": "code", "source": ["import torch\n", "torch.seed()"], "metadata": {}, "outputs": []}
    before = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    (project / "nb.ipynb").write_text(before)
    assert run("nb.ipynb", "--select", "TRP102", "--add-noqa").exit_code == 0
    assert (project / "nb.ipynb").read_text() == before.replace("torch.seed()", "torch.seed()  # noqa: TRP102")


def test_the_diff_shows_and_writes_nothing(run: Run, project: Path) -> None:
    done = run(".", "--add-noqa", "--diff")
    assert "\n+torch.backends.cudnn.benchmark = True  # noqa: TRP401\n" in done.stdout
    assert (project / "train.py").read_text() == TRAIN


def test_what_a_baseline_knows_needs_no_comment(run: Run, project: Path) -> None:
    run(".", "--write-baseline", "known.txt")
    (project / "train.py").write_text(TRAIN + "torch.seed()\n")
    assert run(".", "--baseline", "known.txt", "--add-noqa").exit_code == 0
    assert (project / "train.py").read_text() == TRAIN + "torch.seed()  # noqa: TRP102\n"
