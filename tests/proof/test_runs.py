"""What counts as a difference between two runs, and as a proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from .proving import Proof
from .runs import Broken, outcome

LOSS = "epoch 1 (1m 3s): loss 0.25 in 3.1 s"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    (tmp_path / "model.pt").write_bytes(b"weights")
    return tmp_path


def test_times_and_the_folder_are_left_out(saved: Path) -> None:
    first = outcome(saved, f"{LOSS}, saved in {saved}", ["model.pt"])
    second = outcome(saved, "epoch 1 (0m 59s): loss 0.25 in 2.9 s, saved in -", ["model.pt"])
    assert first.differences(second) == []


def test_a_digit_and_a_byte_are_differences(saved: Path) -> None:
    first = outcome(saved, LOSS, ["model.pt"])
    (saved / "model.pt").write_bytes(b"Weights")
    second = outcome(saved, LOSS.replace("0.25", "0.26"), ["model.pt"])
    assert first.differences(second) == ["model.pt", "printed text"]


def test_a_run_that_saves_nothing_proves_nothing(saved: Path) -> None:
    with pytest.raises(Broken, match="did not save last\\.ckpt"):
        outcome(saved, LOSS, ["last.ckpt"])


def test_a_proof_needs_runs_that_differ_first() -> None:
    assert Proof(["TRP101"], [], ["model.pt", "printed text"], [], 1.0).holds
    assert not Proof(["TRP101"], [], [], [], 1.0).holds
    assert not Proof(["TRP101"], [], ["printed text"], [], 1.0).holds
    assert not Proof(["TRP101"], ["TRP204"], ["model.pt", "printed text"], [], 1.0).holds
    assert not Proof(["TRP101"], [], ["model.pt", "printed text"], ["model.pt"], 1.0).holds
