"""The Python that has imported PyTorch runs programs as a new one does, also where its own GPU cannot be used."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import preloaded

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not preloaded.CAN_PRELOAD, reason="no interpreter is preloaded here"),
]

HAS_ASKED = """
import torch
torch.cuda.is_available = torch.cuda._is_in_bad_fork = lambda: True
"""
PROGRAM = """
import sys
print("torch" in sys.modules, sys.argv, sys.stdin.read())
sys.exit(3)
"""


without_gpus = pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")


@pytest.mark.parametrize(
    ("before", "is_there"),
    [pytest.param("", True, id="has not", marks=without_gpus), pytest.param(HAS_ASKED, False, id="has")],
)
def test_a_program_is_no_fork_of_a_process_that_has_asked_for_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, is_there: bool
) -> None:
    monkeypatch.delenv("PRELOADED_PYTHON")  # of all other tests, and what `provided` sets and resets
    monkeypatch.setattr(preloaded, "_python", preloaded.python())
    (tmp_path / "program.py").write_text(PROGRAM)
    with preloaded.provided():
        server = Path(preloaded.python()).with_name("server.py")
        server.write_text(before + server.read_text())
        command = [preloaded.python(), "program.py", "a", "-b"]
        done = subprocess.run(command, cwd=tmp_path, input="given", capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"{is_there} ['program.py', 'a', '-b'] given\n", 3), done.stderr
