"""Whether files are what they were: by what the system says of them, and by their bytes where that is not enough.

What the system says is enough for a file that was last changed well before it was looked at: any change since would
show. Of a file that is younger, or changed at times that are still to come, the bytes are read each time.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

from torchrepro_lint.reading import digest
from torchrepro_lint.records import NamedTuple

# Strings instead of Path objects where thousands of names are looked up.
# ruff: noqa: PTH116

Signature: TypeAlias = "tuple[int, ...]"
"""Size, times of change, number and device of a file."""

YOUNG = 2_000_000_000  # nanoseconds: the coarsest clock of a file system that is in use
ABSENT = ""


class State(NamedTuple):
    """A file: a name for its bytes, ABSENT where it cannot be read; what the system says of it, if that is enough."""

    digest: str
    signature: Signature | None = None
    size: int = 0


class States:
    """The files of a project as they are; `known` are their states in an earlier run. `read` gives a file's bytes, and
    is asked each time for those `open`, of which the disk knows nothing."""

    def __init__(
        self, known: Mapping[str, State], read: Callable[[str], bytes | None], open: Collection[str] = ()
    ) -> None:
        self.known = known
        self.found: dict[str, State] = {}
        self.read = read
        self._open = open
        self._begin = time.time_ns()

    def of(self, path: str) -> State:
        """The state of a file, looked at once in a run."""
        found = self.found.get(path)
        if found is None:
            found = self.found[path] = self._look(path)
        return found

    def changed(self, paths: Iterable[str]) -> set[str]:
        """Those of the paths whose bytes are others than in the earlier run."""
        return {path for path in paths if self.of(path).digest != self.known.get(path, _NO_FILE).digest}

    @property
    def is_news(self) -> bool:
        """Whether the earlier run did not know some file as it is now known."""
        return any(self.known.get(path) != state for path, state in self.found.items() if state.signature is not None)

    def hold(self) -> bool:
        """Whether every file is still what it was when it was looked at."""
        return all(self._look(path).digest == state.digest for path, state in self.found.items())

    def _look(self, path: str) -> State:
        if path in self._open:
            text = self.read(path)
            return State(digest(text), None, len(text)) if text is not None else _NO_FILE
        signature = _signature(path)
        if signature is None:
            return _NO_FILE
        for known in (self.found.get(path), self.known.get(path)):
            if known is not None and known.signature == signature:
                return known
        data = self.read(path)
        if data is None:
            return _NO_FILE
        is_old = max(signature[1:3]) < self._begin - YOUNG
        return State(digest(data), signature if is_old else None, signature[0])


_NO_FILE = State(ABSENT)


def _signature(path: str) -> Signature | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
