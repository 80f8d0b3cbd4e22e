"""A worker that hangs, crashes or is killed costs its row, and nothing of what it had measured before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from torchrepro_lint.verify.process import Died
from torchrepro_lint.verify.session import Protocol, run
from torchrepro_lint.verify.tasks import Task

LOST = (sys.executable, str(Path(__file__).with_name("lost_worker.py")))
REASONS = {
    "steady": None,
    "hanging": "took too long",
    "crashing": "killed by SIGSEGV",
    "killed": "killed by SIGKILL, perhaps for want of memory",
    "failing": "ended by AttributeError: no such method",
    "leaving": "ended early",
    "last": None,
}


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_costs_one_row(jobs: int) -> None:
    tasks = [Task(name, name, "forward", ("cpu",)) for name in REASONS]
    told: list[tuple[int, int]] = []
    session = run(tasks, Protocol(timeout=2, jobs=jobs, command=LOST), lambda done, total: told.append((done, total)))
    assert {row.task.id: row.reason for row in session.rows} == REASONS
    assert {row.verdict.value for row in session.rows} == {"CONFIRMED"}
    assert told == [(number, len(tasks)) for number in range(1, len(tasks) + 1)]


def test_a_worker_that_never_starts_is_no_row() -> None:
    with pytest.raises(Died, match=r"OSError: libtorch\.so: cannot open"):
        run([Task("steady", "steady", "forward", ("cpu",))], Protocol(command=(*LOST, "stillborn")))
