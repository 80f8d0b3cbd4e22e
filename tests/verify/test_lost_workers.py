"""A worker that hangs, crashes or is killed costs its row, and nothing of what it had measured before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from torchrepro_lint.verify.process import Died
from torchrepro_lint.verify.session import Absent, Protocol, run
from torchrepro_lint.verify.tasks import Task, device_of

LOST = (sys.executable, str(Path(__file__).with_name("lost_worker.py")))
REASONS = {
    "steady": None,
    "hanging": "took longer than 5 s",
    "crashing": "killed by SIGSEGV",
    "killed": "killed by SIGKILL, perhaps for want of memory",
    "failing": "ended by AttributeError: no such method",
    "asserting": "ended by RuntimeError: CUDA error: device-side assert triggered",
    "aborting": "killed by SIGABRT after RuntimeError: CUDA error: device-side assert triggered",
    "leaving": "ended early",
    "last": None,
}


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_costs_one_row(jobs: int) -> None:
    tasks = [Task(name, name, "forward", ("cpu",)) for name in REASONS]
    told: list[tuple[int, int]] = []
    session = run(tasks, Protocol(timeout=5, jobs=jobs, command=LOST), lambda done, total: told.append((done, total)))
    assert {row.task.id: row.reason for row in session.rows} == REASONS
    assert {row.verdict.value for row in session.rows} == {"CONFIRMED"}
    assert told == [(number, len(tasks)) for number in range(1, len(tasks) + 1)]


def test_a_worker_that_never_starts_is_no_row() -> None:
    with pytest.raises(Died, match=r"OSError: libtorch\.so: cannot open"):
        run([Task("steady", "steady", "forward", ("cpu",))], Protocol(command=(*LOST, "stillborn")))


def test_what_fails_in_one_process_is_left_out_of_the_next() -> None:
    tasks = [Task(name, name, "forward", ("cpu",)) for name in ("steady", "crashing")]
    told: list[int] = []
    session = run(tasks, Protocol(processes=3, command=LOST), lambda done, total: told.append(done))
    assert [row.strongest.processes for row in session.rows if row.strongest] == [3, 1]
    assert told[-1] == 6


def test_a_limit_is_kept_and_told() -> None:
    tasks = [Task("steady", "steady", "forward", ("cpu",))]
    (row,) = run(tasks, Protocol(command=LOST, limit=0)).rows
    assert (row.verdict.value, row.reason) == ("UNSUPPORTED", "no time was left for it")


def test_a_device_that_is_required() -> None:
    with pytest.raises(Absent):
        run([Task("steady", "steady", "forward", ("cpu",))], Protocol(command=LOST, required="cuda"))


@pytest.mark.parametrize(
    ("devices", "wanted", "present", "expected"),
    [
        (("cuda", "cpu"), ("cuda", "cpu"), ("cuda", "cpu"), ("cuda", None)),
        (("cuda", "cpu"), ("cuda", "cpu"), ("cpu",), ("cpu", None)),
        (("cuda", "cpu"), ("cuda",), ("cpu",), ("cuda", "no CUDA device here")),
        (("cuda",), ("cuda", "cpu"), ("cpu",), ("cuda", "no CUDA device here")),
        (("cuda", "xpu"), ("cpu",), ("cpu",), (None, "varies on CUDA, XPU only")),
    ],
)
def test_where_a_row_is_run(
    devices: tuple[str, ...], wanted: tuple[str, ...], present: tuple[str, ...], expected: tuple[str | None, str | None]
) -> None:
    assert device_of(Task("x", "x", "forward", devices), wanted, present, {}) == expected


def test_why_a_device_is_absent_is_told_where_it_is_known() -> None:
    task = Task("x", "x", "forward", ("cuda",))
    assert device_of(task, ("cuda",), ("cpu",), {"cuda": "the driver is too old"}) == ("cuda", "the driver is too old")
