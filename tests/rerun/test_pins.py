"""What is pinned is the same in every run, whatever else the program's threads do meanwhile."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchrepro_lint.rerun import launching

PROGRAM = """
import os, sys, threading
from torchrepro_lint.rerun.inside.outside_world import _known_entropy

_known_entropy()
helper = threading.Thread(target=lambda: [os.urandom(20) for _ in range(int(sys.argv[1]))], name="helper")
helper.start()
helper.join()
print(os.urandom(8).hex(), os.urandom(8).hex())
"""


def drawn(by_the_helper: int) -> str:
    pytest.importorskip("torch")
    command = [sys.executable, "-c", PROGRAM, str(by_the_helper)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_thread_has_its_own_part_of_pinned_entropy() -> None:
    """The threads of multiprocessing draw whenever another process connects, which is at no fixed moment."""
    without = drawn(0)
    assert without == drawn(3)
    first, second = without.split()
    assert first != second


NOTEBOOK = """
import random
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for _ in range(int(sys.argv[1])):
    random.random()
shell.run_cell("import random; print('drawn', random.random())")
shell.run_cell("print('drawn', random.random())")
"""


@pytest.mark.usefixtures("forks")
def test_what_ipython_draws_before_the_first_cell_is_not_the_notebooks(tmp_path: Path) -> None:
    """The kernel draws a tip whenever somebody asks for its banner, which is at no fixed number of times."""
    pytest.importorskip("IPython")
    (tmp_path / "kernel.py").write_text(NOTEBOOK)
    printed = []
    for times in ("1", "2"):
        settings = {"mode": "plain", "pins": ["python"]}
        done = launching.run([sys.executable, "kernel.py", times], tmp_path, tmp_path / times, settings, 900)
        printed.append(re.findall(r"^drawn .*", done.tail(), re.M))
    assert printed[0] == printed[1]
    assert len(set(printed[0])) == 2


WORKERS = """
import multiprocessing

import numpy as np


def draw(_):
    print("drawn", np.random.rand(), flush=True)


if __name__ == "__main__":
    import torch

    for number in range(2):
        process = multiprocessing.get_context("spawn").Process(target=draw, args=(number,))
        process.start()
        process.join()
"""


def test_spawned_workers_do_not_draw_alike_under_a_pin(tmp_path: Path) -> None:
    """A program may fail where they do, and then nothing would be known of the pin."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(WORKERS)
    printed = []
    for run in ("one", "other"):
        settings = {"mode": "plain", "pins": ["numpy"]}
        command = [sys.executable, "train.py"]
        done = launching.run(command, tmp_path, tmp_path / run, settings, timeout=100)
        printed.append(re.findall(r"drawn (\S+)", done.tail()))
    assert printed[0] == printed[1]
    assert len(set(printed[0])) == 2
