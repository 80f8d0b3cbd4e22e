"""The hooks in a real repository under the real pre-commit, which installs them as it would for a user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from made_once import made_once
from repository import commit, git

ROOT = Path(__file__).parents[2]
FLAWED = "import torch\n\ntorch.backends.cudnn.benchmark = True\n"
MENDED = FLAWED.replace("True", "False")
CONFIG = """\
repos:
  - repo: {tool}
    rev: {revision}
    hooks:
      - id: {hook}
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pre-commit installs from a git repository"),
]
Result = subprocess.CompletedProcess[str]
Commit = Callable[..., Result]
RUNNERS = ("pre_commit", "prek")


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Path]:
    """This checkout as a repository, its revision, and a home for pre-commit that outlives a test."""

    def copy(folder: Path) -> None:
        for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        commit(folder)

    folder = made_once(tmp_path_factory, "tool", copy)
    home = made_once(tmp_path_factory, "home", lambda _: None)
    return folder, git(folder, "rev-parse", "HEAD").strip(), home


@pytest.fixture(params=RUNNERS)
def commit_check(request: pytest.FixtureRequest, tool: tuple[Path, str, Path], tmp_path: Path) -> Commit:
    """Run one of the hooks over a repository of flawed files, or over some of these."""
    pytest.importorskip(request.param)
    folder, revision, home = tool
    (tmp_path / "generated").mkdir()
    Path(tmp_path, "train.py").write_text(FLAWED)
    Path(tmp_path, "generated", "train.py").write_text(FLAWED)
    Path(tmp_path, "notes.md").write_text(FLAWED)
    Path(tmp_path, "pyproject.toml").write_text('[tool.torchrepro-lint]\nexclude = ["generated"]\n')

    def run(hook: str, *files: str) -> Result:
        config = CONFIG.format(tool=folder, revision=revision, hook=hook)
        Path(tmp_path, ".pre-commit-config.yaml").write_text(config)
        commit(tmp_path)
        which = ["--files", *files] if files else ["--all-files"]
        command = [sys.executable, "-m", request.param, "run", "--color", "never", *which]
        homes = {"PRE_COMMIT_HOME": str(home / "pre_commit"), "PREK_HOME": str(home / "prek")}
        env = {**os.environ, **homes, "PIP_NO_COMPILE": "1"}  # of what is installed, little is imported
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    return run


def test_the_check_names_the_place_and_changes_nothing(commit_check: Commit, tmp_path: Path) -> None:
    done = commit_check("torchrepro-lint")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "exit code: 1" in done.stdout
    assert "train.py:3:" in done.stdout
    assert "TRP401" in done.stdout
    assert "generated" not in done.stdout
    assert Path(tmp_path, "train.py").read_text() == FLAWED


def test_a_check_that_fails_shows_its_notes_too(commit_check: Commit, tmp_path: Path) -> None:
    Path(tmp_path, "split.py").write_text(
        "from sklearn.model_selection import train_test_split\n\n\n"
        "def halves(rows):\n    return train_test_split(rows)\n"
    )
    done = commit_check("torchrepro-lint")
    assert done.returncode == 1
    assert "split.py:5:" in done.stdout
    assert "note(depends)" in done.stdout


def test_the_fix_mends_the_file_and_then_passes(commit_check: Commit, tmp_path: Path) -> None:
    first = commit_check("torchrepro-lint-fix")
    assert first.returncode == 1, first.stdout + first.stderr
    assert "files were modified by this hook" in first.stdout
    assert Path(tmp_path, "train.py").read_text() == MENDED
    assert Path(tmp_path, "generated", "train.py").read_text() == FLAWED
    second = commit_check("torchrepro-lint-fix")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "Passed" in second.stdout


def test_the_fix_is_not_red_for_what_only_another_file_could_mend(commit_check: Commit, tmp_path: Path) -> None:
    Path(tmp_path, "data.py").write_text("import numpy as np\n\n\ndef draw():\n    return np.random.rand()\n")
    Path(tmp_path, "main.py").write_text(
        "import torch\nfrom data import draw\n\ntorch.manual_seed(0)\n"
        "torch.tensor(draw(), requires_grad=True).backward()\n"
    )
    fixing = commit_check("torchrepro-lint-fix", "data.py")
    assert fixing.returncode == 0, fixing.stdout + fixing.stderr
    checking = commit_check("torchrepro-lint", "data.py")
    assert checking.returncode == 1
    assert "main.py:5:" in checking.stdout
