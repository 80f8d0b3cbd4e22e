"""Lays the streams of two runs side by side and finds where each process first differs.

A process's threads are compared each for itself, in the order of execution. Says what differs there and how the
differing value came to its process; what caused it is judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest

from torchrepro_lint.rerun.streams import VALUES, Event, Place, Streams, check_kinds


class What(Enum):
    """What differs at a parting."""

    FLOW = "another operation, or another line"
    STATE = "the state of the generator it draws from"
    SCALAR = "an argument that is no tensor"
    INPUT = "an input"
    OUTPUT = "the result, of equal inputs"
    VALUE = "a value"
    END = "only one run went on"


@dataclass(frozen=True)
class Parting:
    """The first event of a process at which two runs differ. `flag` says where a differing input comes from."""

    process: str
    thread: str
    index: int
    what: What
    one: Event | None
    other: Event | None
    flag: str = ""

    @property
    def event(self) -> Event:
        """The event, of the run that has one."""
        found = self.one or self.other
        assert found is not None
        return found

    @property
    def step(self) -> int:
        return self.event.step

    @property
    def place(self) -> Place | None:
        return self.event.place

    @property
    def key(self) -> tuple[object, ...]:
        """What stays the same when two other runs part for the same cause. Not how many operations came before: a
        loop may turn another number of times in each run."""
        sides = frozenset((e.kind, e.frames, e.data[2] if e.kind == "o" else "") for e in (self.one, self.other) if e)
        return (self.process, self.thread, self.what, self.step, sides)

    @property
    def is_inherited(self) -> bool:
        """Whether the difference came from another process: a worker, a rank, shared memory."""
        event = self.event
        if event.kind == "batch":
            return bool(event.data.get("workers"))
        return event.kind == "ask" or (self.what is What.INPUT and self.flag in ("s", "w"))


def partings(one: Streams, other: Streams) -> list[Parting]:
    """Where each process first differs, those first that did not get the difference from another process."""
    check_kinds(one, other)
    found: list[Parting] = []
    for name in one.names():
        for thread in (t for t in one.threads(name) if t in other.threads(name)):
            parting = _first(name, thread, one, other)
            if parting is not None:
                found.append(parting)
    found += [Parting(*start, What.END, event, None) for start, event in _alone(one, other)]
    found += [Parting(*start, What.END, None, event) for start, event in _alone(other, one)]
    return sorted(found, key=lambda p: (p.is_inherited, p.step, p.index, p.process, p.thread))


def steps(streams: Streams) -> int:
    """How many optimizer steps the longest process made."""
    return max((sum(e.kind == "step" for e in streams.events(name)) for name in streams.names()), default=0)


def _first(name: str, thread: str, one: Streams, other: Streams) -> Parting | None:
    pairs = zip_longest(one.values(name, thread), other.values(name, thread))
    for index, (a, b) in enumerate(pairs):
        if a is None or b is None:
            # A worker fetches ahead, and is stopped somewhere; and what was cut off says nothing of the rest.
            if _is_loader_worker(one, name) or not (one.ended(name) and other.ended(name)):
                return None
            return Parting(name, thread, index, What.END, a, b)
        difference = _difference(a, b)
        if difference is not None:
            return Parting(name, thread, index, difference[0], a, b, difference[1])
    return None


def _alone(one: Streams, other: Streams) -> Iterator[tuple[tuple[str, str, int], Event]]:
    """The first value of each thread of each process that the other run does not have, workers of loaders aside."""
    for name in one.names():
        for thread in one.threads(name):
            if thread not in other.threads(name) and not _is_loader_worker(one, name):
                yield (name, thread, 0), next(one.values(name, thread))


def _is_loader_worker(streams: Streams, name: str) -> bool:
    return any(event.kind == "ask" for event in streams.events(name))


def _difference(a: Event, b: Event) -> tuple[What, str] | None:
    if a.kind != b.kind or a.frames != b.frames:
        return What.FLOW, ""
    if a.kind == "o":
        return _of_operation(a, b)
    fields = {"step": ("grads", "params")}.get(a.kind, ("d",))
    for name in fields:
        if a.data[name] != b.data[name] and a.data[name] is not None and b.data[name] is not None:
            return What.VALUE, name
    return None


def _of_operation(a: Event, b: Event) -> tuple[What, str] | None:
    _, _, name, _, ins, flags, scalars, outs, state = a.data
    _, _, name2, _, ins2, flags2, scalars2, outs2, state2 = b.data
    if name != name2 or len(ins) != len(ins2):
        return What.FLOW, ""
    if scalars != scalars2:
        return What.SCALAR, ""
    for digest, digest2, flag, flag2 in zip(ins, ins2, flags, flags2, strict=True):
        if digest != digest2 and "u" not in (flag, flag2):
            return What.INPUT, flag.strip(".")
    if state != state2:
        return What.STATE, ""
    if outs != outs2:
        # Garbage, or memory that another process may have written since its digest was taken.
        unsure = next((flag for flag in "us" if flag in flags), "")
        return (What.INPUT if unsure else What.OUTPUT), unsure
    return None


def before(streams: Streams, parting: Parting) -> Iterator[Event]:
    """What the process had written when it came to the parting, its last event not included."""
    count = 0
    for event in streams.events(parting.process):
        if event.kind in VALUES and event.thread == parting.thread:
            if count == parting.index:
                return
            count += 1
        yield event


def rows(streams: Streams) -> Iterator[str]:
    """The samples of all batches, in the order in which loaders yielded them."""
    for _, event in streams.all("batch"):
        yield from event.data["rows"]
