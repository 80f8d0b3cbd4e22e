"""A few seconds of fuzzing, the same in every run, and the corpus. `python -m tests.fuzz --long` goes on for hours."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from .__main__ import KINDS, problems
from .kills import BAD, ENDED, run
from .oracles import limited, of_check, of_fix
from .seeds import CORPUS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="timers and forks of Unix")
CASES = {"mutants": 10, "programs": 16, "notebooks": 16, "trees": 16}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_breaks(kind: str) -> None:
    broken = {number: found for number in range(CASES[kind]) if (found := problems(kind, number)[1])}
    assert broken == {}


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_once_broke_something(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    with limited():
        assert list(of_check(tmp_path, path.stat().st_size)) == []
        assert list(of_fix(tmp_path)) == []


BROKEN = {
    "a class in the place of a method": "import torch\n\n\nclass Noise:\n    class __init__(self, scale):\n        self.scale = scale\n"
    "\n\nnoise = Noise(0.1)\nprint(torch.rand(2))\n",
    "a set of lists": "import torch\n\n\ndef f(x):\n    x.scatter_add_(0, {['text']}, x)\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_broke_a_rule(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BROKEN[name])
    (tmp_path / "pyproject.toml").write_text("")
    assert list(of_check(tmp_path, 0)) == []


def test_kills() -> None:
    outcomes = run(6, 0)
    assert outcomes.total() - outcomes[ENDED] == 6
    assert not any(outcomes[word] for word in BAD)
