"""What was measured, in words."""

from __future__ import annotations

import pytest

from torchrepro_lint.report.verdict_words import lines_of, machine, rests_on, summary_of
from torchrepro_lint.report.verification import Verification, summary
from torchrepro_lint.verify.results import Arm, Difference, Measurement, Slowdown
from torchrepro_lint.verify.session import Protocol, Session
from torchrepro_lint.verify.tasks import Task
from torchrepro_lint.verify.verdicts import Row, Verdict, row_of

TASK = Task("put", "put", "both", ("cuda", "cpu"), {"accumulate": True})
SAME, OTHER = "0" * 16, "1" * 16
CPU = {"gpu": None, "cpu": "A CPU", "torch": "2.13.0+cpu", "threads": 2}


def measurement(default: Arm, strict: Arm | None = None, slow: float | None = None) -> Measurement:
    pace = Slowdown(slow, (slow * 0.9, slow * 1.1), 20, 1.0, slow) if slow else None
    return Measurement("x (64,) float32", SAME, default, strict, pace)


@pytest.mark.parametrize(
    ("slow", "words"),
    [(1.84, "1.8x slower"), (43.2, "43x slower"), (1 / 171, "171x faster"), (1.05, "as fast")],
)
def test_the_pace_of_the_deterministic_path_in_words(slow: float, words: str) -> None:
    row = row_of(TASK, "cpu", [measurement(Arm((SAME, OTHER)), Arm((SAME, SAME)), slow)], None)
    assert summary_of(row).endswith(f"deterministic algorithms agree on every run, {words}")


def test_a_difference_within_a_process_and_one_between_processes() -> None:
    within = Arm((SAME, OTHER), Difference("gradient of input 1", 0.25, 512.0))
    row = row_of(TASK, "cpu", [measurement(within), measurement(Arm((SAME, OTHER)))], "took too long")
    first, second, last = lines_of(row)
    assert first.endswith(
        "2 runs gave 2 different results, first in run 2: gradient of input 1, 25 % of its elements, up to 512 ulp"
    )
    assert second.endswith("between processes, not within one")
    assert last == "Cut short: took too long"


def test_an_agreement_has_a_bound() -> None:
    row = row_of(TASK, "cpu", [measurement(Arm((SAME,) * 20))], None)
    assert "all 20 runs agreed (95 % sure that fewer than 15 % differ, on these inputs)" in summary_of(row)


def test_what_was_taken_from_the_site_is_told() -> None:
    row = Row(TASK, "cpu", Verdict.NOT_REPRODUCED)
    assert rests_on(row) == "run with accumulate=True as written, the rest by default"


@pytest.mark.parametrize(
    ("threads", "words"), [(1, "A CPU (1 thread), "), (2, "A CPU (2 threads), "), (None, "A CPU, ")]
)
def test_a_cpu_is_told_with_its_threads(threads: int | None, words: str) -> None:
    assert machine({**CPU, "threads": threads}, "cpu") == f"{words}torch 2.13.0+cpu"


def test_a_summary_counts_what_was_run() -> None:
    rows = (Row(TASK, "cuda", Verdict.NOT_EXERCISED, "no CUDA device here"), Row(TASK, "cpu", Verdict.CONFIRMED))
    text = summary(Verification(Session(Protocol(), CPU, ("cpu",), rows)))
    assert text == (
        "Verified 1 of 2 operations on A CPU (2 threads), torch 2.13.0+cpu: "
        "1 CONFIRMED, 1 NOT_EXERCISED (no CUDA device here).\n"
    )
