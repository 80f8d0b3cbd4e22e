"""A small project and a way to run the command line on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command_line import PLAIN, TRAIN, Process, Run

from torchrepro_lint.cli.program import program


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `train.py`, which has two safe fixes, and `clean.py`, which has none; made current."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "clean.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    for key in set(os.environ) - set(PLAIN):
        monkeypatch.delenv(key)
    return tmp_path


@pytest.fixture
def run(project: Path) -> Run:
    """Run a command in this process."""

    def invoke(*arguments: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(program, arguments, input=stdin, env=env, prog_name="torchrepro-lint")

    return invoke


@pytest.fixture
def process(project: Path) -> Process:
    """Run a command as a user does."""

    def start(
        *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "torchrepro_lint", *arguments]
        return subprocess.run(
            command, input=stdin, capture_output=True, check=False, env={**PLAIN, **(env or {})}, timeout=300
        )

    return start
