"""The GitHub action: its own steps, run by bash as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from repository import commit

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def expression(text: str, values: dict[str, str]) -> str:
    """What one of the expressions that the action uses comes to."""
    return values[text.removeprefix("${{ ").removesuffix(" }}")]


def run_step(step: dict[str, Any], inputs: dict[str, str], temp: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One step, with the inputs' defaults where none is given."""
    values = {f"inputs.{name}": inputs.get(name, row["default"]) for name, row in ACTION["inputs"].items()}
    values["github.action_path"] = str(ROOT)
    env = {name: expression(text, values) for name, text in step["env"].items()}
    outside = {name: str(temp / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        env={**os.environ, **outside, "RUNNER_TEMP": str(temp), "GITHUB_WORKSPACE": str(cwd), **env},
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_other_actions_are_pinned_and_expressions_stand_only_where_they_are_read() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert all(re.search(r"@[0-9a-f]{40} # v\d", line) for line in text.splitlines() if "uses: " in line)
    assert [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")] == []
    assert [
        name for name, row in ACTION["inputs"].items() if "${{" in row["description"] or not row["description"]
    ] == []


def test_the_documentation_names_every_input() -> None:
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    assert [name for name in ACTION["inputs"] if f"`{name}`" not in page] == []


@pytest.mark.slow
def test_it_annotates_and_fails_the_check(tmp_path: Path) -> None:
    install, check, upload = ACTION["runs"]["steps"]
    project = tmp_path / "project"
    project.mkdir()
    (project / "flags.py").write_text("import torch\n\ntorch.backends.cudnn.benchmark = True\n")
    (project / "fine.py").write_text("x = 1\n")
    commit(project)

    installed = run_step(install, {"python": sys.executable}, tmp_path, project)
    assert installed.returncode == 0, installed.stderr

    found = run_step(check, {}, tmp_path, project)
    assert found.returncode == 1, found.stderr
    assert "file=flags.py,line=3" in found.stdout
    assert "TRP401" in (tmp_path / "github_step_summary").read_text()
    assert not (tmp_path / "github_output").exists()

    chosen = run_step(check, {"paths": "fine.py flags.py", "args": "--ignore TRP4 --fail-on error"}, tmp_path, project)
    assert (chosen.returncode, "::" in chosen.stdout) == (0, False), chosen.stdout

    (project / "new.py").write_text("import torch\n\ntorch.seed()\n")
    changed = run_step(check, {"changed-since": "HEAD", "upload-sarif": "true"}, tmp_path, project)
    assert changed.returncode == 1, changed.stderr
    assert [line.partition(",line=")[0] for line in changed.stdout.splitlines()] == [
        "::warning title=TRP102 nonconstant-seed,file=new.py"
    ]
    told = dict(line.split("=", 1) for line in (tmp_path / "github_output").read_text().splitlines())
    results = json.loads(Path(told["sarif"]).read_text())["runs"][0]["results"]
    assert [row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for row in results] == ["new.py"]
    assert upload["with"]["sarif_file"] == "${{ steps.check.outputs.sarif }}"

    tool = tmp_path / "torchrepro-lint" / "bin" / "torchrepro-lint"
    subprocess.run([tool, ".", "--write-baseline", "known.txt"], cwd=project, check=True, capture_output=True)
    known = run_step(check, {"baseline": "known.txt", "sarif": "with space.sarif"}, tmp_path, project)
    assert (known.returncode, known.stdout) == (0, ""), known.stderr
    assert len(json.loads((project / "with space.sarif").read_text())["runs"][0]["results"]) == 2
