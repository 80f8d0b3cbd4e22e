"""What the verifier writes is what the linter reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import preloaded
from torchrepro_lint.evidence import read
from torchrepro_lint.verify.evidence import evidence, write
from torchrepro_lint.verify.session import Protocol, run
from torchrepro_lint.verify.tasks import Task

pytest.importorskip("torch")

FAKE = (preloaded.python(), str(Path(__file__).with_name("fake_worker.py")))


def test_evidence_is_read_as_it_was_written(tmp_path: Path) -> None:
    tasks = [Task(name, f"fake-{name}", "forward", ("cpu",), {"dim": 0}) for name in ("switching", "steady", "missing")]
    file = tmp_path / "evidence.json"
    write(file, evidence(run(tasks, Protocol(repeats=5, timeout=60, command=FAKE))))
    found = {item.id: item for item in read(file)}
    assert {name: item.verdict for name, item in found.items()} == {
        "switching": "CONFIRMED",
        "steady": "NOT_REPRODUCED",
    }
    assert found["switching"].arguments == {"dim": 0}
    assert (found["switching"].repeats, found["switching"].outcome) == (5, "switches")
    assert found["switching"].distinct > 1
    assert found["steady"].upper_bound == pytest.approx(1 - 0.05 ** (1 / 4), rel=1e-3)
    assert "all 5 runs agreed" in found["steady"].words
