"""For all tests: a Python that has imported PyTorch, see `preloaded`, and Hypothesis tries the same examples each time,
so that a test fails for a change and not by chance.

`pytest --hypothesis-profile explore` looks for new ones.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from itertools import groupby

import pytest
from hypothesis import settings

import preloaded

# One thread for each process that computes, also those that are started: with pytest-xdist, all cores are taken.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Bytecode is kept even where the environment says otherwise: a hundred interpreters that are started would each compile
# the linter, and each process of pytest-xdist the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No deadlines: how long an example takes says nothing where machines are shared.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile("steady")


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One process more than there are cores: a third of the time, a test waits for what it started."""
    return (yield) + 1


def pytest_configure(config: pytest.Config) -> None:
    stack = ExitStack()
    stack.enter_context(preloaded.provided())
    config.add_cleanup(stack.close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first in each process of pytest-xdist, so that none is left with it at the end.

    Of N processes, each is given an Nth of the tests in a row, and then takes from the others' ends. The slow tests of
    a file stay together, as they share what takes long to make, and the files with fewest come first: they make most.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow = [item for item in items if item.get_closest_marker("slow")]
    fast = [item for item in items if not item.get_closest_marker("slow")]
    files = [list(tests) for _, tests in groupby(slow, lambda item: item.path)]
    parts: list[list[list[pytest.Item]]] = [[] for _ in range(processes)]
    for tests in sorted(files, key=len, reverse=True):
        min(parts, key=lambda part: sum(map(len, part))).append(tests)
    total = len(items)
    items.clear()
    for number, part in enumerate(parts):
        items += [item for tests in reversed(part) for item in tests]
        end = total * (number + 1) // processes
        share = len(fast) if number + 1 == processes else max(0, end - len(items))
        items += fast[:share]
        del fast[:share]


def pytest_collection_finish() -> None:
    """What has been imported stays: the garbage collector need not search it time and again. What tests make is mostly
    syntax trees, without cycles: it need not be searched often either."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started with `sys.executable` is a fork of a process that has imported PyTorch."""
    monkeypatch.setattr(sys, "executable", preloaded.python())


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PyTorch computes with two threads, here and in what is started."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    yield
    torch.set_num_threads(before)
