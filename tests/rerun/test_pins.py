"""What is pinned is the same in every run, whatever else the program's threads do meanwhile."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
