"""What a run would do: experiments, memory and time of each task, by estimate. Nothing is run, and no GPU is needed.

Knows tasks and what a worker answers; nothing of PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchrepro_lint.verify.process import Process
from torchrepro_lint.verify.session import Protocol
from torchrepro_lint.verify.tasks import Task

_TIMEOUT = 120.0
_COMPILING = 30.0  # seconds, with the flag and without; later processes find the kernels in a cache
_START = 8.0  # seconds until a process has imported PyTorch and made use of a device


@dataclass(frozen=True)
class Step:
    """One experiment: the most bytes that it holds, and the seconds that it takes in one process."""

    summary: str
    bytes: int
    seconds: float
    compiles: bool = False


@dataclass(frozen=True)
class Planned:
    """A task on a device: its experiments, or why there are none."""

    task: Task
    device: str | None
    steps: tuple[Step, ...] = ()
    reason: str | None = None
    not_followed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All tasks, and how many processes run each."""

    rows: tuple[Planned, ...]
    processes: int
    jobs: int

    @property
    def experiments(self) -> int:
        """How many in one process."""
        return sum(len(row.steps) for row in self.rows)

    @property
    def peak(self) -> int:
        """The most bytes that one of them holds."""
        return max((step.bytes for row in self.rows for step in row.steps), default=0)

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        once = sum(step.seconds for row in self.rows for step in row.steps)
        compiled = _COMPILING * sum(step.compiles for row in self.rows for step in row.steps)
        return self.processes * (_START + once / self.jobs) + compiled if self.experiments else 0.0


def plan(tasks: Sequence[Task], protocol: Protocol) -> Plan:
    """Ask a worker what it would run, on the device that is preferred, be it here or not. Raises Died."""
    process = Process((*protocol.command, "cpu"))
    try:
        process.hello(_TIMEOUT)
        rows = tuple(_planned(task, protocol, process) for task in tasks)
    finally:
        process.kill()
    return Plan(rows, protocol.processes, protocol.jobs)


def _planned(task: Task, protocol: Protocol, process: Process) -> Planned:
    device = next((kind for kind in protocol.kinds if kind in task.devices), None)
    if task.unprobed is not None or task.probe is None:
        return Planned(task, None, reason=task.unprobed or "the catalogue names no probe")
    if device is None:
        return Planned(task, None, reason=f"varies on {', '.join(kind.upper() for kind in task.devices)} only")
    repeats = max(protocol.repeats // protocol.processes, 2)
    request = {"plan": True, "probe": task.probe, "arguments": dict(task.arguments), "device": device}
    answers = list(process.ask({**request, "repeats": repeats}, _TIMEOUT))
    steps = tuple(Step(**answer["planned"]) for answer in answers if "planned" in answer)
    reason = next((str(a[k]) for a in answers for k in ("missing", "unsupported") if k in a), None)
    names = next((tuple(answer["not_followed"]) for answer in answers if "not_followed" in answer), ())
    return Planned(task, device, steps, reason, names)
