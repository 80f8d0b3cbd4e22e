"""For all tests: a Python that has imported PyTorch, see `preloaded`, and Hypothesis tries the same examples each time,
so that a test fails for a change and not by chance.

`pytest --hypothesis-profile explore` looks for new ones.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

import pytest
from hypothesis import settings

import preloaded

settings.register_profile("steady", derandomize=True)
settings.register_profile("explore", max_examples=2000)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    stack = ExitStack()
    stack.enter_context(preloaded.provided())
    config.add_cleanup(stack.close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no process of pytest-xdist is left with it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started with `sys.executable` is a fork of a process that has imported PyTorch."""
    monkeypatch.setattr(sys, "executable", preloaded.python())
