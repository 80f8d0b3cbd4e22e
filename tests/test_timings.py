"""Where the time of a run goes: what is asked of a program as a whole is charged to no file and no rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards, timings
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver
from torchrepro_lint.timings import Timings

PROGRAM = "import torch\n\nimport model\n\nmodel.train(torch.nn.Linear(2, 2))\n"
MODEL = "def train(net):\n    net(1).backward()\n"


class Clock:
    """Stands in for the module `time`: a second passes where the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


def test_what_is_apart_counts_for_nothing_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, taken = Clock(), Timings()
    monkeypatch.setattr(timings, "time", clock)
    with taken.of("file", "a.py"):
        clock.now += 1
        with taken.of("rule", "TRP101"):
            clock.now += 2
            with taken.of("program", "a.py", apart=True):
                clock.now += 4
                with taken.of("step", "reading", apart=True):
                    clock.now += 8
            with taken.of("step", "reading"):
                clock.now += 16
        clock.now += 32
    assert taken.taken == {
        ("file", "a.py"): 51, ("rule", "TRP101"): 18, ("program", "a.py"): 4, ("step", "reading"): 24,
    }  # fmt: skip


def test_a_block_that_is_ended_gives_back_what_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, taken = Clock(), Timings()
    monkeypatch.setattr(timings, "time", clock)
    with taken.of("file", "a.py"):
        with pytest.raises(ZeroDivisionError), taken.of("step", "reading", apart=True):
            clock.now += 8
            raise ZeroDivisionError
        clock.now += 1
    assert taken.taken == {("file", "a.py"): 1, ("step", "reading"): 8}


def test_a_program_and_what_it_reads_have_rows_of_their_own(tmp_path: Path) -> None:
    for name, text in {"pyproject.toml": "", "main.py": PROGRAM, "model.py": MODEL}.items():
        (tmp_path / name).write_text(text)
    taken = Timings()
    check(Request((tmp_path / "main.py",), SettingsResolver(cards.codes(), isolated=True), timings=taken))
    assert [name for name, _ in taken.longest("program")] == ["main.py"]
    assert [name for name, _ in taken.longest("file")] == ["main.py"]
    assert {name for name, _ in taken.longest("step")} >= {"reading and indexing", "searching the project"}
