"""The workflows of our own repository name tests and scripts that are there, and every version of Python we promise."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMED = r"(?<![\w./-])(?:tests|scripts|benchmarks|examples)/[\w./-]*\w"


def test_what_workflows_name_is_there() -> None:
    named = {name for path in WORKFLOWS for name in re.findall(NAMED, path.read_text())}
    assert "tests/fuzz" in named
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_other_systems_run_every_python() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    matrix = (ROOT / ".github" / "workflows" / "systems.yml").read_text()
    assert promised
    assert re.findall(r'"(3\.\d+)"', matrix.partition("python: [")[2].partition("]")[0]) == promised
    assert "windows-latest, macos-latest" in matrix
