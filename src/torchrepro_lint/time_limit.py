"""An end to work that takes too long, wherever it then is. How a clock can interrupt is all that differs by system.

Counts seconds of CPU, so that a busy machine gives up no sooner than an idle one. On Windows, and outside of the main
thread, nothing can interrupt: there is no limit.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class TimeLimitError(BaseException):
    """The work was ended. No Exception: nothing on the way may take it for a mistake of its own."""


if sys.platform == "win32":

    @contextmanager
    def limited(seconds: float) -> Iterator[Callable[[], None]]:
        """Nothing: see above."""
        yield _nothing

else:

    @contextmanager
    def limited(seconds: float) -> Iterator[Callable[[], None]]:
        """Raise TimeLimitError in the block once it has taken so many seconds. What it changes may be half done. What
        is given lets the seconds begin anew."""
        try:
            before = signal.signal(signal.SIGPROF, _end)
        except ValueError:  # in another thread than the main one
            yield _nothing
            return
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            yield lambda: _begin_anew(seconds)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _begin_anew(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _nothing() -> None:
    """Nothing is limited."""


def _end(number: int, frame: FrameType | None) -> None:
    raise TimeLimitError
