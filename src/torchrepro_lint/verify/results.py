"""What is known of a row after it was run: frozen records of counts, digests and times. Knows no torch.

A record crosses processes as JSON; runs of the same experiment in several processes are joined here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Difference:
    """How two runs differed: in which part, in how many of its elements, and how far."""

    part: str
    fraction: float | None = None
    max_ulp: float | None = None
    max_relative: float | None = None


@dataclass(frozen=True)
class Place:
    """A submodule by its name in the module (empty for itself), its class, the pass, and the node of the graph."""

    name: str
    kind: str
    direction: str
    node: str | None = None


@dataclass(frozen=True)
class Arm:
    """Runs under the same settings: the digest of each outcome in order, and the first difference."""

    outputs: tuple[str, ...] = ()
    difference: Difference | None = None
    alert: str | None = None  # that of the deterministic flag, in short; then there are no outputs
    failure: str | None = None  # what else was raised

    @property
    def distinct(self) -> int:
        """How many different outcomes there were."""
        return len(set(self.outputs))

    @property
    def differing(self) -> int:
        """How many runs differed from the first."""
        return sum(output != self.outputs[0] for output in self.outputs)

    @property
    def first_difference(self) -> int | None:
        """The run, counted from 1, that first differed from the first."""
        return next((n for n, output in enumerate(self.outputs, 1) if output != self.outputs[0]), None)

    @property
    def most_frequent(self) -> Mapping[str, int]:
        """The four most frequent outcomes and how often each came."""
        return dict(sorted(Counter(self.outputs).items(), key=lambda item: (-item[1], item[0]))[:4])

    def __add__(self, other: Arm) -> Arm:
        return Arm(
            self.outputs + other.outputs,
            self.difference or other.difference,
            self.alert or other.alert,
            self.failure or other.failure,
        )


@dataclass(frozen=True)
class Slowdown:
    """Time under the deterministic flag over time without it, of interleaved pairs."""

    median: float
    iqr: tuple[float, float]
    pairs: int
    default_ms: float
    deterministic_ms: float


@dataclass(frozen=True)
class Measurement:
    """One experiment, in one process or joined over several. `inputs` is the digest of what it was given."""

    summary: str
    inputs: str
    default: Arm
    deterministic: Arm | None = None  # None: not tried
    slowdown: Slowdown | None = None
    processes: int = 1
    place: Place | None = None  # where the difference comes from, where there are submodules

    @property
    def failure(self) -> str | None:
        """What kept it from being run under the flag."""
        return self.deterministic.failure if self.deterministic else None

    def __add__(self, other: Measurement) -> Measurement:
        arms = [arm for arm in (self.deterministic, other.deterministic) if arm is not None]
        return replace(
            self,
            default=self.default + other.default,
            deterministic=sum(arms[1:], start=arms[0]) if arms else None,
            processes=self.processes + other.processes,
            place=self.place or other.place,
        )


def joined(processes: Sequence[Sequence[Measurement]]) -> list[Measurement]:
    """The measurements of several processes, those of one experiment as one as long as its inputs were equal."""
    experiments: dict[tuple[str, str, int], Measurement] = {}
    for measurements in processes:
        seen: Counter[tuple[str, str]] = Counter()  # not their numbers: one that fails in one process shifts the rest
        for item in measurements:
            key = (item.summary, item.inputs, seen[item.summary, item.inputs])
            seen[item.summary, item.inputs] += 1
            experiments[key] = experiments[key] + item if key in experiments else item
    return list(experiments.values())


def to_json(measurement: Measurement) -> dict[str, Any]:
    """A measurement for the pipe between two processes."""
    return asdict(measurement)


def from_json(data: Mapping[str, Any]) -> Measurement:
    """The measurement that `to_json` turned into `data`."""
    slowdown = data["slowdown"]
    return Measurement(
        summary=data["summary"],
        inputs=data["inputs"],
        default=_arm(data["default"]),
        deterministic=_arm(data["deterministic"]) if data["deterministic"] else None,
        slowdown=Slowdown(**{**slowdown, "iqr": tuple(slowdown["iqr"])}) if slowdown else None,
        processes=data["processes"],
        place=Place(**data["place"]) if data.get("place") else None,
    )


def _arm(data: Mapping[str, Any]) -> Arm:
    difference = data["difference"]
    found = Difference(**difference) if difference else None
    return Arm(tuple(data["outputs"]), found, data["alert"], data["failure"])
