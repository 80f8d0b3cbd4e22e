"""Verdicts of the verifier in words: what was seen, on which machine, and what the deterministic flag makes of it.

Knows rows and measurements; nothing of findings, files or output formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrepro_lint.verify.results import Difference, Measurement, Place, Slowdown
    from torchrepro_lint.verify.tasks import Task
    from torchrepro_lint.verify.verdicts import Row


def summary_of(row: Row) -> str:
    """One line, without the verdict itself, about the most telling experiment."""
    strongest = row.strongest
    if strongest is None or not row.verdict.settled:
        return row.reason or "nothing was measured"
    parts = [_seen(strongest), *_flag(row)]
    if row.reason:
        parts.append(f"cut short: {row.reason}")
    return "; ".join(parts)


def lines_of(row: Row) -> Iterator[str]:
    """Everything that a person may want to know, a line each."""
    for measurement in row.measurements:
        yield f"{measurement.summary}: {_seen(measurement)}"
    yield from (f"{told[0].upper()}{told[1:]}" for told in _flag(row))
    if row.reason:
        yield f"{'Cut short' if row.measurements else 'Not run'}: {row.reason}"


def rests_on(row: Row) -> str:
    """With which arguments it was run."""
    return with_arguments(row.task, row.not_followed)


def with_arguments(task: Task, not_followed: Sequence[str]) -> str:
    """Those of the call, and those of them that no experiment takes up."""
    followed = {name: value for name, value in task.shown.items() if name not in not_followed}
    known = ", ".join(f"{name}={value!r}" for name, value in followed.items())
    own = "PyTorch's default arguments" if task.is_written else "the catalogue's own arguments"
    told = f"run with {known} as written, the rest by default" if known else f"run with {own}"
    return told + (f"; not followed: {', '.join(not_followed)}" if not_followed else "")


def machine(environment: Mapping[str, Any], device: str | None) -> str:
    """`NVIDIA H200, torch 2.11.0+cu128`; a CPU with its number of threads, because one thread seldom varies."""
    hardware = environment["gpu" if device == "cuda" else "cpu"] or "an unknown processor"
    threads = environment["threads"] if device == "cpu" else None
    many = f" ({threads} thread{'s' * (threads != 1)})" if threads else ""
    return f"{hardware}{many}, torch {environment['torch']}"


def _seen(measurement: Measurement) -> str:
    from torchrepro_lint.verify.confidence import upper_bound

    arm = measurement.default
    runs = len(arm.outputs)
    where = f" in {measurement.processes} processes" if measurement.processes > 1 else ""
    if arm.distinct == 1:
        bound = upper_bound(runs - 1)
        return f"all {runs} runs{where} agreed (95 % sure that fewer than {100 * bound:.2g} % differ, on these inputs)"
    seen = f"{runs} runs{where} gave {arm.distinct} different results"
    return f"{seen}, first in run {arm.first_difference}{_extent(arm.difference)}{_from(measurement.place)}"


def _from(place: Place | None) -> str:
    """The submodule that makes the difference."""
    if place is None:
        return ""
    what = f"`{place.name}` ({place.kind})" if place.name else f"{place.kind} itself"
    return f"; it comes from {what}, {place.direction}{f', {place.node}' if place.node else ''}"


def _extent(difference: Difference | None) -> str:
    if difference is None:
        return ": between processes, not within one"
    parts = [difference.part]
    if difference.fraction is not None:
        parts.append(f"{100 * difference.fraction:.3g} % of its elements")
    if difference.max_ulp is not None:
        parts.append(f"up to {difference.max_ulp:.4g} ulp")
    return ": " + ", ".join(parts)


def _flag(row: Row) -> Iterator[str]:
    """What deterministic algorithms do; worst first, as `Row.outcome` has it."""
    from torchrepro_lint.verify.verdicts import Outcome, outcome_of

    alert = next((m.deterministic.alert for m in row.measurements if m.deterministic and m.deterministic.alert), None)
    slow = next((m.slowdown for m in row.measurements if m.slowdown and outcome_of(m) is row.outcome), None)
    match row.outcome:
        case Outcome.STILL_DIFFERS:
            yield "deterministic algorithms differ too"
        case Outcome.RAISES:
            yield f"deterministic algorithms raise: {alert}"
        case Outcome.SWITCHES:
            yield f"deterministic algorithms agree on every run{_pace(slow)}"
        case Outcome.SAME:
            yield f"deterministic algorithms change no bit{_pace(slow)}"


def _pace(slow: Slowdown | None) -> str:
    if slow is None:
        return ""
    low, high = slow.iqr
    if low <= 1 <= high:
        return ", as fast"
    times, word = (slow.median, "slower") if slow.median > 1 else (1 / slow.median, "faster")
    return f", {times:.2g}x {word}" if times < 10 else f", {times:.0f}x {word}"
