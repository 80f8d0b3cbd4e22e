"""`scripts/record-evidence`: whole after every round and where it is interrupted, and resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import preloaded
from torchrepro_lint.verify.session import Protocol, Session, run
from torchrepro_lint.verify.tasks import Task

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
SCRIPT = str(ROOT / "scripts" / "record-evidence")
FAKE = (preloaded.python(), str(Path(__file__).with_name("fake_worker.py")))
OPERATIONS = ("--op", "max-unpool2d", "--op", "max-unpool3d")


def test_what_is_known_is_told_after_every_round() -> None:
    told: list[Session] = []
    tasks = [Task("steady", "fake-steady", "forward", ("cpu",))]
    done = run(tasks, Protocol(repeats=6, processes=3, command=FAKE), after_round=told.append)
    assert [session.rows[0].reason for session in told] == [
        "no time was left for more than 1 of 3 processes",
        "no time was left for more than 2 of 3 processes",
        None,
    ]
    assert [len(session.rows[0].measurements[0].default.outputs) for session in told] == [2, 4, 6]
    assert told[-1] == done
    assert not told[0].rows[0].conclusive


def test_it_is_known_how_long_each_operation_took() -> None:
    tasks = [Task(name, f"fake-{name}", "forward", ("cpu",)) for name in ("steady", "missing")]
    done = run(tasks, Protocol(repeats=6, processes=2, command=FAKE))
    assert [(row.task.id, len(row.seconds)) for row in done.rows] == [("steady", 2), ("missing", 1)]
    assert all(0 < seconds < 60 for row in done.rows for seconds in row.seconds)


def test_an_interruption_keeps_what_was_measured() -> None:
    told: list[Session] = []

    def interrupt(done: int, total: int) -> None:
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    tasks = [Task(name, f"fake-{name}", "forward", ("cpu",)) for name in ("steady", "varying")]
    with pytest.raises(KeyboardInterrupt):
        run(tasks, Protocol(repeats=6, processes=3, command=FAKE), interrupt, told.append)
    assert {row.task.id: row.verdict.value for row in told[-1].rows} == {
        "steady": "NOT_REPRODUCED", "varying": "STILL_DIFFERS_IN_DET_MODE",
    }  # fmt: skip
    assert all("SIGKILL" not in (row.reason or "") for row in told[-1].rows)


def test_an_interruption_while_a_thread_starts_is_told_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Thread):
        def start(self) -> None:
            raise KeyboardInterrupt

    its_threading = SimpleNamespace(Thread=Interrupted, Lock=threading.Lock)
    monkeypatch.setattr("torchrepro_lint.verify.session.threading", its_threading)
    told: list[Session] = []
    tasks = [Task("steady", "fake-steady", "forward", ("cpu",))]
    with pytest.raises(KeyboardInterrupt):
        run(tasks, Protocol(repeats=6, command=FAKE), after_round=told.append)
    assert [len(session.rows) for session in told] == [1]


def test_a_recording_is_kept_when_it_is_ended_and_goes_on_where_it_was(tmp_path: Path) -> None:
    command = [preloaded.python(), SCRIPT, str(tmp_path), *OPERATIONS]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while not list(tmp_path.glob("*.json")) and time.monotonic() < end and first.poll() is None:
        time.sleep(0.02)
    first.send_signal(signal.SIGTERM)
    told, _ = first.communicate(timeout=60)
    assert first.returncode == 130
    (file,) = tmp_path.glob("*.json")
    rows = json.loads(file.read_text())["rows"]
    assert {row["verdict"] for row in rows} <= {"RAISES_IN_DET_MODE"}
    assert all(row["reason"].startswith("no time was left for more than") for row in rows)
    assert str(file) in told
    content = json.loads(file.read_text())
    content["rows"][0]["reason"] = None  # one of them was complete
    content["rows"][0]["processes"] = 77
    file.write_text(json.dumps(content))
    again = subprocess.run(
        [*command, "--resume", "--jobs", "2"], capture_output=True, text=True, timeout=200, check=True
    )
    rows = json.loads(file.read_text())["rows"]
    assert [(row["id"], row["processes"], row["reason"]) for row in rows] == [
        ("max-unpool2d", 77, None), ("max-unpool3d", 3, None),
    ]  # fmt: skip
    assert "2 RAISES_IN_DET_MODE" in again.stdout
    first_told, second_told, *_ = again.stdout.splitlines()
    assert first_told == "max-unpool2d cpu: RAISES_IN_DET_MODE"  # of an earlier run
    assert re.fullmatch(r"max-unpool3d cpu: RAISES_IN_DET_MODE, (\d+\.\d \+ ){2}\d+\.\d s", second_told)
