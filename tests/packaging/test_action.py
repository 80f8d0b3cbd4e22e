"""The GitHub action: its own steps, run by bash as a runner runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def run_step(step: dict[str, Any], inputs: dict[str, str], temp: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One step, with the inputs' defaults where none is given, and only the expressions that the action uses."""
    values = {f"inputs.{name}": inputs.get(name, row["default"]) for name, row in ACTION["inputs"].items()}
    values["github.action_path"] = str(ROOT)
    env = {name: values[text.removeprefix("${{ ").removesuffix(" }}")] for name, text in step["env"].items()}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        env={**os.environ, "RUNNER_TEMP": str(temp), **env}, cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_it_annotates_and_fails_the_check(tmp_path: Path) -> None:
    install, check = ACTION["runs"]["steps"]
    project = tmp_path / "project"
    project.mkdir()
    (project / "flags.py").write_text("import torch\n\ntorch.backends.cudnn.benchmark = True\n")
    (project / "fine.py").write_text("x = 1\n")

    installed = run_step(install, {"python": sys.executable}, tmp_path, project)
    assert installed.returncode == 0, installed.stderr

    found = run_step(check, {}, tmp_path, project)
    assert found.returncode == 1, found.stderr
    assert "file=flags.py,line=3" in found.stdout

    chosen = run_step(check, {"paths": "fine.py flags.py", "args": "--ignore TRP4 --fail-on error"}, tmp_path, project)
    assert (chosen.returncode, "::" in chosen.stdout) == (0, False), chosen.stdout
