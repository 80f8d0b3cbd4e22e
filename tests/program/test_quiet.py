"""Functions that a seeding walk need not enter, and the walk's findings where it would be wrong not to."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.program import files
from torchrepro_lint.settings import SettingsResolver

LEAVES = {
    "a draw": "np.random.permutation(3)",
    "a seed": "np.random.seed(0)",
    "the end": "sys.exit()",
    "nothing": "print(3)",
}
MAIN = """\
import sys
import numpy as np


def first(n):
    second(n)


def second(n):
    if n:
        first(n - 1)
    third(n)


def third(n):
    second(n) if n else LEAF


if __name__ == "__main__":
    first(len(sys.argv))
    np.random.shuffle([1, 2])
"""


def _found(folder: Path) -> list[tuple[str, int, str]]:
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP1"]})
    findings = check(Request((folder,), resolver)).findings
    return [(f.location.path, f.related[-1].location.range.start.line, f.code) for f in findings if f.related]


@pytest.mark.parametrize(
    ("leaf", "drawn"), [("a draw", 16), ("a seed", None), ("the end", 21), ("nothing", 21)], ids=lambda v: str(v)
)
def test_functions_that_call_each_other(tmp_path: Path, leaf: str, drawn: int | None) -> None:
    (tmp_path / "main.py").write_text(MAIN.replace("LEAF", LEAVES[leaf]))
    assert _found(tmp_path) == ([("main.py", drawn, "TRP101")] if drawn else [])


@pytest.mark.parametrize("held", [0, 10, 1_000_000])
def test_findings_do_not_hang_on_what_is_held(tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINES_HELD", held)
    monkeypatch.setattr(files, "LINES_KEPT", held // 2)
    for number in range(4):
        (tmp_path / f"main{number}.py").write_text(
            f"from steps import step{number % 2}\n\nif __name__ == '__main__':\n    step{number % 2}()\n"
        )
    (tmp_path / "steps.py").write_text(
        "import numpy as np\n\n\ndef step0():\n    np.random.shuffle([1])\n\n\ndef step1():\n    print(1)\n"
    )
    assert _found(tmp_path) == [("main0.py", 5, "TRP101"), ("main2.py", 5, "TRP101")]
