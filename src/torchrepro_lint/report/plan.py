"""What a run of the verifier would do, as text: a line for each experiment, and the sums. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.summary import counted
from torchrepro_lint.report.verdict_words import with_arguments

if TYPE_CHECKING:
    from torchrepro_lint.verify.plan import Plan, Planned


def plan_text(plan: Plan) -> Iterator[str]:
    """Each operation with its experiments, then how many there are, how large, and how long they take."""
    for row in plan.rows:
        yield from _row(row)
    processes = f" in each of {plan.processes} processes" if plan.processes > 1 else ""
    yield (
        f"{counted(plan.experiments, 'experiment')} of {counted(len(plan.rows), 'operation')}{processes}: at most "
        f"{_size(plan.peak)} at a time, about {_time(plan.seconds)} by estimate.\n"
    )


def _row(row: Planned) -> Iterator[str]:
    where = f" ({row.device.upper()})" if row.device else ""
    yield f"{row.task.id}{where}: {visible(with_arguments(row.task, row.not_followed))}\n"
    for step in row.steps:
        yield f"  {visible(step.summary)}: {_size(step.bytes)}, {_time(step.seconds)}\n"
    if row.reason is not None:
        yield f"  not run: {visible(row.reason)}\n"


def _size(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 120 else f"{seconds:.2g} s"
