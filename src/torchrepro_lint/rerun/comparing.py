"""Lays the streams of two runs side by side and finds where each process first differs.

Each thread is compared for itself, in the order of execution. Threads whose names differ in a number alone, such as
those of a pool, are compared together: which of them did a piece of work, and when, is no difference. Says what differs
and how the differing value came to its process; what caused it is judged elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import Any

from torchrepro_lint.rerun.streams import Event, Place, Streams, check_kinds


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
    """The first event of a thread, or of the threads of a pool, at which two runs differ. `flag` says where a differing
    input comes from, `is_of_several` that more than one thread did this work."""

    process: str
    thread: str
    what: What
    one: Event | None
    other: Event | None
    flag: str = ""
    is_of_several: bool = False

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
    """Where each process first differs, those first that did not get the difference from another process, and in a
    process what was executed first: the threads that PyTorch runs a backward pass in come after the forward pass."""
    check_kinds(one, other)
    names = sorted({*one.names(), *other.names()})
    found = [parting for name in names for parting in _of_process(name, one, other)]
    return sorted(found, key=lambda p: (p.is_inherited, p.step, p.event.number, p.process, p.thread))


def lane(thread: str) -> str:
    """What the threads of a pool have in common: their name without its numbers."""
    return re.sub(r"\d+", "#", thread)


def of_several(streams: Streams, process: str) -> frozenset[str]:
    """The lanes of a process in which several threads share their work."""
    return frozenset(shared for shared, count in Counter(map(lane, streams.threads(process))).items() if count > 1)


def steps(streams: Streams) -> int:
    """How many optimizer steps the longest process made."""
    return max((sum(e.kind == "step" for e in streams.events(name)) for name in streams.names()), default=0)


def _of_process(name: str, one: Streams, other: Streams) -> Iterator[Parting]:
    present = [streams for streams in (one, other) if name in streams.names()]
    threads = Counter(lane(thread) for thread in {thread for streams in present for thread in streams.threads(name)})
    lanes: dict[str, _Lane] = {}
    for pair in zip_longest(*(streams.values(name) if streams in present else () for streams in (one, other))):
        for side, event in enumerate(pair):
            if event is not None:
                shared = lane(event.thread)
                lanes.setdefault(shared, _Lane(threads[shared] > 1)).add(side, event)
    # A worker runs ahead, and is stopped somewhere; and what was cut off says nothing of the rest.
    must_match = all(streams.ended(name) and not _is_loader_worker(streams, name) for streams in present)
    for thread, compared in lanes.items():
        found = compared.end(must_match, is_helper=bool(thread))
        if found is not None:
            one_event, other_event, what, flag = found
            yield Parting(name, thread, what, one_event, other_event, flag, compared.is_of_several)


_TRAINING = ("batch", "loss", "step")
_Difference = tuple[Event | None, Event | None, What, str]
_Waiting = dict[str, deque[Event]]


class _Lane:
    """The events of one thread, or of several that share their work, in two runs: those that the other run has not
    come to yet wait for it, so that no run need be kept whole. One thread's are taken in order, several threads' by
    what they hold."""

    def __init__(self, is_of_several: bool) -> None:
        self.is_of_several = is_of_several
        self._waiting: tuple[_Waiting, _Waiting] = ({}, {})
        self._found: _Difference | None = None

    def add(self, side: int, event: Event) -> None:
        """Take an event of a run."""
        if self._found is not None:
            return
        key = repr((event.kind, event.frames, _held(event))) if self.is_of_several else ""
        own, others = self._waiting[side], self._waiting[1 - side].get(key)
        if not others:
            own.setdefault(key, deque()).append(event)
            return
        partner = others.popleft()
        if not others:
            del self._waiting[1 - side][key]
        self._found = _told(event, partner) if side == 0 else _told(partner, event)

    def end(self, must_match: bool, is_helper: bool) -> _Difference | None:
        """What differs first, once both runs have been taken. `must_match`: whether both must have as many events, of
        which those of a helper may still be ahead of what is used."""
        one, other = self._rest(0), self._rest(1)
        if self._found is None and one and other:
            alike = (event for event in other if (event.kind, event.frames) == (one[0].kind, one[0].frames))
            return _told(one[0], next(alike, other[0]))
        rest = [event for event in (*one, *other) if event.kind in _TRAINING or not is_helper]
        if self._found is None and must_match and rest:
            return (rest[0] if one else None), (rest[0] if other else None), What.END, ""
        return self._found

    def _rest(self, side: int) -> list[Event]:
        return sorted((e for events in self._waiting[side].values() for e in events), key=lambda event: event.number)


def _told(one: Event, other: Event) -> _Difference | None:
    difference = _difference(one, other)
    return None if difference is None else (one, other, *difference)


def _held(event: Event) -> list[Any]:
    """What an event holds that is compared."""
    if event.kind != "o":
        return [event.data[name] for name in _fields(event)]
    _, _, name, _, ins, flags, scalars, outs, state = event.data
    read = [digest for digest, flag in zip(ins, flags, strict=True) if flag != "u"]
    return [name, read, scalars, state, outs]


def _fields(event: Event) -> tuple[str, ...]:
    return ("grads", "params") if event.kind == "step" else ("d",)


def _is_loader_worker(streams: Streams, name: str) -> bool:
    return any(event.kind == "ask" for event in streams.events(name))


def _difference(a: Event, b: Event) -> tuple[What, str] | None:
    if a.kind != b.kind or a.frames != b.frames:
        return What.FLOW, ""
    if a.kind == "o":
        return _of_operation(a, b)
    for name in _fields(a):
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


def before(pair: tuple[Streams, Streams], parting: Parting) -> tuple[list[Event], list[Event]]:
    """What the process had written in each run when it came to the parting."""
    one, other = pair
    return _until(one, parting.process, parting.one), _until(other, parting.process, parting.other)


def _until(streams: Streams, process: str, end: Event | None) -> list[Event]:
    if process not in streams.names():
        return []
    return [event for event in streams.events(process) if end is None or event.number < end.number]


def rows(streams: Streams) -> Iterator[str]:
    """The samples of all batches, in the order in which loaders yielded them."""
    for _, event in streams.all("batch"):
        yield from event.data["rows"]
