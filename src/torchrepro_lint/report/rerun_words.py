"""What a rerun found in words: one sentence on the whole, a few lines on each cause. Knows no format and no colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.report.summary import counted

if TYPE_CHECKING:
    from torchrepro_lint.rerun.results import Cause, Extent, Outcome, Proof

_TELLING = 0.5  # the largest share of differing runs whose exclusion says anything
_NO_STEPS = " without a step of an optimizer"
_PIN = {
    "hash": "PYTHONHASHSEED fixed",
    "listing": "listings sorted",
    "time": "the clock pinned",
    "entropy": "the system's entropy pinned",
}


def headline(outcome: Outcome) -> str:
    """The verdict, over how much."""
    from torchrepro_lint.rerun.results import Verdict

    steps = counted(outcome.steps, "step")
    match outcome.verdict:
        case Verdict.IDENTICAL:
            over = f" over {steps}" if outcome.steps else ""
            return f"IDENTICAL{over}{_runs(outcome)}"
        case Verdict.PARTED:
            many = f", first in run {_compared_runs(outcome)}" if outcome.comparisons > 1 else ""
            at = f" at step {outcome.first_step} of {steps}" if outcome.steps else _NO_STEPS
            return f"PARTED{at}{many}"
        case Verdict.HIDDEN_BY_TRACING:
            return f"HIDDEN_BY_TRACING: {outcome.reason}"
        case verdict:
            return f"{verdict.value}: {(outcome.reason or '').splitlines()[0]}"


def fixes(proof: Proof) -> str:
    """How many safe fixes a copy has."""
    return f"{proof.fixes} safe fix{'es' * (proof.fixes != 1)}"


def times(number: int) -> str:
    """How often."""
    return "once" if number == 1 else f"{number} times"


def _runs(outcome: Outcome) -> str:
    share = bound(outcome)
    if share is None:
        return ""
    many = counted(_compared_runs(outcome), "run") + " and the recorded one" * outcome.against_recording
    many += "" if outcome.steps else _NO_STEPS
    if share > _TELLING:
        return f" in {many} (what differs only now and then takes more of them to show: --pairs 20)"
    return f" in {many} (95 % sure that fewer than {100 * share:.2g} % of runs differ)"


def _compared_runs(outcome: Outcome) -> int:
    """How many runs were made to be compared: all but a recorded one."""
    return outcome.comparisons + (not outcome.against_recording)


def bound(outcome: Outcome) -> float | None:
    """The largest share of differing runs that so many equal ones leave possible; None where some differed."""
    from torchrepro_lint.verify.confidence import upper_bound

    return upper_bound(outcome.comparisons) if outcome.comparisons and not outcome.differing else None


def title(cause: Cause) -> str:
    """What a cause is, in one line without its place."""
    who = f"{cause.kind.value}"
    if cause.generator is not None:
        return f"{who}: the {cause.generator} generator, {cause.detail}"
    if cause.source is not None:
        return f"{who}: {cause.detail}"
    is_named = cause.operation is None or cause.operation in cause.detail
    return f"{who}: {'' if is_named else f'{cause.operation}, '}{cause.detail}"


def lines_of(cause: Cause) -> Iterator[str]:
    """What more there is to say of a cause."""
    where = [f"step {cause.step}"]
    if cause.process != "main":
        where.append(cause.process)
    if cause.frames[1:]:
        where.append("called from " + ", ".join(f"{f}" for f in cause.frames[1:3]))
    yield ", ".join(where)
    yield from map(extent, cause.extents)
    if cause.shown_by is not None:
        yield f"shown: with {_PIN.get(cause.shown_by, f'the {cause.shown_by} generator pinned')} the runs agree here"
    if cause.idle:
        yield "no effect: left as it is, with all others pinned, the runs agree in what is compared"
    if cause.deterministic is not None:
        yield f"under deterministic algorithms: {cause.deterministic}"
    if cause.kind.value == "EXTERNAL" and cause.source is None:
        yield "it comes from outside of PyTorch, and from nothing that can be pinned: look at what makes this value"
    if not cause.predicted_by:
        yield "no rule saw this"
    for finding in cause.predicted_by[:3]:
        fix = f": {finding.help}" if finding.help else ""
        yield f"predicted by {finding.code} at {finding.place}{fix}"


def extent(found: Extent) -> str:
    """How far a result differs."""
    parts = [found.of]
    if found.fraction is not None:
        parts.append(f"{100 * found.fraction:.3g} % of its elements differ")
    if found.max_ulp is not None:
        parts.append(f"by up to {found.max_ulp:.4g} ulp")
    return ", ".join(parts)


def recall(outcome: Outcome) -> tuple[int, int]:
    """How many of the causes that have an effect a finding predicted, of how many."""
    causes = [cause for cause in outcome.causes if not cause.idle]
    return sum(bool(cause.predicted_by) for cause in causes), len(causes)


def findings_line(outcome: Outcome) -> str:
    """What the runs say of the linter's findings."""
    counts = Counter(finding.status for finding in outcome.findings)
    told = ", ".join(f"{counts[s]} {s}" for s in ("observed", "not observed", "not reached") if counts[s])
    predicted, causes = recall(outcome)
    parts = [f"{predicted} of {counted(causes, 'cause')} predicted"] if causes else []
    return "; ".join([*parts, f"{counted(len(outcome.findings), 'finding')}: {told}" if told else "no findings"])


def compared(outcome: Outcome) -> str:
    """What was compared, and what was not."""
    told = ", ".join(f"{number} {what}" for what, number in outcome.compared.items())
    return f"compared: {told}; not compared: printed text, files, and what happens after the last step"
