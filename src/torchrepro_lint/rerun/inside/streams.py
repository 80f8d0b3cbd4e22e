"""The stream of one process: records as JSON lines in a file of its own, whole lines only, nothing kept in memory.

A process is named by its rank and its place among the processes that the program starts, so that the streams of two
runs can be laid side by side. A record that holds digests still on a device waits until they are copied.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

FORMAT = 1
_BUFFER = 1 << 16  # characters: so much may be lost of a step that is killed in the middle
_WAITING = 4096  # records that may wait for a device: a loop without an optimizer has no step to wait for
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


class Stream:
    """Appends records; safe to use from several threads, and after a fork."""

    def __init__(self, folder: str, header: dict[str, Any], resolve: Callable[[], None] = lambda: None) -> None:
        self._folder, self._header, self.resolve = folder, header, resolve
        self._lock = threading.RLock()
        self._pending: list[Any] = []
        self._lines: list[str] = []
        self._size = 0
        self._file: int | None = None
        self._thread = ""
        self._forks = 0
        self.broken = False
        self.after_fork: Callable[[], None] = lambda: None  # what else is to start afresh in a child
        os.register_at_fork(after_in_child=self._forked)

    def write(self, record: Any) -> None:
        """Add a record of this thread. `record` may hold objects with a `text` that is known only after `resolve`."""
        with self._lock:
            name = thread_name()
            if name != self._thread:
                self._thread = name
                self._add({"k": "thread", "name": name})
            self._add(record)

    @property
    def is_empty(self) -> bool:
        """Whether this process has written nothing so far."""
        return self._file is None and not self._lines and not self._pending

    def flush(self) -> None:
        """Write out what was added."""
        with self._lock:
            if self._pending:
                self.resolve()
                pending, self._pending = self._pending, []
                for record in pending:
                    self._take(_dumps(record))
            if self._lines and not self.broken:
                self._out("".join(self._lines).encode())
            self._lines, self._size = [], 0

    def _add(self, record: Any) -> None:
        try:
            line = "" if self._pending else _dumps(record)
        except _NotYet:
            line = ""
        if not line:
            self._pending.append(record)
            if len(self._pending) > _WAITING:
                self.flush()
            return
        self._take(line)
        if self._size > _BUFFER:
            self.flush()

    def _take(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line)

    def _out(self, data: bytes) -> None:
        try:
            if self._file is None:
                self._open()
            while data and self._file is not None:
                data = data[os.write(self._file, data) :]
        except OSError as error:  # the disk is full or the folder is gone: the program itself goes on
            self.broken = True
            sys.stderr.write(f"torchrepro-lint: the stream of this process ends here: {error}\n")

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        name = process_name(self._forks)
        for number in range(10_000):
            path = os.path.join(self._folder, f"{name}{'' if number == 0 else f'~{number}'}.jsonl")
            try:
                self._file = os.open(path, flags, 0o644)
            except FileExistsError:
                continue
            break
        head = {"k": "head", "format": FORMAT, "pid": os.getpid(), "argv": getattr(sys, "argv", []), **self._header}
        os.write(self._file or 0, _dumps(head).encode())

    def _forked(self) -> None:
        """In a forked child: what is buffered is the parent's, and so is the file."""
        self._lock = threading.RLock()
        self._pending, self._lines, self._size = [], [], 0
        if self._file is not None:
            os.close(self._file)
        self._file, self._thread = None, ""
        self._forks += 1
        self.after_fork()


def process_name(forks: int = 0) -> str:
    """`rank0`, `rank0.mp-1`: the same in every run of a program that starts its processes in the same order."""
    parts = [rank_name()]
    process = sys.modules.get("multiprocessing.process")
    identity = process.current_process()._identity if process is not None else ()
    if identity:
        parts.append("mp-" + "-".join(map(str, identity)))
    elif forks:
        parts.append(f"fork{forks}")
    return ".".join(parts)


def rank_name() -> str:
    """`rank0` of a launcher's process; `main` where there is no launcher."""
    rank = next((os.environ[name] for name in _RANKS if os.environ.get(name, "").isdecimal()), None)
    return f"rank{rank}" if rank is not None else "main"


def thread_name() -> str:
    """Of this thread; nothing for the main one."""
    thread = threading.current_thread()
    return "" if thread is threading.main_thread() else thread.name


def _dumps(record: Any) -> str:
    return _ENCODER.encode(record) + "\n"


class _NotYet(Exception):
    """A record holds what is known only after `resolve`."""


def _late(value: Any) -> Any:
    if value.text is None:
        raise _NotYet
    return value.text


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_late, ensure_ascii=False)
