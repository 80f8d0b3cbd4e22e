"""Reads what the processes of a run wrote, one event at a time, up to the last whole record.

Knows the format of streams; nothing of how runs are started, or of what a difference means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
VALUES = frozenset(("o", "arrival", "batch", "ask", "fetch", "loss", "step"))
"""Kinds of events that hold values of the program, and so are compared in order."""
_THREAD = '{"k":"thread"'  # how such a record begins


@dataclass(frozen=True)
class Place:
    """A line of code; `path` is relative to the program's folder where it lies in it.

    In a notebook, lines count from the top of the cell, and cells from 1 among all cells.
    """

    path: str
    line: int
    function: str = ""
    cell: int | None = None

    def __str__(self) -> str:
        return f"{self.path}:{'' if self.cell is None else f'cell {self.cell}:'}{self.line}"


@dataclass(frozen=True)
class Event:
    """One record: its kind, the step it is in, the lines that led to it (innermost first), the thread, and which
    record of its process it is."""

    kind: str
    step: int
    frames: tuple[Place, ...]
    thread: str
    number: int
    data: Any = field(repr=False)

    @property
    def place(self) -> Place | None:
        """The innermost line of the user's code."""
        return self.frames[0] if self.frames else None


class StreamError(Exception):
    """Streams that cannot be read, or not compared with each other; the message says why."""


@dataclass(frozen=True)
class Streams:
    """The streams of one run: a folder with a file for each process, and the folder that the program ran in."""

    folder: Path
    root: Path

    def names(self) -> list[str]:
        """The processes that wrote anything, in order."""
        return sorted(path.stem for path in self.folder.glob("*.jsonl"))

    def head(self, name: str) -> Mapping[str, Any]:
        """What a process said of itself."""
        with (self.folder / f"{name}.jsonl").open(encoding="utf-8", errors="replace") as file:
            head = _record(file.readline())
        if head is None or head.get("k") != "head":
            raise StreamError(f"{self.folder / name}.jsonl is no stream")
        if head["format"] != FORMAT:
            raise StreamError(f"{name}: its format is {head['format']}, this version reads {FORMAT}")
        return dict(head)

    def events(self, name: str) -> Iterator[Event]:
        """All events of a process in order."""
        sites: dict[int, tuple[Place, ...]] = {0: ()}
        thread = ""
        for number, record in enumerate(self._records(name)):
            if isinstance(record, list):
                yield Event("o", record[1], sites.get(record[3], ()), thread, number, record)
                continue
            match record["k"]:
                case "site":
                    sites[record["n"]] = tuple(self._place(*frame) for frame in record["frames"])
                case "thread":
                    thread = record["name"]
                case "head":
                    pass
                case kind:
                    frames = sites.get(record.get("site", 0), ())
                    yield Event(kind, record.get("step", 0), frames, thread, number, record)

    def threads(self, name: str) -> set[str]:
        """The threads of a process that wrote anything, but for the main one."""
        with (self.folder / f"{name}.jsonl").open(encoding="utf-8", errors="replace") as file:
            found = (_record(line) for line in file if line.startswith(_THREAD))
            return {record["name"] for record in found if record is not None}

    def values(self, name: str) -> Iterator[Event]:
        """The events of a process that are to be compared."""
        return (event for event in self.events(name) if event.kind in VALUES)

    def all(self, *kinds: str) -> Iterator[tuple[str, Event]]:
        """The events of these kinds of all processes, each with its process."""
        for name in self.names():
            for event in self.events(name):
                if event.kind in kinds:
                    yield name, event

    def ended(self, name: str) -> bool:
        """Whether the process came to its end, or that of the steps asked for, rather than being cut off."""
        return any(event.kind in ("end", "stop") for event in self.events(name))

    def has_stopped(self) -> bool:
        """Whether a process was ended after the steps that it was asked for. What started it may call that a failure,
        as Jupyter does."""
        return any(True for _ in self.all("stop"))

    def _records(self, name: str) -> Iterator[Any]:
        with (self.folder / f"{name}.jsonl").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                record = _record(line)
                if record is None:
                    return
                yield record

    def _place(self, path: str, line: int, function: str, cell: int | None = None) -> Place:
        return Place(self.relative(path), line, function, cell)

    def relative(self, path: str) -> str:
        """A path as it is told: from the program's folder where it lies in it."""
        found = Path(path)
        return found.relative_to(self.root).as_posix() if found.is_relative_to(self.root) else found.as_posix()


def _record(line: str) -> Any:
    """A whole line's record; None for one that was cut off."""
    if not line.endswith("\n"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None


def check_kinds(one: Streams, other: Streams) -> None:
    """Raise StreamError where the digests of two runs are of different kinds."""
    kinds = [{str(streams.head(name)["digest"]) for name in streams.names()} for streams in (one, other)]
    if kinds[0] and kinds[1] and kinds[0] != kinds[1]:
        told = " and ".join("/".join(sorted(kind)) for kind in kinds)
        raise StreamError(f"the streams hold digests of different kinds ({told}) and cannot be compared")
