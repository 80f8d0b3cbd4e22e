"""What work takes, counted in executed lines of Python, so that no test depends on how fast a machine is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Meter:
    """Lines of Python that were executed."""

    def __init__(self) -> None:
        self.lines = 0

    def trace(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        self.lines += event == "line"
        return self.trace


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the lines that the block executes."""
    meter, before = Meter(), sys.gettrace()
    sys.settrace(meter.trace)
    try:
        yield meter
    finally:
        sys.settrace(before)
