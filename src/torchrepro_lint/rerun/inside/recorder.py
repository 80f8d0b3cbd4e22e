"""What the observers of one process share: its settings, its stream, its sites and digests, and the step it is in.

A step is a call of an optimizer's `step`: what comes before the first one is step 0.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from torchrepro_lint.rerun.inside.digests import Digests
from torchrepro_lint.rerun.inside.sites import Sites
from torchrepro_lint.rerun.inside.streams import Stream


class WatchedGenerators(Protocol):
    """What the other observers ask of the random generators that are watched."""

    def states(self) -> dict[str, str]:
        """The state of each generator that was seeded or drawn from, as a digest."""

    def state(self, name: str) -> str:
        """The state of one generator: `torch`, `numpy`, `python`, or a device with its number or without."""


class Recorder:
    """Writes records, each with the step and the site it belongs to."""

    generators: WatchedGenerators

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.digests = Digests(on_device=settings.get("digest") == "multilinear")
        header = {"digest": self.digests.kind, "mode": settings["mode"]}
        self.stream = Stream(settings["folder"], header, self.digests.resolve)
        self.sites = Sites(self.stream.write, settings.get("notebook"))
        self.stream.after_fork = self._forked
        self.step = 0
        self.in_child = False
        self.trainers: set[int] = set()  # threads that have stepped an optimizer
        self.is_capturing: Callable[[], bool] = lambda: False  # whether operations are kept for later, and not run
        self._local = threading.local()
        self._pause = _Pause(self._local)

    @property
    def traced(self) -> bool:
        """Whether operations are to be recorded at all."""
        return bool(self.settings["mode"] == "traced")

    @property
    def in_window(self) -> bool:
        """Whether operations are to be recorded now. What runs ahead of the training, in a process or a thread of its
        own, is recorded whole: the step that it falls into is another one in each run."""
        window = self.settings.get("window")
        return window is None or self.in_child or window[0] <= self.step <= window[1] or self._is_ahead()

    def _is_ahead(self) -> bool:
        thread = threading.current_thread()
        trains = thread is threading.main_thread() or thread.ident in self.trainers
        return not trains and not isinstance(thread, threading._DummyThread)  # such one runs a backward pass

    def note(self, kind: str, **fields: Any) -> None:
        """Write a record of the user's line that led here."""
        self.stream.write({"k": kind, "step": self.step, "site": self.sites.here(), **fields})

    @property
    def is_paused(self) -> bool:
        """Whether this thread is in our own code, or in what must not be recorded."""
        return getattr(self._local, "paused", 0) > 0 or self.is_capturing()

    def paused(self) -> AbstractContextManager[None]:
        """Record no operation of this thread in the body."""
        return self._pause

    def _forked(self) -> None:
        self.in_child = True
        self.sites.forget()
        self.digests.forget()


class _Pause(AbstractContextManager[None]):
    """Counts how many bodies this thread is in. One object for all of them: it is entered for each operation."""

    def __init__(self, local: threading.local) -> None:
        self._local = local

    def __enter__(self) -> None:
        self._local.paused = getattr(self._local, "paused", 0) + 1

    def __exit__(self, *error: object) -> None:
        self._local.paused -= 1


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Put `around(original, *args, **kwargs)` in the place of a function of a module or class."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, wrapped)
