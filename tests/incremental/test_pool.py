"""Work in several processes: everything is done, and a process that ends loses no more than the item it was at."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pytest

from torchrepro_lint.pool import Lost, spread

METHODS = ["spawn"] if sys.platform == "win32" else ["fork", "spawn"]
ITEMS = [str(number) for number in range(40)]


def doubling() -> Callable[[str], str]:
    return lambda item: item * 2


def dying() -> Callable[[str], str]:
    def work(item: str) -> str:
        if item == "7":
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "20":
            os._exit(3)
        return item

    return work


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_every_item_is_done_once(method: str, jobs: int) -> None:
    assert sorted(spread(doubling, ITEMS, jobs, method)) == sorted((item, item * 2) for item in ITEMS)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_ends_loses_one_item(method: str) -> None:
    found = dict(spread(dying, ITEMS, 2, method))
    assert found["7"] == Lost("ended by signal 9")
    assert found["20"] == Lost("ended with exit code 3")
    assert [item for item in ITEMS if found[item] == item] == [item for item in ITEMS if item not in ("7", "20")]
