"""What a program reads from outside and may find different in its next run: folder listings, the clock, the system's
entropy. Listings can be shuffled, and each of the three can be pinned, which shows whether a difference comes from it.

The order under a key is the same in the whole run, in all its processes, and different under another key. Python's own
imports list folders with functions of their own and notice nothing.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from torchrepro_lint.rerun.inside.recorder import Recorder

_THEN = 1_700_000_000_000_000_000  # nanoseconds: a moment like any other
_TICK = 1_000_000  # nanoseconds that pass between two looks at a pinned clock: loops that wait for a time must end


def install(recorder: Recorder) -> None:
    """Shuffle or pin what the settings say."""
    pins, key = recorder.settings.get("pins", ()), recorder.settings.get("listing")
    if "listing" in pins:
        _list_in_order(lambda name: os.fsencode(name))
    elif key is not None:
        secret = str(key).encode()
        _list_in_order(lambda name: hashlib.blake2b(os.fsencode(name), key=secret).digest())
    if "time" in pins:
        _stop_the_clock()
    if "entropy" in pins:
        _known_entropy()


class _List:
    """os.listdir; no plain function, which would become a method in Python 3.10's pathlib."""

    def __init__(self, plain: Callable[..., list[Any]], rank: Callable[[Any], bytes]) -> None:
        self._plain, self._rank = plain, rank

    def __call__(self, path: Any = ".") -> list[Any]:
        return sorted(self._plain(path), key=self._rank)


class _Scan:
    """What os.scandir returns: an iterator that can be closed, and used in a `with`."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


class _Scandir:
    def __init__(self, plain: Callable[..., Any], rank: Callable[[Any], bytes]) -> None:
        self._plain, self._rank = plain, rank

    def __call__(self, path: Any = ".") -> _Scan:
        with self._plain(path) as entries:
            return _Scan(sorted(entries, key=lambda entry: self._rank(entry.name)))


def _list_in_order(rank: Callable[[Any], bytes]) -> None:
    os.listdir = _List(os.listdir, rank)
    os.scandir = _Scandir(os.scandir, rank)  # type: ignore[assignment]


def _stop_the_clock() -> None:
    now = [_THEN]

    def ticks() -> int:
        now[0] += _TICK
        return now[0]

    time.time_ns = time.perf_counter_ns = ticks
    time.time = time.perf_counter = lambda: ticks() / 1e9


def _known_entropy() -> None:
    """Each thread gets numbers of its own: multiprocessing's threads draw whenever another process connects."""
    counts: Counter[str] = Counter()

    def urandom(size: int, /) -> bytes:
        thread = threading.current_thread().name
        counts[thread] += 1
        return hashlib.shake_128(f"{thread} {counts[thread]}".encode()).digest(size)

    os.urandom = urandom
    for name in ("random", "secrets"):
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "_urandom"):
            setattr(module, "_urandom", urandom)  # noqa: B010 - private: type checkers know no such name
