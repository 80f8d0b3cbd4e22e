"""From measurements to a verdict: what the runs of a row show. Rests on counts and digests alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from torchrepro_lint.verify.results import Measurement
from torchrepro_lint.verify.tasks import Task


class Verdict(str, Enum):
    """What is known of a row after it was run, the worst news first."""

    STILL_DIFFERS = "STILL_DIFFERS_IN_DET_MODE"
    CONFIRMED = "CONFIRMED"
    RAISES = "RAISES_IN_DET_MODE"
    SWITCHES = "SWITCHES_IN_DET_MODE"
    NOT_REPRODUCED = "NOT_REPRODUCED"
    NOT_EXERCISED = "NOT_EXERCISED"
    UNSUPPORTED = "UNSUPPORTED"

    @property
    def differs(self) -> bool:
        """Whether equal inputs gave different bits."""
        return self in (Verdict.STILL_DIFFERS, Verdict.CONFIRMED)

    @property
    def settled(self) -> bool:
        """Whether anything was run."""
        return self not in (Verdict.NOT_EXERCISED, Verdict.UNSUPPORTED)


class Outcome(str, Enum):
    """What the deterministic flag makes of an experiment, the worst news first."""

    STILL_DIFFERS = "still_differs"
    RAISES = "raises"
    SWITCHES = "switches"
    SAME = "same"


@dataclass(frozen=True)
class Row:
    """A task and what came of it. `reason`: why it was not run, or what cut it short; `not_followed`: arguments of the
    call that were not run as written; `seconds`: what it took in each process."""

    task: Task
    device: str | None
    verdict: Verdict
    reason: str | None = None
    measurements: tuple[Measurement, ...] = ()
    not_followed: tuple[str, ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)

    @property
    def strongest(self) -> Measurement | None:
        """The experiment that says most: the one that varied most, else the one repeated most."""
        return max(self.measurements, key=lambda m: (m.default.distinct, len(m.default.outputs)), default=None)

    @property
    def conclusive(self) -> bool:
        """Whether the verdict stands: a difference is proof, and none is a finding where all that was to run did."""
        return self.verdict.differs or (self.verdict.settled and self.reason is None)

    @property
    def outcome(self) -> Outcome | None:
        """The worst that the deterministic flag made of any experiment."""
        outcomes = [outcome for m in self.measurements if (outcome := outcome_of(m)) is not None]
        return min(outcomes, key=list(Outcome).index, default=None)


def row_of(task: Task, device: str, measurements: Sequence[Measurement], reason: str | None) -> Row:
    """The row of a task that was run on a device, or was tried."""
    row = Row(task, device, Verdict.UNSUPPORTED, reason, tuple(measurements))
    return Row(task, device, _verdict(row), reason, row.measurements)


def outcome_of(measurement: Measurement) -> Outcome | None:
    """What the flag made of one experiment; None where it was not tried."""
    strict = measurement.deterministic
    if strict is None or strict.failure is not None:
        return None
    if strict.alert is not None:
        return Outcome.RAISES
    if strict.distinct > 1:
        return Outcome.STILL_DIFFERS
    # That a constant outcome is not the constant one of the default tells of another kernel, of nothing else.
    return Outcome.SAME if set(strict.outputs) == set(measurement.default.outputs) else Outcome.SWITCHES


def _verdict(row: Row) -> Verdict:
    if row.outcome is Outcome.STILL_DIFFERS:
        return Verdict.STILL_DIFFERS
    if any(m.default.distinct > 1 for m in row.measurements):
        return Verdict.CONFIRMED
    if row.outcome is Outcome.RAISES:
        return Verdict.RAISES
    if row.outcome is Outcome.SWITCHES:
        return Verdict.SWITCHES
    return Verdict.NOT_REPRODUCED if any(m.failure is None for m in row.measurements) else Verdict.UNSUPPORTED
