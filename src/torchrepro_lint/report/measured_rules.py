"""What the shipped evidence says about the operations that a rule reports, machine by machine."""

from __future__ import annotations

from collections.abc import Iterable

from torchrepro_lint.evidence import CONFIRMED, Measured
from torchrepro_lint.kernels.operations import every
from torchrepro_lint.project.versions import effective
from torchrepro_lint.report.operation_facts import reported_as


def measured_of(code: str, measured: Iterable[Measured]) -> list[str]:
    """A sentence for each machine with a GPU, in the order of the evidence."""
    release = effective(None).release[:2]
    own = {op.id for op in every() if code in reported_as(op, release)}
    by_machine: dict[str, list[Measured]] = {}
    for item in measured:
        if item.id in own and item.device == "cuda":
            by_machine.setdefault(f"{item.machine}, torch {'.'.join(map(str, item.release))}", []).append(item)
    return [f"On {machine}: {_told(items)}." for machine, items in by_machine.items()]


def _told(items: Iterable[Measured]) -> str:
    varied = {item.id for item in items if item.verdict in CONFIRMED}
    agreed = {item.id: item for item in items if item.id not in varied}
    parts = []
    if varied:
        parts.append(f"equal inputs gave different bits in {', '.join(sorted(varied))}")
    if agreed:
        runs = max(item.repeats for item in agreed.values())
        parts.append(f"nothing differed in {runs} runs of {', '.join(sorted(agreed))}")
    return "; ".join(parts)
