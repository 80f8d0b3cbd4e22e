"""Runs tasks in worker processes and collects their rows: one that hangs or crashes costs its row, not the run, and
a run that is interrupted keeps what it has measured.

Knows tasks, processes and the order of things; nothing of PyTorch, which only the workers import.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from torchrepro_lint.verify.process import Died, Process, command_of
from torchrepro_lint.verify.results import Measurement, from_json, joined
from torchrepro_lint.verify.tasks import KINDS, MODULE, Task, device_of
from torchrepro_lint.verify.verdicts import Row, Verdict, row_of

Progress = Callable[[int, int], None]
_UNLIKE = "its parameters, buffers or batch are not the same in every process: is all that makes them seeded?"
_START = 180.0  # seconds in which a worker must be ready: PyTorch may be read from a slow disk


@dataclass(frozen=True)
class Protocol:
    """How the tasks are run: repeats over all processes, work beside them, seconds per step of an experiment.

    `devices` may name a GPU: `cuda:1`. Once `limit` seconds have passed no more tasks are begun: rows then rest on
    fewer processes, or on none, and say so.
    """

    repeats: int = 20
    processes: int = 1
    stress: bool = False
    timeout: float = 120.0
    limit: float = math.inf
    jobs: int = 1
    devices: tuple[str, ...] = KINDS
    required: str | None = None
    command: Sequence[str] = field(default_factory=command_of)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of device."""
        return tuple(name.partition(":")[0] for name in self.devices)

    @property
    def worker(self) -> tuple[str, ...]:
        """The command of a worker, which leaves other devices alone."""
        return (*self.command, *self.devices)


class Absent(Exception):
    """The required device is not there; the message says why."""


@dataclass(frozen=True)
class Session:
    """What came of a run: the environment that the workers found, and a row for each task."""

    protocol: Protocol
    environment: dict[str, Any]
    present: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass
class _Attempt:
    """A task on a device and what its processes have answered so far.

    `reason` is why no more of it is run, `failures` what single experiments could not do.
    """

    task: Task
    device: str
    processes: list[list[Measurement]] = field(default_factory=list)
    reason: str | None = None
    missing: bool = False
    failures: dict[str, str] = field(default_factory=dict)
    not_followed: tuple[str, ...] = ()
    seconds: list[float] = field(default_factory=list)

    def row(self, processes: int) -> Row:
        if self.missing:
            return Row(self.task, self.device, Verdict.NOT_EXERCISED, self.reason, seconds=tuple(self.seconds))
        row = row_of(self.task, self.device, joined(self.processes), self._told(processes))
        return replace(row, not_followed=self.not_followed, seconds=tuple(self.seconds))

    def _told(self, processes: int) -> str | None:
        if self.reason is not None:
            return self.reason
        if not self.processes:
            return "no time was left for it"
        failed = {m.summary: m.failure for found in self.processes for m in found if m.failure is not None}
        failed = {**self.failures, **{name: f"under deterministic algorithms: {text}" for name, text in failed.items()}}
        if failed:
            (name, text), *others = failed.items()
            alone = not others and not any(self.processes)
            return text if alone else f"{name}: {text}" + (f"; so too {len(others)} more" if others else "")
        if self.task.probe == MODULE and len({m.inputs for found in self.processes for m in found}) > 1:
            return _UNLIKE
        if len(self.processes) < processes:
            return f"no time was left for more than {len(self.processes)} of {processes} processes"
        return None


def run(
    tasks: Sequence[Task],
    protocol: Protocol,
    progress: Progress = lambda done, total: None,
    after_round: Callable[[Session], None] = lambda session: None,
) -> Session:
    """Run every task that this machine can run. Raises Died where not even a first worker starts, Absent.

    `after_round` gets what is known once each task was run in one more process, and where the run is interrupted.
    """
    first = Process(protocol.worker)
    try:
        hello = first.hello(_START)
        present, absent = tuple(hello["devices"]), hello.get("absent", {})
        if protocol.required is not None and protocol.required not in present:
            raise Absent(absent.get(protocol.required, f"no {protocol.required.upper()} device here"))
    except BaseException:
        first.kill()
        raise
    rows: list[Row | _Attempt] = [_begun(task, protocol, present, absent) for task in tasks]
    attempts = [item for item in rows if isinstance(item, _Attempt)]

    def session() -> Session:
        done = tuple(row.row(protocol.processes) if isinstance(row, _Attempt) else row for row in rows)
        return Session(protocol, hello["environment"], present, done)

    crew = _Crew(protocol, first, progress, len(attempts) * protocol.processes)
    try:
        for _ in range(protocol.processes):
            crew.work(attempts)
            after_round(session())
    except BaseException:  # an interruption
        crew.stop()
        after_round(session())
        raise
    finally:
        crew.stop()
    return session()


