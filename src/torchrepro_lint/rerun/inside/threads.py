"""Runs every thread that the program starts inside a context, such as a mode that PyTorch keeps for each thread.

By `Thread.start` and `Thread.run` alone, which every Python has: a class may have a `run` of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from torchrepro_lint.rerun.inside.recorder import wrap


def run_inside(context: Callable[[], AbstractContextManager[object]]) -> None:
    """From now on, the body of each thread runs inside a new `context()`."""

    def start(original: Callable[..., Any], thread: threading.Thread) -> Any:
        body, is_on_the_thread = thread.run, "run" in vars(thread)

        def restore() -> None:
            if is_on_the_thread:
                vars(thread)["run"] = body
            else:
                vars(thread).pop("run", None)

        def run() -> None:
            restore()
            with context():
                body()

        vars(thread)["run"] = run
        try:
            return original(thread)
        except BaseException:
            restore()
            raise

    wrap(threading.Thread, "start", start)
