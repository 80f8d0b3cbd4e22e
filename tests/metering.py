"""What work takes, counted in executed lines of Python, so that no test depends on how fast a machine is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass
class Meter:
    """Lines of Python that were executed, once the block has ended."""

    lines: int = 0


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the lines that the block executes."""
    meter, lines, before = Meter(), 0, sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        nonlocal lines  # of a method, each call would make an object
        if event == "line":
            lines += 1
        return trace

    sys.settrace(trace)
    try:
        yield meter
    finally:
        sys.settrace(before)
        meter.lines = lines
