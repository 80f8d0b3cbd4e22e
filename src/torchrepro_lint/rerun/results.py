"""What a rerun found: frozen records of verdicts, causes and what was compared. Knows no torch and no streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from torchrepro_lint.rerun.streams import Place


class Verdict(str, Enum):
    """What came of the runs."""

    IDENTICAL = "IDENTICAL"
    PARTED = "PARTED"
    HIDDEN_BY_TRACING = "HIDDEN_BY_TRACING"
    PROGRAM_FAILED = "PROGRAM_FAILED"
    INCONCLUSIVE = "INCONCLUSIVE"


class Kind(str, Enum):
    """What makes two runs part."""

    UNSEEDED = "UNSEEDED"
    EXTERNAL = "EXTERNAL"
    OPERATION = "OPERATION"
    CONTROL_FLOW = "CONTROL_FLOW"
    DATA_ORDER = "DATA_ORDER"
    RANK = "RANK"
    CONCURRENT = "CONCURRENT"
    COMPILED = "COMPILED"


@dataclass(frozen=True)
class Given:
    """An input of an operation."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Extent:
    """How the results of an operation differ: `of` is its shape and dtype."""

    of: str
    fraction: float | None = None
    max_ulp: float | None = None
    max_relative: float | None = None


@dataclass(frozen=True)
class Predicted:
    """A finding of the linter that a cause confirms."""

    code: str
    place: Place
    help: str = ""


@dataclass(frozen=True)
class Cause:
    """One thing that made the runs part. `source` says which outside source it is: hash, listing, time, entropy.

    `shown_by` is the pin under which the runs agree here, which makes the cause more than a suspicion. One is `idle` if
    the runs agree in all that is compared though it alone is left as it is: weights that are drawn, and then loaded.
    """

    kind: Kind
    place: Place | None
    frames: tuple[Place, ...] = ()
    step: int = 0
    process: str = "main"
    rank: int | None = None
    generator: str | None = None
    operation: str | None = None
    source: str | None = None
    detail: str = ""
    shown_by: str | None = None
    idle: bool = False
    deterministic: str | None = None  # what deterministic algorithms make of it
    inputs: tuple[Given, ...] = ()
    extents: tuple[Extent, ...] = ()
    predicted_by: tuple[Predicted, ...] = ()


@dataclass(frozen=True)
class Step:
    """A step of both runs, for the curves: the losses, and whether all that was compared agreed."""

    number: int
    losses: tuple[float | None, float | None]
    equal: bool


@dataclass(frozen=True)
class Seen:
    """A finding of the linter and what the runs say of it: observed, not observed, or not reached."""

    code: str
    place: Place
    message: str
    status: str


@dataclass(frozen=True)
class Outcome:
    """Everything that a rerun came to: of `runs` that were made, with as many comparisons of the first one, or of a
    recorded one that stands in its place."""

    verdict: Verdict
    command: tuple[str, ...]
    reason: str | None = None
    steps: int = 0
    first_step: int | None = None
    causes: tuple[Cause, ...] = ()
    curve: tuple[Step, ...] = ()
    findings: tuple[Seen, ...] = ()
    compared: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    runs: int = 0
    differing: int = 0
    comparisons: int = 0
    against_recording: bool = False
    digest: str | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Proof:
    """What a rerun of a copy with the safe fixes came to: how many fixes, and the copy's folder that stands for the
    current one."""

    outcome: Outcome
    fixes: int
    root: Path
