"""Work on many items in several processes. Each has a row of neighbouring items, since these share most of what has to
be worked out, and takes half of the longest row when its own is done.

A process that is killed loses the item that it was at, and nothing else. None outlives the process that began them.
Knows nothing of what the work is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

Work: TypeAlias = "Callable[[str], Any]"
MEMORY = 350_000_000  # bytes that one process may need
_PATIENCE = 1.0  # seconds between two looks at whether the process that gave the work is still there


class Lost(NamedTuple):
    """The process ended while it was at an item."""

    reason: str


def suitable(items: int, least: int) -> int:
    """How many processes are of use for so many items, of which each is worth a process of its own for `least`: no more
    than there are processors and memory for."""
    return max(1, min(processors(), items // least, free_memory() // MEMORY))


def spread(
    begin: Callable[[], Work], items: Sequence[str], jobs: int, method: str | None = None
) -> Generator[tuple[str, Any], None, None]:
    """Each item with what the work gives for it, as they are done, or with Lost; `begin` makes the work in a process,
    which is made by `method`: fork or spawn."""
    context = get_context(method or ("fork" if sys.platform == "linux" else "spawn"))
    rows = [deque(items[len(items) * n // jobs : len(items) * (n + 1) // jobs]) for n in range(jobs)]
    workers = [_Worker(context, begin, row) for row in rows]
    try:
        for worker in workers:
            worker.start()
        while busy := {worker.connection: worker for worker in workers if worker.item is not None}:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                yield worker.done(), worker.result
                if not worker.row:
                    longest = max(rows, key=len)
                    worker.row.extendleft(longest.pop() for _ in range((len(longest) + 1) // 2))
                worker.go_on()
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process, and the item that it is at."""

    def __init__(self, context: BaseContext, begin: Callable[[], Work], row: deque[str]) -> None:
        self.row = row
        self.item: str | None = None
        self.result: Any = None
        self._context = context
        self._begin = begin
        self._process: BaseProcess | None = None

    def start(self) -> None:
        """Begin, in a new process."""
        self.connection, theirs = self._context.Pipe()
        process = self._context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(theirs, self._begin, os.getpid()), daemon=True
        )
        with _uninterrupted():
            process.start()
            self._process = process
        theirs.close()
        self._give()

    def done(self) -> str:
        """Take what there is; the item that it belongs to."""
        item, self.item = self.item, None
        assert item is not None
        try:
            self.result = self.connection.recv()
        except (EOFError, OSError):
            self.result = Lost(self._ended())
        return item

    def go_on(self) -> None:
        """With the next item, in a new process if need be."""
        if self.row and isinstance(self.result, Lost):
            self.end()
            self.start()
        else:
            self._give()

    def end(self) -> None:
        """At once."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self.connection.close()

    def _give(self) -> None:
        if not self.row:
            return
        self.item = self.row.popleft()
        with suppress(OSError):  # a process that is gone is seen when it should answer
            self.connection.send(self.item)

    def _ended(self) -> str:
        assert self._process is not None
        self._process.join()
        code = self._process.exitcode or 0
        return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C comes after the block: a process that was half started would be nobody's to end. A process that is forked
    in the block never hears it."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, begin: Callable[[], Work], parent: int) -> None:
    """Work on one item after the other, until there are no more or nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who gave the work ends this process
    work = begin()
    with suppress(EOFError, OSError):
        while True:
            while not connection.poll(_PATIENCE):
                if os.getppid() != parent:
                    return
            connection.send(work(connection.recv()))


def processors() -> int:
    """Those that this process may use: a container often has fewer than the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int:
    """The bytes that are free; as many as are wanted where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
            told = dict(line.split(":", 1) for line in file)
        return int(told["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return sys.maxsize
