"""A worker ends with the process that started it, and no end of a worker is waited for without a bound."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torchrepro_lint.verify import process
from torchrepro_lint.verify.process import Died, Process

pytest.importorskip("torch")

FAKE = str(Path(__file__).with_name("fake_worker.py"))
LOST = str(Path(__file__).with_name("lost_worker.py"))
PARENT = """
import sys, threading
from torchrepro_lint.verify.process import Process

process = Process((sys.executable, sys.argv[1], "cpu"))
process.hello(60)
print(process._process.pid, flush=True)
request = {"probe": "fake-sleeping", "arguments": {}, "device": "cpu", "repeats": 2, "patience": 9, "stress": False}
list(process.ask(request, 600))
"""


def is_alive(pid: int) -> bool:
    """Whether there is a process that is more than a name to be collected."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_in_the_middle_of_an_operation_ends_with_its_parent(ending: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, FAKE], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(0.5)
    assert is_alive(worker)
    parent.send_signal(ending)
    parent.wait(60)
    end = time.monotonic() + 60
    while is_alive(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_alive(worker)


def test_the_end_of_its_input_ends_it_where_nothing_else_does() -> None:
    script = "import sys; from torchrepro_lint.verify import worker; worker._end_with_parent = lambda: None\n"
    script += f"sys.argv = [{FAKE!r}, 'cpu']; import runpy; runpy.run_path({FAKE!r}, run_name='__main__')"
    found = Process((sys.executable, "-c", script))
    found.hello(60)
    request = '{"probe": "fake-sleeping", "arguments": {}, "device": "cpu", "repeats": 2, "patience": 9, "stress": 0}'
    assert found._process.stdin is not None
    found._process.stdin.write(request + "\n")
    found._process.stdin.flush()
    time.sleep(0.5)
    found._process.stdin.close()
    try:
        found._process.wait(60)
    finally:
        found.kill()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_child_that_holds_the_output_open_is_not_waited_for() -> None:
    found = Process((sys.executable, LOST))
    found.hello(60)
    start = time.monotonic()
    with pytest.raises(Died, match="took longer than 1 s"):
        list(found.ask({"probe": "forking"}, 1))
    found.kill()
    assert time.monotonic() - start < 8


def test_a_worker_that_closes_its_output_and_goes_on_is_waited_for_no_longer_than_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "_PATIENCE", 0.5)
    found = Process((sys.executable, LOST))
    found.hello(60)
    with pytest.raises(Died, match="closed its output and did not end"):
        list(found.ask({"probe": "closing"}, 60))
    found.kill()


def test_time_is_counted_for_each_answer() -> None:
    """Three experiments of a second each are no operation that hangs for two."""
    found = Process((sys.executable, LOST))
    found.hello(60)
    answers = list(found.ask({"probe": "slow"}, 2))
    found.kill()
    assert len(answers) == 4