def _begun(task: Task, protocol: Protocol, present: Sequence[str], absent: Mapping[str, str]) -> Row | _Attempt:
    if task.unprobed is not None:
        return Row(task, None, Verdict.UNSUPPORTED, task.unprobed)
    device, reason = device_of(task, protocol.kinds, present, absent)
    if reason is not None or device is None:
        return Row(task, device, Verdict.NOT_EXERCISED, reason)
    if task.probe is None:
        return Row(task, device, Verdict.UNSUPPORTED, "the catalogue names no probe")
    return _Attempt(task, device)


class _Crew:
    """The threads that work attempts off, each with a process of its own."""

    def __init__(self, protocol: Protocol, first: Process, progress: Progress, total: int) -> None:
        self._protocol = protocol
        self._progress = progress
        self._threads: list[threading.Thread] = []
        self._spare: list[Process] = [first]
        self._alive: set[Process] = {first}
        self._lock = threading.Lock()
        self._stopped = False
        self._end_of_time = time.monotonic() + protocol.limit
        self._done, self._total = 0, total

    def work(self, attempts: Sequence[_Attempt]) -> None:
        """One round: every task in one more process, and no process outlives its round.

        What failed in one round is left out of the next.
        """
        sound = [attempt for attempt in attempts if attempt.reason is None]
        self._done += len(attempts) - len(sound)
        queue = deque(sound)
        jobs = min(self._protocol.jobs, len(queue))
        self._threads = [threading.Thread(target=self._thread, args=(queue,), daemon=True) for _ in range(jobs)]
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        """End every process, and wait for the threads that they leave alone."""
        self._stopped = True
        for process in list(self._alive):
            self._end(process)
        for thread in self._threads:
            with suppress(RuntimeError):  # one that the interruption kept from starting
                thread.join()

    def _thread(self, queue: deque[_Attempt]) -> None:
        process: Process | None = None
        while not self._stopped and time.monotonic() < self._end_of_time:
            try:
                attempt = queue.popleft()
            except IndexError:
                break
            process = self._advance(attempt, process)
            with self._lock:
                self._done += 1
                self._progress(self._done, self._total)
        if process is not None:
            self._end(process)

    def _advance(self, attempt: _Attempt, process: Process | None) -> Process | None:
        """Run an attempt once; the process, if it can go on."""
        protocol = self._protocol
        request = {
            "probe": attempt.task.probe,
            "arguments": dict(attempt.task.arguments),
            "device": attempt.device,
            "repeats": max(protocol.repeats // protocol.processes, 2),
            "patience": protocol.timeout / 8,
            "stress": protocol.stress,
        }
        process = process or self._started()
        if process is None:
            attempt.reason = None if self._stopped else "no worker process could be started"
            return None
        measurements: list[Measurement] = []
        attempt.processes.append(measurements)
        began = time.monotonic()
        try:
            for answer in process.ask(request, protocol.timeout):
                _note(answer, attempt, measurements)
        except Died as death:
            if self._stopped:  # it was ended from here, and its part is incomplete
                attempt.processes.pop()
            else:
                attempt.reason = str(death)
            self._end(process)
            return None
        finally:
            attempt.seconds.append(time.monotonic() - began)
        return process

    def _started(self) -> Process | None:
        with self._lock:
            if self._stopped:
                return None
            if self._spare:
                return self._spare.pop()
            process = Process(self._protocol.worker)
            self._alive.add(process)
        try:
            process.hello(_START)
        except Died:
            self._end(process)
            return None
        return process

    def _end(self, process: Process) -> None:
        with self._lock:
            if process in self._alive:
                self._alive.remove(process)
                process.kill()


def _note(answer: Mapping[str, Any], attempt: _Attempt, measurements: list[Measurement]) -> None:
    match answer:
        case {"measurement": data}:
            measurements.append(from_json(data))
        case {"failed": experiment, "reason": reason}:
            attempt.failures[experiment] = reason
        case {"not_followed": names}:
            attempt.not_followed = tuple(names)
        case {"missing": reason}:
            attempt.missing, attempt.reason = True, reason
        case {"unsupported": reason}:
            attempt.reason = reason
