"""One run at a time writes to a project. How a folder is locked is the only thing here that differs by system."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = ".torchrepro-lock"  # on Windows, where a folder cannot be locked itself; it is left behind, empty


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Wait until no other run writes to the project, and keep others from it; where that cannot be, go on without."""
    handle = _locked(root)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _locked(root: Path) -> int | None:
    """An open file that holds the lock until it is closed, also by the end of the process."""
    handle: int | None = None
    try:
        if sys.platform == "win32":
            import msvcrt

            handle = os.open(root / LOCK, os.O_RDWR | os.O_CREAT)
            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # gives up after ten seconds
        else:
            import fcntl

            handle = os.open(root, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # network file systems, folders of others
        pass
    return handle
