"""Which steps are compared where not all are, and that operations of every thread are seen."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.rerun.comparing import What, partings  # noqa: E402
from torchrepro_lint.rerun.inside.training import _Steps  # noqa: E402
from torchrepro_lint.rerun.launching import run  # noqa: E402
from torchrepro_lint.rerun.streams import Streams  # noqa: E402

from .tracing import traced  # noqa: E402

pytestmark = pytest.mark.usefixtures("forks")
LOOP = """
import sys
import torch

torch.manual_seed(0)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(8):
    optimizer.zero_grad()
    (weight * torch.randn(3)).sum().backward()
    optimizer.step()
    if step == 7:
        weight.data += float(sys.argv[1])
"""
THREADS = """
import sys
import threading
import torch
from torch.utils.data import dataloader

class Reader(threading.Thread):
    def run(self):
        torch.ones(3) * float(sys.argv[1])  # a class

def read():
    torch.ones(3) + float(sys.argv[1])  # a function

class Workers:  # what they have sent, for the thread that pins it where there is a device
    def get(self, timeout):
        done.set()
        return 0, torch.ones(3) / float(sys.argv[1])

done = threading.Event()
torch.accelerator.set_device_index = lambda index: None
loop = dataloader._utils.pin_memory._pin_memory_loop
pinning = threading.Thread(target=loop, args=(Workers(), None, 0, done, "cuda"))
for thread in (Reader(name="reader"), threading.Thread(target=read, name="helper"), pinning):
    thread.start()
    thread.join()
assert done.is_set()
"""

CONTEXTS = """
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from torchrepro_lint.rerun.inside import tracebacks
from torchrepro_lint.rerun.inside.threads import run_inside

here = threading.local()

@contextmanager
def context():
    here.depth = getattr(here, "depth", 0) + 1
    yield
    here.depth -= 1

def told(name):
    print(name, getattr(here, "depth", 0))

class Own(threading.Thread):
    def run(self):
        told("class")

tracebacks.leave_out_our_frames()
run_inside(context)
function, own, given = threading.Thread(target=told, args=("function",)), Own(), threading.Thread()
given.run = lambda: told("thread")
for thread in (function, own, given, threading.Timer(0, told, ["timer"])):
    thread.start()
    thread.join()
print([name for name in ("function", "own", "given") if "run" in vars(globals()[name])])
with ThreadPoolExecutor(1) as pool:
    pool.submit(told, "pool").result()
try:
    own.start()
except RuntimeError as error:
    print(error, "run" in vars(own))
wrong = threading.Thread(target=lambda: 1 / 0)
wrong.start()
wrong.join()
told("main")
"""


def streams(folder: Path, text: str, argument: str, **settings: Any) -> Streams:
    (folder / "train.py").write_text(text)
    kept = folder / f"run-{len(list(folder.glob('run-*')))}"
    done = run([sys.executable, "train.py", argument], folder, kept, {"mode": "plain", **settings}, 900)
    assert done.status == 0, done.tail()
    return Streams(done.streams, folder)


def parameters(found: Streams) -> list[Any]:
    return [event.data["params"] for event in found.events("main") if event.kind == "step"]


def test_every_third_step_is_compared_and_what_the_last_one_leaves(tmp_path: Path) -> None:
    whole = parameters(streams(tmp_path, LOOP, "0"))
    assert len(set(whole)) == 8
    some = streams(tmp_path, LOOP, "0", every=3)
    wanted = [digest if step % 3 == 0 else None for step, digest in enumerate(whole)]
    assert parameters(some) == [*wanted, whole[-1]]
    gradients = [event.data["grads"] for event in some.events("main") if event.kind == "step"]
    assert [step for step, digest in enumerate(gradients) if digest] == [0, 3, 6]
    (parting,) = partings(some, streams(tmp_path, LOOP, "1", every=3))
    assert (parting.what, parting.flag, parting.step) == (What.VALUE, "params", 8)


def test_what_is_killed_after_its_steps_has_told_that_it_came_to_its_end(tmp_path: Path) -> None:
    """As Jupyter may kill the kernel of a notebook, for which the end of the steps is an error."""
    killed = (
        f"import os, signal\ntry:\n{textwrap.indent(LOOP, '    ')}\nexcept SystemExit:\n    os.kill(os.getpid(), 9)\n"
    )
    (tmp_path / "train.py").write_text(killed)
    settings = {"mode": "plain", "steps": 2}
    found = Streams(run([sys.executable, "train.py", "0"], tmp_path, tmp_path / "run", settings, 900).streams, tmp_path)
    assert len(parameters(found)) == 2
    assert found.has_stopped()
    assert found.ended("main")


def test_of_a_large_model_every_tenth_step_is_compared(tmp_path: Path) -> None:
    with traced(tmp_path) as recorder:
        large = torch.nn.Parameter(torch.zeros(1).expand(1 << 27))  # its bytes are four
        optimizers = [torch.optim.SGD([p], lr=0.1) for p in (large, torch.nn.Parameter(torch.zeros(1)))]
        steps, due = _Steps(recorder), []
        for recorder.step in range(21):
            due.append([steps._is_due(optimizer) for optimizer in optimizers])
    assert [step for step, (is_large_due, _) in enumerate(due) if is_large_due] == [0, 10, 20]
    assert all(is_small_due for _, is_small_due in due)


def test_operations_of_all_threads_are_recorded_with_their_line(tmp_path: Path) -> None:
    one, other = (streams(tmp_path, THREADS, argument, mode="traced") for argument in ("2", "3"))
    lines = {line.rpartition("# a ")[2]: number for number, line in enumerate(THREADS.splitlines(), 1)}
    found = {(p.thread, p.what, p.place.line if p.place else 0) for p in partings(one, other)}
    assert found == {("reader", What.SCALAR, lines["class"]), ("helper", What.SCALAR, lines["function"])}


def test_whatever_a_thread_runs_is_inside_the_context_and_the_thread_is_left_as_it_was() -> None:
    """Of Python's own module, which differs from version to version, and in a process of its own: it is for good."""
    done = subprocess.run([sys.executable, "-c", CONTEXTS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "function 1", "class 1", "thread 1", "timer 1", "['given']", "pool 1",
        "threads can only be started once False", "main 0",
    ]  # fmt: skip
    assert "ZeroDivisionError" in done.stderr
    assert "torchrepro_lint" not in done.stderr
