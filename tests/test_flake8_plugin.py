"""The plug-in under the real flake8."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[1]
CONFIG = "[flake8]\nselect = TRP\n[flake8:local-plugins]\nextension =\n    TRP = {}\n"
DATA = "import numpy as np\n\n\ndef draw():\n    return np.random.rand()\n"
TRAIN = (
    "import torch\nfrom data import draw\n\ntorch.manual_seed(0)\ntorch.tensor(draw(), requires_grad=True).backward()\n"
)
FLAG = "torch.backends.cudnn.benchmark = True{}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    target = pyproject["project"]["entry-points"]["flake8.extension"]["TRP"]
    is_installed = any(point.value == target for point in entry_points(group="flake8.extension"))
    (tmp_path / ".flake8").write_text("[flake8]\nselect = TRP\n" if is_installed else CONFIG.format(target))
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(TRAIN + FLAG.format("") + FLAG.format("  # noqa: TRP401"))
    return tmp_path


def flake8(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    pytest.importorskip("flake8")
    command = [sys.executable, "-m", "flake8", "--jobs=1", *arguments]
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, check=False)


def test_findings_stand_among_those_of_flake8(project: Path) -> None:
    done = flake8(project, ".")
    assert done.returncode == 1, done.stderr
    assert [line.partition(" warning(certain) ")[0] for line in done.stdout.splitlines()] == [
        "./train.py:5:1: TRP101",
        "./train.py:6:1: TRP401",
    ]


def test_it_takes_a_text_from_an_editor_and_leaves_syntax_errors_to_flake8(project: Path) -> None:
    done = flake8(project, "--stdin-display-name", "train.py", "-", stdin="import torch\n" + FLAG.format(""))
    assert done.stdout.startswith("train.py:2:1: TRP401 ")
    done = flake8(project, "--extend-select=E9", "-", stdin="x = (\n")
    assert "E999" in done.stdout
    assert "TRP" not in done.stdout


def test_it_follows_the_settings_of_the_project(project: Path) -> None:
    (project / "torchrepro-lint.toml").write_text('ignore = ["TRP4"]\n')
    assert "TRP401" not in flake8(project, "train.py").stdout
    (project / "torchrepro-lint.toml").write_text('ignroe = ["TRP4"]\n')
    assert "settings: torchrepro-lint.toml ignroe: unknown key" in flake8(project, "train.py").stdout
